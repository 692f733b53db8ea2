"""Lean 4: the output of the compiler, lake and the REPL, read as attempts."""

from phronesis.experience.sources.lean.lean_source import LeanSource

__all__ = ["LeanSource"]
