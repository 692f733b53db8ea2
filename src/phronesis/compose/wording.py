"""What a context shows of an item: its statement, a message without what nobody wrote, a form for programs in words."""

from collections.abc import Callable, Mapping
from typing import Final

from phronesis.core.injected_text import own_text
from phronesis.core.item_text import statement
from phronesis.core.items import Item
from phronesis.core.reasoning.prose import told
from phronesis.core.reasoning.records import REASONING
from phronesis.core.reasoning.standing import current_block

_IN_WORDS: Final[Mapping[str, Callable[[Item], str]]] = {REASONING: lambda item: told(current_block(item))}


def words_of(item: Item) -> str:
    """Give what a context shows of an item."""
    in_words = _IN_WORDS.get(item.kind)
    if in_words is not None:
        return in_words(item)
    return own_text(item.content, hosts=False).text if item.kind == "message" else statement(item)
