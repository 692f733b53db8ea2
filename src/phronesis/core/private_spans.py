"""What agents' hooks and importers do not store: private spans, and turns that are off the record."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

HIDDEN: Final = "[private]"
"""What stands in the place of a private span."""

OFF_RECORD: Final = frozenset(
    {"don't remember this", "do not remember this", "don't save this", "do not save this"}
    | {"off the record", "this is off the record"}
    | {"别记住这个", "不要记住这个", "别记这个", "不要记这个", "别记下来", "不要记下来"}
)
"""Commands by which a prompt is not kept: one of its clauses is such a phrase. No other wording is understood."""

_CLAUSE_END: Final = re.compile(r"[.!?;:,\n。！？；：，、()（）]+")
_POLITE: Final = ("please ", "请")

_TAG: Final = re.compile(r"[<＜]\s{0,8}([/／]?)\s{0,8}private\s{0,8}[>＞]", re.IGNORECASE)


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


def is_off_record(text: str) -> bool:
    """Return whether a prompt says, by a phrase of ``OFF_RECORD``, that it is not to be kept."""
    clauses = (clause.strip().casefold().replace("’", "'") for clause in _CLAUSE_END.split(text))
    return any(_impolite(clause) in OFF_RECORD for clause in clauses)


def _impolite(clause: str) -> str:
    for word in _POLITE:
        clause = clause.removeprefix(word)
    return clause


def kept_messages(messages: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """Return the messages of a turn, of (role, text), as they may be kept; none of a turn that is off the record."""
    said = [(role, without_private(text)) for role, text in messages if text.strip()]
    if any(role == "user" and is_off_record(text) for role, text in said):
        return []
    return [{"role": role, "content": text} for role, text in said if text.strip()]


def without_private_values(value: Any) -> Any:
    """Return JSON data without the private spans of its texts."""
    if isinstance(value, str):
        return without_private(value)
    if isinstance(value, Mapping):
        return {without_private(name): without_private_values(one) for name, one in value.items()}
    return [without_private_values(one) for one in value] if isinstance(value, list) else value
