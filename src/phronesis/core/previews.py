"""Records of a preview: what an extractor proposes of messages, and what would become of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from phronesis.core.items import Item
from phronesis.core.proposals import Decision, Gated
from phronesis.core.results import Degraded
from phronesis.core.serialization import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewedProposal(Record):
    """One proposal of an extractor, and what consolidation would make of it.

    ``decision`` is ADD, UPDATE (a held item said more fully), SUPERSEDE, RETRACT, or NONE (held already, or not sure
    enough). ``item`` is the item as it would be made or confirmed, ``ends`` those that would end, as they are now, and
    ``contradicts`` those that it would be in dispute with.
    ``extractor`` names the rules, the reader or the model, with its version.
    """

    content: str
    kind: str
    decision: Decision
    extractor: str
    quote: str
    confidence: float
    subject: str | None = None
    key: str | None = None
    value: Any = None
    item: Item | None = None
    ends: Sequence[Item] = ()
    contradicts: Sequence[Item] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview(Record):
    """What `add` would remember of messages now; nothing of it is stored.

    ``items``, ``superseded``, ``gated`` and ``degraded`` are those of `AddResult`: the messages and what would be
    learned from them, what would end, what would be refused and why, and the roles without their model.
    """

    proposals: Sequence[PreviewedProposal] = ()
    items: Sequence[Item] = ()
    superseded: Sequence[Item] = ()
    gated: Sequence[Gated] = ()
    degraded: Sequence[Degraded] = ()
