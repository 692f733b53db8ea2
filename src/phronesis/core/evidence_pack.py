"""Evidence packs: the result of a retrieval plan, and evidence parsed from JSON.

Parsing takes the values of `Evidence.to_dict` and raises InputError for a field of the wrong type. Unknown fields are
ignored, since a newer server may send more. Trust in a text is decided elsewhere (``recall/retrievers``).
"""

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Self

from phronesis.core.items import ENDINGS, KINDS, STATUSES, TIME_FIELDS, Item, Trust
from phronesis.core.results import ClaimMatch, Degraded, Evidence, Match, Source
from phronesis.core.retrieval_plan import RetrievalPlan
from phronesis.core.serialization import MAX_DEPTH, RecordSequence
from phronesis.core.text import check_id, check_text, is_storable
from phronesis.core.timestamps import parse_moment
from phronesis.errors import InputError

MAX_EVIDENCE: Final = 1_000
"""Results of one answer. A plan asks for some dozens."""
MAX_LISTED: Final = 256
"""Matches, sources, conflicts, members of ``why`` of one result, and roles whose model was away."""
MAX_NAME: Final = 1_000
"""Characters of a name or an address."""
_PART: Final = re.compile(r"[a-z_]{1,32}(:[A-Za-z0-9_.:~-]{1,256})?")
_CHUNK: Final = re.compile(r"chunk:[0-9]{1,9}")
Reader = Callable[[Any, str], Any]


def evidence_from_dict(value: object, field: str = "evidence") -> Evidence:
    """Return the Evidence of a mapping; InputError names the field that is wrong."""
    return Evidence(**_read_fields(value, field, _EVIDENCE, needed=("item", "score")))


def degraded_from_dict(value: object, field: str) -> Degraded:
    """Return what says that a model was away; InputError names the field that is wrong."""
    given = parse_mapping(value, field)
    return Degraded(**{name: name_of(given.get(name), f"{field}.{name}") for name in Degraded.__dataclass_fields__})


def _read_fields(
    value: object, field: str, readers: Mapping[str, Reader], *, needed: Collection[str] = ()
) -> dict[str, Any]:
    """Return the known fields of a mapping that are there and not None."""
    given = parse_mapping(value, field)
    missing = next((name for name in needed if given.get(name) is None), None)
    if missing is not None:
        raise InputError(f"{field}.{missing} is missing", field=f"{field}.{missing}")
    known = ((name, read, given.get(name)) for name, read in readers.items())
    return {name: read(one, f"{field}.{name}") for name, read, one in known if one is not None}


def parse_list(value: object, field: str, read: Reader, *, most: int = MAX_LISTED) -> list[Any]:
    """Return what ``read`` makes of each member of a list."""
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise InputError(f"{field} must be a list, not {type(value).__name__}", field=field)
    if len(value) > most:
        raise InputError(f"{field} has {len(value)} members; at most {most} are read", field=field)
    return [read(one, f"{field}[{n}]") for n, one in enumerate(value)]


