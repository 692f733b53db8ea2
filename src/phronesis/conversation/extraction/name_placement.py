"""Names that a model lists: where each stands in its message, and the names found by rules beside them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from phronesis.conversation.extraction.proposed import ProposedName
from phronesis.core.name_detection import MAX_MENTIONS
from phronesis.core.text import UNSPACED
from phronesis.log.reader import fit

_Row = dict[str, Any]
_WORD: Final = re.compile(rf"[^\W{UNSPACED}]")


def place_names(names: Sequence[ProposedName], texts: Mapping[int, str]) -> tuple[list[_Row], list[_Row]]:
    """Separate the names that occur in their message from those that do not, with the reason."""
    found: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    for name in names:
        surface = fit(name.surface).strip()
        text = texts.get(name.n, "")
        start = _place(surface, text)
        if start is None:
            why = "there is no such message" if name.n not in texts else "it does not stand there"
            refused.append({"n": name.n, "surface": surface, "why": why})
        else:
            place = {"n": name.n, "surface": surface, "kind": "name", "start": start, "end": start + len(surface)}
            if place not in found:
                found.append(place)
    return found, refused


def _place(surface: str, text: str) -> int | None:
    """Return the offset at which a name first occurs as a whole word, or None."""
    start = text.find(surface) if any(char.isalnum() for char in surface) else -1
    while start >= 0:
        end = start + len(surface)
        cut_before = _WORD.match(surface) and start > 0 and _WORD.match(text[start - 1])
        cut_after = _WORD.match(surface[-1]) and end < len(text) and _WORD.match(text[end])
        if not cut_before and not cut_after:
            return start
        start = text.find(surface, start + 1)
    return None


def merge_names(others: Sequence[Mapping[str, Any]], names: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return both lists without overlaps, in the order of the text: an address is one name, not three."""

    def overlaps(name: Mapping[str, Any]) -> bool:
        return any(
            one["n"] == name["n"] and one["start"] < name["end"] and name["start"] < one["end"] for one in others
        )

    kept = [*others, *(name for name in names if not overlaps(name))]
    return sorted(kept, key=lambda one: (one["n"], one["start"]))[: MAX_MENTIONS * max(1, len({o["n"] for o in kept}))]
