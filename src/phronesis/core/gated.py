"""What a write did not keep, and why."""

from dataclasses import dataclass
from typing import Final

from phronesis.core.plain import Record

DUPLICATE: Final = "duplicate_message"
"""The rule by which a message that its session holds already is not stored again."""


@dataclass(frozen=True, slots=True)
class Gated(Record):
    """A text that did not become an item, the rule that said so, and why.

    Under the rules ``secret`` and ``personal_number`` the text is the marker that stands in place of what was taken out
    before anything was stored, and ``place`` says where: ``messages[0].content``.
    """

    text: str
    rule: str
    reason: str
    place: str | None = None
