"""The verb ``abstract``: derive principles from groups of patterns on one topic, and store them (EMB-10).

A principle whose support is unchanged is left as it is: no change and no model call.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, Final

import pydantic

from phronesis.core.changes import Changes, Patch
from phronesis.core.data_delimiters import choose_boundary
from phronesis.core.entries import Entry, Outcome, is_erased
from phronesis.core.items import Trust
from phronesis.core.relations import EvidenceRow
from phronesis.core.vectors import match_by_overlap
from phronesis.engine.handler import Handler, Outcomes, Prepare, PrepareContext, answer_outcomes
from phronesis.engine.prompt_injection import find_order
from phronesis.experience.event_embeddings import UnrelatedVectors
from phronesis.experience.event_views import item_edge, readable
from phronesis.experience.laws.principle_text import (
    Wording,
    first_sentences,
    is_chinese_principle,
    narrow_wording,
    render_principle,
    word_by_rules,
)
from phronesis.experience.laws.records import ABSTRACT, L1, PATTERN, PRINCIPLE, REFINES, SUPPORTS, UNCONFIRMED
from phronesis.experience.laws.topics import (
    KEPT,
    PatternInput,
    PrincipleDraft,
    PrincipleThresholds,
    draw,
    evidence_counts,
    is_confirmed,
    is_material_change,
)
from phronesis.experience.pattern_handlers import LearnedChanges
from phronesis.experience.topic_likeness import OWN, LanePatterns, build_abstraction_input, put_away, repeats, topics_of
from phronesis.models.embedders import Embedders
from phronesis.models.structured_client import Answer, StructuredClient, Task, drop_invalid, prompt
from phronesis.store.lane_view import LaneView

# Wording by a model: one structured call for all principles to be worded (role ``abstract``).

ROLE: Final = "abstract"

RULES: Final = "abstract-rules/3"
"""Version of the wording rules used without a model; rises when the same patterns would be worded otherwise."""

PROMPT_VERSION: Final = "abstract/2"
"""Rises when ``prompts/abstract.md`` changes; recorded with every outcome."""

MAX_SHOWN: Final = 40_000
"""Characters of patterns in one prompt; principles that do not fit are worded by rules."""

MAX_PATTERNS: Final = 6
MAX_SENTENCE: Final = 500

_Sentence = Annotated[str, pydantic.Field(max_length=MAX_SENTENCE)]
_Needed = Annotated[str, pydantic.Field(min_length=1, max_length=MAX_SENTENCE)]


class WordedForm(pydantic.BaseModel):
    """One principle as a model words it. Unknown fields are ignored."""

    model_config = pydantic.ConfigDict(extra="ignore")

    n: int
    condition: _Needed
    action: _Needed
    because: _Sentence = ""
    watch_out: _Sentence = ""

    @property
    def wording(self) -> Wording:
        """The wording on one line each."""
        texts = (self.condition, self.action, self.because, self.watch_out)
        condition, action, reason, watch_out = (" ".join(text.split()) for text in texts)
        return Wording(condition=condition, action=action, reason=reason, watch_out=watch_out)


class AbstractionAnswer(pydantic.BaseModel, title="Abstracted"):
    """The model's answer."""

    model_config = pydantic.ConfigDict(extra="ignore")

    principles: Annotated[list[WordedForm], drop_invalid(WordedForm), pydantic.Field(max_length=500)]


@dataclass(frozen=True, slots=True)
class WordingResult:
    """Result of wording by a model: wordings by place, the model's name, and outcomes of its answers."""

    words: Mapping[int, Wording] = field(default_factory=dict)
    made_by: str = RULES
    outcomes: Sequence[Outcome] = ()


def word_principles(
    asker: StructuredClient, tenant: str, entry: Entry, drawn: Mapping[int, PrincipleDraft]
) -> WordingResult:
    """Ask the model to word principles, by their places. Raises nothing that a model or server causes."""
    data, shown = _prompt_text(entry.id, drawn)
    answer: Answer[AbstractionAnswer] = asker.ask(tenant, Task(prompt("abstract"), data, AbstractionAnswer))
    outcomes = answer_outcomes(ROLE, answer, model=asker.name, by=RULES)
    said = [] if answer.value is None else answer.value.principles
    words = {one.n: one.wording for one in reversed(said) if one.n in shown and _is_allowed(one)}
    return WordingResult(words, f"{asker.name} {PROMPT_VERSION}", outcomes)


