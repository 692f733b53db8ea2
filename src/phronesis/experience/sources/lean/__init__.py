"""The source ``lean``: output of the Lean 4 compiler, lake and the REPL, parsed into attempts."""

from phronesis.experience.sources.lean.lean_source import LeanSource

__all__ = ["LeanSource"]
