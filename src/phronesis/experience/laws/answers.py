"""Records that ``Memory.query`` returns: evidence, patterns, principles, advice and conflicts (EMB-11)."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from phronesis.core.results import Degraded, Evidence
from phronesis.core.serialization import Record, as_json
from phronesis.errors import InputError


@dataclass(frozen=True, slots=True, order=True)
class Reference(Record):
    """An event, a pattern or a principle by its id, and where an event can be looked up."""

    id: str
    source_ref: str | None = None


@dataclass(frozen=True, slots=True)
class LearnedEvidence(Evidence):
    """A pattern or a principle; its ``sources`` are the events behind it, the most typical and the latest among them.

    ``needs_validation``: no live event supports it, so it is a hypothesis (EMB-12).
    """

    needs_validation: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice(Record):
    """An attempt to make, or not to make again.

    ``attempt`` is what was or is to be done, ``why`` its result, ``lesson`` what to do instead or besides. ``evidence``
    are the events it rests on, ``patterns`` and ``principles`` the ids through which it was found. ``success_rate`` is
    that of the pattern, or of the events with the same attempt (`evidence_fold.success_rate`). ``score`` orders the
    advice of one answer.
    """

    attempt: str
    why: str
    score: float
    lesson: str = ""
    evidence: Sequence[Reference] = ()
    patterns: Sequence[str] = ()
    principles: Sequence[str] = ()
    success_rate: Mapping[str, Any] = field(default_factory=dict)
    needs_validation: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Excluded(Record):
    """An attempt that is not recommended because it violates a constraint, and the reason."""

    attempt: str
    constraint: str
    reason: str
    evidence: Sequence[Reference] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict(Record):
    """Two contradicting sides of one matter, each with its references (EMB-12).

    ``side`` is what worked, or what a pattern or a principle says; ``against`` what contradicts it.
    """

    about: str
    reason: str
    side: Sequence[Reference]
    against: Sequence[Reference]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Record):
    """The answer of the experience base to a situation and a goal, best first.

    ``l1_evidence`` are events, each with its ``source_ref`` in ``sources[0]``. ``abstained``: nothing relevant is
    known; then nothing is recommended, the lists hold the nearest items, and every score, from 0 to 1, is below
    ``threshold``. ``degraded``: the encoder was unavailable, and only words were compared. ``left_out``: how many
    members of which list the token budget excluded.
    """

    l1_evidence: Sequence[Evidence] = field(default_factory=list)
    l2_patterns: Sequence[LearnedEvidence] = field(default_factory=list)
    l3_principles: Sequence[LearnedEvidence] = field(default_factory=list)
    recommended_attempts: Sequence[Advice] = field(default_factory=list)
    avoid: Sequence[Advice] = field(default_factory=list)
    excluded: Sequence[Excluded] = field(default_factory=list)
    conflicts: Sequence[Conflict] = field(default_factory=list)
    abstained: bool = False
    threshold: float = 0.1
    explain: Mapping[str, Any] | None = None
    degraded: Sequence[Degraded] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)


# Fit an answer into a token budget.

LISTS: Final = tuple(
    """
    l1_evidence l2_patterns l3_principles recommended_attempts avoid excluded conflicts
    """.split()
)
"""The members of an answer that are lists, each best first."""


def fit_answer(answer: Answer, budget: int, count: Callable[[str], int]) -> Answer:
    """Return the answer cut so that its JSON takes at most ``budget`` tokens.

    ``left_out`` says how many members of which list are missing. The longest list loses its last member first, so that
    advice is kept longer than the events it rests on.

    Raises InputError if the budget is less than an answer with empty lists takes.
    """
    if _size(answer, count) <= budget:
        return answer
    kept = {name: list(getattr(answer, name)) for name in LISTS}
    sizes = {name: [count(_dump_json(one)) + 1 for one in members] for name, members in kept.items()}
    bare = _size(_cut_answer(answer, {name: [] for name in LISTS}), count)
    if bare > budget:
        raise InputError(f"token_budget: {bare} tokens are taken by an answer that lists nothing", field="token_budget")
    while bare + sum(map(sum, sizes.values())) > budget or _size(_cut_answer(answer, kept), count) > budget:
        longest = max(LISTS, key=lambda name: sum(sizes[name]))
        kept[longest].pop()
        sizes[longest].pop()
    return _cut_answer(answer, kept)


def _cut_answer(answer: Answer, kept: dict[str, list[object]]) -> Answer:
    missing = {name: len(getattr(answer, name)) - len(members) for name, members in kept.items()}
    left_out = {name: number for name, number in missing.items() if number}
    return replace(answer, **kept, left_out=left_out)  # type: ignore[arg-type]  # the names are those of its lists


def _size(answer: Answer, count: Callable[[str], int]) -> int:
    return count(_dump_json(answer))


def _dump_json(value: object) -> str:
    return json.dumps(as_json(value), ensure_ascii=False)
