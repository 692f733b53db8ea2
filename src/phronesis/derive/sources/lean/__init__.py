"""Lean 4: what the compiler, lake and the REPL say, read as attempts.

``lines`` and ``program`` know the text, ``walking`` finds its checked units (a file, a module, a command, a tactic
step), ``replies`` reads the JSON among it, ``kinds``, ``goals``, ``names`` and ``tactics`` read one message or proof,
``families`` name a group of errors, and ``drafting`` makes the drafts.
"""

from phronesis.derive.sources.lean.source import LeanSource

__all__ = ["LeanSource"]
