"""The words by which questions ask for keys (``words.toml``), ready to be looked up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from phronesis.core.lazy_loading import load_once
from phronesis.core.values import KEYS
from phronesis.errors import PhronesisError
from phronesis.recall.word_lists import Words, load_lists, parse_words

FILE: Final = "words.toml"

Cue = tuple[str, ...]
"""The parts of a cue, which must occur in a question in this order."""


@dataclass(frozen=True, slots=True)
class KeyWords:
    """What the file holds.

    ``keys`` are all keys in the file's order, ``cues`` those of each first part with their keys. ``together`` gives
    the keys that may hold the answer too; ``open_keys`` are asked for with a few words of one's own. ``relatives``
    gives the key that holds the names of a relation, or ``other``; ``lists`` are the other lists by name.
    """

    keys: tuple[str, ...]
    cues: Mapping[str, Sequence[tuple[str, Cue]]]
    together: Mapping[str, tuple[str, ...]]
    open_keys: frozenset[str]
    relatives: Mapping[str, str]
    relations: Words
    lists: Mapping[str, Words]


@load_once
def load_words() -> KeyWords:
    """Return the words that are installed with the package, read at the first question."""
    return parse_table(load_lists(__package__, FILE))


def parse_table(given: Mapping[str, Any]) -> KeyWords:
    """Return the words of a file; PhronesisError names a key that memory-types.md lacks."""
    together = {key: tuple(one.strip() for one in more.split(",")) for key, more in given["with"].items()}
    open_keys = frozenset(one.strip() for one in given["open"]["keys"].split(","))
    named = [*given["keys"], *together, *(key for keys in together.values() for key in keys), *open_keys]
    if unknown := [key for key in named if key not in KEYS]:
        raise PhronesisError(f"{FILE}: {unknown[0]!r} is no key of memory-types.md")
    cues: dict[str, list[tuple[str, Cue]]] = {}
    for key, text in given["keys"].items():
        for cue in map(_cue, filter(str.strip, text.split(","))):
            cues.setdefault(cue[0], []).append((key, cue))
    relatives = {word: key for key, words in given["relatives"].items() for word in parse_words(words)}
    return KeyWords(
        keys=tuple(given["keys"]),
        cues=cues,
        together=together,
        open_keys=open_keys,
        relatives=relatives,
        relations=frozenset(relatives),
        lists={name: parse_words(text) for name, text in given["words"].items()},
    )


def _cue(text: str) -> Cue:
    return tuple(word for part in text.split() for word in parse_words(part))
