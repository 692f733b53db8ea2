"""Whatever a mind wishes, and whatever people take back meanwhile, traits keep their laws (1, 2, 3, 4)."""

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from phronesis.core.confidence import GRADES, Subtype, stage
from phronesis.core.ids import LaneName
from phronesis.core.items import Item
from phronesis.core.timestamps import parse_moment
from phronesis.errors import NotFound, RollbackConflict
from phronesis.memory import Memory
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import find_lane
from phronesis.traits.laws.records import (
    CONTEXTS,
    Action,
    Facet,
    NewBehavior,
    NewTrend,
    ProposedOperations,
    ReflectionCycle,
    Reinforcement,
    TraitContradiction,
    TraitRevision,
    TraitSide,
    Upgrade,
)
from phronesis.traits.laws.strength import stage_at, strength_of
from plain_mind import PlainMind, reflecting

USER = "wen"
GHOST = "00000000-0000-4000-8000-000000000000"
ODD = ("Drinks tea", "drinks  TEA.", "喝茶", "", " ", "x" * 600)
PLACE = st.integers(0, 1 << 16)
"""Where in a list: what is in it, and how many, follows from ids that differ from run to run."""

PLACES = (*CONTEXTS, "nowhere")
FACETS: tuple[Facet | None, ...] = (None, "personality", "value")
ACTIONS: tuple[Action, ...] = ("modify", "dissolve", "split", "split")