def _is_allowed(one: WordedForm) -> bool:
    """Return whether a model's wording is not empty and contains no prompt injection."""
    whole = f"{one.condition}\n{one.action}\n{one.because}\n{one.watch_out}"
    return bool(one.condition.strip() and one.action.strip()) and find_order(whole) is None


def _prompt_text(entry_id: str, drawn: Mapping[int, PrincipleDraft]) -> tuple[str, frozenset[int]]:
    texts: dict[int, str] = {}
    room = MAX_SHOWN
    for n, one in drawn.items():
        text = _draft_text(n, one)
        room -= len(text) + 1
        if room < 0:
            break
        texts[n] = text
    boundary = choose_boundary(entry_id, texts.values())
    lines = [boundary.turn(f'principle="{n}"', text) for n, text in texts.items()]
    return "\n".join(lines), frozenset(texts)


def _draft_text(n: int, drawn: PrincipleDraft) -> str:
    where = None if drawn.slot is None else drawn.slot.value
    head = {"n": n, "language": "Chinese" if is_chinese_principle(drawn) else "English", "holds_where": where}
    lines = [_json(head), *(_pattern_text(one, "supports") for one in drawn.support[:MAX_PATTERNS])]
    lines += [_pattern_text(one, "contradicts") for one in drawn.against[:MAX_PATTERNS]]
    for event in drawn.counter[:MAX_PATTERNS]:
        attempt, result = first_sentences(event.attempt), first_sentences(event.result)
        lines.append(_json({"contradicts": attempt, "result": result, "outcome": event.label}))
    return "\n".join(lines)


def _pattern_text(pattern: PatternInput, how: str) -> str:
    return _json(
        {
            how: pattern.summary,
            "outcome": pattern.outcome,
            "attempts": len(pattern.events),
            "situation": pattern.situation,
            "goal": pattern.goal,
            "terms": list(pattern.terms),
            "artifacts": list(pattern.artifacts),
            "advice": pattern.recommendation,
        }
    )


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps({name: held for name, held in value.items() if held not in (None, "", [])}, ensure_ascii=False)


PRINCIPLES: Final = "principles"
"""The role of the outcome: the principles to create, update or end, and the entries it depends on."""

UNSUPPORTED: Final = "no pattern supports it any more"
CONTRADICTED: Final = "as much contradicts it as supports it"


