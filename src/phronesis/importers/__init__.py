"""Importers: exports of other programs become calls of a Memory, each made once."""

from phronesis.importers.runner import FORMATS, ImportRunner, ImportSummary

__all__ = ["FORMATS", "ImportRunner", "ImportSummary"]
