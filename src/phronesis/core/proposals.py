"""What an extractor proposes from a message, before consolidation, and the refusals of a write."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Self, get_args

from phronesis.core.entries import Entry, Outcome
from phronesis.core.serialization import Record

Act = Literal["assert", "retract"]
Decision = Literal["ADD", "UPDATE", "SUPERSEDE", "RETRACT", "NONE"]
"""The result of consolidating a statement with held items."""
Basis = Literal["user", "tool", "inferred"]
Relation = Literal["repeats", "refines", "replaces", "ends"]
"""What a statement does to held items that whoever proposed it names."""
Cardinality = Literal["one", "many"]
Retention = Literal["versioned", "overwrite", "retracted"]
"""What happens to a replaced value: it stays as a version (``superseded``), is archived, or is ended as wrong
(``retracted``)."""
Conflict = Literal["occurred", "trust", "keep_both"]
"""How conflicting values are resolved: by time, by trust and then time, or not at all, so that both stay, disputed."""
USER: Final = "user"
"""The subject of a speaker's statements about themselves, where a lane or message names nobody."""
PROPOSALS: Final = "proposals"
GATED: Final = "gated"
JUDGED: Final = "judged"
ECHOES: Final = "echoes"
"""Roles of outcomes: what was proposed, what was refused and why, what a model judged against what is held, and the
messages that repeat what their session was shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One proposed item of a message.

    ``n`` is the number of the message in its entry, ``quote`` its exact words at ``start:end``. ``content`` is the
    item as a self-contained sentence in the message's language. ``value`` is its core in the words of the text, None
    where the sentence as a whole is the value; ``compared`` is the value in the normalised form of its key
    (docs/memory-types.md), None where it equals the value. ``cardinality`` is that of the key. ``act`` retract: it no
    longer holds, or never did; with ``value`` None whatever the key holds. ``done``: a finished task. ``replaces``:
    the value that this one replaces ("X instead of Y").

    ``due`` is the due time, ISO 8601, if stated; a day is its midnight. ``basis`` is who it comes from.
    ``occurred_at`` is when it happened or began to hold, ISO 8601, resolved against the message; None: when it was
    said. ``valid_to`` is when it ceases to hold, if stated. ``relation`` is what it does to the items ``held``, by id,
    None where it names none. ``notes`` are further members of its item's ``data``: ``scope`` (where it holds),
    ``source`` (who says so), ``recurs``, and the precision of its times. ``ahead``: whether it begins to hold only at
    ``occurred_at``, until when the replaced value holds; None in proposals of earlier versions, which replaced it at
    once. ``tie`` is the word for whom the user has in the subject ("sister" in "my sister Anna"), ``tie_key`` what it
    means (``sibling``). ``retention`` and ``conflict`` are the policy's rules for its key at the time of the proposal:
    a replay reads no policy.

    ``doubtful``: it is not sure enough to become an item, and may only mark held items as possibly outdated; so may a
    sure one that adds an item (False). None in proposals of earlier versions, which mark nothing. A doubtful end
    without a key names no value: what is held and stands in its words may have ended.
    """

    n: int
    quote: str
    start: int
    end: int
    kind: str
    subject: str
    key: str
    content: str
    value: str | None = None
    compared: str | None = None
    cardinality: Cardinality = "many"
    act: Act = "assert"
    done: bool = False
    replaces: str | None = None
    basis: Basis = "user"
    confidence: float = 0.9
    importance: int = 5
    occurred_at: str | None = None
    valid_to: str | None = None
    due: str | None = None
    retention: Retention = "versioned"
    conflict: Conflict = "occurred"
    ahead: bool | None = None
    relation: Relation | None = None
    held: Sequence[str] = ()
    notes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    doubtful: bool | None = None
    tie: str | None = None
    tie_key: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the stored form, without default values."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        defaults = {f.name: f.default for f in dataclasses.fields(self)}
        return {name: value for name, value in values.items() if value != defaults[name] and value != {}}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return the proposal again."""
        return cls(**stored)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A text that was not remembered: its message, the rule that refused it, and why."""

    n: int
    text: str
    rule: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return the stored form."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return the refusal again."""
        return cls(**stored)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A model's decision on a proposal (the ``i``-th of its entry), and the item that it concerns."""

    i: int
    act: Decision
    target: str | None = None


_ECHO: Final = "it repeats what a composed context had shown to this session"
Outcomes = Mapping[str, Sequence[Outcome]]


def proposals_in(outcomes: Outcomes) -> list[Proposal]:
    """Return an entry's proposals, in the order that judgements number them."""
    return [
        Proposal.from_dict(stored) for outcome in outcomes.get(PROPOSALS, ()) for stored in outcome.body["proposals"]
    ]


def judgements_in(outcomes: Outcomes) -> dict[int, Judgement]:
    """Return a model's judgements by the number of the proposal, without unknown decisions."""
    rows = [row for outcome in outcomes.get(JUDGED, ()) for row in outcome.body["judgements"]]
    return {
        row["i"]: Judgement(i=row["i"], act=row["act"], target=row.get("target"))
        for row in rows
        if row["act"] in get_args(Decision)
    }


def echo_predicate(entry: Entry, outcomes: Outcomes) -> Callable[[Proposal], bool]:
    """Return a predicate for proposals from text that only repeats what its session was shown.

    Never true for the user's text: a user's repetition counts as one confirmation (law 7).
    """
    messages = entry.payload.get("messages", ())
    rows = [row for outcome in outcomes.get(ECHOES, ()) for row in outcome.body["echoes"]]
    said = [row for row in rows if row["n"] < len(messages) and messages[row["n"]].get("role") != "user"]

    def echoes(one: Proposal) -> bool:
        return any(row["n"] == one.n and row["start"] < one.end and one.start < row["end"] for row in said)

    return echoes


def refusals_in(entry: Entry, outcomes: Outcomes) -> list[Refusal]:
    """Return what was not remembered of an entry, and why: refused by the extractor, or an echo."""
    found = [Refusal.from_dict(row) for outcome in outcomes.get(GATED, ()) for row in outcome.body["refusals"]]
    if ECHOES not in outcomes:
        return found
    echoes = echo_predicate(entry, outcomes)
    repeated = [one for one in proposals_in(outcomes) if echoes(one)]
    return found + [Refusal(n=one.n, text=one.quote, rule="echo", reason=_ECHO) for one in repeated]


# Refusals: what a write did not keep, and why.

DUPLICATE: Final = "duplicate_message"
"""The rule by which a message that its session holds already is not stored again."""


@dataclass(frozen=True, slots=True)
class Gated(Record):
    """A text that did not become an item, the rule that said so, and why.

    Under the rules ``secret`` and ``personal_number`` the text is the marker that stands in place of what was taken out
    before anything was stored, and ``place`` says where: ``messages[0].content``.
    """

    text: str
    rule: str
    reason: str
    place: str | None = None
