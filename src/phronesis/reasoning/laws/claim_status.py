"""The status of claims as a fold over verdicts.

Judge a test by a run, and derive status, counts and content (RB-08, RB-18). ``data`` keeps what was written, ``topic``,
``scope``, ``extra`` and ``claims``: the initial state of each claim. Only edits change it. ``data.standing`` and
``content`` follow from it and from the verdicts of runs, so that withdrawing a verdict never undoes an edit, and
``content`` is always the current block. ``label`` is the scope: a column that a search can filter by.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from phronesis.core.changes import Fold
from phronesis.core.confidence import ClaimState, Judgement, RunVerdict, claim_state
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.reasoning.laws.block_format import claim_of, member_of, text_of
from phronesis.reasoning.laws.facts import ALIASES, RATIO, FactsView, Metric, Operator, excerpt
from phronesis.reasoning.laws.records import Claim, ReasoningBlock, Tally, folded_name

# The verdict of a run on a claim: support, contra or irrelevant, by arithmetic on FACTS (requirement RB-18).

TOLERANCE: Final = 1e-9
"""Relative tolerance within which two numbers are equal: binary sums of decimal fractions differ in the 16th digit (0.1
+ 0.2), and measurements do not have nine digits.
"""


def verdict(test: Mapping[str, Any], view: FactsView, earlier: Sequence[FactsView] = ()) -> Judgement:
    """Return whether a run supports or contradicts a claim's test.

    ``test`` is valid (`claim_test.mistakes_of_test`). ``earlier`` are the runs recorded before this one that have
    feedback: ``versus`` compares with the mean over those that it describes and that have the metric. The verdict is
    irrelevant if ``given`` does not describe the run, or a needed value is unknown.
    """
    if not matches_run(test.get("given") or {}, view):
        return "irrelevant"
    metric, product = test["metric"], test.get("product")
    found = metric_of_run(view, metric, product)
    versus = test.get("versus")
    wanted = test.get("value") if versus is None else _mean_metric(versus, view, earlier, metric, product)
    if found is None or wanted is None:
        return "irrelevant"
    return "support" if holds(found, test["op"], wanted) else "contra"


def matches_run(given: Mapping[str, Any], view: FactsView) -> bool:
    """Return whether ``given`` describes a run; M1 and M2 in this order, names compared without case and width.

    A value that the run does not state does not match.
    """
    for name, wanted in given.items():
        if name == RATIO:
            number = view.numbers.get(name)
            if number is None or not holds(number, wanted["op"], wanted["value"]):
                return False
        else:
            named = view.named.get(ALIASES.get(name, name))
            if named is None or folded_name(named) != folded_name(wanted):
                return False
    return True


def metric_of_run(view: FactsView, metric: Metric, product: str | None = None) -> float | None:
    """Return a metric of a run: the sum of all values, or one product's value or fraction.

    None where it is unknown.
    """
    if metric == "activity":
        values = [one.value for one in view.products if one.value is not None]
        return math.fsum(values) if values else None
    name = folded_name(product or "")
    found = next((one for one in view.products if folded_name(one.name) == name), None)
    if found is None:
        return None
    return found.fraction if metric == "fraction" else found.value


def holds(left: float, op: Operator, right: float) -> bool:
    """Return whether a comparison holds, with numbers within `TOLERANCE` being equal."""
    if equal(left, right):
        return op in ("<=", ">=", "==")
    return op == "!=" or (op in ("<", "<=") if left < right else op in (">", ">="))


def equal(left: float, right: float) -> bool:
    """Return whether two numbers are within `TOLERANCE` of each other."""
    return math.isclose(left, right, rel_tol=TOLERANCE, abs_tol=0.0)


def written_state(claim: Claim) -> ClaimState:
    """Return the written state of a claim: its status, the runs it names, and the number of further runs it counts."""
    return ClaimState(
        status=claim.status,
        support=claim.support.run_ids,
        contra=claim.contra.run_ids,
        unnamed_support=claim.support.count - len(claim.support.run_ids),
        unnamed_contra=claim.contra.count - len(claim.contra.run_ids),
    )


def _mean_metric(
    versus: Mapping[str, Any], view: FactsView, earlier: Sequence[FactsView], metric: Metric, product: str | None
) -> float | None:
    known = [
        metric_of_run(one, metric, product) for one in earlier if one.run_id != view.run_id and matches_run(versus, one)
    ]
    numbers = [number for number in known if number is not None]
    return math.fsum(numbers) / len(numbers) if numbers else None


# The limitation that code writes when a conclusion is demoted without a stated reason (requirement RB-19).

MAX_RUNS: Final = 3
"""Maximum contradicting runs named, the latest; the others are only counted."""

MAX_NAME: Final = 60
"""Maximum characters of a run's label, and of the name of a product or run."""

_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
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


def _is_chinese(claim: Claim) -> bool:
    return _HAN.search("".join((claim.inference, claim.constraint, *claim.conditions))) is not None


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
    if test is None:
        return None
    number = metric_of_run(view, test["metric"], test.get("product"))
    if number is None:
        return None
    product = test.get("product")
    return test["metric"], None if product is None else _name(product), f"{number:.6g}"


def _name(text: str) -> str:
    return excerpt(text.translate(_ROUND), MAX_NAME)


STANDING: Final = "data.standing"
"""Field in which the fold keeps each claim's status and counts."""

