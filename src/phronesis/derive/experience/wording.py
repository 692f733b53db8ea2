"""The readable terms of a text."""

import re
from typing import Final

from phronesis.index.tokens import ENGLISH_STOP_WORDS, tokenize

_WORDS: Final = re.compile(r"[A-Za-z][A-Za-z0-9_'\-.]{1,40}[A-Za-z0-9]")


def readable(text: str) -> list[str]:
    """Give a text's Latin words as they stand there, in lower case, and Chinese words as pairs of characters."""
    words = [word for word in map(str.lower, _WORDS.findall(text)) if word not in ENGLISH_STOP_WORDS]
    return words + [token for token in tokenize(text) if not token.isascii()]
