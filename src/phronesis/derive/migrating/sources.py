"""Where old memories come from: items of a lane, and rows of a file, each checked before anything is written."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from phronesis.core.canonical import digest
from phronesis.core.instants import isoformat, parse_past
from phronesis.core.items import Item
from phronesis.core.scope import LaneName
from phronesis.core.text import check_id, check_text, storable
from phronesis.errors import InputError
from phronesis.storage.database import Unit
from phronesis.storage.eligible import Wanted, items_before
from phronesis.storage.lanes import find_lane
from phronesis.truth import inputs

MIGRATED_KINDS: Final = (
    "message", "fact", "episodic", "profile", "preference", "task", "decision", "event", "intention", "procedure",
)  # fmt: skip
"""Kinds whose words are free text. The others are made by engines, in forms of their own."""

MARKED: Final[Mapping[str, Any]] = {"metadata.kind": "reasoning"}
"""What is migrated where a caller says nothing: items that were stored as reasoning before there were claims."""

MAX_ROWS: Final = 1_000_000
_MAX_NAME: Final = 200
"""Characters of an old id: it becomes part of the name of a run that stands for it."""

_TEXTS: Final = ("content", "memory", "text")
_IDS: Final = ("id", "mem_id", "memory_id")
_KNOWN: Final = frozenset({*_TEXTS, *_IDS, "title", "metadata", "created_at", "run_ids", "run_id", "kind"})


@dataclass(frozen=True, slots=True)
class OldRow:
    """An old memory of a file: how it is told of, and the payload of its entry."""

    name: str
    payload: Mapping[str, Any]

    @property
    def natural_key(self) -> str:
        """What makes it itself: its id and its words. The same row again is the same memory."""
        return digest([self.payload["source_ref"], self.payload["content"]])


def rows_of(memories: Iterable[object], *, scope: str | None, now: datetime) -> list[OldRow]:
    """Check the rows of a file, all before the first is written; InputError names the one that is wrong."""
    if isinstance(memories, str | bytes | Mapping):
        raise InputError("memories must be a list of texts or mappings, not one of them", field="memories")
    rows = [_row(member, n, scope, now) for n, member in enumerate(memories, start=1)]
    if len(rows) > MAX_ROWS:
        raise InputError(f"memories holds {len(rows):,} rows; migrate {MAX_ROWS:,} at a time", field="memories")
    return rows


def held(unit: Unit, name: LaneName, wanted: Wanted) -> list[Item]:
    """Give the items of one lane that are wanted, oldest first."""
    lane = find_lane(unit, name)
    found = [] if lane is None else items_before(unit, lane, wanted, None, limit=None)
    return found[::-1]


def _row(member: object, n: int, scope: str | None, now: datetime) -> OldRow:
    place = f"memories[{n - 1}]"
    row: Mapping[str, Any] = {"content": member} if isinstance(member, str) else _mapping(member, place)
    text = check_text(next((row[name] for name in _TEXTS if row.get(name) is not None), None), field=f"{place}.content")
    given = next((row[name] for name in _IDS if row.get(name) is not None), None)
    name = f"memory-{digest(text)[:16]}" if given is None else _name(given, f"{place}.id")
    known = inputs.metadata(row.get("metadata"), field=f"{place}.metadata")
    others = inputs.metadata({key: value for key, value in row.items() if key not in _KNOWN}, field=place)
    kind = row.get("kind")
    payload: dict[str, Any] = {"content": storable(text), "source_ref": name, "metadata": {**others, **known}}
    if kind is not None and kind not in MIGRATED_KINDS:
        raise InputError(f"{place}.kind must be one of {', '.join(MIGRATED_KINDS)}, not {kind!r:.40}",
                         field=f"{place}.kind")  # fmt: skip
    if row.get("created_at") is not None:
        payload["occurred_at"] = isoformat(parse_past(row["created_at"], field=f"{place}.created_at", now=now))
    title = next((one for one in (row.get("title"), known.get("title"), known.get("topic")) if one), None)
    if title is not None:
        payload["title"] = storable(check_text(title, field=f"{place}.title"))
    runs = _runs(row, known, f"{place}.run_ids")
    optional = {"kind": kind, "scope": scope, "run_ids": runs}
    payload |= {key: value for key, value in optional.items() if value}
    return OldRow(name if given is not None else f"number {n}", {key: value for key, value in payload.items() if value})


def _mapping(member: object, place: str) -> Mapping[str, Any]:
    if not isinstance(member, Mapping):
        raise InputError(f"{place} must be a text or a mapping, not {type(member).__name__}", field=place)
    return member


def _name(given: object, field: str) -> str:
    name = check_id(str(given) if isinstance(given, int) and not isinstance(given, bool) else given, field=field)
    if len(name) > _MAX_NAME:
        raise InputError(f"{field} has {len(name)} characters; at most {_MAX_NAME} are kept", field=field)
    return name


def _runs(row: Mapping[str, Any], known: Mapping[str, Any], field: str) -> Sequence[str]:
    found: list[Any] = [row.get("run_id"), known.get("run_id")]
    for listed in (row.get("run_ids"), known.get("run_ids")):
        if listed is not None and not isinstance(listed, list | tuple):
            raise InputError(f"{field} must be a list of ids, not {type(listed).__name__}", field=field)
        found += listed or ()
    return list(dict.fromkeys(check_id(run, field=field) for run in found if run is not None))
