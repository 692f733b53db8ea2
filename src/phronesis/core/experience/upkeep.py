"""What the verbs that keep the experience base in order give: feedback and forget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from phronesis.core.items import Item
from phronesis.core.plain import Record


@dataclass(frozen=True, slots=True)
class FeedbackResult(Record):
    """What feedback changed at once (``items``, as they are now), and what waits for the next ``aggregate``.

    ``scheduled`` are the ids of the events that it groups anew; none where only weights moved.
    """

    entry_id: str
    items: Sequence[Item] = ()
    scheduled: Sequence[str] = ()
    pending: bool = False


@dataclass(frozen=True, slots=True)
class Forgotten(Record):
    """One item that forgetting moved: ``action`` is downweight, archive, delete, or restore where it is of use again.

    ``why`` is decay, low use, contradicted, expired, archived (for long), of use again, or brought back; ``figures``
    are ``retention``, and what it follows from. ``before`` and ``after`` have ``status``, ``ended`` and ``weight``.
    Action ``keep``: it has faded, and stays where it is for ``protected_by``, which also says what kept something that
    was only downweighted from the archive.
    """

    id: str
    kind: str
    action: str
    reason: str
    figures: Mapping[str, Any] = field(default_factory=dict)
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""
    protected_by: str | None = None


@dataclass(frozen=True, slots=True)
class ForgetResult(Record):
    """What forgetting moved, or would move: then ``entry_id`` is None. ``counts`` are the rows by action.

    A dry run tells in ``kept`` what has faded and stays, the first thousand. ``more``: as many items were moved as one
    call moves, and another call may move more.
    """

    entry_id: str | None
    rows: Sequence[Forgotten] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    dry_run: bool = False
    pending: bool = False
    kept: Sequence[Forgotten] = ()
    more: bool = False
