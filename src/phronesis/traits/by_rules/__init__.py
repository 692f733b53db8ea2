"""Reflection without a language model: what recurs in a user's memories."""

from typing import Final

from phronesis.traits.by_rules.revision import reconsider
from phronesis.traits.by_rules.rule_reflection import reflect
from phronesis.traits.by_rules.similarity import Cosine

RULES_VERSION: Final = "reflection-rules/11"
"""Rises when the tables or the rules change what they find."""

__all__ = ["RULES_VERSION", "Cosine", "reconsider", "reflect"]
