"""Sensitive topics that traits and, by policy, memories leave out: a classifier over the reader, or plain words."""

from phronesis.engine.sensitive_topics.guard import GUARD_VERSION, Finding, Guard

__all__ = ["GUARD_VERSION", "Finding", "Guard"]
