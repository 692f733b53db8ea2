"""A reasoning item as callers see it, and the claims of it that met a query."""

from collections.abc import Sequence
from dataclasses import dataclass

from phronesis.core.items import Item
from phronesis.core.reasoning.records import Claim
from phronesis.core.reasoning.standing import current_block
from phronesis.core.results import Record


@dataclass(frozen=True, slots=True)
class ReasoningItem(Record):
    """An item of the reasoning bank: what its block says, each claim as it stands now.

    ``status`` is the item's life, active or archived; what is known stands on the claims. ``item`` is None while it is
    ``pending``: recorded, and not interpreted yet. ``entry_id`` is the entry that made it.
    """

    id: str
    topic: str
    scope: str | None
    claims: Sequence[Claim]
    status: str
    entry_id: str
    item: Item | None = None
    pending: bool = False

    @property
    def content(self) -> str:
        """The block as it stands now; empty while pending."""
        return "" if self.item is None else self.item.content

    @property
    def citation(self) -> str:
        """The form in which contexts and answers cite it."""
        return f"mem:{self.id}"


def reasoning_item(item: Item) -> ReasoningItem:
    """Give an item of kind reasoning as one."""
    block = current_block(item)
    return ReasoningItem(item.id, block.topic, block.scope, block.claims, item.status, item.entry_id, item)
