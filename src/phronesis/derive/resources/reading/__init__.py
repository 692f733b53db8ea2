"""Readers of documents: bytes or text in, a text with sections out. One module for each form."""

from phronesis.derive.resources.reading.port import RawDocument
from phronesis.derive.resources.reading.shelf import read_document

__all__ = ["RawDocument", "read_document"]
