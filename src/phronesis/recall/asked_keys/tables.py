"""The tables of how keys are asked for (``en.toml``, ``zh.toml``), ready to be asked.

- ``[contractions]``: what is written for what before anything is matched; apostrophes are ``’`` by then.
- ``[pieces]``: parts of patterns by name, ``<name>`` in a pattern or a later piece.
- ``[who]``: the words for the ``user``, what is said before their ``own`` ("my"), and how a ``person`` is named.
- ``[relatives]``: by key, the words for others that the key holds the names of; ``other``: for those that no key does.
- ``[frames]``: what may stand ``before`` and ``after`` a question and is no part of it ("do you remember …", 请问…).
- ``[patterns]``: by key, or by several with the nearest first, how it is asked for in a whole clause. A group that
  captures holds of whom.
- ``[nouns]``: by key, what it is called; with ``[templates]`` they make further patterns (``<noun>``).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

from phronesis.core.lazy_loading import load_once
from phronesis.core.pattern_tables import Pieces, parse_folded
from phronesis.core.values import KEYS
from phronesis.errors import PhronesisError

LANGUAGES: Final = ("en", "zh")


@dataclass(frozen=True, slots=True)
class Table:
    """How keys are asked for in a language; ``asks`` in the order in which they are tried."""

    contractions: tuple[tuple[re.Pattern[str], str], ...]
    before: re.Pattern[str]
    after: re.Pattern[str]
    asks: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]
    user: frozenset[str]
    own: re.Pattern[str]
    person: re.Pattern[str]
    relatives: Mapping[str, str]

    def relation_in(self, said: str, *, owned: bool) -> tuple[str, str] | None:
        """Return the relation of the user that is meant, and the key that holds its names: "my older brother Tom"."""
        words = [said, *(said.split() if owned else ())]
        if owned and not said.isascii():
            words += [said[-length:] for length in (3, 2, 1)]  # the last characters say what one is: 我大儿子
        found = [(word, self.relatives[word]) for word in words if word in self.relatives]
        return found[0] if found else None


def parse_table(code: str, source: str) -> Table:
    """Return a table from its text; PhronesisError says what is wrong with it."""
    file = f"{code}.toml"
    given = parse_folded(file, source)
    pieces = Pieces.of(file, given["pieces"])

    def compiled(name: str, text: str) -> re.Pattern[str]:
        return pieces.compiled(name, text, re.IGNORECASE)

    asks = tuple((tuple(keys.split()), compiled(keys, text)) for keys, text in _asks(given))
    if unknown := [key for keys, _ in asks for key in keys if key not in KEYS]:
        raise PhronesisError(f"{file}: {unknown[0]!r} is no key of memory-types.md")
    who, short = given["who"], given.get("contractions", {})
    return Table(
        contractions=tuple((compiled(one, rf"\b{one}\b"), long) for one, long in short.items()),
        before=compiled("before", given["frames"]["before"]),
        after=compiled("after", f"(?:{given['frames']['after']})$"),
        asks=asks,
        user=frozenset(who["user"].split(", ")),
        own=compiled("own", f"^(?:{who['own']})"),
        person=compiled("person", who["person"]),
        relatives={word: key for key, words in given["relatives"].items() for word in words.split(", ")},
    )


def _asks(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for keys, patterns in given["patterns"].items():
        yield keys, "|".join(f"(?:{one})" for one in patterns)
    for key, noun in given["nouns"].items():
        yield key, "|".join(f"(?:{one.replace('<noun>', f'(?:{noun})')})" for one in given["templates"]["noun"])


@load_once
def load_table(code: str) -> Table:
    """Return a language's table, which is installed with the package, read and compiled at its first question."""
    return parse_table(code, (files("phronesis.recall.asked_keys") / f"{code}.toml").read_text("utf-8"))
