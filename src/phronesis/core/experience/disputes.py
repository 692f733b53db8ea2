"""Where experience says otherwise: an attempt with two outcomes, and what speaks against a pattern (EMB-12)."""

from collections.abc import Mapping, Sequence
from typing import Final

from phronesis.core.clustering import jaccard
from phronesis.core.experience.answers import Conflict, Reference
from phronesis.core.experience.describing import said
from phronesis.core.experience.limits import TermsOf
from phronesis.core.experience.records import L1Event

SAME_ATTEMPT: Final = 0.6
"""Share of their terms in common from which two attempts are the same one."""

SAME_SITUATION: Final = 0.3
"""The same of where, and to what end, they were made; less is needed, since both met the question."""

COMPARED: Final = 60
"""Events that are compared with each other, the best."""

OUTCOMES: Final = "the same attempt came out otherwise"
COUNTER: Final = "counterexamples"
CONTRARY: Final = "one contradicts the other"


def opposed(events: Sequence[L1Event], terms_of: TermsOf) -> list[tuple[L1Event, L1Event]]:
    """Give the pairs of a success and a failure that tried the same in the same situation, the best first."""
    known = [(event, frozenset(terms_of(event.attempt)), frozenset(terms_of(f"{event.situation}\n{event.goal}")))
             for event in events[:COMPARED]]  # fmt: skip
    out = []
    for good, tried, where in known:
        for bad, also_tried, elsewhere in known:
            if good.label != "success" or bad.label != "failure" or not tried:
                continue
            if jaccard(tried, also_tried) >= SAME_ATTEMPT and _same_place(where, elsewhere):
                out.append((good, bad))
    return out


def _same_place(one: frozenset[str], other: frozenset[str]) -> bool:
    return one == other or jaccard(one, other) >= SAME_SITUATION


def outcome_conflicts(pairs: Sequence[tuple[L1Event, L1Event]]) -> list[Conflict]:
    """Give a conflict for each success that failures speak against, all of these together."""
    by_success: dict[str, tuple[L1Event, list[L1Event]]] = {}
    for good, bad in pairs:
        by_success.setdefault(good.id, (good, []))[1].append(bad)
    return [
        Conflict(about=said(good.attempt), reason=OUTCOMES, side=(_reference(good),),
                 against=tuple(map(_reference, bad)))
        for good, bad in by_success.values()
    ]  # fmt: skip


def counter_conflict(about: str, side: Sequence[Reference], against: Sequence[Reference]) -> Conflict:
    """Give the conflict of a pattern or a principle with what speaks against it."""
    return Conflict(about=about, reason=COUNTER, side=tuple(side), against=tuple(against))


def contrary_conflict(about: str, side: Reference, against: Reference) -> Conflict:
    """Give the conflict of two things of which somebody, or an engine, said that they contradict each other."""
    return Conflict(about=about, reason=CONTRARY, side=(side,), against=(against,))


def sides(conflicts: Sequence[Conflict]) -> Mapping[str, list[str]]:
    """Give, by id, the ids that stand on the other side of a conflict."""
    out: dict[str, list[str]] = {}
    for conflict in conflicts:
        for one, other in ((conflict.side, conflict.against), (conflict.against, conflict.side)):
            for reference in one:
                known = out.setdefault(reference.id, [])
                known += [far.id for far in other if far.id not in known]
    return out


def _reference(event: L1Event) -> Reference:
    return Reference(event.id, event.source_ref)
