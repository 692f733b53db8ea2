"""How a run bears on claims, by arithmetic on its FACTS, and what is written when one falls (RB-18, RB-19)."""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from phronesis.core.canonical import digest
from phronesis.core.items import Item
from phronesis.core.reasoning.claim_test import ALIASES, RATIO
from phronesis.core.reasoning.facts import FactsView
from phronesis.core.reasoning.limitations import limitation_from
from phronesis.core.reasoning.records import Claim, ReasoningBlock
from phronesis.core.reasoning.runs import folded_name
from phronesis.core.reasoning.standing import status_of
from phronesis.core.reasoning.verdicts import verdict
from phronesis.core.state_machine import Judgement
from phronesis.derive.claims_gate.gate import offends
from phronesis.derive.comparisons import read_comparison

BY_RULE: Final = "rule"

_Sorted = Mapping[tuple[str, ...], Sequence[FactsView]]

BARE: Final = ("Contradicted by the runs that are counted.", "与所计的运行相矛盾。")
"""What is written where the words of the runs themselves may not stand in a claim: English, Chinese."""


def test_of(claim: Claim) -> Mapping[str, Any] | None:
    """Give the test that a claim is judged by: its own, else what its words state; None where they state none."""
    return claim.test if claim.test is not None else read_comparison(claim.inference, claim.conditions)


@dataclass
class Scales:
    """Weighs claims with one run. ``read_earlier`` gives the runs before it, and is asked only when a claim compares.

    A run without feedback bears on nothing. ``kept`` holds what claims' words were read as, by their digest.
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
        """Tell how the run bears on a claim; irrelevant where nothing decides."""
        test = self.test_of(claim) if self.has_feedback else None
        if test is None:
            return "irrelevant"
        versus = test.get("versus")
        return verdict(test, self.run, self._among(versus) if versus is not None else ())

    def test_of(self, claim: Claim) -> Mapping[str, Any] | None:
        """Give what `test_of` gives; words are read once."""
        if claim.test is not None:
            return claim.test
        key = digest([claim.inference, claim.conditions])
        if key not in self.kept:
            self.kept[key] = test_of(claim)
        test: Mapping[str, Any] | None = self.kept[key]
        return test

    def _among(self, versus: Mapping[str, Any]) -> Sequence[FactsView]:
        """Give the earlier runs that have the names by which those meant are told; their ratio is not looked at."""
        wanted = sorted((ALIASES.get(name, name), folded_name(text)) for name, text in versus.items() if name != RATIO)
        names = tuple(name for name, _ in wanted)
        if names not in self._sorted:
            self._sorted[names] = _by_names(self._earlier, names)
        return self._sorted[names].get(tuple(text for _, text in wanted), ())


def _by_names(runs: Sequence[FactsView], names: Sequence[str]) -> _Sorted:
    """Give the runs by what they have under some names; those that lack one are left out."""
    folded: dict[tuple[str | None, ...], tuple[str, ...]] = {}  # few, and each of many runs
    found: dict[tuple[str, ...], list[FactsView]] = {}
    for one in runs:
        texts = tuple(map(one.named.get, names))
        if texts not in folded:
            folded[texts] = tuple(folded_name(text) for text in texts if text is not None)
        found.setdefault(folded[texts], []).append(one)
    return {texts: these for texts, these in found.items() if len(texts) == len(names)}


def limitation_for(claim: Claim, contradicting: Sequence[FactsView], test: Mapping[str, Any] | None) -> str:
    """Give the limitation that a claim gains when it falls, judged by ``test``: what the gate lets stand in it."""
    nameless = [replace(view, label="") for view in contradicting]
    for views in (contradicting, nameless):
        text = limitation_from(claim, views, test)
        if not offends(text, "limitations"):
            return text
    chinese = limitation_from(claim, nameless[:1], None).startswith("在")
    return BARE[1] if chinese else BARE[0]


def limited(block: ReasoningBlock, claim_id: str, text: str) -> ReasoningBlock:
    """Give a block in which a claim has one more limitation, unless it has it already."""
    claims = tuple(
        replace(claim, limitations=(*claim.limitations, text))
        if claim.claim_id == claim_id and text not in claim.limitations
        else claim
        for claim in block.claims
    )
    return replace(block, claims=claims)


def contradicting_runs(item: Item, claim_id: str, run_id: str) -> list[str]:
    """Give the runs that count against a claim, in learn order, up to this one."""
    known = list(((item.data.get("standing") or {}).get(claim_id) or {}).get("contra", {}).get("run_ids", ()))
    return [*known[: known.index(run_id)], run_id] if run_id in known else [*known, run_id]


def may_fall(item: Item, claim_id: str, run_id: str) -> bool:
    """Tell whether a claim that the run contradicts may fall, or fell by it: the learn may be prepared anew."""
    return status_of(item, claim_id) == "conclusion" or run_id in contradicting_runs(item, claim_id, "")[:-1]
