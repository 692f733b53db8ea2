"""Fences that cannot be closed from inside: their tags carry a number that occurs in none of the texts (law 8)."""

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from typing import Final

DIGITS: Final = 9
"""Digits of a boundary. Three tokens in o200k, one in 10⁹ to guess; a guess that hits is seen, and another is taken."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """The number in every tag of a context: that of its session, unless a text holds it."""

    number: str

    def memory(self, text: str) -> str:
        """Give remembered text as data."""
        return f"<memory-{self.number}>\n{text}\n</memory-{self.number}>"

    def turn(self, speaker: str, text: str) -> str:
        """Give an earlier turn as data; ``speaker`` is made of attributes, already safe."""
        return f"<turn-{self.number} {speaker}>\n{text}\n</turn-{self.number}>"


SAMPLE: Final = Boundary("0" * DIGITS)
"""As long as any other: what a fence costs is estimated with it before the texts are known."""


def session_seed(secret: bytes, *names: str) -> str:
    """Give the seed of a session's boundary: the same for the same names, and not to be told without the secret."""
    return hmac.new(secret, "\n".join(names).encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def choose_boundary(seed: str, texts: Iterable[str]) -> Boundary:
    """Give the first number derived from ``seed`` that is in none of ``texts``: the same for the same input.

    Ends always: a text of n characters holds at most n of the 10⁹ numbers.
    """
    known = tuple(texts)
    for attempt in count():
        hashed = hashlib.sha256(f"{seed}\n{attempt}".encode("utf-8", "surrogatepass")).digest()
        number = str(int.from_bytes(hashed) % 10**DIGITS).zfill(DIGITS)
        if not any(number in text for text in known):
            return Boundary(number)
    raise AssertionError  # pragma: no cover - count() does not end
