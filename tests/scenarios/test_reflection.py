"""Reflection in a real store: laws 3 and 4, and that repeating it changes nothing."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from math import exp
from pathlib import Path

import pytest

from phronesis.core.confidence import StoredConfidence
from phronesis.core.entries import Outcome
from phronesis.core.ids import derived_id
from phronesis.core.items import Item
from phronesis.engine.interpreter import Interpreter
from phronesis.errors import EntryFailed
from phronesis.traits.laws.records import NewBehavior, Reinforcement, Wishes
from phronesis.traits.laws.strength import strength_of
from scenarios.engines import EngineStore, deltas, made

LAMBDA = 0.005  # of a behaviour, per day (NM-09)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EngineStore]:
    with EngineStore(tmp_path) as opened:
        yield opened


def trait(store: EngineStore) -> Item:
    (found,) = store.live("trait")
    return found


def stored(store: EngineStore) -> StoredConfidence:
    found = strength_of(trait(store))
    assert found is not None
    return found


def test_three_memories_make_a_candidate_and_two_do_not(store: EngineStore) -> None:
    store.state(times=2)
    store.state("coffee")
    assert deltas(store.reflect()) == 0
    memory = store.state()[0]
    found = made(store.reflect())[0]
    assert (found.confidence, found.stage, found.content) == (0.4, "candidate", "Alice takes tea")
    assert (found.data["subtype"], found.data["context"], found.source_type) == ("behavior", "general", "reflection")
    rows = store.evidence(found.id)
    assert len(rows) == 3
    assert {row.source_item_id for row in rows} > {memory.id}
    assert {source.entry_id for source in store.memory.explain(found.id).sources} == {
        row.source_entry_id for row in rows
    }
    assert store.verified()


def test_only_what_is_new_is_looked_at(store: EngineStore) -> None:
    store.state(times=3)
    first = store.reflect().entry
    store.memory.items.retract(trait(store).id)
    store.state("coffee")
    assert deltas(store.reflect()) == 0  # nothing new was said of tea
    store.memory.rollback(first.id, cascade=True)
    assert deltas(store.reflect()) == 0  # since the second reflection there was nothing new
    assert store.verified()


def test_the_first_reinforcement_in_a_later_cycle_lifts_the_cap(store: EngineStore) -> None:
    store.state(times=5)  # more than three in the creating cycle reinforce nothing
    store.reflect()
    assert (trait(store).confidence, trait(store).stage) == (0.4, "candidate")
    assert deltas(store.reflect()) == 0
    store.state()
    store.reflect()
    assert trait(store).confidence == pytest.approx(0.4 + 0.6 * 0.15, abs=1e-4)
    assert trait(store).stage == "emerging"
    assert trait(store).data["strength"]["reinforcements"] == 1
    assert store.verified()


def test_evidence_is_counted_once(store: EngineStore) -> None:
    store.state(times=3)
    store.reflect()
    store.state(times=2)
    store.reflect()
    before = trait(store)
    assert before.data["strength"]["reinforcements"] == 1  # what one reflection finds counts once
    assert [deltas(store.reflect()) for _ in range(3)] == [0, 0, 0]
    assert trait(store) == before
    assert store.verified()


def test_thirty_daily_reflections_are_one_after_thirty_days(tmp_path: Path) -> None:
    confidences = []
    for daily in (True, False):
        (tmp_path / str(daily)).mkdir()
        with EngineStore(tmp_path / str(daily)) as store:
            store.state(times=3)
            store.reflect()
            born = trait(store).recorded_at
            for day in range(1, 31):
                store.clock.now = born + timedelta(days=day)
                if daily:
                    assert deltas(store.reflect()) == 0
            store.state()
            store.clock.now = born + timedelta(days=31)
            store.reflect()
            assert store.verified()
            assert stored(store).at == born + timedelta(days=31)
            confidences.append(trait(store).confidence)
    faded = 0.4 * exp(-LAMBDA * 31)
    assert confidences == [pytest.approx(faded + (1 - faded) * 0.15, abs=1e-8)] * 2
    assert confidences[0] == confidences[1]


def test_what_dissolved_comes_back_only_with_new_memories(store: EngineStore) -> None:
    store.state(times=3)
    store.reflect()
    first = trait(store)
    store.clock.pass_days(400)
    store.reflect()
    assert store.live("trait") == []
    store.state(times=2)
    store.reflect()
    assert store.live("trait") == []
    store.state()
    store.reflect()
    assert trait(store).id != first.id
    assert len(store.evidence(trait(store).id)) == 3
    assert store.verified()


def test_what_was_retracted_does_not_come_back(store: EngineStore) -> None:
    store.state(times=3)
    store.reflect()
    store.memory.items.retract(trait(store).id)
    store.state(times=3)
    assert deltas(store.reflect()) == 0
    assert store.verified()


def test_a_reinforcement_can_be_taken_back_while_a_later_one_stands(store: EngineStore) -> None:
    store.state(times=3)
    store.reflect()
    born = trait(store).recorded_at
    store.state()
    first = store.reflect().entry.id
    store.clock.pass_days(10)
    store.state()
    second = store.reflect().entry
    store.memory.rollback(first)
    faded = 0.4 * exp(-LAMBDA * ((second.recorded_at - born) / timedelta(days=1)))
    assert trait(store).confidence == pytest.approx(faded + (1 - faded) * 0.15, abs=1e-8)
    assert trait(store).data["strength"]["reinforcements"] == 1
    assert store.verified()


def test_evidence_that_does_not_exist_adds_nothing(store: EngineStore) -> None:
    memories = store.state(times=3)
    store.reflect()
    found, ghost = trait(store), derived_id("made up")
    unrelated = store.reason("c1")
    store.state("coffee")
    named = [[ghost, memories[0].id, unrelated.id, found.id], [ghost, unrelated.id, found.id], []]
    again = [Reinforcement(trait_id=found.id, new_evidence_ids=ids, quality_grade="A") for ids in named]
    made_up = NewBehavior(content="She is made up", evidence_ids=named[0])
    store.mind.then.append(Wishes(reinforcements=again, new_behaviors=[made_up]))
    assert deltas(store.reflect()) == 0
    assert trait(store) == found
    assert store.verified()


def test_a_failed_reflection_leaves_the_watermark(store: EngineStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.state(times=3)
    interpreter: Interpreter = store.writer.interpreter
    handler = interpreter.stepper.registry["reflect"]
    outcome = Outcome(role="trigger", made_by="a mind that errs", body={"due": "malformed"})
    broken = replace(handler, prepare=lambda _bench, _entry: [outcome])
    monkeypatch.setitem(interpreter.stepper.registry._handlers, "reflect", broken)
    with pytest.raises(EntryFailed):
        store.reflect()
    monkeypatch.undo()
    assert len(made(store.reflect())) == 1
    assert store.verified()
