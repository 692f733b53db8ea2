"""Messages that are nothing but a value: "Welder.", "Berlin", 素食.

A word alone states nothing of the user, whatever it is: it may answer a quiz. It does where the assistant asked the
user for just that before it.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from phronesis.core.proposals import Proposal
from phronesis.recall.asked_keys.reading import key_asked

_TURNED: Final = {"your": "my", "you": "I", "are you": "am I", "你": "我", "您": "我"}
_YOU: Final = re.compile(r"\b(?:are you|your|you)\b|[你您]", re.IGNORECASE)
"""Who is asked, as who would ask it of themselves: so the tables of questions read it."""


def is_fragment(one: Proposal, text: str) -> bool:
    """Tell whether a message holds nothing but the value of what is proposed of it."""
    return one.kind == "profile" and one.act == "assert" and one.value is not None and _signs(one.value) == _signs(text)


def answers(one: Proposal, before: Mapping[str, Any] | None) -> bool:
    """Tell whether the message before is the assistant's, and asks the user for what is proposed."""
    said = (before or {}).get("content")
    if before is None or before.get("role") != "assistant" or not isinstance(said, str):
        return False
    asked = key_asked(_YOU.sub(lambda match: _TURNED[match[0].lower()], said))
    return asked is not None and asked.about == "user" and asked.related is None and one.key in asked.keys


def _signs(text: str) -> str:
    return "".join(sign for sign in text.casefold() if sign.isalnum())
