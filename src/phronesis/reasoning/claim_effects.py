"""Judge claims by arithmetic on a run's FACTS, and compute what a learn changes in one item. Pure (RB-18, RB-19).

`ClaimJudge` judges; `ItemEffects` computes evidence, edges, text, limitations and deletions.
"""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from phronesis.core.changes import Changes, Patch
from phronesis.core.confidence import DEMOTION_CONTRA, Judgement
from phronesis.core.entries import Entry
from phronesis.core.items import Item
from phronesis.core.relations import Edge, EvidenceRow, Polarity
from phronesis.core.serialization import digest
from phronesis.models.text_features import has_han
from phronesis.reasoning.claim_gate import breaks_a_rule
from phronesis.reasoning.comparisons import read_comparison
from phronesis.reasoning.laws.claim_status import (
    current_block,
    fold_verdicts,
    replaced_fields,
    status_of,
    written_block,
    written_of,
)
from phronesis.reasoning.laws.facts import ALIASES, RATIO, FactsView, excerpt, metric_of_run, verdict
from phronesis.reasoning.laws.records import Claim, ReasoningBlock, folded_name

# Verdicts by arithmetic on FACTS, and the limitation written when a claim is contradicted (RB-18, RB-19).

BY_RULE: Final = "rule"

_Sorted = Mapping[tuple[str, ...], Sequence[FactsView]]

BARE: Final = ("Contradicted by the runs that are counted.", "与所计的运行相矛盾。")
"""Limitation written when names from the runs may not appear in a claim: English, Chinese."""


def test_of(claim: Claim) -> Mapping[str, Any] | None:
    """Return the test of a claim: its own, or one parsed from its text; None if there is neither."""
    return claim.test if claim.test is not None else read_comparison(claim.inference, claim.conditions)


@dataclass
class ClaimJudge:
    """Judges claims by one run. ``read_earlier`` returns the runs before it, and is called only for comparing claims.

    A run without feedback is irrelevant to every claim. ``kept`` caches tests parsed from text, by digest.
    """

    run: FactsView
    has_feedback: bool
    read_earlier: Callable[[], Sequence[FactsView]]
    kept: MutableMapping[Any, Any] = field(default_factory=dict)
    _sorted: dict[Sequence[str], _Sorted] = field(default_factory=dict, init=False)

    @cached_property
    def _earlier(self) -> Sequence[FactsView]:
        return self.read_earlier()

    def weigh(self, claim: Claim) -> Judgement:
        """Return the run's verdict on a claim: support, contra or irrelevant."""
        test = self.test_of(claim) if self.has_feedback else None
        if test is None:
            return "irrelevant"
        versus = test.get("versus")
        return verdict(test, self.run, self._runs_matching(versus) if versus is not None else ())

    def test_of(self, claim: Claim) -> Mapping[str, Any] | None:
        """Return the result of `test_of`; a text is parsed once."""
        if claim.test is not None:
            return claim.test
        key = digest([claim.inference, claim.conditions])
        if key not in self.kept:
            self.kept[key] = test_of(claim)
        test: Mapping[str, Any] | None = self.kept[key]
        return test

    def _runs_matching(self, versus: Mapping[str, Any]) -> Sequence[FactsView]:
        """Return the earlier runs that have the names in ``versus``; its ratio is ignored here."""
        wanted = sorted((ALIASES.get(name, name), folded_name(text)) for name, text in versus.items() if name != RATIO)
        names = tuple(name for name, _ in wanted)
        if names not in self._sorted:
            self._sorted[names] = _by_names(self._earlier, names)
        return self._sorted[names].get(tuple(text for _, text in wanted), ())


