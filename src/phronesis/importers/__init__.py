"""Importers: exports of other programs become calls of a Memory, each made once."""

from phronesis.importers.runner import FORMATS, Importing, ImportSummary

__all__ = ["FORMATS", "ImportSummary", "Importing"]
