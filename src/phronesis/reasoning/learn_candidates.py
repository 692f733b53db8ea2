"""Inputs of a learn: FACTS of runs, proposals by rules, and the candidate items it may judge and update (RB-17)."""

import re
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from typing import Any, Final, Literal

from phronesis.config.plugins import FACTS, find_plugins, load_plugin
from phronesis.core.entries import Entry
from phronesis.core.ids import DEFAULT_NAMESPACE, Scope, parse_id
from phronesis.core.items import Item
from phronesis.core.lazy_loading import load_once
from phronesis.core.text import replace_unstorable
from phronesis.engine.handler import items_before
from phronesis.errors import InputError
from phronesis.reasoning.claim_gate import strip_aliases
from phronesis.reasoning.comparisons import MAX_READ, read_comparison, sentences
from phronesis.reasoning.handlers import RUN, feedback_of, run_of
from phronesis.reasoning.laws.claim_status import text_of
from phronesis.reasoning.laws.facts import (
    NAMED,
    TOP_PRODUCTS,
    Facts,
    FactsBuilder,
    FactsView,
    GenericFacts,
    excerpt,
    top_products,
)
from phronesis.reasoning.laws.records import CLAIM, REASONING, Claim, Feedback, ReasoningBlock, Run, folded_name
from phronesis.recall.query import Query, Search
from phronesis.store.eligible import ReadConditions
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import Lane

# FACTS of runs, as written into claims and as tests evaluate them.


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Reads runs with the FACTS builder of their field of work; FACTS list ``products`` products."""

    builder: FactsBuilder
    products: int = TOP_PRODUCTS

    def facts(self, item: Item) -> dict[str, Any]:
        """Return the FACTS of a run as JSON, without knowledge-base aliases in its text (RB-05, RB-15)."""
        return self.facts_of(run_of(item), feedback_of(item) or Feedback())

    def facts_of(self, run: Run, feedback: Feedback) -> dict[str, Any]:
        """Return the FACTS of a run and its feedback, recorded or not."""
        return dict(_clean(self._facts(run, feedback).to_json()))

    def summary(self, item: Item) -> str:
        """Return the text by which candidates are searched."""
        return self.builder.summary(self._facts(run_of(item), feedback_of(item) or Feedback()))

    def view(self, item: Item) -> FactsView:
        """Return the values that tests are evaluated on."""
        return self.builder.view(run_of(item), feedback_of(item) or Feedback())

    def earlier(self, view: LaneView, item: Item, kept: MutableMapping[Any, Any]) -> list[FactsView]:
        """Return the lane's runs with feedback that were recorded before this one, oldest first.

        ``kept`` caches runs by item and version.
        """
        before = view.versions(RUN, before=item)
        unread = [key[0] for key in before if key not in kept]
        for found in view.items(unread).values() if unread else ():
            kept[found.id, found.version] = None if found.data.get("feedback") is None else self.view(found)
        return [seen for key in before if (seen := kept.get(key)) is not None]

    def _facts(self, run: Run, feedback: Feedback) -> Any:
        facts = self.builder.facts(run, feedback)
        return replace(facts, feedback_products=top_products(feedback.products, self.products))


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return strip_aliases(value)
    if isinstance(value, Mapping):
        return {strip_aliases(str(name)): _clean(inner) for name, inner in value.items()}
    return [_clean(inner) for inner in value] if isinstance(value, list) else value


class UnclaimedFacts:
    """FACTS builder that selects by field: the first plug-in that recognises the output, else the generic one."""

    name: Final = "auto"

    def recognises(self, fields: Mapping[str, Any]) -> bool:  # noqa: ARG002 - the port's
        """Return True: it reads any output."""
        return True

    def facts(self, run: Run, feedback: Feedback) -> Facts:
        """Return what is written into claims and shown to a model."""
        return _builder_of(run.fields()).facts(run, feedback)

    def view(self, run: Run, feedback: Feedback) -> FactsView:
        """Return the values that tests are evaluated on."""
        return _builder_of(run.fields()).view(run, feedback)

    def summary(self, facts: Facts) -> str:
        """Return the text by which candidate claims are searched."""
        return _builder_of(facts.run_output).summary(facts)


def find_builder(name: str) -> FactsBuilder:
    """Return the FACTS builder of a name in the policy."""
    for builder in (UnclaimedFacts(), GenericFacts()):
        if builder.name == name:
            return builder
    return _load_builder(find_plugins(FACTS)[name])


@load_once
def _load_builder(point: EntryPoint) -> FactsBuilder:
    builder: FactsBuilder = load_plugin(point)()
    return builder


def _builder_of(fields: Mapping[str, Any]) -> FactsBuilder:
    builders = map(_load_builder, find_plugins(FACTS).values())
    return next((builder for builder in builders if builder.recognises(fields)), GenericFacts())


# Proposals, and the rules that derive them from the text of a feedback.

RULES: Final = "learn-rules/1"
"""Version of the rules, recorded with what they make. Raise it when they change."""

MAX_PROPOSED: Final = 5
"""Maximum items that rules propose per run."""

MAX_TOPIC: Final = 120
"""Maximum characters of a topic."""

Action = Literal["add", "update"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A block to store as a new item, or in place of the content of ``item_id``."""

    action: Action
    content: str
    made_by: str
    item_id: str | None = None


