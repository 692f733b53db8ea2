"""What learns keep of a lane is forgotten with its epoch, and never grows without end."""

from dataclasses import dataclass
from typing import Any, cast

from phronesis.reasoning.learning import LaneCache
from phronesis.store.lane_view import LaneView


@dataclass
class Unit:
    tenant: str


@dataclass
class Lane:
    lane_id: int
    epoch: int


def view(lane_id: int, epoch: int = 0, tenant: str = "t") -> LaneView:
    return LaneView(cast("Any", Unit(tenant)), cast("Any", Lane(lane_id, epoch)))


def test_it_holds_so_much_and_so_many() -> None:
    kept = LaneCache(lanes=2, limit=2)
    kept.of(view(1)).update(a=1, b=2)
    assert len(kept.of(view(1))) == 2
    kept.of(view(1))["c"] = 3
    assert kept.of(view(1)) == {}
    kept.of(view(1))["a"] = 1
    kept.of(view(2))
    kept.of(view(1))
    kept.of(view(3))
    assert kept.of(view(1)) == {"a": 1}
    kept.of(view(2))["b"] = 1
    kept.of(view(3))
    kept.of(view(1))
    assert kept.of(view(2)) == {}
