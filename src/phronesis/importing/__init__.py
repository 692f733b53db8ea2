"""Importing: what other programs exported becomes calls of a Memory, each done once however often it is asked for."""

from phronesis.importing.formats import FORMATS
from phronesis.importing.taking_in import Importing, ImportSummary

__all__ = ["FORMATS", "ImportSummary", "Importing"]
