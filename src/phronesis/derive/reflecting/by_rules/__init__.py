"""Reflection without a language model: what recurs in a user's memories.

It goes by words, tables and, where there is an encoder, its cosines. It is pure: the same memories and traits give the
same wishes, in whatever order they come. It is made to be right rather than complete; whether a wish is lawful, and
whether its matter is nobody's business, is for others to judge.
"""

from typing import Final

from phronesis.derive.reflecting.by_rules.likeness import Cosine
from phronesis.derive.reflecting.by_rules.reconsidering import reconsider
from phronesis.derive.reflecting.by_rules.reflecting import reflect

RULES_VERSION: Final = "reflection-rules/10"
"""Rises when the tables or the rules change what they find."""

__all__ = ["RULES_VERSION", "Cosine", "reconsider", "reflect"]
