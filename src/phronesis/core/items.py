"""The item record, its text as a complete sentence, and when what it says is due."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import MAXYEAR, MINYEAR, UTC, datetime, time, timedelta, timezone, tzinfo
from enum import IntEnum
from operator import attrgetter, itemgetter
from typing import Any, Final, Self

from phronesis.core.proposals import USER
from phronesis.core.serialization import Record
from phronesis.core.timestamps import from_micros, isoformat, optional_micros, parse_moment
from phronesis.core.values import label_of

# An item as a sentence: subject, attribute and value, in the language of the source.

_HAN: Final = re.compile("[\u3400-\u9fff]")
_END: Final = " \t\n.,;。，；"


def statement(item: "Item") -> str:
    """Return an item as a statement: "Home city: Oslo", "Anna · allergy: nuts", 宠物：豆包.

    The statement holds only the item's own fact, while its source may state several. The content is returned for items
    without key or value, or whose value is incomplete (a task, an event).
    """
    value = item.value.strip(_END) if isinstance(item.value, str) else ""
    if not value or not item.key:
        return item.content
    chinese = _HAN.search(item.content or value) is not None
    label = label_of(item.key, chinese=chinese)
    if label is None:
        return item.content
    value = " ".join(value.split())
    if item.subject is None or item.subject == USER:
        return f"{label}：{value}" if chinese else f"{label[:1].upper()}{label[1:]}: {value}"
    return (
        f"{item.subject} · {label}：{value}" if chinese else f"{item.subject} · {label[:1].lower()}{label[1:]}: {value}"
    )


KINDS: Final = tuple(
    """
    message fact episodic profile preference task decision event intention procedure trait l1 pattern principle
    reasoning section run cycle mark document
    """.split()
)
"""Every kind of item, in the contract's order."""
STATUSES: Final = ("active", "archived")
ENDINGS: Final = ("superseded", "retracted", "dissolved", "retired")
DEFAULT_IMPORTANCE: Final[Mapping[str, int]] = (
    dict.fromkeys(KINDS, 5)
    | dict.fromkeys(("profile", "preference", "task", "decision", "intention", "trait", "pattern", "reasoning"), 7)
    | {"message": 3, "principle": 8, "cycle": 1, "mark": 1}
)
"""Importance without a model (contract: 1 small talk, 3 passing detail, 5 routine, 7 decision, 9 life event)."""
SUSPECT_WORDS: Final = "suspected"
"""The member of an item's ``data`` with the words for which it is quarantined."""
CORRECTED: Final = "corrected"
"""The member of an item's ``data`` with the entry that corrected its text; its source messages no longer match it."""


class Trust(IntEnum):
    """How far the source of a text is trusted, lowest first. Text below USER is never an instruction (law 8)."""

    EXTERNAL = 0
    """Documents, web pages, files: anybody may have written them."""
    TOOL = 1
    """What a tool answered."""
    ASSISTANT = 2
    """What a model said."""
    USER = 3
    """What the user said."""
    OPERATOR = 4
    """What a person set by hand."""

    @classmethod
    def _missing_(cls, value: object) -> "Trust | None":
        """Take a name in small letters too, which is how trust goes out (``Item.to_dict``)."""
        return cls.__members__.get(value.upper()) if isinstance(value, str) else None


