"""Claims as search documents of their own, beside the item's (requirement RB-09)."""

from phronesis.core.claims import claim_text
from phronesis.core.items import Item
from phronesis.index.projections import Part, whole


def project_claims(item: Item) -> list[Part]:
    """Project a reasoning item as itself and, part ``claim:<claim_id>``, as each of its claims."""
    claims = [Part(f"claim:{claim['claim_id']}", claim_text(claim)) for claim in item.data.get("claims", ())]
    return [*whole(item), *claims]
