"""What ``Memory.query`` returns (EMB-11): its records, and the advice and conflicts drawn from what was found."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from phronesis.core.results import Degraded, Evidence
from phronesis.core.serialization import Record, as_json
from phronesis.core.vectors import jaccard
from phronesis.errors import InputError
from phronesis.experience.laws.constraints import Ban, TermsOf, clauses_of, is_chinese
from phronesis.experience.laws.evidence_fold import success_rate
from phronesis.experience.laws.principle_text import ADVICE, LESSON, OUTCOME, first_sentences
from phronesis.experience.laws.records import L1Event, Pattern, Principle


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

LISTS: Final = tuple("l1_evidence l2_patterns l3_principles recommended_attempts avoid excluded conflicts".split())
"""The members of an answer that are lists, each best first."""


def fit_answer(answer: Answer, budget: int, count: Callable[[str], int]) -> Answer:
    """Return the answer cut so that its JSON takes at most ``budget`` tokens.

    ``left_out`` says how many members of which list are missing. The longest list loses its last member first, so that
    advice is kept longer than the events it rests on.

    Raises InputError if the budget is less than an answer with empty lists takes.
    """

    def size(value: object) -> int:
        return count(json.dumps(as_json(value), ensure_ascii=False))

    if size(answer) <= budget:
        return answer
    kept = {name: list(getattr(answer, name)) for name in LISTS}
    sizes = {name: [size(one) + 1 for one in members] for name, members in kept.items()}
    bare = size(_cut_answer(answer, {name: [] for name in LISTS}))
    if bare > budget:
        raise InputError(f"token_budget: {bare} tokens are taken by an answer that lists nothing", field="token_budget")
    while bare + sum(map(sum, sizes.values())) > budget or size(_cut_answer(answer, kept)) > budget:
        longest = max(LISTS, key=lambda name: sum(sizes[name]))
        kept[longest].pop()
        sizes[longest].pop()
    return _cut_answer(answer, kept)


def _cut_answer(answer: Answer, kept: dict[str, list[object]]) -> Answer:
    missing = {name: len(getattr(answer, name)) - len(members) for name, members in kept.items()}
    left_out = {name: number for name, number in missing.items() if number}
    return replace(answer, **kept, left_out=left_out)  # type: ignore[arg-type]  # the names are those of its lists


# Conflicts: an attempt with two outcomes, and counterexamples of a pattern (EMB-12).

SAME_ATTEMPT: Final = 0.6
"""Jaccard index of terms from which two attempts are the same."""
SAME_SITUATION: Final = 0.3
"""Jaccard index of situation and goal from which they are the same; lower, since both matched the question."""
COMPARED: Final = 60
"""Events that are compared with each other, the best first."""
OUTCOMES: Final = "the same attempt came out otherwise"
COUNTER: Final = "counterexamples"
CONTRARY: Final = "one contradicts the other"


def opposed_events(events: Sequence[L1Event], terms_of: TermsOf) -> list[tuple[L1Event, L1Event]]:
    """Return the pairs of a success and a failure with the same attempt in the same situation, the best first."""
    known = [
        (event, frozenset(terms_of(event.attempt)), frozenset(terms_of(f"{event.situation}\n{event.goal}")))
        for event in events[:COMPARED]
    ]
    return [
        (good, bad)
        for good, tried, where in known
        for bad, also_tried, elsewhere in known
        if good.label == "success" and bad.label == "failure" and tried
        if jaccard(tried, also_tried) >= SAME_ATTEMPT
        if where == elsewhere or jaccard(where, elsewhere) >= SAME_SITUATION
    ]


def outcome_conflicts(pairs: Sequence[tuple[L1Event, L1Event]]) -> list[Conflict]:
    """Return a conflict for each success, with all failures that contradict it."""
    goods = {good.id: good for good, _ in pairs}
    bads = {one: tuple(_reference(bad) for good, bad in pairs if good.id == one) for one in goods}
    return [
        Conflict(about=first_sentences(good.attempt), reason=OUTCOMES, side=(_reference(good),), against=bads[one])
        for one, good in goods.items()
    ]


def sides(conflicts: Sequence[Conflict]) -> Mapping[str, list[str]]:
    """Return, by id, the ids on the other side of its conflicts."""
    out: dict[str, list[str]] = {}
    for conflict in conflicts:
        for one, other in ((conflict.side, conflict.against), (conflict.against, conflict.side)):
            for reference in one:
                known = out.setdefault(reference.id, [])
                known += [far.id for far in other if far.id not in known]
    return out


def _reference(event: L1Event) -> Reference:
    return Reference(event.id, event.source_ref)


RELEVANT: Final = 0.4
"""Share of the best relevance below which an item is listed as evidence but gives no advice."""
MAX_REFERENCES: Final = 16
"""Events that one piece of advice lists."""


@dataclass(frozen=True, slots=True)
class RankedRecord:
    """A ranked record: its score from 0 to 1, the sum behind it (`ranking.score_of`), and the events it rests on."""

    record: L1Event | Pattern | Principle
    score: float
    relevance: float
    events: Sequence[Reference] = ()
    needs_validation: bool = False


@dataclass(slots=True)
class Recommendations:
    """Advice, exclusions and warnings, the best first."""

    recommended: list[Advice] = field(default_factory=list)
    avoid: list[Advice] = field(default_factory=list)
    excluded: list[Excluded] = field(default_factory=list)


def advise(found: Sequence[RankedRecord], bans: Sequence[Ban], terms_of: TermsOf, *, limit: int) -> Recommendations:
    """Return advice from ranked records, the best first, at most ``limit`` of each kind."""
    best = max((one.relevance for one in found), default=0.0)
    relevant = [one for one in found if one.relevance > 0 and one.relevance >= RELEVANT * best]
    work = _AdviceCollector(bans, terms_of)
    for one in relevant:
        if isinstance(one.record, Principle):
            work.principle(one, one.record)
        elif isinstance(one.record, Pattern):
            work.pattern(one, one.record)
    events = [(one, one.record) for one in relevant if isinstance(one.record, L1Event)]
    tried: dict[str, list[L1Event]] = {}
    for _, event in events:
        tried.setdefault(_key(event.attempt), []).append(event)
    for one, event in events:
        work.event(one, event, tried[_key(event.attempt)])
    return Recommendations(
        recommended=sorted(work.out.recommended, key=lambda one: -one.score)[:limit],
        avoid=sorted(work.out.avoid, key=lambda one: -one.score)[:limit],
        excluded=work.out.excluded[:limit],
    )


class _AdviceCollector:
    """Collects advice without duplicates."""

    def __init__(self, bans: Sequence[Ban], terms_of: TermsOf) -> None:
        self.out = Recommendations()
        self._bans = bans
        self._terms_of = terms_of
        self._told: set[tuple[str, str]] = set()
        self._spoken_for: set[str] = set()

    def principle(self, found: RankedRecord, record: Principle) -> None:
        """Add what a principle recommends or warns of."""
        advice = Advice(
            attempt=record.action,
            why=_join_texts(record.condition, record.because),
            score=found.score,
            lesson=_join_texts(record.watch_out, record.risk),
            evidence=found.events,
            patterns=tuple(record.patterns),
            principles=(record.id,),
            needs_validation=found.needs_validation,
        )
        if record.label == "failure":
            self._avoid(advice)
        else:
            self._recommend(advice, record.action)

    def pattern(self, found: RankedRecord, record: Pattern) -> None:
        """Add a repeated success, or a repeated failure as a warning with its lesson as advice."""
        attempt, lesson = _parts(record.recommendation)
        advice = Advice(
            attempt=attempt or record.summary,
            why=record.summary,
            score=found.score,
            lesson=lesson,
            evidence=found.events,
            patterns=(record.id,),
            success_rate=record.success_rate,
            needs_validation=found.needs_validation,
        )
        told = record.outcome == "failure"
        if told:
            self._avoid(advice)
        elif record.outcome == "success":
            told = self._recommend(advice, f"{advice.attempt}\n{record.summary}")
        if told:
            self._spoken_for |= {one for one, _ in record.members}

    def event(self, found: RankedRecord, record: L1Event, alike: Sequence[L1Event]) -> None:
        """Add a single success, or a single failure as a warning; ``alike`` are all events with its attempt."""
        if record.id in self._spoken_for:
            return
        first = [record, *(event for event in alike if event.id != record.id)][:MAX_REFERENCES]
        decided = [event.label for event in alike if event.label in ("success", "failure")]
        learned = _key(record.reflection) == _key(record.attempt)  # all that is known of it is what was learned
        advice = Advice(
            attempt=first_sentences(record.attempt),
            why=first_sentences(record.result),
            score=found.score,
            lesson="" if learned else first_sentences(record.reflection),
            evidence=tuple(map(_reference, first)),
            success_rate=success_rate(decided.count("success"), len(decided)),
        )
        if record.label == "success" or (record.label == "failure" and learned):
            self._recommend(advice, record.attempt)
        elif record.label == "failure":
            self._avoid(advice)

    def _recommend(self, advice: Advice, words: str) -> bool:
        clauses = clauses_of(words, self._terms_of) if self._bans else []
        broken = [ban for ban in self._bans if ban.is_violated_by(clauses)]
        if broken:
            if self._is_first("excluded", advice.attempt):
                broke = {"constraint": broken[0].constraint, "reason": broken[0].reason}
                self.out.excluded.append(Excluded(attempt=advice.attempt, evidence=advice.evidence, **broke))
            return False
        if self._is_first("recommended", advice.attempt):
            self.out.recommended.append(advice)
        return True

    def _avoid(self, advice: Advice) -> None:
        """Warn of what failed, and recommend its lesson."""
        if self._is_first("avoid", advice.attempt):
            self.out.avoid.append(advice)
        if advice.lesson and not advice.principles:
            why = ("从失败中得知：" if is_chinese(advice.attempt) else "learned from a failure: ") + advice.attempt
            learned = replace(advice, attempt=advice.lesson, why=why, lesson="", success_rate={})
            self._recommend(learned, learned.attempt)

    def _is_first(self, where: str, attempt: str) -> bool:
        """Return whether an attempt is not empty and not listed there yet."""
        key = (where, _key(attempt))
        if not key[1] or key in self._told:
            return False
        self._told.add(key)
        return True


def _key(text: str) -> str:
    return " ".join(text.casefold().split())


def _parts(recommendation: str) -> tuple[str, str]:
    """Return the action and the lesson of a pattern's recommendation, without their introductory words."""
    doing, lesson = [], ""
    for line in recommendation.splitlines():
        mark = next((one for pair in (*ADVICE.values(), LESSON) for one in pair if line.startswith(one)), "")
        if mark in LESSON:
            lesson = line.removeprefix(mark)
        elif not line.startswith(OUTCOME):
            doing.append(line.removeprefix(mark))
    return " ".join(doing), lesson


def _join_texts(*texts: str) -> str:
    return " ".join(text for text in texts if text)