@dataclass(slots=True)
class AbstractionPreparer:
    """Prepares abstractions. ``asker`` is the model of the role; None: all principles are worded by rules."""

    embedders: Embedders
    asker: StructuredClient | None = None
    worth: PrincipleThresholds = field(default_factory=PrincipleThresholds)
    _unrelated: UnrelatedVectors = field(default_factory=UnrelatedVectors)

    def __call__(self, bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        """Return the changes to the principles of a lane."""
        with bench.view() as view:
            seen = build_abstraction_input(view, entry)
            topics = topics_of(view, seen, self.embedders.serving(bench.tenant), self._unrelated)
        plan = plan_of(seen, topics, self.worth)
        said = WordingResult()
        if self.asker is not None and plan.anew:
            said = word_principles(self.asker, bench.tenant, entry, plan.anew)
        return [Outcome(role=PRINCIPLES, made_by=said.made_by, body=_body(seen, plan, said)), *said.outcomes]


@dataclass(frozen=True, slots=True)
class AbstractionPlan:
    """The changes of an abstraction: by place, what a draft continues, and which to word; what ends, and why."""

    continued: Mapping[int, str]
    anew: Mapping[int, PrincipleDraft]
    ended: Mapping[str, str]


def plan_of(seen: LanePatterns, topics: Sequence[Sequence[int]], worth: PrincipleThresholds) -> AbstractionPlan:
    """Return the changes to principles: a draft continues the one that most of its supporting patterns belong to."""
    drawn = _draw_drafts(seen, topics)
    held = {one: {row.source_key for row in rows if row.polarity == "support"} for one, rows in seen.evidence.items()}
    matched = match_by_overlap([{one.id for one in each.support} for each in drawn], held)
    kept: set[int] = set()
    for n, each in enumerate(drawn):  # a broader principle stands before those that refine it
        if (n in matched and each.confidence >= KEPT) or worth.is_sufficient(each, refines=each.refines in kept):
            kept.add(n)
    continued = {n: one for n, one in matched.items() if n in kept}
    anew = {n: drawn[n] for n in sorted(kept) if _needs_words(seen, drawn[n], matched.get(n), worth)}
    gone = [one for one, item in seen.principles.items() if one not in continued.values() and not put_away(item)]
    contradicted = {one for n, one in matched.items() if drawn[n].confidence < KEPT}
    ended = {one: CONTRADICTED if one in contradicted else UNSUPPORTED for one in gone}
    return AbstractionPlan(continued, anew, ended)


def _draw_drafts(seen: LanePatterns, topics: Sequence[Sequence[int]]) -> list[PrincipleDraft]:
    out: list[PrincipleDraft] = []
    for topic in topics:
        patterns = [seen.patterns[n] for n in topic]
        first = len(out)
        found = draw(patterns, repeats(patterns), readable)
        out += [one if one.refines is None else replace(one, refines=first + one.refines) for one in found]
    return out


def _needs_words(seen: LanePatterns, drawn: PrincipleDraft, principle: str | None, worth: PrincipleThresholds) -> bool:
    if principle is None:
        return True
    item = seen.principles[principle]
    if put_away(item):
        return False
    rows = {
        row.source_key: row.polarity
        for row in seen.evidence.get(principle, ())
        if row.polarity in OWN and row.source_item_id is not None
    }
    support = {one.id for one in drawn.support}
    wished = {one: "support" if one in support else "contra" for one in drawn.weights}
    before = item.data.get("support", {})
    return is_material_change(before, evidence_counts(drawn), rows=rows, wished=wished, change=worth.change)


def _body(seen: LanePatterns, plan: AbstractionPlan, said: WordingResult) -> dict[str, Any]:
    rows = [_principle(n, one, plan, said.words.get(n)) for n, one in plan.anew.items()]
    parts = [part for one in plan.anew.values() for part in (*one.support, *one.against)]
    return {
        "principles": rows,
        "ended": [[one, why] for one, why in plan.ended.items()],
        "stands_on": list(seen.stands_on),
        "seen": sorted({event.id for part in parts for event in (*part.events, *part.counter)}),
    }


def _principle(n: int, drawn: PrincipleDraft, plan: AbstractionPlan, wording: Wording | None) -> dict[str, Any]:
    found = render_principle(drawn, narrow_wording(drawn, word_by_rules(drawn) if wording is None else wording))
    support = {one.id for one in drawn.support}
    broader = drawn.refines
    return {
        "n": n,
        "continues": plan.continued.get(n),
        "refines": broader,
        "broader": None if broader is None else plan.continued.get(broader),
        "evidence": [[one, "support" if one in support else "contra", weight] for one, weight in drawn.weights.items()],
        "trust": min(one.trust for one in drawn.support),
        "lead": drawn.lead.id,
        UNCONFIRMED: not is_confirmed(event for one in drawn.support for event in one.events),
        "content": found.content(chinese=is_chinese_principle(drawn)),
        "origin": "rule" if wording is None else "model",
        **asdict(found),
    }


SAID_ANEW: Final = "abstracted"
_TOLD: Final = tuple(
    "condition action because watch_out cost risk support avoid counterexamples slot origin lead".split()
)
"""Members of a principle's data that are copied from the outcome."""


def apply_abstract(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Return the changes of an abstraction on the present lane."""
    said = next(iter(outcomes.get(PRINCIPLES, ())), None)
    if is_erased(entry.payload) or said is None:
        return Changes()
    work = _AbstractionChanges(view, entry, said.body)
    for one in said.body["principles"]:
        work.place(one)
    for one in said.body["principles"]:
        work.refine(one)
    for principle, why in said.body["ended"]:
        work.dissolve(principle, why)
    return work.changes()


class _AbstractionChanges(LearnedChanges):
    """Collects the changes of one abstraction, principle by principle."""

    def __init__(self, view: LaneView, entry: Entry, body: Mapping[str, Any]) -> None:
        super().__init__(view, entry, SUPPORTS)
        named = [one[name] for one in body["principles"] for name in ("continues", "broader") if one[name]]
        named += [one for one, _ in body["ended"]]
        self._principles = {one: item for one, item in view.items(named).items() if item.kind == PRINCIPLE}
        evidence = view.evidence(self._principles)
        self._before = {
            one: [row for row in evidence.get(one, ()) if _is_own_evidence(row)] for one in self._principles
        }
        known = sorted(self._principles)
        self._refining = [*view.edges_from(known, REFINES), *view.edges_to(known, REFINES)]
        sources = view.items(source for one in body["principles"] for source, _, _ in one["evidence"])
        self._sources = {one: item for one, item in sources.items() if item.kind in (PATTERN, L1) and item.live}
        self._made: dict[int, str] = {}

    def place(self, one: Mapping[str, Any]) -> None:
        """Create or update a principle; without a live pattern there is none."""
        rows = [(source, polarity, weight) for source, polarity, weight in one["evidence"] if source in self._sources]
        support = [source for source, polarity, _ in rows if polarity == "support"]
        if not support:
            return
        known = self._principles.get(one["continues"] or "")
        if known is None or not (known.live or put_away(known)):
            principle = self.create(PRINCIPLE, support, _fields(one))
        else:
            principle = known.id
            self.patches.append(Patch(principle, _fields(one), SAID_ANEW))
        self._made[one["n"]] = principle
        before = {row.identity: row for row in self._before.get(principle, ())}
        for source, polarity, weight in rows:
            row = self.row(principle, polarity, self._sources[source], weight)
            old = before.pop(row.identity, None)
            if old is None or old.weight != weight:
                self.support(row, old)
        self.drop([*before.values()])

    def refine(self, one: Mapping[str, Any]) -> None:
        """Link a narrower principle to its broader one, and to no other."""
        if (principle := self._made.get(one["n"])) is None:
            return
        broader = None if one["refines"] is None else self._made.get(one["refines"], one["broader"])
        self.dropped_edges += [edge for edge in self._refining if edge.from_id == principle and edge.to_id != broader]
        if broader is not None:
            self.edges.append(item_edge(REFINES, principle, broader, self._entry.id))

    def dissolve(self, principle: str, why: str) -> None:
        """End a principle, if it is live."""
        item = self._principles.get(principle)
        if item is not None and item.live:
            self.end(principle, "dissolved", why, self._before[principle])
            self.dropped_edges += [edge for edge in self._refining if principle in (edge.from_id, edge.to_id)]

    def edge_weight(self, row: EvidenceRow) -> float:
        """Return the weight of a row's edge: patterns weigh the number of their sources."""
        return round(row.weight / (row.weight + 1.0), 4)


def _is_own_evidence(row: EvidenceRow) -> bool:
    """Return whether a row is evidence by a pattern or an event; a judgement names no item."""
    return row.polarity in OWN and row.source_item_id is not None and row.origin != "human"


def _fields(one: Mapping[str, Any]) -> dict[str, Any]:
    told = {f"data.{name}": one[name] or None for name in _TOLD} | {f"data.{UNCONFIRMED}": one.get(UNCONFIRMED) or None}
    return {"content": one["content"], "label": one["outcome"], "trust": Trust(one["trust"]), **told}


def handlers(prepare: Prepare | None) -> tuple[Handler, ...]:
    """Return the handler of ``abstract``; ``prepare`` prepares it."""
    return (Handler(verb=ABSTRACT, apply=apply_abstract, prepare=prepare),)
