"""What one list of evidence may hold of what."""

from dataclasses import dataclass
from typing import Final

from phronesis.core.plain import Record

PER_DOCUMENT: Final = 3
"""Sections of one document. A question about a manual is answered by one to three of its sections; more of them in a
list of twelve are the neighbours of the answer, and leave no room for what another document says."""

PER_DOMAIN: Final = 6
"""Sections of one host or folder: half of a list of twelve, twice what one document may have."""

MEMORY_SHARE: Final = 0.4
"""Part of the places that is conversation memory (source: 40 to 60, "section 7.4")."""

FLOOR: Final = 0.15
"""Relevance below which nothing has a claim to its side's places.

One rare word of a question of six, and no nearness in meaning, comes to about this much: a text that shares no more
with a question is there by chance. It only decides who may borrow places; nothing is left out for it.
"""


@dataclass(frozen=True, slots=True)
class FusionRules(Record):
    """At most so much of a document, a host or folder; the share of memory from 0 to 1; the floor of relevance."""

    per_document: int = PER_DOCUMENT
    per_domain: int = PER_DOMAIN
    memory_share: float = MEMORY_SHARE
    floor: float = FLOOR