def propose_by_rules(feedback: Feedback, view: FactsView, known: Iterable[Claim]) -> list[Proposal]:
    """Return a proposed item for each sentence of a feedback that states a comparison of runs made the same way.

    A sentence that a claim of ``known`` already states gives none. The claim is a hypothesis about runs of the same M1,
    M2 and modifier, unless the sentence says otherwise.
    """
    said = {_folded_claim(claim) for claim in known}
    topic = excerpt(" ".join(strip_aliases(view.label).split()) or f"run {view.run_id}", MAX_TOPIC)
    proposals: list[Proposal] = []
    texts = (feedback.pros, feedback.cons, feedback.other)
    for sentence in (one for text in texts for one in sentences(strip_aliases(text[: MAX_READ * 4]))):
        claim = _claim(sentence, view) if len(proposals) < MAX_PROPOSED else None
        if claim is not None and _folded_claim(claim) not in said:
            said.add(_folded_claim(claim))
            content = text_of(ReasoningBlock(topic=topic, claims=(claim,)))
            proposals.append(Proposal(action="add", content=content, made_by=RULES))
    return proposals


def _claim(sentence: str, view: FactsView) -> Claim | None:
    test = read_comparison(sentence)
    if test is None:
        return None
    conditions: tuple[str, ...] = ()
    given = {} if test.get("given") else {name: view.named[name] for name in NAMED if name in view.named}
    if given:
        test = {**test, "given": given}
        metals = "–".join(strip_aliases(given[name]) for name in ("M1", "M2") if name in given)
        modifier = f"modifier {strip_aliases(given['modifier'])}" if "modifier" in given else ""
        conditions = tuple(part for part in (metals, modifier) if part.strip())
    facts = {"source_run_ids": [view.run_id]}
    return Claim(claim_id="c1", status="hypothesis", facts=facts, inference=sentence, test=test, conditions=conditions)


def _folded_claim(claim: Claim) -> tuple[str, ...]:
    return tuple(folded_name(text) for text in (claim.inference, *claim.conditions))


MAX_CANDIDATES: Final = 24
"""Maximum items that a learn examines (RB-17)."""

SEARCHED: Final = 1_000_000
"""Maximum characters of a run's raw text searched for citations, and the same of its output and trace."""

_UUID: Final = r"([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})"
_CITED: Final = re.compile(f"mem:{_UUID}")
_NAMED: Final = re.compile(f"(?<![0-9a-fA-F-]){_UUID}(?![0-9a-fA-F-])")