def _by_names(runs: Sequence[FactsView], names: Sequence[str]) -> _Sorted:
    """Group runs by the values of some named fields; runs that lack one are left out."""
    folded: dict[tuple[str | None, ...], tuple[str, ...]] = {}  # few distinct values over many runs
    found: dict[tuple[str, ...], list[FactsView]] = {}
    for one in runs:
        texts = tuple(map(one.named.get, names))
        if texts not in folded:
            folded[texts] = tuple(folded_name(text) for text in texts if text is not None)
        found.setdefault(folded[texts], []).append(one)
    return {texts: these for texts, these in found.items() if len(texts) == len(names)}


# The limitation that code writes when a conclusion is demoted without a stated reason (requirement RB-19).

MAX_RUNS: Final = 3
"""Maximum contradicting runs named, the latest; the others are only counted."""

MAX_NAME: Final = 60
"""Maximum characters of a run's label, and of the name of a product or run."""

# A name must not introduce an alias such as [C12], and is limited to one line.
_ROUND: Final = str.maketrans("[]【】［］〔〕\n\r\t", "()()()()   ")


def limitation_from(claim: Claim, contradicting: Sequence[FactsView], test: Mapping[str, Any] | None = None) -> str:
    """Return a limitation that names the runs in which a claim failed, in the claim's language, Chinese or English.

    It states results and gives no advice. ``contradicting`` are in learn order, at least one; ``test`` is the one that
    judged them, None where a model did. Names of runs, modifiers and products are as given.
    """
    test = test if test is not None else claim.test
    chinese = _is_chinese(claim)
    say, joint, end = (_in_chinese, "；", "。") if chinese else (_in_english, "; ", ".")
    shown = contradicting[-MAX_RUNS:]
    parts = [say(_name(view.run_id), _name(view.label), _measure(view, test)) for view in shown]
    more = len(contradicting) - len(shown)
    if more:
        parts.append(f"另有 {more} 次运行" if chinese else f"and in {more} more")
    text = joint.join(parts) + end
    return text if chinese else f"Not held {text}"


def _in_english(run_id: str, label: str, measure: tuple[str, str | None, str] | None) -> str:
    where = f"in run {run_id}" + (f" ({label})" if label else "")
    if measure is None:
        return where
    metric, product, number = measure
    return f"{where}: {metric} of {product} {number}" if product else f"{where}: total activity {number}"


def _in_chinese(run_id: str, label: str, measure: tuple[str, str | None, str] | None) -> str:
    where = f"在运行 {run_id}" + (f"（{label.replace(', ', '，')}）" if label else " ") + "中不成立"
    if measure is None:
        return where
    metric, product, number = measure
    if product is None:
        return f"{where}：总活性为 {number}"
    gap = " " if product[-1:].isascii() else ""
    return f"{where}：{product}{gap}的{'占比' if metric == 'fraction' else '数值'}为 {number}"


def _measure(view: FactsView, test: Mapping[str, Any] | None) -> tuple[str, str | None, str] | None:
    number = None if test is None else metric_of_run(view, test["metric"], test.get("product"))
    if test is None or number is None:
        return None
    product = test.get("product")
    return test["metric"], None if product is None else _name(product), f"{number:.6g}"


def _name(text: str) -> str:
    return excerpt(text.translate(_ROUND), MAX_NAME)


def limitation_for(claim: Claim, contradicting: Sequence[FactsView], test: Mapping[str, Any] | None) -> str:
    """Return the limitation that a demoted claim gains, judged by ``test``, in a wording that the gate allows."""
    nameless = [replace(view, label="") for view in contradicting]
    texts = (limitation_from(claim, views, test) for views in (contradicting, nameless))
    return next((text for text in texts if not breaks_a_rule(text)), BARE[_is_chinese(claim)])


def _is_chinese(claim: Claim) -> bool:
    return has_han("".join((claim.inference, claim.constraint, *claim.conditions)))


def add_limitation(block: ReasoningBlock, claim_id: str, text: str) -> ReasoningBlock:
    """Return the block with one more limitation on a claim, unless the claim has it already."""
    claims = tuple(
        replace(claim, limitations=(*claim.limitations, text))
        if claim.claim_id == claim_id and text not in claim.limitations
        else claim
        for claim in block.claims
    )
    return replace(block, claims=claims)


