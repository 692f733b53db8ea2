"""What an item says in words: its content, or where that is a form for programs, what the form says."""

from collections.abc import Callable, Mapping
from typing import Final

from phronesis.core.items import Item
from phronesis.core.reasoning.prose import told
from phronesis.core.reasoning.records import REASONING
from phronesis.core.reasoning.standing import current_block

_IN_WORDS: Final[Mapping[str, Callable[[Item], str]]] = {REASONING: lambda item: told(current_block(item))}


def words_of(item: Item) -> str:
    """Give what a context shows of an item."""
    in_words = _IN_WORDS.get(item.kind)
    return item.content if in_words is None else in_words(item)