UTC_OFFSET: Final = "utc_offset"
"""The member of ``data`` with the source's offset in minutes east of UTC; absent for UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item(Record):
    """Something held to be so, with two times: ``valid_*`` when it was true, ``recorded_at`` when we learned it.

    ``status`` is active or archived; ``ended`` None, superseded, retracted, dissolved or retired, with what ended
    it in ``ended_by``. ``external_id`` is the caller's own name for it: one item of a lane that is neither archived
    nor ended has it. ``data`` holds what belongs to the kind alone (claims, a trait's strength); each of its members
    changes on its own, as field ``data.<name>``, and one that is None counts as absent.
    """

    id: str
    kind: str
    content: str
    entry_id: str
    recorded_at: datetime
    updated_at: datetime
    version: int = 1
    subject: str | None = None
    key: str | None = None
    value: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    importance: int = 5
    status: str = "active"
    ended: str | None = None
    ended_by: str | None = None
    confidence: float = 1.0
    trust: Trust = Trust.USER
    quarantine: str | None = None
    pinned: bool = False
    stage: str | None = None
    label: str | None = None
    source_type: str | None = None
    source_ref: str | None = None
    external_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    run_id: str | None = None
    message_id: str | None = None
    role: str | None = None
    name: str | None = None
    position: int | None = None
    occurred_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    user_id: str | None = None
    namespace: str | None = None

    @property
    def live(self) -> bool:
        """Return whether ordinary reads see it."""
        return self.status == "active" and self.ended is None and self.quarantine is None

    @property
    def keeps_name(self) -> bool:
        """Return whether its ``external_id`` names it; archived or ended, it has given the name up."""
        return self.external_id is not None and self.status == "active" and self.ended is None

    def local(self, at: datetime, zone: tzinfo = UTC) -> datetime:
        """Return a time in the offset in which the item was said; in ``zone`` where it was said in none but UTC."""
        offset = self.data.get(UTC_OFFSET)
        if not MINYEAR < at.year < MAXYEAR:
            return at
        return at.astimezone(timezone(timedelta(minutes=offset)) if isinstance(offset, int) else zone)

    @property
    def citation(self) -> str:
        """The form in which contexts cite it."""
        return f"mem:{self.id}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values, times in ISO 8601 with a Z.

        ``statement``: how it is shown, if not as its content.
        """
        out: dict[str, Any] = dict(zip(FIELDS, _VALUES(self), strict=True))
        for name in TIME_FIELDS:
            out[name] = isoformat(out[name])
        out["trust"] = self.trust.name.lower()
        said = statement(self)
        return out if said == self.content else {**out, "statement": said}

    def to_row(self) -> dict[str, Any]:
        """Return the stored form: times in microseconds, no lane names (they are the lane's)."""
        row = {name: getattr(self, name) for name in ROW_FIELDS}
        for name in TIME_FIELDS:
            row[name] = optional_micros(row[name])
        row["trust"] = int(self.trust)
        return row

    @classmethod
    def from_row(cls, row: Mapping[str, Any], *, user_id: str | None = None, namespace: str | None = None) -> Self:
        """Read what ``to_row`` gave."""
        return cls.from_values(_ROW(row), user_id=user_id, namespace=namespace)

    @classmethod
    def from_values(cls, row: Sequence[Any], *, user_id: str | None = None, namespace: str | None = None) -> Self:
        """Read the values of what ``to_row`` gave, in the order of ``ROW_FIELDS``."""
        values = [*row]
        for n in _TIMES:
            if values[n] is not None:
                values[n] = from_micros(values[n])
        values[_TRUST] = Trust(values[_TRUST])
        values[_PINNED] = bool(values[_PINNED])
        return cls(**dict(zip(ROW_FIELDS, values, strict=True)), user_id=user_id, namespace=namespace)

    def with_fields(self, fields: Mapping[str, Any]) -> Self:
        """Return the same version with ``fields`` replaced; ``data.<name>`` is one member of ``data``, None removes it.

        A name that is no field raises TypeError: a handler's slip, never a caller's.
        """
        if not fields:
            return self
        values = {name: value for name, value in fields.items() if not name.startswith(MEMBER_PREFIX)}
        if len(values) != len(fields):
            members = {name.removeprefix(MEMBER_PREFIX): fields[name] for name in fields if name not in values}
            data = {**values.get("data", self.data), **members}
            values["data"] = {name: value for name, value in data.items() if value is not None}
        return dataclasses.replace(self, **values)

    def changed(self, fields: Mapping[str, Any], *, at: datetime) -> Self:
        """Return the next version with ``fields`` replaced."""
        return dataclasses.replace(self.with_fields(fields), updated_at=at, version=self.version + 1)


MEMBER_PREFIX: Final = "data."
"""The prefix of a member of ``data`` that is treated as a field of its own."""


def flat_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored row with the members of ``data`` as fields of their own: the form that deltas compare."""
    flat = {name: value for name, value in row.items() if name != "data"}
    members = (row["data"] or {}).items()
    return flat | {f"{MEMBER_PREFIX}{name}": value for name, value in members if value is not None}


def nested_row(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored row that ``flat_row`` was made of."""
    row = {name: value for name, value in flat.items() if not name.startswith(MEMBER_PREFIX)}
    members = {name.removeprefix(MEMBER_PREFIX): value for name, value in flat.items() if name not in row}
    return row | {"data": {name: value for name, value in members.items() if value is not None}}


FIELDS: Final = tuple(f.name for f in dataclasses.fields(Item))
LANE_FIELDS: Final = frozenset({"user_id", "namespace"})
_VALUES: Final = attrgetter(*FIELDS)
ROW_FIELDS: Final = tuple(name for name in FIELDS if name not in LANE_FIELDS)
TIME_FIELDS: Final = ("recorded_at", "updated_at", "occurred_at", "valid_from", "valid_to")
_ROW: Final = itemgetter(*ROW_FIELDS)
_TIMES: Final = tuple(map(ROW_FIELDS.index, TIME_FIELDS))
_TRUST: Final = ROW_FIELDS.index("trust")
_PINNED: Final = ROW_FIELDS.index("pinned")
BOOKKEEPING: Final = frozenset({"version", "updated_at"})
"""Fields that every change updates; a delta's patch leaves them out and a rollback does not restore them."""


# Prospective memory (NM-15): an intention or a task may have a due time (``data.due``) and an end (``valid_to``). An
# item does not change when either passes: a read compares them with its own time, so that no timer is needed and a read
# as of a time is exact. A due time at midnight means the whole day, in the time zone of ``now``.

DUE: Final = "due"
"""The member of an item's ``data`` with its due time, ISO 8601 in UTC."""
PROSPECTIVE: Final = ("intention", "task")
"""Kinds with a due time."""
COMING: Final = timedelta(days=1)
"""How long before its due time an item is shown (this project's choice: a day)."""
OVERDUE_SHOWN: Final = timedelta(days=14)
"""How long after its due time something without an end is shown in contexts (this project's choice): most of what
people say they will do is never said to be done. A list of what is due leaves nothing out."""
_DAY: Final = timedelta(days=1)
_LAST_DAY: Final = datetime(9999, 12, 31, tzinfo=UTC)


def due_of(item: Item) -> datetime | None:
    """Return when an item is due; None without a due time."""
    said = item.data.get(DUE)
    return parse_moment(said, field=DUE) if isinstance(said, str) and item.kind in PROSPECTIVE else None


def is_expired(item: Item, now: datetime) -> bool:
    """Return whether the end of an intention has passed."""
    return item.valid_to is not None and item.valid_to <= now


def is_due_within(item: Item, now: datetime, within: timedelta = COMING) -> bool:
    """Return whether an item is due now or ``within`` a duration, and its end has not passed."""
    due = due_of(item)
    return due is not None and due - _clock(due, now) <= within and not is_expired(item, now)


def is_lapsed(item: Item, now: datetime) -> bool:
    """Return whether an item without an end has been overdue for so long that contexts no longer show it."""
    due = due_of(item)
    return due is not None and item.valid_to is None and _clock(due, now) - _end_of_due(due) > OVERDUE_SHOWN


def is_overdue(item: Item, now: datetime) -> bool:
    """Return whether the due time of an item has passed: of a due day, its end."""
    due = due_of(item)
    return due is not None and _clock(due, now) > _end_of_due(due)


def urgency(item: Item) -> tuple[datetime, int, datetime, str]:
    """Return the sort key of due items: the earliest first, then the more important, then the oldest."""
    due = due_of(item) or _LAST_DAY
    return due, -item.importance, item.recorded_at, item.id


def in_words(item: Item, now: datetime) -> str:
    """Return when an item is due, as text with absolute days; empty without a due time.

    A due time at midnight is that day, and passes when the day does: "due 2026-04-03", "was due 2026-04-02 10:00 UTC".
    """
    due = due_of(item)
    if due is None:
        return ""
    said = f"{'was due' if is_overdue(item, now) else 'due'} {_format_due(due)}"
    return said if item.valid_to is None else f"{said}; expires {_format_due(item.valid_to)}"


def _is_day(due: datetime) -> bool:
    return due.time() == time.min


def _clock(due: datetime, now: datetime) -> datetime:
    """Return the local time that a due day is compared with, or the time itself."""
    return now.replace(tzinfo=UTC) if _is_day(due) else now


def _end_of_due(due: datetime) -> datetime:
    """Return when a due time has passed; the last representable day has no end."""
    return due + _DAY if _is_day(due) and due < _LAST_DAY else due


def _format_due(moment: datetime) -> str:
    day = moment.date().isoformat()
    return day if _is_day(moment) else f"{day} {moment:%H:%M} UTC"
