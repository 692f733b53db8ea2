"""Importers: exports of other programs become calls of a Memory, each made once."""

from phronesis.importers.formats import FORMATS
from phronesis.importers.runner import ImportRunner, ImportSummary

__all__ = ["FORMATS", "ImportRunner", "ImportSummary"]
