"""Which events are joined as was learned: those that a map and an encoder of lessons compare, where there are many."""

import numpy as np
import pytest

from phronesis.core.experience.grouping import SETTLED, Bonds
from phronesis.core.experience.neighbours import Neighbours
from phronesis.derive.experience import meaning
from phronesis.derive.experience.lesson_joining import joining
from phronesis.derive.experience.lesson_map import SHIPPED, map_for
from phronesis.derive.experience.meaning import Encoders, Meaning
from phronesis.derive.experience.table import EventTable
from phronesis.models.hashing_embedder import HashingEmbedder
from unit.core.experience.metrics import drawn


@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("taught", [True, False])
@pytest.mark.parametrize("events", [SETTLED - 1, SETTLED])
def test_groups_are_joined_as_was_learned_where_it_was(
    monkeypatch: pytest.MonkeyPatch, *, mapped: bool, taught: bool, events: int
) -> None:
    shipped = map_for(next(iter(SHIPPED)))
    monkeypatch.setattr(meaning, "map_for", lambda _: shipped if mapped else None)
    encoders = Encoders(HashingEmbedder(), of_lessons=HashingEmbedder() if taught else None)
    table = EventTable(1, 0, Meaning(encoders))
    table.neighbours = Neighbours(drawn(events, 1), np.zeros(events, np.int64))
    many = events >= SETTLED
    assert table.grouper(Bonds()).joining is (joining() if mapped and taught and many else None)
