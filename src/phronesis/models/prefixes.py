"""How models were taught to tell questions from documents: by what stands before the text."""

from collections.abc import Mapping
from typing import Final, Literal

PrefixScheme = Literal["bge", "e5", "gemma", "nomic", "qwen3", "none"]

PREFIXES: Final[Mapping[PrefixScheme, tuple[str, str]]] = {
    "bge": ("Represent this sentence for searching relevant passages: ", ""),
    "e5": ("query: ", "passage: "),
    "gemma": ("task: search result | query: ", "title: none | text: "),
    "nomic": ("search_query: ", "search_document: "),
    "qwen3": ("Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:", ""),
    "none": ("", ""),
}
"""What stands before a query and before a document, as the models' cards ask for."""
