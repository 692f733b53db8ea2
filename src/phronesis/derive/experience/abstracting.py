"""The verb ``abstract``: patterns of one topic make principles, and principles go on as their patterns do (EMB-10).

Preparing finds topics among all live patterns, draws principles from each, and words those that are new or whose
support changed; its outcome holds ids, weights and words. A principle whose support is what it was is left as it is, so
that the same patterns change nothing, and a model is asked about news alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from threading import Lock
from typing import Any, Final

from phronesis.core.clustering import match_by_overlap
from phronesis.core.entries import Entry, Outcome
from phronesis.core.experience.principles import KEPT, Worth, material, standing
from phronesis.core.experience.records import UNCONFIRMED
from phronesis.core.experience.saying import Wording, narrowed, say, speaks_chinese, word
from phronesis.core.experience.topics import Drawn, draw, is_confirmed
from phronesis.derive.experience.contradicting import repeats
from phronesis.derive.experience.phrasing import AbstractAsker, Phrased, phrase
from phronesis.derive.experience.seeing import Seen, put_away, see
from phronesis.derive.experience.topic_likeness import TopicLikeness
from phronesis.derive.experience.wording import readable
from phronesis.derive.handler import Bench
from phronesis.models.embedders import Embedders

PRINCIPLES: Final = "principles"
"""The role of the outcome: the principles to be made or said anew, those that end, and what it all stands on."""

OWN: Final = frozenset({"support", "contra"})

UNSUPPORTED: Final = "no pattern supports it any more"
CONTRADICTED: Final = "as much contradicts it as supports it"


@dataclass(slots=True)
class Abstracting:
    """Prepares abstractions. ``asker`` is the model of the role; None: rules word all principles."""

    embedders: Embedders
    asker: AbstractAsker | None = None
    worth: Worth = field(default_factory=Worth)
    _lock: Lock = field(default_factory=Lock)
    _likeness: TopicLikeness = field(init=False)

    def __post_init__(self) -> None:
        self._likeness = TopicLikeness(self.embedders)

    def __call__(self, bench: Bench, entry: Entry) -> Sequence[Outcome]:
        """Give what changes among the principles of a lane."""
        with bench.view() as view:
            seen = see(view, entry)
        with self._lock:
            topics = self._likeness.topics(bench, seen.patterns, list(_held(seen).values()))
        plan = plan_of(seen, topics, self.worth)
        said = Phrased()
        if self.asker is not None and plan.anew:
            said = phrase(self.asker, bench.tenant, entry, plan.anew)
        return [Outcome(role=PRINCIPLES, made_by=said.made_by, body=_body(seen, plan, said)), *said.outcomes]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to happen: what is drawn; by place, what it continues and what is said anew; and what ends, and why."""

    drawn: Sequence[Drawn]
    continued: Mapping[int, str]
    anew: Mapping[int, Drawn]
    ended: Mapping[str, str]


def plan_of(seen: Seen, topics: Sequence[Sequence[int]], worth: Worth) -> Plan:
    """Compare what patterns come to with the principles that there are.

    A principle continues where most of its supporting patterns are. What a person put away stays as it is.
    """
    drawn = _drawn(seen, topics)
    held = {one: {row.source_key for row in rows if row.polarity == "support"} for one, rows in seen.evidence.items()}
    matched = match_by_overlap([{one.id for one in each.support} for each in drawn], held)
    kept: set[int] = set()
    for n, each in enumerate(drawn):  # a broader principle stands before those that refine it
        stays = n in matched and each.confidence >= KEPT
        if stays or worth.lets_begin(each, refines=each.refines in kept):
            kept.add(n)
    continued = {n: one for n, one in matched.items() if n in kept}
    anew = {n: drawn[n] for n in sorted(kept) if _needs_words(seen, drawn[n], matched.get(n), worth)}
    gone = [one for one, item in seen.principles.items() if one not in continued.values() and not put_away(item)]
    contradicted = {one for n, one in matched.items() if drawn[n].confidence < KEPT}
    return Plan(drawn, continued, anew, {one: CONTRADICTED if one in contradicted else UNSUPPORTED for one in gone})


def _drawn(seen: Seen, topics: Sequence[Sequence[int]]) -> list[Drawn]:
    out: list[Drawn] = []
    for topic in topics:
        patterns = [seen.patterns[n] for n in topic]
        first = len(out)
        found = draw(patterns, repeats(patterns), readable)
        out += [one if one.refines is None else replace(one, refines=first + one.refines) for one in found]
    return out


def _held(seen: Seen) -> dict[str, list[str]]:
    """Give, by principle, the patterns that it has to do with."""
    return {one: [row.source_key for row in rows if row.polarity in OWN] for one, rows in seen.evidence.items()}


def _needs_words(seen: Seen, drawn: Drawn, principle: str | None, worth: Worth) -> bool:
    if principle is None:
        return True
    item = seen.principles[principle]
    if put_away(item):
        return False
    rows = {row.source_key: row.polarity for row in seen.evidence.get(principle, ())
            if row.polarity in OWN and row.source_item_id is not None}  # fmt: skip
    support = {one.id for one in drawn.support}
    wished = {one: "support" if one in support else "contra" for one in drawn.weights}
    before = item.data.get("support", {})
    return material(before, standing(drawn), rows=rows, wished=wished, change=worth.change)


def _body(seen: Seen, plan: Plan, said: Phrased) -> dict[str, Any]:
    rows = [_principle(n, one, plan, said.words.get(n)) for n, one in plan.anew.items()]
    return {
        "principles": rows, "ended": [[one, why] for one, why in plan.ended.items()], "stands_on": list(seen.stands_on),
        "seen": sorted({event.id for one in plan.anew.values() for part in (*one.support, *one.against)
                        for event in (*part.events, *part.counter)}),
    }  # fmt: skip


def _principle(n: int, drawn: Drawn, plan: Plan, wording: Wording | None) -> dict[str, Any]:
    found = say(drawn, narrowed(drawn, word(drawn) if wording is None else wording))
    support = {one.id for one in drawn.support}
    broader = drawn.refines
    return {
        "n": n, "continues": plan.continued.get(n), "refines": broader,
        "broader": None if broader is None else plan.continued.get(broader),
        "evidence": [[one, "support" if one in support else "contra", weight] for one, weight in drawn.weights.items()],
        "trust": min(one.trust for one in drawn.support), "lead": drawn.lead.id,
        UNCONFIRMED: not is_confirmed(event for one in drawn.support for event in one.events),
        "content": found.content(chinese=speaks_chinese(drawn)), "origin": "rule" if wording is None else "model",
        **asdict(found),
    }  # fmt: skip
