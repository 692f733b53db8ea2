"""Reflection in a real store: laws 3 and 4, and that repeating it changes nothing."""

from collections.abc import Iterator
from datetime import timedelta
from math import exp
from pathlib import Path

import pytest

from phronesis.core.confidence import StoredConfidence
from phronesis.core.items import Item
from phronesis.traits.laws.strength import strength_of
from scenarios.engines import EngineStore, deltas

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
