"""Items that are found by their id and their list, and by no search: runs, and reflections."""

from phronesis.core.items import Item
from phronesis.index.projections import Part


def no_parts(_item: Item) -> list[Part]:
    """Give no parts: what an agent tried, or when it reflected, is no memory and must not crowd what is."""
    return []
