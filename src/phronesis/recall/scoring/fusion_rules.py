"""Limits on the composition of a result list."""

from dataclasses import dataclass
from typing import Final

from phronesis.core.serialization import Record

PER_DOCUMENT: Final = 3
"""Maximum sections of one document.

A question about a manual is answered by one to three of its sections; more of them in a list of twelve are the answer's
neighbours and displace other documents.
"""

PER_DOMAIN: Final = 6
"""Maximum sections of one host or folder: half of a list of twelve, twice the limit of a document."""

MEMORY_SHARE: Final = 0.4
"""Share of the places for conversation memory (source: 40 to 60, "section 7.4")."""

FLOOR: Final = 0.15
"""Relevance below which a result has no claim to its side's places.

One rare word of six, without similarity, gives about this much: a text that shares no more with a question is a chance
match. The floor only decides which side may borrow places; it drops nothing.
"""


@dataclass(frozen=True, slots=True)
class FusionRules(Record):
    """Fusion limits: results per document, host or folder; the share of memory (0 to 1); the relevance floor."""

    per_document: int = PER_DOCUMENT
    per_domain: int = PER_DOMAIN
    memory_share: float = MEMORY_SHARE
    floor: float = FLOOR