def parse_mapping(value: object, field: str) -> Mapping[str, Any]:
    """Return a mapping with names for keys."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise InputError(f"{field} must be a mapping of names, not {type(value).__name__}", field=field)
    return value


def flag(value: object, field: str) -> bool:
    """Return a truth value."""
    if not isinstance(value, bool):
        raise InputError(f"{field} must be true or false, not {type(value).__name__}", field=field)
    return value


def name_of(value: object, field: str) -> str:
    """Return a short text that every database and every line can hold."""
    text = check_text(value, field=field)
    if len(text) > MAX_NAME or not is_storable(text):
        raise InputError(f"{field} must have at most {MAX_NAME} characters, without NUL", field=field)
    return text


def _item(value: object, field: str) -> Item:
    return Item(**_read_fields(value, field, _ITEM, needed=_NEEDED))


def _match(value: object, field: str) -> Match:
    if "claim_id" not in parse_mapping(value, field):
        return Match(**_read_fields(value, field, _MATCH, needed=_MATCH))
    readers = {**_MATCH, **dict.fromkeys(("parent_mem_id", "claim_id", "claim_status"), _id)}
    return ClaimMatch(**_read_fields(value, field, readers, needed=readers))


def _source(value: object, field: str) -> Source:
    return Source(**_read_fields(value, field, _SOURCE, needed=("entry_id",)))


def _parse_shares(value: object, field: str) -> Mapping[str, float]:
    given = parse_mapping(value, field)
    if len(given) > MAX_LISTED:
        raise InputError(f"{field} has {len(given)} members; at most {MAX_LISTED} are read", field=field)
    return {name_of(name, field): _number(one, f"{field}.{name:.40}") for name, one in given.items()}


def _each(read: Reader) -> Reader:
    return lambda value, field: tuple(parse_list(value, field, read))


def _id(value: object, field: str) -> str:
    return check_id(value, field=field)


def _text(value: object, field: str) -> str:
    text = check_text(value, field=field, allow_empty=True)
    if not is_storable(text):
        raise InputError(f"{field} holds NUL or half a surrogate pair", field=field)
    return text


def _part(value: object, field: str) -> str:
    text = name_of(value, field)
    if _PART.fullmatch(text) is None or (text.startswith("chunk:") and _CHUNK.fullmatch(text) is None):
        raise InputError(f"{field} must name a part, such as whole or chunk:3800", field=field)
    return text


def _number(value: object, field: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{field} must be a number, not {type(value).__name__}", field=field)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{field} must be a finite number", field=field)
    return number


def _share(value: object, field: str) -> float:
    number = _number(value, field)
    if not 0.0 <= number <= 1.0:
        raise InputError(f"{field} must lie between 0 and 1, not be {number:g}", field=field)
    return number


def _parse_count(value: object, field: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise InputError(f"{field} must be a whole number of at most 63 bits", field=field)
    return value


def _moment(value: object, field: str) -> datetime:
    return parse_moment(value, field=field)


def _trust(value: object, field: str) -> Trust:
    return Trust[_one_of([one.name.lower() for one in Trust])(value, field).upper()]


def _one_of(words: Sequence[str]) -> Reader:
    def read(value: object, field: str) -> str:
        name = name_of(value, field)
        if name not in words:
            raise InputError(f"{field} must be one of {', '.join(words)}, not {name!r:.40}", field=field)
        return name

    return read


def _plain(value: object, field: str, depth: int = 0) -> Any:
    """Return a JSON value as it is, if every database can hold it and it is no deeper than the log may be."""
    if depth > MAX_DEPTH:
        raise InputError(f"{field} is nested more than {MAX_DEPTH} levels deep", field=field)
    if isinstance(value, Mapping):
        return {_text(name, field): _plain(one, field, depth + 1) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one, field, depth + 1) for one in value]
    if isinstance(value, str):
        return _text(value, field)
    if value is not None and not isinstance(value, bool):
        _number(value, field)
    return value


def _members(value: object, field: str) -> Mapping[str, Any]:
    return dict(_plain(parse_mapping(value, field), field))


_NEEDED: Final = ("id", "kind", "content", "entry_id", "recorded_at", "updated_at")
_NAMES: Final = tuple(
    """
    subject key ended_by quarantine stage label source_type source_ref external_id agent_id session_id run_id message_id
    role name user_id namespace
    """.split()
)
_ITEM: Final[Mapping[str, Reader]] = {
    **dict.fromkeys(("id", "entry_id"), _id),
    **dict.fromkeys(_NAMES, name_of),
    **dict.fromkeys(TIME_FIELDS, _moment),
    **dict.fromkeys(("version", "importance", "position"), _parse_count),
    **dict.fromkeys(("metadata", "data"), _members),
    "kind": _one_of(KINDS),
    "content": _text,
    "value": _plain,
    "status": _one_of(STATUSES),
    "ended": _one_of(ENDINGS),
    "confidence": _share,
    "trust": _trust,
    "pinned": flag,
}
_MATCH: Final[Mapping[str, Reader]] = {"id": _text, "part": _part, "snippet": _text, "distance": _number}
_SOURCE: Final[Mapping[str, Reader]] = {
    "entry_id": _id,
    "source_ref": name_of,
    "session_id": _id,
    "message_id": _id,
    "occurred_at": _moment,
    "quote": _text,
}
_EVIDENCE: Final[Mapping[str, Reader]] = {
    "item": _item,
    "score": _number,
    "matched": _each(_match),
    "sources": _each(_source),
    **dict.fromkeys(("conflicts", "outdated_by"), _each(_id)),
    "why": _parse_shares,
}


# The result of a retrieval plan: evidence of every retriever, and how it was combined.


@dataclass(frozen=True, slots=True)
class EvidencePack(RecordSequence[Evidence]):
    """Evidence, best first; each ``why`` holds its signals, by name.

    ``ignored_fields``: by retriever, the fields of the plan that it could not use. ``abstained``: nothing found
    supports an answer, and the best score is below ``threshold``; the evidence is not emptied.
    """

    evidence: tuple[Evidence, ...]
    plan: RetrievalPlan
    abstained: bool = False
    ignored_fields: Mapping[str, Sequence[str]] = field(default_factory=dict)
    explain: Mapping[str, Any] = field(default_factory=dict)
    degraded: tuple[Degraded, ...] = ()
    threshold: float = 0.1

    @classmethod
    def from_dict(cls, value: object, *, plan: RetrievalPlan) -> Self:
        """Read what ``to_dict`` gave, as the answer to ``plan``: the plan that it repeats is not looked at.

        InputError names the field that is wrong. ``explain`` is the other side's own and is left out.
        """
        given = parse_mapping(value, "pack")

        found = parse_list(given.get("evidence"), "evidence", evidence_from_dict, most=MAX_EVIDENCE)
        return cls(
            tuple(found),
            plan,
            abstained=flag(given.get("abstained", False), "abstained"),
            ignored_fields={
                name_of(name, "ignored_fields"): tuple(parse_list(fields, "ignored_fields", name_of))
                for name, fields in parse_mapping(given.get("ignored_fields", {}), "ignored_fields").items()
            },
            degraded=tuple(parse_list(given.get("degraded", ()), "degraded", degraded_from_dict)),
        )
