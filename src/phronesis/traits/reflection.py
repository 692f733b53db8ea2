"""The handler of ``reflect``: nine steps in one entry that can be rolled back as a whole (requirements NM-02, NM-03).

prepare scans the lane, asks rules or a model for operations (steps 2, 4, 5, 6 and 7 in one call), removes sensitive
ones, and asks again about traits with too many contradictions; the results are recorded as outcomes. apply executes the
steps on the current lane: scan, trends, expiry and promotion, behaviours, preferences, core, contradictions, time,
mark. An operation that breaks a rule is refused on its own, and the cycle lists it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Final, TypedDict

from phronesis.core.changes import Changes, Fold
from phronesis.core.entries import Entry, Outcome, is_erased, item_timestamps, payload_of
from phronesis.core.ids import item_id
from phronesis.core.items import Item
from phronesis.core.relations import Origin
from phronesis.core.timestamps import isoformat
from phronesis.engine.content_guards import Guard
from phronesis.engine.handler import ANSWERS, Decisions, Outcomes, PrepareContext
from phronesis.models.decision import HARMLESS, Decider, ask_sensitive
from phronesis.store.lane_view import LaneView
from phronesis.traits import behaviours, trait_changes
from phronesis.traits.behaviours import is_trend, merge_duplicate_traits
from phronesis.traits.laws.records import (
    COUNTED,
    CYCLE,
    OPERATIONS,
    ProposedOperations,
    RefusedOperation,
    TraitRevision,
    TraitSide,
)
from phronesis.traits.laws.strength import DECAYED_TO, TRAIT, TRAITS_FOLD, ReflectionTrigger, Thresholds, due, stage_at
from phronesis.traits.reflection_state import SIDES, ReflectionInput, ReflectionState, scan
from phronesis.traits.strategies import (
    ReflectionStrategy,
    StrategyResult,
    TextSimilarity,
    filter_sensitive,
    redact_answers,
    sensitive_words,
)
from phronesis.traits.trait_changes import CORRECTED


class ReflectPayload(TypedDict, total=False):
    """The verb ``reflect``: why it was asked for, the cycle before it, and the traits that were recalled since."""

    force: bool
    session_ended: bool
    daily: bool
    last: str | None
    recalled: dict[str, Any]


# Step 9: the item of kind cycle that records a reflection (requirements NM-03, NM-14).

COMPLETED: Final = "completed"
FAILED: Final = "failed"

MAX_TOLD: Final = 100
"""Maximum refused operations that a cycle lists."""


def make_cycle(
    entry: Entry,
    scope: Mapping[str, Any],
    trigger: Mapping[str, Any],
    *,
    counts: Mapping[str, int],
    refused: Sequence[RefusedOperation] = (),
    error: str | None = None,
    **told: Any,
) -> Item:
    """Return the item of a reflection that ran; ``error`` marks a skipped round."""
    data = {
        "status": COMPLETED if error is None else FAILED,
        "trigger_type": trigger["reason"],
        "trigger_value": trigger.get("value"),
        "memories_scanned": trigger["new_memories"],
        **{name: counts[name] for name in COUNTED if counts.get(name)},
        "refused": [asdict(one) for one in refused[:MAX_TOLD]] or None,
        "error": error,
        **told,
    }
    return Item(
        id=item_id(entry.id, CYCLE, ""),
        kind=CYCLE,
        content="",
        importance=1,
        source_type="reflection",
        data={name: value for name, value in data.items() if value is not None},
        **item_timestamps(entry),
        **scope,
    )


# Operations and answers of special reflections as bodies of outcomes, under the source's keys.


def from_body(body: Mapping[str, Any]) -> ProposedOperations:
    """Return the operations in the body of an outcome, which holds them by their lists."""
    return ProposedOperations(**{name: [kind(**one) for one in body[name]] for name, kind in OPERATIONS.items()})


def revision_to_json(trait_id: str, said: TraitRevision) -> dict[str, Any]:
    """Return the answer of a special reflection as the body of an outcome."""
    fields = asdict(said)
    return {"trait_id": trait_id, "split": fields.pop("sides"), **fields}


def revision_from_json(body: Mapping[str, Any]) -> TraitRevision:
    """Return the answer in a body made by ``revision_to_json``."""
    words = {name: body[name] for name in ("action", "new_content", "reasoning")}
    return TraitRevision(sides=[TraitSide(**side) for side in body["split"]], **words)


# Usage credit: traits that contexts and searches showed gain usefulness (requirement NM-15).

CREDIT: Final = 0.02
"""Usefulness added per recall (NM-15, the source's later list), up to 1."""

USEFULNESS: Final = "data.usefulness"


def add_usefulness(work: ReflectionState, recalled: Mapping[str, int]) -> None:
    """Add usefulness to the traits that were shown, once per impression."""
    for trait_id, times in recalled.items():
        trait = work.traits.get(trait_id)
        if trait is not None and times > 0:
            useful = min(1.0, trait.data.get("usefulness", 0.0) + CREDIT * times)
            work.change(trait_id, {USEFULNESS: round(useful, 6)}, "recalled")


# Step 8, decay (requirement NM-09): a trait changes only when time has moved it across a stage border.


def apply_decay(work: ReflectionState) -> None:
    """Move traits across the stage borders that decay has reached; below 0.1 they dissolve."""
    now = work.entry.recorded_at
    for trait_id, trait in list(work.traits.items()):
        if is_trend(trait):
            continue
        stage = stage_at(trait, now)
        if stage == "dissolved":
            work.end(trait_id, "dissolved", "faded")
        elif stage != trait.stage:
            work.change(trait_id, {DECAYED_TO: isoformat(now)}, "faded")


def merge_remaining_side(work: ReflectionState) -> None:
    """Give a trait with one remaining side the text of that side; end it if no side remains.

    A text that a person wrote is kept.
    """
    for trait_id, trait in list(work.traits.items()):
        had = trait.data.get(SIDES, ())
        sides = [one for one in had if one in work.traits]
        left = work.traits[sides[0]] if len(sides) == 1 else trait
        if had and not sides:
            work.end(trait_id, "dissolved", "no side is left")
        elif trait.content != left.content and not trait.data.get(CORRECTED):
            fields = {"content": left.content, "data.context": left.data["context"], f"data.{SIDES}": sides}
            work.change(trait_id, fields, "one side is left")


REFLECT: Final = "reflect"

TRIGGER: Final = "trigger"
WISHES: Final = "wishes"
SPECIAL: Final = "special"
REFUSED: Final = "refused"
SKIPPED: Final = "skipped"
"""Roles of a reflection's outcomes: why it ran, the operations, answers of special reflections, refusals, and that the
round was skipped. A model's answers have the role defined in `strategies`.
"""


@dataclass(frozen=True, slots=True)
class ReflectionPreparer:
    """The prepare of ``reflect``. ``decider`` is asked about texts that hint at a sensitive topic."""

    mind: ReflectionStrategy
    guard: Guard
    likeness: TextSimilarity
    thresholds: Thresholds = field(default_factory=Thresholds)
    decider: Decider | None = None

    def __call__(self, bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        """Return the outcomes that apply needs; only the reason where nothing is due or nothing is new."""
        with bench.view() as view:
            material = scan(view, entry)
            scope = view.scope_fields()
        found = _due(material, entry, self.thresholds)
        last = None if material.last is None else material.last.id
        body = {**found.to_dict(), "value": found.value, "last": last}
        outcomes = [Outcome(role=TRIGGER, made_by=self.mind.name, body=body)]
        material = material.readable()
        if not found.due or not material.new:
            return outcomes
        material = replace(material, links=behaviours.links_of(material.latest(), material.new))
        decided = None if self.decider is None else Decisions(self.decider, bench.tenant, self.guard.version)
        guard = self.guard if decided is None else self.guard.with_cleared(partial(_is_harmless, decided, entry.id))
        thought = self.mind.propose(bench, entry, material, lambda text: guard.of_trait(text, ()) is not None)
        leaning = {"seen": list(thought.seen), "stands_on": list(thought.stands_on)}
        if thought.proposed is None:
            body = {"error": thought.error, "spent": asdict(thought.spent), **leaning}
            skipped = Outcome(role=SKIPPED, made_by=self.mind.name, body=body)
            return [*outcomes, *redact_answers(self.guard, thought.said, refused=False), skipped]
        proposed, refused = filter_sensitive(guard, thought.proposed, material)
        outcomes += redact_answers(self.guard, thought.said, refused=bool(refused))
        proposed, known = merge_duplicate_traits(self.likeness, bench.tenant, proposed, material)
        work = ReflectionState.of(material, entry, self.mind.origin, scope)
        carry_out(work, proposed)
        specials, later = self._reconsider_traits(bench, entry, work, guard)
        body = {
            **asdict(proposed),
            "links": [list(link) for link in material.links],
            "origin": self.mind.origin,
            **leaning,
            "spent": asdict(thought.spent.plus(later.spent)),
        }
        outcomes += [Outcome(role=WISHES, made_by=thought.made_by, body=body)]
        outcomes += [
            Outcome(role=REFUSED, made_by=self.guard.version, n=n, body=asdict(one))
            for n, one in enumerate([*refused, *known, *later.refused])
        ]
        outcomes += [Outcome(role=SPECIAL, made_by=one.made_by, n=n, body=one.body) for n, one in enumerate(specials)]
        outcomes += () if decided is None else decided.outcomes
        first = sum(one.role == ANSWERS for one in outcomes)
        return outcomes + [replace(one, n=first + n) for n, one in enumerate(later.said)]

    def _reconsider_traits(
        self, bench: PrepareContext, entry: Entry, work: ReflectionState, guard: Guard
    ) -> tuple[list[Outcome], StrategyResult]:
        """Ask about the traits with too many contradictions; one without an answer stays unchanged."""
        found: list[Outcome] = []
        together = StrategyResult()
        for trait_id in trait_changes.contradicted_traits(work):
            said, thought = self.mind.reconsider(bench, entry, work, trait_id)
            refusal = None if said is None else sensitive_words(guard, said)
            kept = redact_answers(self.guard, thought.said, refused=refusal is not None)
            together = together.plus(replace(thought, said=kept))
            if refusal is not None:
                together = together.plus(StrategyResult(refused=[refusal]))
            elif said is not None:
                leaning = {"seen": list(thought.seen), "stands_on": list(thought.stands_on)}
                body = {**revision_to_json(trait_id, said), **leaning}
                found.append(Outcome(role=SPECIAL, made_by=thought.made_by, body=body))
        return found, together


def _is_harmless(decided: Decisions, seed: str, text: str, topic: str) -> bool:
    decision = decided.ask(ask_sensitive(text, topic, seed=seed), topic=topic)
    return decision is not None and decision.is_surely(HARMLESS)


def carry_out(work: ReflectionState, proposed: ProposedOperations) -> None:
    """Execute steps 2 to 7, except special reflections."""
    standing = {trait_id for trait_id, trait in work.traits.items() if is_trend(trait)}
    behaviours.begin_trends(work, proposed.new_trends)
    behaviours.confirm_trends(work, proposed.reinforcements)
    behaviours.expire_trends(work)
    behaviours.begin_behaviours(work, proposed.new_behaviors)
    behaviours.reinforce(work, proposed.reinforcements, trends=standing)
    trait_changes.upgrade(work, proposed.upgrades, subtype="preference")
    trait_changes.upgrade(work, proposed.upgrades, subtype="core")
    trait_changes.refuse_others(work, proposed.upgrades)
    trait_changes.contradict(work, proposed.contradictions)


def apply(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Execute the nine steps on the current lane."""
    trigger = next(iter(outcomes.get(TRIGGER, ())), None)
    if is_erased(entry.payload) or trigger is None or not trigger.body["due"]:
        return Changes()
    scope = view.scope_fields()
    for one in outcomes.get(SKIPPED, ()):
        told = {"error": one.body["error"], "spent": one.body["spent"], "made_by": one.made_by}
        return Changes(items=[make_cycle(entry, scope, trigger.body, counts={}, **told)])
    said = next(iter(outcomes.get(WISHES, ())), None)
    origin: Origin = "rule" if said is None else said.body["origin"]
    work = ReflectionState.of(scan(view, entry), entry, origin, scope)
    carry_out(work, ProposedOperations() if said is None else from_body(said.body))
    behaviours.join(work, () if said is None else said.body["links"])
    for outcome in outcomes.get(SPECIAL, ()):
        trait_changes.reconsider(work, outcome.body["trait_id"], revision_from_json(outcome.body))
    add_usefulness(work, payload_of(entry, ReflectPayload).get("recalled", {}))
    apply_decay(work)
    merge_remaining_side(work)
    sifted = [RefusedOperation(**outcome.body) for outcome in outcomes.get(REFUSED, ())]
    cycle = make_cycle(
        entry,
        scope,
        trigger.body,
        counts=work.counts,
        refused=[*sifted, *work.refused],
        made_by=trigger.made_by if said is None else said.made_by,
        spent=None if said is None else said.body["spent"],
    )
    return Changes(items=[*work.created, cycle], patches=work.patches, evidence=work.added, edges=work.edges)


def _due(material: ReflectionInput, entry: Entry, thresholds: Thresholds) -> ReflectionTrigger:
    """Return whether the reflection is still due: another may have run since it was requested."""
    payload = payload_of(entry, ReflectPayload)
    learned = material.learned
    asked = {name: bool(payload.get(name)) for name in ("force", "session_ended", "daily")}
    overtaken = (None if material.last is None else material.last.id) != payload.get("last")
    if overtaken and not learned.memories:
        asked = {}
    return due(learned, entry.recorded_at, thresholds, **asked)


FOLDS: Final[Mapping[str, Fold]] = {TRAIT: TRAITS_FOLD}
