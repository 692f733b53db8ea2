"""The log's records: entries, which never change, and the outcomes stored beside them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

ERASED: Final = {"$erased": True}
"""What stands in a payload for a part that was erased."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a lane's log.

    ``payload`` is the verb's checked input; parts that were erased are ``ERASED`` marks. ``seq`` counts from 1
    within the lane, without gaps. ``handler_version`` names the ``apply`` that interprets it, for ever.
    """

    id: str
    lane_id: int
    seq: int
    verb: str
    handler_version: int
    actor: str
    recorded_at: datetime
    payload: Mapping[str, Any]
    parent_id: str | None = None
    user_id: str | None = None
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What preparing an entry gave: discrete JSON, kept for ever, so that a replay asks nobody again."""

    role: str
    made_by: str
    body: Mapping[str, Any] = field(default_factory=dict)
    n: int = 0


NOTHING: Final = Outcome(role="nothing", made_by="interpreter")
"""The outcome that says an entry was prepared and nothing was found: it is not prepared again."""


def is_erased(part: object) -> bool:
    """Tell whether a payload's part is the mark of an erased one."""
    return isinstance(part, (dict, Mapping)) and part.get("$erased") is True