_TOOL_MEMBERS: Final = ("tool", "tool_name", "name", "action", "function")
"""Members of a trace's step that name the called tool, as a text or a mapping with ``name``."""

_READS: Final = re.compile(r"(?<![a-zA-Z0-9])mem_(?:get|search)(?![a-zA-Z0-9_])")
"""Tools that read memories, with or without a server's prefix."""

_TOOL_NAME: Final = 200
"""Maximum characters of a tool's name."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Selects candidates: at most ``cap`` items, of which a search gives at most ``top``."""

    search: Search
    cap: int = MAX_CANDIDATES
    top: int = MAX_CANDIDATES

    def most_similar(self, tenant: str, lane: Lane, summary: str) -> list[str]:
        """Return the items whose claims are most similar to a run's FACTS, best first."""
        text = replace_unstorable(summary).strip()
        if not text or self.top == 0 or lane.name is None:
            return []
        scope = Scope(user_id=lane.user_id, namespace=lane.namespace or DEFAULT_NAMESPACE)
        query = Query(text, scope, ReadConditions(kinds=[REASONING], parts=CLAIM), self.top)
        return [evidence.item.id for evidence in self.search.search(tenant, query)]

    def chosen(
        self, view: LaneView, used: Iterable[str], found: Sequence[str], *, entry: Entry
    ) -> dict[str, tuple[Item, str]]:
        """Return the candidates by id, in order, each with whether it was ``used`` or ``found``.

        Excluded are items of other lanes, since a learn writes to its own only, and items recorded after ``entry`` or
        by the learn itself, since it may be prepared again. Items are as they were before the learn.
        """
        ways = dict.fromkeys(used, "used")
        ways = {**ways, **{item_id: "found" for item_id in found if item_id not in ways}}
        held = {item.id: item for item in items_before(view, view.items(ways).values(), entry)}
        known = [held[one] for one in ways if one in held]
        live = [one for one in known if one.live and one.kind == REASONING and one.recorded_at < entry.recorded_at]
        return {item.id: (item, ways[item.id]) for item in live[: self.cap]}


def used_ids(run: Run, read: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the ids of memories that a run lists, cites in its text, output or trace, or was shown, each once.

    Shown are the memories it read through this store, and those in steps of its trace that call ``mem_get`` or
    ``mem_search``.
    """
    said = run.fields().get("memory_ids")
    listed: list[Any] = [*run.memory_ids, *(said if isinstance(said, list) else ())]
    listed += _CITED.findall(run.raw[:SEARCHED])
    texts = list(_texts([run.output, run.trace]))
    listed += _CITED.findall("\n".join(text for text, _ in texts)[:SEARCHED])
    listed += [row["item_id"] for row in read]
    listed += _NAMED.findall("\n".join(text for text, of_read in texts if of_read)[:SEARCHED])
    return list(dict.fromkeys(_ids(listed)))


def _texts(value: Any, *, of_read: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield every text of a run's output or trace, and whether its step read memories."""
    if isinstance(value, str):
        yield value, of_read
    elif isinstance(value, Mapping):
        inside = of_read or _is_memory_read(value)
        for name in sorted(value):  # sorted, as in the log
            yield from _texts(value[name], of_read=inside)
    elif isinstance(value, Sequence):
        for one in value:
            yield from _texts(one, of_read=of_read)


def _is_memory_read(step: Mapping[str, Any]) -> bool:
    """Return whether a mapping is a call of a tool that reads memories, or its result."""
    said = map(step.get, _TOOL_MEMBERS)
    names = [one.get("name") if isinstance(one, Mapping) else one for one in said]
    return any(isinstance(name, str) and _READS.search(name[:_TOOL_NAME]) for name in names)


def _ids(listed: Iterable[Any]) -> Iterator[str]:
    for one in listed:
        try:
            yield parse_id(one, field="memory_ids")
        except InputError:
            continue  # an id of another system
