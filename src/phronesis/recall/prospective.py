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
from phronesis.store.eligible import ReadConditions
from phronesis.store.lanes import Lane

MAX_OPEN: Final = 1_000
"""Maximum due items read of each lane, the most important first."""

_LAST: Final = datetime.max.replace(tzinfo=UTC) - timedelta(seconds=1)


def asked_at(wanted: ReadConditions, now: datetime) -> datetime:
    """Return the reference time of due items: the requested time, else ``now``."""
    moment = wanted.as_of if wanted.valid_at is None else wanted.valid_at
    return now if moment is None else from_micros(moment)


def due_items(
    unit: Unit, lanes: Sequence[Lane], wanted: ReadConditions, now: datetime, within: timedelta
) -> list[Item]:
    """Return the lanes' open intentions and tasks that are due by ``now`` plus ``within``, most urgent first.

    Only items about the user or about nobody, and none that are expired, ended, archived or in quarantine.
    """
    latest = max(now, now.replace(tzinfo=UTC))  # a day begins earlier in the east
    horizon = latest + min(within, _LAST - latest)
    asked = dataclasses.replace(wanted, kinds=PROSPECTIVE, due_by=to_micros(horizon))
    found = [
        item for item in items_of(unit, lanes, asked, limit=MAX_OPEN, weightiest=True) if surfaces(item, now, within)
    ]
    names = names_of_user((), lanes)
    if not all(is_about(item, names) for item in found):  # about somebody else, or about the user under another name
        names = told_names(unit, lanes, wanted)
    return sorted((item for item in found if is_about(item, names)), key=urgency)
