"""The verb ``reflect``: nine steps, in one entry that can be taken back whole (requirements NM-02, NM-03).

Preparing scans, asks rules or a model what it makes of it (steps 2, 4, 5, 6 and 7 in one call), sifts out what is
sensitive, and asks again about traits that too much contradicts; all of it stands in outcomes. Applying carries the
steps out on the lane as it is: scan, trends, expiring and promoting them, behaviours, preferences, core,
contradictions, time, mark. What breaks a rule is refused alone, and the cycle says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from phronesis.core.changes import Changes, Fold
from phronesis.core.entries import Entry, Outcome, is_erased
from phronesis.core.relations import Origin
from phronesis.core.traits.operations import Wishes
from phronesis.core.traits.records import RefusedWish
from phronesis.core.traits.strength import TRAIT, TRAITS_FOLD
from phronesis.core.traits.triggers import Due, Thresholds, due
from phronesis.derive.handler import Bench, Handler, Outcomes, Prepare
from phronesis.derive.reflecting import behaviours, contradictions, crediting, fading, linking, trends, upgrades
from phronesis.derive.reflecting.answer import as_body, from_body, special_body, special_from
from phronesis.derive.reflecting.likeness import Likeness
from phronesis.derive.reflecting.marking import make_cycle
from phronesis.derive.reflecting.material import Material, scan
from phronesis.derive.reflecting.minds import ANSWERS, Mind, Thought
from phronesis.derive.reflecting.round import Round
from phronesis.derive.reflecting.sifting import Guard, sensitive_words, sift, withheld
from phronesis.derive.reflecting.twins import without_twins
from phronesis.storage.lane_view import LaneView

REFLECT: Final = "reflect"

TRIGGER: Final = "trigger"
WISHES: Final = "wishes"
SPECIAL: Final = "special"
REFUSED: Final = "refused"
SKIPPED: Final = "skipped"
"""Roles of a reflection's outcomes: why it ran, what is wished, what special reflections said, what was sifted out, and
that the round was skipped. What a model said word for word stands under that of `minds`."""


@dataclass(frozen=True, slots=True)
class Reflecting:
    """Prepares reflections."""

    mind: Mind
    guard: Guard
    likeness: Likeness
    thresholds: Thresholds = field(default_factory=Thresholds)

    def __call__(self, bench: Bench, entry: Entry) -> Sequence[Outcome]:
        """Give what applying needs; nothing more than why where nothing is due or nothing is new."""
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
        material = replace(material, links=linking.links_of(material.latest(), material.new))
        thought = self.mind.wishes(bench, entry, material)
        if thought.wishes is None:
            return [*outcomes, *withheld(self.guard, thought.said, refused=False), _skipped(self.mind.name, thought)]
        wishes, refused = sift(self.guard, thought.wishes, material)
        outcomes += withheld(self.guard, thought.said, refused=bool(refused))
        wishes, known = without_twins(self.likeness, bench.tenant, wishes, material)
        work = Round.of(material, entry, self.mind.origin, scope)
        carry_out(work, wishes)
        specials, later = self._reconsidered(bench, entry, work)
        body = {
            **as_body(wishes), "links": [list(link) for link in material.links], "origin": self.mind.origin,
            "seen": list(thought.seen), "stands_on": list(thought.stands_on),
            "spent": asdict(thought.spent.plus(later.spent)),
        }  # fmt: skip
        outcomes += [Outcome(role=WISHES, made_by=thought.made_by, body=body)]
        outcomes += [Outcome(role=REFUSED, made_by=self.guard.version, n=n, body=asdict(one))
                     for n, one in enumerate([*refused, *known, *later.refused])]  # fmt: skip
        outcomes += [Outcome(role=SPECIAL, made_by=one.made_by, n=n, body=one.body) for n, one in enumerate(specials)]
        first = sum(one.role == ANSWERS for one in outcomes)
        return outcomes + [replace(one, n=first + n) for n, one in enumerate(later.said)]

    def _reconsidered(self, bench: Bench, entry: Entry, work: Round) -> tuple[list[Outcome], Thought]:
        """Ask what becomes of the traits that too much contradicts; one that gets no answer stays as it is."""
        found: list[Outcome] = []
        together = Thought()
        for trait_id in contradictions.doubtful(work):
            said, thought = self.mind.reconsider(bench, entry, work, trait_id)
            refusal = None if said is None else sensitive_words(self.guard, said)
            kept = withheld(self.guard, thought.said, refused=refusal is not None)
            together = together.plus(replace(thought, said=kept))
            if refusal is not None:
                together = together.refusing(refusal)
            elif said is not None:
                leaning = {"seen": list(thought.seen), "stands_on": list(thought.stands_on)}
                body = {**special_body(trait_id, said), **leaning}
                found.append(Outcome(role=SPECIAL, made_by=thought.made_by, body=body))
        return found, together


def carry_out(work: Round, wishes: Wishes) -> None:
    """Carry out steps 2 to 7, but for what special reflections say."""
    standing = {trait_id for trait_id, trait in work.traits.items() if trends.is_trend(trait)}
    trends.begin_trends(work, wishes.new_trends)
    trends.confirm_trends(work, wishes.reinforcements)
    trends.expire_trends(work)
    behaviours.begin_behaviours(work, wishes.new_behaviors)
    behaviours.reinforce(work, wishes.reinforcements, trends=standing)
    upgrades.upgrade(work, wishes.upgrades, subtype="preference")
    upgrades.upgrade(work, wishes.upgrades, subtype="core")
    upgrades.refuse_others(work, wishes.upgrades)
    contradictions.contradict(work, wishes.contradictions)


def apply(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Carry the nine steps out on the lane as it is."""
    trigger = next(iter(outcomes.get(TRIGGER, ())), None)
    if is_erased(entry.payload) or trigger is None or not trigger.body["due"]:
        return Changes()
    scope = view.scope_fields()
    for outcome in outcomes.get(SKIPPED, ()):
        failed = make_cycle(entry, scope, trigger.body, counts={}, error=outcome.body["error"],
                            spent=outcome.body["spent"], made_by=outcome.made_by)  # fmt: skip
        return Changes(items=[failed])
    said = next(iter(outcomes.get(WISHES, ())), None)
    origin: Origin = "rule" if said is None else said.body["origin"]
    work = Round.of(scan(view, entry), entry, origin, scope)
    carry_out(work, Wishes() if said is None else from_body(said.body))
    linking.join(work, () if said is None else said.body["links"])
    for outcome in outcomes.get(SPECIAL, ()):
        contradictions.reconsider(work, outcome.body["trait_id"], special_from(outcome.body))
    crediting.credit(work, entry.payload.get("recalled", {}))
    fading.fade(work)
    fading.rejoin(work)
    sifted = [RefusedWish(**outcome.body) for outcome in outcomes.get(REFUSED, ())]
    cycle = make_cycle(
        entry, scope, trigger.body, counts=work.counts, refused=[*sifted, *work.refused],
        made_by=trigger.made_by if said is None else said.made_by, spent=None if said is None else said.body["spent"],
    )  # fmt: skip
    return Changes(items=[*work.created, cycle], patches=work.patches, evidence=work.added, edges=work.edges)


def _due(material: Material, entry: Entry, thresholds: Thresholds) -> Due:
    """Say whether the reflection is due: another may have done its work since it was asked for."""
    payload = entry.payload
    learned = material.learned
    asked = {name: bool(payload.get(name)) for name in ("force", "session_ended", "daily")}
    overtaken = (None if material.last is None else material.last.id) != payload.get("last")
    if overtaken and not learned.memories:
        asked = {}
    return due(learned, entry.recorded_at, thresholds, **asked)


def _skipped(name: str, thought: Thought) -> Outcome:
    body: Mapping[str, Any] = {"error": thought.error, "spent": asdict(thought.spent), "seen": list(thought.seen),
                               "stands_on": list(thought.stands_on)}  # fmt: skip
    return Outcome(role=SKIPPED, made_by=name, body=body)


def handlers(prepare: Prepare | None) -> tuple[Handler, ...]:
    """Give the handler of ``reflect``, prepared so."""
    return (Handler(verb=REFLECT, apply=apply, prepare=prepare),)


FOLDS: Final[Mapping[str, Fold]] = {TRAIT: TRAITS_FOLD}
