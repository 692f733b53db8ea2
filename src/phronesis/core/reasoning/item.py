"""A reasoning item as callers see it, and the claims of it that met a query."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final

from phronesis.core.items import Item
from phronesis.core.plain import as_json
from phronesis.core.reasoning.records import REASONING, Claim, ReasoningBlock
from phronesis.core.reasoning.standing import current_block


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningItem(Item):
    """An item of the reasoning bank: an item, and what its block says, each claim as it stands now.

    ``status`` is the item's life, active or archived; what is known stands on the claims. ``entry_id`` is the entry
    that made it. While it is ``pending``, recorded and not interpreted yet, it has no content.
    """

    topic: str = ""
    scope: str | None = None
    claims: Sequence[Claim] = ()
    pending: bool = False

    @property
    def item(self) -> Item | None:
        """The item as any other; None while it is pending."""
        return None if self.pending else Item(**{name: getattr(self, name) for name in _ITEM})

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return {**Item.to_dict(self), **{name: as_json(getattr(self, name)) for name in _OWN}}


_ITEM: Final = tuple(f.name for f in fields(Item))
_OWN: Final = ("topic", "scope", "claims", "pending")


def reasoning_item(item: Item) -> ReasoningItem:
    """Give an item of kind reasoning as one."""
    block = current_block(item)
    own = {name: getattr(item, name) for name in _ITEM}
    return ReasoningItem(**own, topic=block.topic, scope=block.scope, claims=block.claims)


def pending_item(item_id: str, block: ReasoningBlock, *, entry_id: str, at: datetime) -> ReasoningItem:
    """Give what is known of an item whose entry waits to be interpreted."""
    return ReasoningItem(
        id=item_id, kind=REASONING, content="", entry_id=entry_id, recorded_at=at, updated_at=at, topic=block.topic,
        scope=block.scope, claims=block.claims, pending=True,
    )  # fmt: skip
