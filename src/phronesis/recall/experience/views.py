"""The few best events once more, by the views that a question is about: its situation, its goal, what was tried."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from phronesis.core.experience.meeting import outstanding
from phronesis.core.scoring.arrays import Floats, Spread
from phronesis.index.experience import view_part
from phronesis.recall.experience.asked import Asked
from phronesis.recall.experience.graph import LaneGraph
from phronesis.recall.experience.seeds import cosines
from phronesis.storage.documents import read_vectors
from phronesis.storage.experience import views_of

LOOKED_AT: Final = 32
"""Events whose views are read."""

OF_SITUATION: Final[Mapping[str, float]] = {"situation": 1.0, "attempt": 0.9, "reflection": 0.9, "result": 0.6}
OF_GOAL: Final[Mapping[str, float]] = {"goal": 1.0, "attempt": 0.9, "reflection": 0.9}
"""How much the likeness of a view says where a situation, or a goal, is asked: what stands in the view of the same name
says most, and what was tried or learned names the task as often as not."""


def view_weights(asked: Asked) -> dict[str, float]:
    """Give how much each view says to a question, by the name of its part."""
    out: dict[str, float] = {}
    for text, weights in ((asked.situation, OF_SITUATION), (asked.goal, OF_GOAL)):
        for view, weight in weights.items() if text else ():
            out[view_part(view)] = max(weight, out.get(view_part(view), 0.0))
    return out


def read_views(graph: LaneGraph, event_ids: Sequence[str], model_id: str) -> dict[str, dict[str, Floats]]:
    """Give the stored vectors of the views of some events, by event and part."""
    out: dict[str, dict[str, Floats]] = {}
    for lane in graph.lanes:
        own = [one for one in event_ids if graph.lane_of(one) == lane]
        views = {view.id: view for view in views_of(graph.unit, lane.lane_id, own)} if own else {}
        for row in read_vectors(graph.unit, lane.lane_id, model_id, list(views)):
            view = views[row.document_id]
            out.setdefault(view.item_id, {})[view.part] = row.embedding
    return out


def view_shares(
    views: Mapping[str, Mapping[str, Floats]], weights: Mapping[str, float], vector: Floats, spread: Spread
) -> dict[str, float]:
    """Give the best weighted likeness of the views of each event, in [0, 1]."""
    named = [(one, part, row) for one, parts in views.items() for part, row in parts.items() if part in weights]
    if not named:
        return {}
    rows = np.stack([row for _, _, row in named])
    shares = outstanding(cosines(rows, vector), spread)
    out: dict[str, float] = {}
    for (one, part, _), share in zip(named, shares.tolist(), strict=True):
        out[one] = max(out.get(one, 0.0), weights[part] * share)
    return out


def likeness_to(
    views: Mapping[str, Mapping[str, Floats]], part: str, vector: Floats, spread: Spread
) -> dict[str, float]:
    """Give how like one view of each event is to a text, in [0, 1]; what has no such view is left out."""
    named = {one: parts[part] for one, parts in views.items() if part in parts}
    if not named:
        return {}
    shares = outstanding(cosines(np.stack(list(named.values())), vector), spread)
    return dict(zip(named, shares.tolist(), strict=True))