WRITTEN: Final = ("topic", "scope", "extra", "claims")
"""Members of ``data`` that hold the written state; None where nothing was written."""

_JUDGEMENT_OF: Final[Mapping[str, Judgement]] = {"support": "support", "contra": "contra"}


def written_of(block: ReasoningBlock) -> dict[str, Any]:
    """Return the stored fields of a block, by the names of `WRITTEN`."""
    return {
        "topic": block.topic or None,
        "scope": block.scope,
        "extra": [list(pair) for pair in block.extra] or None,
        "claims": [member_of(claim) for claim in block.claims],
    }


def written_block(data: Mapping[str, Any]) -> ReasoningBlock:
    """Return the block that an item's ``data`` was built from, each claim in its initial state."""
    return ReasoningBlock(
        topic=data.get("topic") or "",
        scope=data.get("scope"),
        extra=tuple((key, value) for key, value in data.get("extra") or ()),
        claims=tuple(claim_of(member) for member in data.get("claims") or ()),
    )


def current_block(item: Item) -> ReasoningBlock:
    """Return a reasoning item's current block: ``content`` as records."""
    standing = item.data.get("standing") or {}
    block = written_block(item.data)
    return replace(block, claims=tuple(_with_status(claim, standing.get(claim.claim_id)) for claim in block.claims))


def status_of(item: Item, claim_id: str) -> str:
    """Return a claim's status; empty when the item has no such claim."""
    return str(((item.data.get("standing") or {}).get(claim_id) or {}).get("status", ""))


def replaced_fields(item: Item, block: ReasoningBlock) -> dict[str, Any]:
    """Return the ``data.…`` fields that change when an item's block is replaced.

    A claim with the status and counts shown in ``content`` keeps its initial state and the verdicts folded onto it; a
    claim with others starts from those. A claim that the block leaves out is removed.
    """
    shown = {claim.claim_id: claim for claim in current_block(item).claims}
    kept = {claim.claim_id: claim for claim in written_block(item.data).claims}
    claims = tuple(
        _with_start(claim, kept[claim.claim_id]) if _has_same_status(claim, shown.get(claim.claim_id)) else claim
        for claim in block.claims
    )
    after = written_of(replace(block, claims=claims))
    before = written_of(written_block(item.data))
    return {f"data.{name}": after[name] for name in WRITTEN if after[name] != before[name]}


def standings(claims: Iterable[Claim], evidence: Sequence[EvidenceRow]) -> dict[str, dict[str, Any]]:
    """Return each claim's state by folding verdicts in learn order. Verdicts on removed claims have no effect."""
    verdicts: dict[str, list[RunVerdict]] = {}
    for row in evidence:
        judgement = _JUDGEMENT_OF.get(row.polarity)
        if judgement is not None:
            verdicts.setdefault(row.part, []).append(RunVerdict(row.source_key, judgement))
    return {claim.claim_id: _fold_verdicts(claim, verdicts.get(claim.claim_id, ())) for claim in claims}


def standing_of(item: Item, evidence: Sequence[EvidenceRow]) -> dict[str, Any]:
    """Return the fields that follow from verdicts, in learn order: each claim's state, and the block as text."""
    # A log or database may return object members in another order; the text must not depend on it.
    block = written_block({**item.data, "claims": _sort_members(item.data.get("claims") or [])})
    standing = standings(block.claims, evidence)
    moved = replace(block, claims=tuple(_with_status(claim, standing[claim.claim_id]) for claim in block.claims))
    return {STANDING: standing, "content": text_of(moved), "label": block.scope}


CLAIMS_FOLD: Final = Fold(frozenset({STANDING, "content", "label"}), standing_of)


def _fold_verdicts(claim: Claim, verdicts: Iterable[RunVerdict]) -> dict[str, Any]:
    """Fold verdicts onto a claim's initial state; a run named there counts there only."""
    state = claim_state(verdicts, start=written_state(claim))
    return {
        "status": state.status,
        "support": {"count": state.support_count, "run_ids": list(state.support)},
        "contra": {"count": state.contra_count, "run_ids": list(state.contra)},
    }


def _with_status(claim: Claim, standing: Mapping[str, Any] | None) -> Claim:
    if standing is None:
        return claim
    support, contra = (
        _updated_tally(claim.support, standing["support"]),
        _updated_tally(claim.contra, standing["contra"]),
    )
    if (claim.status, claim.support, claim.contra) == (standing["status"], support, contra):
        return claim
    return replace(claim, status=standing["status"], support=support, contra=contra)


def _updated_tally(start: Tally, counted: Mapping[str, Any]) -> Tally:
    return Tally(count=counted["count"], run_ids=tuple(counted["run_ids"]), extra=start.extra)


def _has_same_status(claim: Claim, shown: Claim | None) -> bool:
    return shown is not None and all(
        getattr(claim, name) == getattr(shown, name) for name in ("status", "support", "contra")
    )


def _with_start(claim: Claim, start: Claim) -> Claim:
    return replace(claim, status=start.status, support=start.support, contra=start.contra)


def _sort_members(value: Any) -> Any:
    """Return JSON with object members sorted by name."""
    if isinstance(value, Mapping):
        return {name: _sort_members(value[name]) for name in sorted(value)}
    return [_sort_members(inner) for inner in value] if isinstance(value, list) else value
