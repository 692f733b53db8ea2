"""Retrieval plans: what to look for, in which stores, and how much. One plan drives every retriever (SB-06)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Final, Literal, Self, TypeVar

from phronesis.core.ids import Scope, derived_id, make_scope
from phronesis.core.items import KINDS
from phronesis.core.results import Degraded
from phronesis.core.serialization import Record, digest, plain
from phronesis.core.text import check_text
from phronesis.core.timestamps import FORMS, parse_moment
from phronesis.errors import InputError

# Parsing of a caller's mapping. InputError names the wrong field and what it accepts.

_WORD = TypeVar("_WORD", bound=str)


class Fields:
    """A mapping of known fields; ``where`` is its own path ("queries[2]"), empty for the outermost."""

    def __init__(self, given: object, *, known: Sequence[str], where: str = "") -> None:
        self._where = where
        if not isinstance(given, Mapping):
            raise InputError(
                f"{where or 'plan'} must be a mapping of fields, not {type(given).__name__}", field=where or "plan"
            )
        for name in given:
            if name not in known:
                shown = name if isinstance(name, str) else type(name).__name__
                raise InputError(
                    f"{self.path(f'{shown:.40}')} is no field of a plan; there are {', '.join(known)}",
                    field=self.path(f"{shown:.40}"),
                )
        self._given = given

    def path(self, name: str) -> str:
        """Return a field's full name."""
        return f"{self._where}.{name}" if self._where else name

    def has(self, name: str) -> bool:
        """Return whether a field was given, None included."""
        return name in self._given

    def get(self, name: str) -> Any:
        """Return a field as it came, None where there is none."""
        return self._given.get(name)

    def text(self, name: str, default: str | None = None, *, empty: bool = False) -> str:
        """Return a text; without a default it must be there."""
        value = self._given.get(name, default)
        if value is None:
            raise self.wrong(name, "is missing; give a text")
        return check_text(value, field=self.path(name), allow_empty=empty)

    def word(self, name: str, known: Sequence[_WORD], default: _WORD) -> _WORD:
        """Return one of the known words."""
        value = self._given.get(name, default)
        for one in known:
            if isinstance(value, str) and value == one:
                return one
        raise self.wrong(name, f"must be one of {', '.join(known)}; got {value!r:.40}")

    def part(self, name: str, default: float, *, zero: bool = False) -> float:
        """Return a number above 0, or 0 where ``zero`` lets it, and up to 1."""
        value = self._given.get(name, default)
        number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
        if not number or (value == 0 and not zero):
            raise self.wrong(name, f"must be a number {'from 0' if zero else 'above 0 and up'} to 1; got {value!r:.40}")
        return float(value)

    def count(self, name: str, default: int, *, most: int) -> int:
        """Return a whole number from 1."""
        value = self._given.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise self.wrong(name, f"must be a whole number from 1 to {most:,}; got {value!r:.40}")
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        """Return true or false."""
        value = self._given.get(name, default)
        if not isinstance(value, bool):
            raise self.wrong(name, f"must be true or false; got {value!r:.40}")
        return value

    def moment(self, name: str) -> datetime | None:
        """Return a time in UTC, or None."""
        value = self._given.get(name)
        return None if value is None else parse_moment(value, field=self.path(name))

    def members(self, name: str, *, most: int) -> Sequence[Any]:
        """Return a list; none where there is none."""
        value = self._given.get(name)
        if value is None:
            return ()
        if isinstance(value, str | bytes) or not isinstance(value, Sequence) or len(value) > most:
            raise self.wrong(name, f"must be a list of at most {most}")
        return value

    def texts(self, name: str, *, most: int, known: Sequence[str] | None = None) -> tuple[str, ...]:
        """Return a list of texts, each of ``known`` where that is given."""
        out = []
        for n, value in enumerate(self.members(name, most=most)):
            if known is not None and value not in known:
                raise self.wrong(f"{name}[{n}]", f"must be one of {', '.join(known)}; got {value!r:.40}")
            out.append(check_text(value, field=self.path(f"{name}[{n}]")))
        return tuple(out)

    def json(self, name: str) -> Mapping[str, Any] | None:
        """Return a mapping of plain JSON values, or None."""
        value = self._given.get(name)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.wrong(name, f"must be a mapping, not {type(value).__name__}")
        read: Mapping[str, Any] = plain(value, field=self.path(name))
        return read

    def inner(self, name: str, known: Sequence[str]) -> Self | None:
        """Return the fields of a field, or None where there is none."""
        value = self._given.get(name)
        return None if value is None else type(self)(value, known=known, where=self.path(name))

    def each(self, name: str, known: Sequence[str], *, most: int) -> list[Self]:
        """Return the fields of each member of a list."""
        found = enumerate(self.members(name, most=most))
        return [type(self)(value, known=known, where=self.path(f"{name}[{n}]")) for n, value in found]

    def wrong(self, name: str, what: str) -> InputError:
        """Return the error that names a field and says what it takes."""
        return InputError(f"{self.path(name)} {what}", field=self.path(name))


