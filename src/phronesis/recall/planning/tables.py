"""The tables of patterns by which a message is read (``en.toml``, ``zh.toml``), ready to be asked.

A table has ``pieces``, parts of patterns by name (``<name>`` in a pattern or in a later piece), and ``features``:
what a clause may show, each with patterns of which one must be found in it. Both languages' tables are asked about
every clause: many messages hold words of both. A feature shows when any pattern of either table is found.

- ``chat``: said alone, it wants nothing. ``question``: something is asked.
- ``act_own``: noted, or done in the world; ``act_text``: work on words that the message holds (``quoted``);
  ``act_make``: something is to be made; ``modify``: of what is there already; ``gist``: what is written, in short.
- ``recall``: what was said, done or decided between the two; ``mine``, ``person``: the user, somebody they know;
  ``impersonal``: phrases with "I" in which nobody speaks of himself, taken out before ``mine`` is looked for.
- ``doc``: a document is named; ``doc_in``: it is consulted; ``doc_thing``: it is lent, given, mislaid.
- ``tech``, ``rule``, ``life``: words of tools and instruments, of rules and procedures, of private life; ``code``: what
  is worked on in a program or a paper.
- ``error``, ``fault``: a message of a machine; something does not work. ``how_to``, ``advise``, ``change``.
- ``ahead``, ``behind``: what is to come, what was; ``told``: says where an answer stands; ``follow``: it, that, 那个.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from phronesis.core.lazy_loading import load_once
from phronesis.core.pattern_tables import Pieces, parse_folded
from phronesis.errors import PhronesisError

FEATURES: Final = (
    "chat",
    "question",
    "act_own",
    "act_text",
    "quoted",
    "act_make",
    "modify",
    "gist",
    "recall",
    "mine",
    "person",
    "impersonal",
    "doc",
    "doc_in",
    "doc_thing",
    "tech",
    "code",
    "rule",
    "life",
    "error",
    "fault",
    "how_to",
    "advise",
    "change",
    "ahead",
    "behind",
    "told",
    "follow",
)

LANGUAGES: Final = ("en", "zh")


@dataclass(frozen=True, slots=True)
class Table:
    """The patterns of a language by feature, compiled."""

    patterns: Mapping[str, re.Pattern[str]]


def parse_table(code: str, source: str) -> Table:
    """Return a table from its text; PhronesisError says what is wrong with it."""
    given = parse_folded(f"{code}.toml", source)
    features = given.get("features", {})
    if sorted(features) != sorted(FEATURES):
        odd = sorted(set(features) ^ set(FEATURES))
        raise PhronesisError(f"{code}.toml: {odd[0]!r} is missing or no feature; there are {', '.join(FEATURES)}")
    pieces = Pieces.of(f"{code}.toml", given.get("pieces", {}))
    return Table(
        {name: pieces.compiled(name, "|".join(f"(?:{one})" for one in patterns)) for name, patterns in features.items()}
    )


@load_once
def load_tables() -> tuple[Table, ...]:
    """Return the tables that are installed with the package, read and compiled once."""
    folder = files("phronesis.recall.planning")
    return tuple(parse_table(code, (folder / f"{code}.toml").read_text("utf-8")) for code in LANGUAGES)


def shows(name: str, text: str) -> bool:
    """Return whether a clause, in small letters, shows a feature."""
    return any(table.patterns[name].search(text) is not None for table in load_tables())


def without(name: str, text: str) -> str:
    """Return a clause without the words that show a feature."""
    for table in load_tables():
        text = table.patterns[name].sub(" ", text)
    return text
