"""Spans between ``<private>`` and ``</private>``, which agents' hooks and importers neither store nor search."""

import re
from collections.abc import Mapping
from typing import Any, Final

HIDDEN: Final = "[private]"
"""What stands in the place of a private span."""

_TAG: Final = re.compile(r"[<＜]\s*([/／]?)\s*private\s*[>＞]", re.IGNORECASE)


def without_private(text: str) -> str:
    """Return a text without its private spans, which may be nested; one that is not closed ends with the text."""
    out, depth, end = "", 0, 0
    for tag in _TAG.finditer(text):
        if tag[1]:
            if depth == 1:
                end = tag.end()
            depth = max(0, depth - 1)
        else:
            out += f"{text[end : tag.start()]}{HIDDEN}" if depth == 0 else ""
            depth += 1
    return out if depth else out + text[end:]


def without_private_values(value: Any) -> Any:
    """Return JSON data without the private spans of its texts."""
    if isinstance(value, str):
        return without_private(value)
    if isinstance(value, Mapping):
        return {without_private(name): without_private_values(one) for name, one in value.items()}
    return [without_private_values(one) for one in value] if isinstance(value, list) else value