MAX_QUERIES: Final = 8
"""Maximum number of queries of one plan, including the message (source: the issue of the planner)."""

MAX_ENTITIES: Final = 64
MAX_REASONS: Final = 64
"""Maximum number of names, and of reasons, in one plan."""

MAX_EVIDENCE: Final = 10_000
"""Maximum number of results of one retriever, as in a search."""

CALLER: Final = "caller"
"""Who made a plan that says of itself nothing else."""

Intent = Literal["recall", "lookup", "how_to", "change", "advise", "act", "chat"]
"""The intent of a message: recall (something said or held), lookup (a document), how_to (a procedure), change (an
earlier state), advise (counsel), act (an action or note), chat (no retrieval)."""

INTENTS: Final[tuple[Intent, ...]] = ("recall", "lookup", "how_to", "change", "advise", "act", "chat")

Mode = Literal["exact", "relational", "semantic"]
"""The retrieval mode: by words (BM25), by names, files and addresses, by meaning (vectors)."""

MODES: Final[tuple[Mode, ...]] = ("exact", "relational", "semantic")

Store = Literal["memory", "resources"]

STORES: Final[tuple[Store, ...]] = ("memory", "resources")

Origin = Literal["message", "part", "expansion", "entity", "state", "model"]

ORIGINS: Final[tuple[Origin, ...]] = ("message", "part", "expansion", "entity", "state", "model")


@dataclass(frozen=True, slots=True)
class SubQuery(Record):
    """One wording that is searched, how much it counts (over 0, at most 1), and why it is there.

    ``origin``: ``message``, ``part`` (one of several questions), ``expansion`` (with what a follow-up is about),
    ``entity``, ``state`` (the agent's goal) or ``model``.
    """

    text: str
    weight: float = 1.0
    origin: Origin = "message"


@dataclass(frozen=True, slots=True)
class TimeWindow(Record):
    """A time named in a message, from ``since`` (inclusive) to ``until`` (exclusive). ``words`` are its text."""

    since: datetime
    until: datetime
    words: str = ""


@dataclass(frozen=True, slots=True)
class SubPlan(Record):
    """The part of a plan for one retriever: its queries, kinds, filters, and number of results."""

    store: Store
    queries: Sequence[SubQuery]
    modes: Sequence[Mode] = MODES
    kinds: Sequence[str] | None = None
    filters: Mapping[str, Any] | None = None
    limit: int = 20


@dataclass(frozen=True, slots=True)
class RetrievalPlan(Record):
    """A retrieval plan: made by ``plan``, carried out by ``retrieve``.

    ``queries`` are those of all retrievers, the message first; ``entities`` the names, files and addresses it speaks
    of; ``time`` the window it asks about. ``memory`` and ``resources`` say what each retriever is asked: None, and it
    is not. ``limit`` is how many pieces of evidence are wanted in all, ``share`` the part of them that is memory (0-1).
    ``reasons`` say in words why it is as it is. ``made_by`` is ``rules``, ``caller`` or a model's name; ``degraded``
    that rules stood in for a model. ``as_of`` and ``valid_at`` are the two times of every read.
    """

    id: str
    message: str
    intent: Intent
    language: str
    queries: Sequence[SubQuery]
    modes: Sequence[Mode] = MODES
    entities: Sequence[str] = ()
    time: TimeWindow | None = None
    kinds: Sequence[str] | None = None
    filters: Mapping[str, Any] | None = None
    resources_needed: bool = False
    memory: SubPlan | None = None
    resources: SubPlan | None = None
    limit: int = 12
    share: float = 0.4
    scope: Scope = field(default_factory=Scope)
    as_of: datetime | None = None
    valid_at: datetime | None = None
    reasons: Sequence[str] = ()
    made_by: str = "rules"
    degraded: Sequence[Degraded] = ()

    @classmethod
    def from_dict(cls, given: object) -> Self:
        """Read a plan from plain values, as ``to_dict`` gives them or as a caller writes them.

        ``message`` alone must be there. The queries are the message unless others are given; memory is asked them all,
        resources where they are needed, unless a sub-plan says otherwise (null: not asked). ``made_by`` is ``caller``
        and ``id`` is derived from the rest, unless they are given. InputError names the field that is wrong, one that
        is not known included.
        """
        read = Fields(given, known=[one.name for one in fields(cls)])
        message = read.text("message")
        queries = _queries(read) or (SubQuery(message),)
        modes, kinds, filters = _parse_modes_and_kinds(read)
        asks = read.flag("resources_needed", default=read.get("resources") is not None)
        whole = {"queries": queries, "modes": modes, "kinds": kinds, "filters": filters}
        plan = cls(
            id=read.text("id", "", empty=True),
            message=message,
            intent=read.word("intent", INTENTS, "recall"),
            language=read.text("language", "und"),
            queries=queries,
            modes=modes,
            entities=read.texts("entities", most=MAX_ENTITIES),
            time=_window(read),
            kinds=kinds,
            filters=filters,
            resources_needed=asks,
            memory=_sub_plan(read, "memory", whole, asked=True),
            resources=_sub_plan(read, "resources", whole, asked=asks),
            limit=read.count("limit", 12, most=MAX_EVIDENCE),
            share=read.part("share", 0.4, zero=True),
            scope=_scope(read),
            as_of=read.moment("as_of"),
            valid_at=read.moment("valid_at"),
            reasons=read.texts("reasons", most=MAX_REASONS),
            made_by=read.text("made_by", CALLER),
            degraded=_parse_degraded(read),
        )
        if plan.resources is not None and not asks:
            raise read.wrong("resources_needed", "is false, and resources is given: leave one of them out")
        return plan if plan.id else plan.named()

    def named(self) -> Self:
        """Return the plan with an id derived from all else that it says: equal plans have equal ids."""
        return replace(self, id=derived_id("plan", digest({**self.to_dict(), "id": ""})))


