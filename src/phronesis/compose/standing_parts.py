"""What still holds of words that told several things, where another memory stands in for one of them by now."""

from collections.abc import Sequence

from phronesis.core.items import Item
from phronesis.recall.past import drawn_by
from phronesis.storage.database import Unit
from phronesis.storage.eligible import Wanted
from phronesis.storage.items import read_items
from phronesis.storage.lanes import Lane
from phronesis.storage.relations import read_edges


def standing_parts(unit: Unit, lanes: Sequence[Lane], held: Sequence[Item], wanted: Wanted) -> dict[str, str]:
    """Give for items whose words tell more than holds, by id, what of these words is theirs: their key and value.

    "I work in Lyon as a nurse" goes on telling the job when the home is another; whoever reads it must not take Lyon
    for the home again. One of ``held`` took the place of a memory with the same words.
    """
    gone: set[str] = set()
    for lane in lanes if held else ():
        edges = read_edges(unit, lane.lane_id, [item.id for item in held], types=("supersedes",))
        old = [edge.to_id for edge in drawn_by(unit, lane.lane_id, edges, wanted.as_of)]
        gone |= {item.content for item in read_items(unit, lane, old).values()} if old else set()
    return {
        item.id: f"{item.key}: {item.value}"
        for item in held
        if item.content in gone and item.key is not None and isinstance(item.value, str)
    }
