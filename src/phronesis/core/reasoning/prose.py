"""A block in words: what is searched of a claim and of the whole, without JSON and without FACTS (RB-09)."""

import re
from typing import Final

from phronesis.core.reasoning.records import Claim, ReasoningBlock

MAX_SENTENCE: Final = 400
MAX_CONDITIONS: Final = 200
"""Characters of a claim's core sentence and of its conditions: together about 150 tokens, short to any encoder."""

# Looked back from behind the full stop: before it, every character of a text would be looked back from.
_SENTENCE_END: Final = re.compile(
    r"[。！？\n]|[!?](?=\s|$)"
    r"|\.(?=\s|$)(?<!\b(?i:e\.g|i\.e)\.)(?<!\b(?i:ca|cf|vs)\.)(?<!\b(?i:fig|etc)\.)(?<!\b(?i:approx)\.)"
)


def claim_text(claim: Claim) -> str:
    """Give what is searched of a claim: its core sentence, and its conditions in short.

    The core sentence is the first of the inference, or without one of the constraint.
    """
    sentence = core_sentence(claim.inference) or core_sentence(claim.constraint)
    return "\n".join(part for part in (sentence, _cut("; ".join(claim.conditions), MAX_CONDITIONS)) if part)


def core_sentence(text: str) -> str:
    """Give the first sentence of a text, Chinese or Western, or as much of it as a claim's text holds."""
    stripped = text.strip()
    end = _SENTENCE_END.search(stripped[:MAX_SENTENCE])
    return _cut(stripped if end is None else stripped[: end.end()].strip(), MAX_SENTENCE)


def prose_of(block: ReasoningBlock) -> str:
    """Give what is searched of the whole: its topic, and what its claims infer and constrain."""
    said = [part for claim in block.claims for part in (claim.inference, claim.constraint)]
    return "\n".join(part.strip() for part in (block.topic, *said) if part.strip())


def told(block: ReasoningBlock) -> str:
    """Give what a reader is shown of the whole, a line for each claim: where it stands, what it says, and when."""
    return "\n".join([*filter(None, [block.topic.strip()]), *map(_told_claim, block.claims)])


def _told_claim(claim: Claim) -> str:
    standing = f"{claim.status}, {claim.support.count} for and {claim.contra.count} against"
    said = " ".join(part.strip() for part in (claim.inference, claim.constraint) if part.strip())
    named = (("conditions", claim.conditions), ("limitations", claim.limitations))
    more = "".join(f" ({name}: {'; '.join(texts)})" for name, texts in named if texts)
    return f"{claim.claim_id} ({standing}): {said}{more}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