def contradicting_runs(item: Item, claim_id: str, run_id: str) -> list[str]:
    """Return the runs that count against a claim, in learn order, up to this one."""
    known = list(((item.data.get("standing") or {}).get(claim_id) or {}).get("contra", {}).get("run_ids", ()))
    return [*known[: known.index(run_id)], run_id] if run_id in known else [*known, run_id]


def may_fall(item: Item, claim_id: str, run_id: str) -> bool:
    """Return whether a claim that the run contradicts may be demoted, or was by it: a learn may be prepared again."""
    return status_of(item, claim_id) == "conclusion" or run_id in contradicting_runs(item, claim_id, "")[:-1]


BY_MODEL: Final = "model"
"""Value of ``by`` for a claim that a model judged because no test decides it."""

EDGE_OF: Final[Mapping[str, str]] = {"support": "supports", "contra": "contradicts"}
"""Type of the edge from an item to a run, by verdict."""

_COUNTED: Final[Mapping[str, Polarity]] = {"support": "support", "contra": "contra"}


@dataclass(frozen=True, slots=True)
class ItemEffects:
    """The effects of a learn's run on one item; ``claims`` are the rows of its outcome `VERDICTS`.

    ``edges`` are the existing edges to the run, by item and type.
    """

    entry: Entry
    run: Item
    item: Item
    claims: Sequence[Mapping[str, Any]]
    edges: Mapping[tuple[str, str], Edge]

    def on_new(self) -> Changes:
        """Return the changes that create a proposed item, with its source and the run's verdicts."""
        rows = self._rows(written_block(self.item.data), ())
        source = replace(
            self._row("", "source"),
            source_entry_id=self.run.data.get("feedback_entry") or self.run.entry_id,
            source_item_id=None,
        )
        return Changes(
            items=[self.item],
            patches=[Patch(self.item.id, {}, self._reason)],
            edges=[self._edge("derived_from"), *self._edges(rows)],
            evidence=[source, *rows],
        )

    def on_held(self, proposed: ReasoningBlock | None, evidence: Sequence[EvidenceRow]) -> Changes:
        """Return the changes of an existing item: proposed text, evidence, limitations, deletions."""
        before = written_block(self.item.data)
        rows = self._rows(before, evidence)
        ordered = sorted([*evidence, *rows], key=lambda row: (row.recorded_at, row.identity))
        gone = self._deleted_claims(proposed, ordered)
        fields: dict[str, Any] = {}
        if proposed is not None:  # the claims that it may not leave out are added
            there = _ids(proposed) | gone
            kept = [claim for claim in current_block(self.item).claims if claim.claim_id not in there]
            fields = replaced_fields(self.item, replace(proposed, claims=(*kept, *proposed.claims)))
        block = written_block(self.item.with_fields(fields).data) if fields else before
        rows += self._rows(block, [*evidence, *rows])
        written = block
        for claim_id in self._demoted_claims(before, block, ordered):
            block = add_limitation(block, claim_id, self._limitations()[claim_id])
        block = replace(block, claims=tuple(claim for claim in block.claims if claim.claim_id not in gone))
        if block != written:
            fields = fields | {"data.claims": written_of(block)["claims"]}
        if not fields and not rows:
            return Changes()
        return Changes(patches=[Patch(self.item.id, fields, self._reason)], edges=self._edges(rows), evidence=rows)

    def _deleted_claims(self, proposed: ReasoningBlock | None, evidence: Sequence[EvidenceRow]) -> set[str]:
        """Return the claims to delete: judged wrong or left out by a proposal, and contradicted by enough runs.

        An erasure may have removed a run since prepare.
        """
        wrong = {row["claim_id"] for row in self.claims if "delete" in row}
        if proposed is not None:
            wrong |= {claim.claim_id for claim in current_block(self.item).claims} - _ids(proposed)
        standing = fold_verdicts(written_block(self.item.data).claims, evidence) if wrong else {}
        return {
            claim_id
            for claim_id in wrong & standing.keys()
            if standing[claim_id]["contra"]["count"] >= DEMOTION_CONTRA
            and self.run.run_id in standing[claim_id]["contra"]["run_ids"]
        }

    @property
    def _reason(self) -> str:
        return f"learned from run {self.run.run_id}"

    def _rows(self, block: ReasoningBlock, evidence: Sequence[EvidenceRow]) -> list[EvidenceRow]:
        """Return an evidence row for each claim that the run supports or contradicts and does not count for yet."""
        counted = {row.part for row in evidence if row.source_key == self.run.run_id and row.polarity in _COUNTED}
        named = {claim.claim_id: {*claim.support.run_ids, *claim.contra.run_ids} for claim in block.claims}
        return [
            self._row(row["claim_id"], _COUNTED[row["verdict"]])
            for row in self.claims
            if row["verdict"] in _COUNTED
            and row["claim_id"] not in counted
            and row["claim_id"] in named
            and self.run.run_id not in named[row["claim_id"]]
        ]

    def _demoted_claims(
        self, written: ReasoningBlock, block: ReasoningBlock, evidence: Sequence[EvidenceRow]
    ) -> list[str]:
        """Return the claims demoted from conclusion whose conditions and limitations the proposal left unchanged.

        ``written`` is the block as written before, ``block`` the present one.
        """
        limitations = self._limitations()
        if not limitations:
            return []
        standing = fold_verdicts(block.claims, evidence)
        before = {claim.claim_id: claim for claim in written.claims}
        return [
            claim.claim_id
            for claim in block.claims
            if claim.claim_id in limitations
            and (old := before.get(claim.claim_id)) is not None
            and (status_of(self.item, claim.claim_id) or old.status) == "conclusion"
            and standing[claim.claim_id]["status"] == "hypothesis"
            and (old.conditions, old.limitations) == (claim.conditions, claim.limitations)
        ]

    def _limitations(self) -> dict[str, str]:
        return {row["claim_id"]: row["limitation"] for row in self.claims if "limitation" in row}

    def _row(self, claim_id: str, polarity: Polarity) -> EvidenceRow:
        run_id = str(self.run.run_id)
        return EvidenceRow(
            item_id=self.item.id,
            part=claim_id,
            polarity=polarity,
            source_key=run_id,
            entry_id=self.entry.id,
            recorded_at=self.entry.recorded_at,
            source_entry_id=self.run.entry_id,
            source_item_id=self.run.id,
            source_ref=run_id,
            occurred_at=self.run.occurred_at,
            origin="model" if claim_id in self._model_verdicts else "rule",
        )

    def _edges(self, rows: Sequence[EvidenceRow]) -> list[Edge]:
        """Return one edge to the run per polarity, with the quotes and reasons of a model (`_model_verdicts`)."""
        out, verdicts = [], self._model_verdicts
        for polarity in dict.fromkeys(row.polarity for row in rows):
            edge = self._edge(EDGE_OF[polarity])
            known = self.edges.get((self.item.id, edge.type))
            before = {} if known is None else known.data.get("claims", {})
            parts = [row.part for row in rows if row.polarity == polarity and row.part in verdicts]
            said = before | {part: verdicts[part] for part in parts}
            out.append(replace(edge, data={"claims": said}, origin="model") if said else edge)
        return out

    @property
    def _model_verdicts(self) -> dict[str, dict[str, str]]:
        """Return by claim the quote, the reason and the model of a model's verdict."""
        kept = ("model", "quote", "reason")
        return {
            row["claim_id"]: {name: row[name] for name in kept if name in row}
            for row in self.claims
            if row["by"] == BY_MODEL
        }

    def _edge(self, kind: str) -> Edge:
        return Edge.of_items(kind, self.item.id, self.run.id, entry_id=self.entry.id)


def _ids(block: ReasoningBlock) -> set[str]:
    return {claim.claim_id for claim in block.claims}
