"""What an extractor proposes from a message, before consolidation, and the refusals of a write."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Self, get_args

from phronesis.core.entries import Entry, Outcome
from phronesis.core.serialization import Record

Act = Literal["assert", "retract"]
Decision = Literal["ADD", "UPDATE", "SUPERSEDE", "RETRACT", "NONE"]
"""What a statement comes to, compared with what is held."""

Basis = Literal["user", "tool", "inferred"]
Cardinality = Literal["one", "many"]

Retention = Literal["versioned", "overwrite", "retracted"]
"""What becomes of a value whose place another took: it stays as a version (``superseded``), it is archived at once, or
it counts as having been wrong (``retracted``)."""

Conflict = Literal["occurred", "trust", "keep_both"]
"""How values that cannot both hold are weighed: by when they were said, by the trust in their sources and then by when,
or not at all, so that both stay, disputed."""

USER: Final = "user"
"""The subject of what a person says of themselves, in a lane or a message that names nobody."""

PROPOSALS: Final = "proposals"
GATED: Final = "gated"
JUDGED: Final = "judged"
ECHOES: Final = "echoes"
"""Roles of outcomes: what was proposed, what was refused and why, what a model judged against what is held, and the
messages that repeat what their session was shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One thing that a message says.

    ``n`` is the number of the message in its entry, ``quote`` its very words at ``start:end``. ``content`` is the
    memory as a sentence that stands alone, in the language it was said in. ``value`` is its core in the words of the
    text, None where the sentence as a whole is the value; ``compared`` that value in the form of its key
    (docs/memory-types.md), None where it is the value's own. ``cardinality`` is that of the key.
    ``act`` retract: it no longer holds, or never did; with ``value`` None whatever the key holds. ``done``: a task that
    is finished. ``replaces``: the value that this one stands in for ("X instead of Y").
    ``due`` is when what is to be done is due, ISO 8601, if that was said; a day is its midnight.
    ``basis`` is who it comes from. ``occurred_at`` is when it happened or began to hold, ISO 8601, resolved against
    the message; None: when it was said. ``valid_to`` is when it ceases to hold, if that was said.
    ``ahead``: whether it begins to hold only at ``occurred_at``, until when what it takes the place of holds; None in
    proposals of earlier versions, which took its place at once.
    ``retention`` and ``conflict`` are what the policy said of its key when it was proposed: a replay reads no policy.
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

    def to_dict(self) -> dict[str, Any]:
        """Return the stored form: what is as by default is left out."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        defaults = {f.name: f.default for f in dataclasses.fields(self)}
        return {name: value for name, value in values.items() if value != defaults[name]}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return the proposal again."""
        return cls(**stored)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A text that is not remembered: the message it stands in, the rule that said so, and why."""

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
    """What a model thinks a proposal (the ``i``-th of its entry) comes to, and of which item."""

    i: int
    act: Decision
    target: str | None = None


_ECHO: Final = "it repeats what a composed context had shown to this session"

Outcomes = Mapping[str, Sequence[Outcome]]


def proposals_in(outcomes: Outcomes) -> list[Proposal]:
    """Return an entry's proposals, as they are counted by judgements."""
    return [
        Proposal.from_dict(stored) for outcome in outcomes.get(PROPOSALS, ()) for stored in outcome.body["proposals"]
    ]


def judgements_in(outcomes: Outcomes) -> dict[int, Judgement]:
    """Return a model's judgements by the number of the proposal; what is none of the decisions is left out."""
    rows = [row for outcome in outcomes.get(JUDGED, ()) for row in outcome.body["judgements"]]
    return {row["i"]: Judgement(i=row["i"], act=row["act"], target=row.get("target")) for row in rows
            if row["act"] in get_args(Decision)}  # fmt: skip


def echoing(entry: Entry, outcomes: Outcomes) -> Callable[[Proposal], bool]:
    """Return who tells whether a proposal stands in words that only repeat what its session was shown.

    Never in the user's: what the user repeats is the user's own saying, and counts as one confirmation (law 7).
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
    echoes = echoing(entry, outcomes)
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
