"""A run as search documents: none. It is found by its id and its list, and its claims say what came of it."""

from phronesis.core.items import Item
from phronesis.index.projections import Part


def project_run(_item: Item) -> list[Part]:
    """Give no parts: what an agent tried is no memory, and must not crowd what is."""
    return []
