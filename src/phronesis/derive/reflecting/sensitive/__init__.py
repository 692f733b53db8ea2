"""Sensitive matters, from which no trait is ever inferred: a guard by tables of words and telling phrases."""

from phronesis.derive.reflecting.sensitive.guard import GUARD_VERSION, Finding, Guard, SensitivePolicy

__all__ = ["GUARD_VERSION", "Finding", "Guard", "SensitivePolicy"]
