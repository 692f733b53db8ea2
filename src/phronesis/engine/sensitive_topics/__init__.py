"""Sensitive topics that traits and, by policy, memories leave out: tables of words and a small learned model."""

from phronesis.engine.sensitive_topics.guard import GUARD_VERSION, Finding, Guard

__all__ = ["GUARD_VERSION", "Finding", "Guard"]
