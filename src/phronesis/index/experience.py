"""Experience as search documents: an event whole and by its views, a pattern and a principle as they say (EMB-08).

An event's whole is searched by words and by meaning. Its views have vectors of their own, which are compared and not
searched: six documents of one event would crowd every search that meets it.
"""

from collections.abc import Mapping
from typing import Any, Final

from phronesis.core.experience.drafts import VIEWS
from phronesis.core.items import Item
from phronesis.index.projections import ALIKE, ASIDE, CHUNK_CHARACTERS, Part, in_words

MAX_WHOLE: Final = 2 * CHUNK_CHARACTERS
"""Characters of an event that are searched and compared: what goes on longer is a log, which the entry has whole."""


def view_part(view: str) -> str:
    """Give the name of the part that a view is."""
    return f"{ASIDE}{view}"


def whole_text(data: Mapping[str, Any]) -> str:
    """Give what an event says as a whole: its views, and its constraints, which are part of the situation."""
    texts = [text for view in VIEWS if (text := data.get(view, ""))]
    return "\n".join(dict.fromkeys([*texts, *data.get("constraints", ())]))[:MAX_WHOLE]


def project_event(item: Item) -> list[Part]:
    """Project an event as its whole, and as each of its views where it has more than one.

    A view that says what an earlier one says is left out: it would be encoded again for nothing.
    """
    texts = {view: text for view in VIEWS if (text := item.data.get(view, ""))}
    first = {text: view for view, text in reversed(texts.items())}
    views = (
        [
            Part(view_part(view), text[:CHUNK_CHARACTERS], dated=False)
            for text, view in sorted(first.items(), key=lambda one: VIEWS.index(one[1]))
        ]
        if len(first) > 1
        else []
    )
    return [Part(ALIKE, whole_text(item.data), dated=False), *views]


def project_learned(item: Item) -> list[Part]:
    """Project a pattern or a principle as what it says and when it applies: its content, which is in words."""
    return in_words(item.content, dated=False)
