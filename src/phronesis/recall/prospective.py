"""Due items: the open intentions and tasks of a scope that are due now or soon."""

import dataclasses
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from phronesis.core.items import Item
from phronesis.core.prospective import PROSPECTIVE, surfaces, urgency
from phronesis.core.timestamps import from_micros, to_micros
from phronesis.recall.browse import items_of
from phronesis.recall.user_aliases import is_about, names_of_user, told_names
from phronesis.store.database import Unit
from phronesis.store.eligible import Wanted
from phronesis.store.lanes import Lane

MAX_OPEN: Final = 1_000
"""Due items read of each lane, the most important first: more than anybody has open, and no more than a read bears."""

_LAST: Final = datetime.max.replace(tzinfo=UTC) - timedelta(seconds=1)


def asked_at(wanted: Wanted, now: datetime) -> datetime:
    """Return the time by which a read tells what is due: that which it asks about, else ``now``."""
    moment = wanted.as_of if wanted.valid_at is None else wanted.valid_at
    return now if moment is None else from_micros(moment)


def due_items(unit: Unit, lanes: Sequence[Lane], wanted: Wanted, now: datetime, within: timedelta) -> list[Item]:
    """Return the lanes' open intentions and tasks that are due at ``now`` or ``within`` that long, most urgent first.

    Only what is about the user, or about nobody. What has expired, ended, is archived or in quarantine is left out.
    """
    latest = max(now, now.replace(tzinfo=UTC))  # a day begins earlier in the east
    horizon = latest + min(within, _LAST - latest)
    asked = dataclasses.replace(wanted, kinds=PROSPECTIVE, due_by=to_micros(horizon))
    found = [
        item for item in items_of(unit, lanes, asked, limit=MAX_OPEN, weightiest=True) if surfaces(item, now, within)
    ]
    names = names_of_user((), lanes)
    if not all(is_about(item, names) for item in found):  # somebody else's, or the user's under another name
        names = told_names(unit, lanes, wanted)
    return sorted((item for item in found if is_about(item, names)), key=urgency)
