"""Experience as search documents: an event by its views, a pattern and a principle by what they say (EMB-08)."""

from typing import Final

from phronesis.core.experience.drafts import VIEWS
from phronesis.core.items import Item
from phronesis.index.projections import CHUNK_CHARACTERS, CHUNK_OVERLAP, Part, in_words

VIEW: Final = "view"
"""The kind of part that a view is; which one stands behind the colon: ``view:attempt``."""


def view_of(part: str) -> str:
    """Give which view a part is of."""
    return part.split(":")[1]


def project_event(item: Item) -> list[Part]:
    """Project an event as its views, each with a vector of its own; a long one in overlapping pieces.

    A view that says what an earlier one says is left out: it would be encoded again for nothing.
    """
    out: list[Part] = []
    seen: set[str] = set()
    for view in VIEWS:
        text = item.data.get(view, "")
        if text and text not in seen:
            seen.add(text)
            out += [Part(f"{VIEW}:{view}{f':{start}' if start else ''}", piece, dated=False)
                    for start, piece in _pieces(text)]  # fmt: skip
    return out


def project_learned(item: Item) -> list[Part]:
    """Project a pattern or a principle as what it says and when it applies: content that the spine keeps as words."""
    return in_words(item.content, dated=False)


def _pieces(text: str) -> list[tuple[int, str]]:
    if len(text) <= CHUNK_CHARACTERS:
        return [(0, text)]
    starts = range(0, len(text) - CHUNK_OVERLAP, CHUNK_CHARACTERS - CHUNK_OVERLAP)
    return [(start, text[start : start + CHUNK_CHARACTERS]) for start in starts]
