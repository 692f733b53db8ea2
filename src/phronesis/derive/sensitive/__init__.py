"""Sensitive matters, which traits and, by policy, memories leave out: a guard by tables of words and phrases."""

from phronesis.derive.sensitive.guard import GUARD_VERSION, Finding, Guard, SensitivePolicy

__all__ = ["GUARD_VERSION", "Finding", "Guard", "SensitivePolicy"]