class Reflections(RuleBasedStateMachine):
    """One user's lane; ids of memories and traits, of all times, are what wishes are made of."""

    template: Path

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="trait-laws-"))
        shutil.copy(self.template, self.folder / "memory.db")
        self.now = datetime(2026, 3, 1, tzinfo=UTC)
        self.memory = Memory.open(
            f"sqlite:///{self.folder / 'memory.db'}", policy={"embedder": "none"}, clock=lambda: self.now
        )
        self.mind = PlainMind()
        handler = self.memory.admin.components.writer.interpreter.stepper.registry["reflect"]
        object.__setattr__(handler, "prepare", reflecting(self.mind))
        self.memories: list[str] = []
        self.erased: set[str] = set()
        self.entries: list[str] = []

    # --- what happens ------------------------------------------------------------------------------------------------

    @initialize()
    def begin(self) -> None:
        self.remember(4)

    @rule(count=st.integers(1, 4))
    def remember(self, count: int) -> None:
        for _ in range(count):
            number = len(self.memories)
            added = self.memory.add(f"It was so, time {number}", user_id=USER, kind="episodic", session_id=f"s{number}")
            self.memories.append(added.items[0].id)

    @rule(days=st.sampled_from([0.01, 1, 14, 31, 90, 200]))
    def wait(self, days: float) -> None:
        self.now += timedelta(days=days)

    @rule(seed=st.integers(0, 1 << 32), rounds=st.integers(1, 6), hours=st.sampled_from([0, 1, 100]))
    def live(self, seed: int, rounds: int, hours: int) -> None:
        chance = Random(seed)
        for _ in range(rounds):
            self.now += timedelta(hours=hours)
            self.remember(chance.randint(0, 4))
            self.reflect(chance, session_ended=chance.random() < 0.5)
            self.laws_2_to_4_hold()

    def reflect(self, chance: Random, *, session_ended: bool) -> None:
        self.mind.then, self.mind.special = [self.wished(chance)], self.reconsidered(chance)
        cycle = self.memory.reflect(USER, force=not session_ended, session_ended=session_ended)
        self.noted(cycle)
        assert cycle.status == "completed"
        self.check_settled()
        self.mind.then = []

    @rule(place=PLACE, cascade=st.booleans())
    def take_back(self, place: int, cascade: bool) -> None:
        if self.entries:
            with suppress(RollbackConflict, NotFound):  # something stands on it, or it changed nothing
                undone = self.memory.rollback(self.entries[place % len(self.entries)], cascade=cascade)
                self.entries.append(undone.entry_id)

    @rule(place=PLACE, verb=st.sampled_from(["items.retract", "items.archive", "items.unarchive"]))
    def put_away(self, place: int, verb: str) -> None:
        found = [*self.living()[-9:], *(item.id for item in self.traits())]
        self.entries.append(attrgetter(verb)(self.memory)(found[place % len(found)]).entry_id)

    @rule(place=PLACE, words=st.sampled_from(["Drinks tea", "Is just so"]), context=st.sampled_from([None, "work"]))
    def correct(self, place: int, words: str, context: str | None) -> None:
        found = [item.id for item in self.traits(live=False)]
        if found:
            chosen = found[place % len(found)]
            self.entries.append(self.memory.traits.correct(chosen, content=words, context=context).entry_id)

    @rule(place=PLACE)
    def erase(self, place: int) -> None:
        found = self.living()
        if len(self.erased) < 2 and len(found) > 2:
            chosen = found[place % len(found)]
            assert self.memory.erase(id=chosen).clean
            self.erased.add(chosen)

    # --- what is wished ----------------------------------------------------------------------------------------------

    def wished(self, chance: Random) -> ProposedOperations:
        """Wishes of which most may be lawful, and some cannot be."""
        living = self.traits()
        named = [*[item.id for item in living] * 3, GHOST]

        def some(most: int) -> range:
            return range(chance.randint(0, most))

        def ids(least: int) -> list[str]:
            known = [*self.memories[-6:], *self.memories[:1], GHOST, ""]
            return chance.sample(known, min(len(known), chance.randint(least, 4)))

        def words() -> str:
            return chance.choice([*ODD, *(f"Does {n}" for n in range(9)), *(f"Does {n}" for n in range(9))])

        def context() -> str:
            return chance.choice(PLACES)

        def upgraded(made: Subtype, wanted: Subtype) -> Upgrade:
            fitting = [item.id for item in living if item.data["subtype"] == wanted and item.confidence >= 0.5]
            members = [*fitting[-3:], *chance.sample(named, chance.choice([0, 0, 0, 1]))]
            return Upgrade(
                from_trait_ids=members,
                new_content=words(),
                new_subtype=made,
                context=context(),
                facet=chance.choice(FACETS),
            )

        days = chance.choice([14, 30, 0, -1, 9999])
        upgrades: list[tuple[Subtype, Subtype]] = [
            ("preference", "behavior"),
            ("core", "preference"),
            ("behavior", "core"),
        ]
        return ProposedOperations(
            new_trends=[
                NewTrend(content=words(), evidence_ids=ids(0), context=context(), window_days=days) for _ in some(1)
            ],
            new_behaviors=[NewBehavior(content=words(), evidence_ids=ids(3), context=context()) for _ in some(2)],
            reinforcements=[
                Reinforcement(
                    trait_id=chance.choice(named), new_evidence_ids=ids(1), quality_grade=chance.choice(GRADES)
                )
                for _ in some(4)
            ],
            contradictions=[
                TraitContradiction(trait_id=chance.choice(named), contradicting_evidence_ids=ids(1)) for _ in some(2)
            ],
            upgrades=[upgraded(*chance.choice(upgrades)) for _ in some(2)],
        )

    def reconsidered(self, chance: Random) -> TraitRevision | None:
        sides = [
            TraitSide(
                content=chance.choice([*ODD, "At work", "With friends"]),
                context=chance.choice(PLACES),
                evidence_ids=chance.sample([*self.memories, GHOST], chance.choice([0, 0, 3])),
            )
            for _ in range(chance.randint(1, 3))
        ]
        said = TraitRevision(action=chance.choice(ACTIONS), reasoning="so", new_content="Does it", sides=sides)
        return chance.choice([said, said, said, None])

    # --- what holds --------------------------------------------------------------------------------------------------

    @invariant()
    def laws_2_to_4_hold(self) -> None:
        if not self.memories:
            return
        traits = self.traits(live=False)
        evidence = self.evidence([item.id for item in traits])
        for item in traits:
            rows = evidence.get(item.id, [])
            keys = [row.source_key for row in rows if row.polarity in ("support", "contra")]
            assert len(keys) == len(set(keys))
            assert set(keys) <= set(self.memories) - self.erased
            self.check_strength(item, rows)
        listed = self.memory.get_user_traits(USER, "trend")
        assert all(one.live and one.stage != "dissolved" for one in listed)
        for one in listed:
            explained = self.memory.explain(one.id)
            supported = [row for row in one.evidence if row.evidence_type == "supporting"]
            assert explained.needs_validation == (not supported)
            assert {row.source_entry_id for row in supported} == {source.entry_id for source in explained.sources}
            assert supported or self.erased
        order = ("trend", "candidate", "emerging", "established", "core")
        ranks = [(order.index(one.stage or ""), one.confidence or 0.0) for one in listed]
        assert ranks == sorted(ranks, reverse=True)

    def check_strength(self, item: Item, rows: Sequence[Any]) -> None:
        kept = item.data["strength"]
        assert 0 <= item.confidence <= 1
        findings = {
            (row.recorded_at, row.entry_id)
            for row in rows
            if row.polarity == "support" and row.recorded_at > item.recorded_at
        }
        assert kept["reinforcements"] <= len(findings)
        stored = strength_of(item)
        if item.ended == "dissolved":
            assert item.stage == "dissolved"
        elif stored is None:
            assert (item.stage, item.confidence) == ("trend", 0.0)
        else:
            crossed = item.data.get("decayed_to")
            reference = stored.at if crossed is None else parse_moment(crossed, field="decayed_to")
            assert item.stage == stage(stored.value_at(reference), kept["cap"])

    def check_settled(self) -> None:
        """After a reflection no trait stands where time no longer lets it."""
        for item in self.traits():
            assert item.stage == stage_at(item, item_time := self.now + timedelta(seconds=1)), item_time
            if item.stage == "trend":
                assert parse_moment(item.data["window"]["end"], field="end") >= self.now - timedelta(seconds=1)
        for one in self.memory.get_user_traits(USER, "candidate"):
            assert one.confidence is not None
            cap = one.data["strength"]["cap"]
            assert one.stage == stage(one.confidence, cap)

    # --- looking -----------------------------------------------------------------------------------------------------

    def noted(self, cycle: ReflectionCycle) -> None:
        if cycle.entry_id is not None:
            self.entries.append(cycle.entry_id)

    def living(self) -> list[str]:
        return [one for one in self.memories if one not in self.erased]

    def traits(self, *, live: bool = True) -> list[Item]:
        with self.memory.admin.components.database.transaction(self.memory.admin.tenant, "read") as unit:
            lane = find_lane(unit, LaneName("user", USER))
            return [] if lane is None else LaneView(unit, lane).find(kinds=("trait",), live=live)

    def evidence(self, ids: Sequence[str]) -> dict[str, Any]:
        with self.memory.admin.components.database.transaction(self.memory.admin.tenant, "read") as unit:
            lane = find_lane(unit, LaneName("user", USER))
            return {} if lane is None else dict(LaneView(unit, lane).evidence(ids))

    def teardown(self) -> None:
        try:
            result = self.memory.admin.rebuild(verify=True)
            assert result.equal, result.differences
        finally:
            self.memory.close()
            shutil.rmtree(self.folder)


@pytest.mark.slow
def test_whatever_is_wished_the_laws_hold(tmp_path: Path) -> None:
    template = tmp_path / "template.db"
    Memory.open(f"sqlite:///{template}", policy={"embedder": "none"}).close()
    machine = type("Bound", (Reflections,), {"template": template})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=5,
            stateful_step_count=25,
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        ),
    )
