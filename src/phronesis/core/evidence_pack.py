"""Evidence packs: the result of a retrieval plan, and evidence parsed from JSON.

Parsing takes the values of `Evidence.to_dict` and raises InputError for a field of the wrong type. Unknown fields are
ignored, since a newer server may send more. Trust in a text is decided elsewhere (``recall/retrievers``).
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Self, overload

from phronesis.core.items import ENDINGS, FIELDS, KINDS, STATUSES, TIME_FIELDS, Item, Trust
from phronesis.core.results import ClaimMatch, Degraded, Evidence, Match, Source
from phronesis.core.retrieval_plan import RetrievalPlan
from phronesis.core.serialization import MAX_DEPTH, Record
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


def evidence_from_dict(value: object, *, field: str = "evidence") -> Evidence:
    """Return the Evidence of a mapping; InputError names the field that is wrong."""
    given = parse_mapping(value, field)
    return Evidence(
        item=_item(given.get("item"), f"{field}.item"),
        score=_number(given.get("score"), f"{field}.score"),
        matched=tuple(parse_list(given.get("matched", ()), f"{field}.matched", _match)),
        sources=tuple(parse_list(given.get("sources", ()), f"{field}.sources", _source)),
        conflicts=tuple(parse_list(given.get("conflicts", ()), f"{field}.conflicts", _id)),
        outdated_by=tuple(parse_list(given.get("outdated_by", ()), f"{field}.outdated_by", _id)),
        why=_parse_shares(given.get("why"), f"{field}.why"),
    )


def degraded_from_dict(value: object, field: str) -> Degraded:
    """Return what says that a model was away; InputError names the field that is wrong."""
    given = parse_mapping(value, field)
    return Degraded(**{name: name_of(given.get(name), f"{field}.{name}") for name in Degraded.__dataclass_fields__})


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
    given = parse_mapping(value, field)
    read = {name: _FIELDS[name](given[name], f"{field}.{name}") for name in FIELDS if given.get(name) is not None}
    missing = [name for name in _NEEDED if name not in read]
    if missing:
        raise InputError(f"{field}.{missing[0]} is missing", field=f"{field}.{missing[0]}")
    return Item(**read)


def _match(value: object, field: str) -> Match:
    given = parse_mapping(value, field)
    known: dict[str, Any] = {name: read(given.get(name), f"{field}.{name}") for name, read in _MATCH.items()}
    if "claim_id" not in given:
        return Match(**known)
    more: dict[str, Any] = {
        name: _id(given.get(name), f"{field}.{name}") for name in ("parent_mem_id", "claim_id", "claim_status")
    }
    return ClaimMatch(**known, **more)


def _source(value: object, field: str) -> Source:
    given = parse_mapping(value, field)
    known = {
        name: read(given[name], f"{field}.{name}") for name, read in _SOURCE.items() if given.get(name) is not None
    }
    if "entry_id" not in known:
        raise InputError(f"{field}.entry_id is missing", field=f"{field}.entry_id")
    return Source(**known)


def _parse_shares(value: object, field: str) -> Mapping[str, float] | None:
    if value is None:
        return None
    given = parse_mapping(value, field)
    if len(given) > MAX_LISTED:
        raise InputError(f"{field} has {len(given)} members; at most {MAX_LISTED} are read", field=field)
    return {name_of(name, field): _number(one, f"{field}.{name:.40}") for name, one in given.items()}


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
    name = name_of(value, field)
    if name not in {one.name.lower() for one in Trust}:
        raise InputError(f"{field} must be one of {', '.join(one.name.lower() for one in Trust)}", field=field)
    return Trust[name.upper()]


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
_FIELDS: Final[Mapping[str, Reader]] = {
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


# The result of a retrieval plan: evidence of every retriever, and how it was combined.


@dataclass(frozen=True, slots=True)
class EvidencePack(Sequence[Evidence], Record):
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

    @overload
    def __getitem__(self, index: int) -> Evidence: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Evidence]: ...
    def __getitem__(self, index: int | slice) -> Evidence | Sequence[Evidence]:
        return self.evidence[index]

    def __len__(self) -> int:
        return len(self.evidence)

    def __iter__(self) -> Iterator[Evidence]:
        return iter(self.evidence)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return Record.to_dict(self)

    @classmethod
    def from_dict(cls, value: object, *, plan: RetrievalPlan) -> Self:
        """Read what ``to_dict`` gave, as the answer to ``plan``: the plan that it repeats is not looked at.

        InputError names the field that is wrong. ``explain`` is the other side's own and is left out.
        """
        given = parse_mapping(value, "pack")

        def named(found: object, field: str) -> str:
            return name_of(found, field)

        return cls(
            tuple(
                parse_list(
                    given.get("evidence"),
                    "evidence",
                    lambda one, at: evidence_from_dict(one, field=at),
                    most=MAX_EVIDENCE,
                )
            ),
            plan,
            abstained=flag(given.get("abstained", False), "abstained"),
            ignored_fields={
                name_of(name, "ignored_fields"): tuple(parse_list(fields, "ignored_fields", named))
                for name, fields in parse_mapping(given.get("ignored_fields", {}), "ignored_fields").items()
            },
            degraded=tuple(parse_list(given.get("degraded", ()), "degraded", degraded_from_dict)),
        )
