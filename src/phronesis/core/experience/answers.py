"""What `Memory.query` gives: evidence first, then patterns and principles, then what to do and what not (EMB-11)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from phronesis.core.plain import Record
from phronesis.core.results import Degraded, Evidence


@dataclass(frozen=True, slots=True, order=True)
class Reference(Record):
    """An event, a pattern or a principle by its id, and where an event can be looked up."""

    id: str
    source_ref: str | None = None


@dataclass(frozen=True, slots=True)
class LearnedEvidence(Evidence):
    """A pattern or a principle; its ``sources`` are the events behind it, the most typical and the latest among them.

    ``needs_validation``: it reaches no event that still stands, and is a hypothesis (EMB-12).
    """

    needs_validation: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice(Record):
    """Something to try, or not to try again.

    ``attempt`` is what was done or is to be done, ``why`` what came of it, ``lesson`` what to do instead or besides.
    ``evidence`` are the events it rests on, ``patterns`` and ``principles`` the ids through which it was found.
    ``success_rate`` is that of the pattern, or of the events that tried the same (`rates.success_rate`). ``score``
    orders advice of one answer.
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
    """An attempt that is not recommended since it goes against a constraint, and how."""

    attempt: str
    constraint: str
    reason: str
    evidence: Sequence[Reference] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict(Record):
    """Two sides that say otherwise about one thing, each with where it can be looked up (EMB-12).

    ``side`` is what worked, or what a pattern or a principle says; ``against`` what speaks against it.
    """

    about: str
    reason: str
    side: Sequence[Reference]
    against: Sequence[Reference]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Record):
    """What experience says to a situation and a goal, the best first.

    ``l1_evidence`` are events, each with its ``source_ref`` in ``sources[0]``. ``abstained``: nothing known is about
    it; then nothing is recommended, the lists hold what came nearest, and every score, from 0 to 1, is below
    ``threshold``. ``degraded``: the encoder was away, and
    words alone decided. ``left_out``: how many members of which list a token budget left no room for.
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
