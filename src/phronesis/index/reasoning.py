"""A reasoning item as search documents: one of the whole in words, and one of each claim (RB-09)."""

from typing import Final

from phronesis.core.items import Item
from phronesis.core.reasoning.prose import claim_text, prose_of
from phronesis.core.reasoning.standing import written_block
from phronesis.index.projections import Part, in_words

CLAIM: Final = "claim"
"""The name of a claim's part: ``claim:<claim_id>``."""


PROJECTED: Final = ("topic", "claims")
"""The members of ``data`` that the parts are made of: what was written, which verdicts leave as it is."""


def project_reasoning(item: Item) -> list[Part]:
    """Project a reasoning item as its prose and, each a part of its own, as its claims."""
    block = written_block(item.data)
    claims = [Part(f"{CLAIM}:{claim.claim_id}", claim_text(claim), dated=False) for claim in block.claims]
    return [*in_words(prose_of(block), dated=False), *claims]