def _queries(read: Fields) -> tuple[SubQuery, ...]:
    rows = read.each("queries", [one.name for one in fields(SubQuery)], most=MAX_QUERIES)
    return tuple(
        SubQuery(row.text("text"), row.part("weight", 1.0), row.word("origin", ORIGINS, "message")) for row in rows
    )


def _parse_modes_and_kinds(read: Fields) -> tuple[tuple[Mode, ...], tuple[str, ...] | None, Mapping[str, Any] | None]:
    found = read.texts("modes", most=len(MODES), known=MODES)
    modes: tuple[Mode, ...] = tuple(mode for mode in MODES if mode in found) if found else MODES
    kinds = read.texts("kinds", most=len(KINDS), known=KINDS) if read.get("kinds") is not None else None
    return modes, kinds, read.json("filters")


def _window(read: Fields) -> TimeWindow | None:
    inner = read.inner("time", [one.name for one in fields(TimeWindow)])
    if inner is None:
        return None
    since, until = inner.moment("since"), inner.moment("until")
    if since is None or until is None:
        name = "since" if since is None else "until"
        raise inner.wrong(name, f"is missing; give {FORMS}, or leave time out")
    if since >= until:
        raise inner.wrong("until", "must be later than since: it is the first moment that no longer counts")
    return TimeWindow(since, until, inner.text("words", "", empty=True))


def _sub_plan(read: Fields, store: Store, whole: Mapping[str, Any], *, asked: bool) -> SubPlan | None:
    if not read.has(store):
        return SubPlan(store, **whole) if asked else None
    inner = read.inner(store, [one.name for one in fields(SubPlan)])
    if inner is None:
        return None
    modes, kinds, filters = _parse_modes_and_kinds(inner)
    return SubPlan(
        inner.word("store", (store,), store),
        _queries(inner) or whole["queries"],
        modes,
        kinds,
        filters,
        inner.count("limit", 20, most=MAX_EVIDENCE),
    )


def _scope(read: Fields) -> Scope:
    inner = read.inner("scope", [one.name for one in fields(Scope)])
    if inner is None:
        return Scope()
    names = ("user_id", "namespace", "agent_id", "session_id", "run_id")
    scope = make_scope(**{name: inner.get(name) for name in names})
    return replace(
        scope, across_tenant=inner.flag("across_tenant", default=False), own_only=inner.flag("own_only", default=False)
    )


def _parse_degraded(read: Fields) -> tuple[Degraded, ...]:
    names = [one.name for one in fields(Degraded)]
    return tuple(Degraded(**{name: row.text(name) for name in names}) for row in read.each("degraded", names, most=8))


def plan_of(given: RetrievalPlan | Mapping[str, Any]) -> RetrievalPlan:
    """Return a plan from a plan or plain values; InputError names an invalid field."""
    return given if isinstance(given, RetrievalPlan) else RetrievalPlan.from_dict(given)
