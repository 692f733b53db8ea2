"""The plain words of a reflection by rules (``words.toml``), ready to be looked for."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final, Literal

from Stemmer import Stemmer

from phronesis.core.lazy_loading import load_once
from phronesis.errors import PhronesisError
from phronesis.models.text_features import has_han, normalise_text
from phronesis.traits.laws.records import Facet

Code = Literal["en", "zh"]
Say = Mapping[Code, str]

MAX_READ: Final = 400
"""Characters of a memory that are read: it is a sentence, and what it is about stands at its beginning."""

_WORD: Final = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Something that plain words name: how it is said, and the words, as `searchable` has them."""

    say: Say
    words: Sequence[str]

    def stand_in(self, text: str) -> bool:
        """Return whether any of the words stands in a `searchable` text."""
        return any(word in text for word in self.words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour(Words):
    """An everyday behaviour: the field of life where it belongs, and its opposites."""

    field: str
    opposites: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation(Words):
    """When or where something shows; a trait may depend on one that is a ``side``."""

    context: str
    side: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of life: the preference that its behaviours point to, and where they show."""

    likes: Say
    core: str
    context: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreTrait:
    """What several preferences say of a person."""

    say: Say
    facet: Facet


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """All that the rules know of words."""

    behaviours: Mapping[str, Behaviour]
    fields: Mapping[str, Field]
    cores: Mapping[str, CoreTrait]
    situations: Mapping[str, Situation]
    marks: Mapping[str, Words]


def searchable(text: str) -> str:
    """Return a text to look for words in: its stemmed English words between blanks, then all of it as it stands."""
    seen = normalise_text(text[:MAX_READ])
    return f" {' '.join(map(_stem, _WORD.findall(seen)))} \n{seen if has_han(seen) else ''}"


@lru_cache(maxsize=1 << 12)
def _stem(word: str) -> str:
    return str(Stemmer("english", 0).stemWord(word))


@load_once
def the_tables() -> Tables:
    """Return the tables that are installed with the package."""
    return parse_tables((files(__package__) / "words.toml").read_text("utf-8"))


def parse_tables(source: str) -> Tables:
    """Read the tables; PhronesisError when one names what is not there."""
    given = tomllib.loads(source)
    opposites: dict[str, set[str]] = {}
    for one, others in given["opposite"].items():
        for other in others:
            opposites.setdefault(one, set()).add(other)
            opposites.setdefault(other, set()).add(one)
    tables = Tables(
        behaviours={
            name: Behaviour(field=field, opposites=frozenset(opposites.get(name, ())), **_words(rest))
            for name, (field, *rest) in given["behaviour"].items()
        },
        fields={
            name: Field(likes=_say(likes), core=core, context=context)
            for name, (*likes, core, context) in given["field"].items()
        },
        cores={name: CoreTrait(say=_say(say), facet=facet) for name, (*say, facet) in given["core"].items()},
        situations={
            name: Situation(context=context, side=side == "side", **_words((*say, english, chinese)))
            for name, (*say, context, side, english, chinese) in given["situation"].items()
        },
        marks={name: Words(**_words(row)) for name, row in given["mark"].items()},
    )
    _check(tables, opposites)
    return tables


def _check(tables: Tables, opposites: Mapping[str, set[str]]) -> None:
    named = [
        *((name, one.field, tables.fields) for name, one in tables.behaviours.items()),
        *((name, one.core, tables.cores) for name, one in tables.fields.items()),
        *(("opposite", name, tables.behaviours) for name in opposites),
    ]
    for name, other, there in named:
        if other not in there:
            raise PhronesisError(f"words.toml: {name} names {other!r}, which is not there")


def _words(row: Sequence[str]) -> dict[str, Any]:
    *say, english, chinese = row
    stemmed = [searchable(one).partition("\n")[0] for one in english.split(",") if one.strip()]
    return {"say": _say(say), "words": [*stemmed, *(one.strip() for one in chinese.split(",") if one.strip())]}


def _say(pair: Sequence[str]) -> Say:
    return {"en": pair[0], "zh": pair[1]}


def opposites_of(behaviours: frozenset[str]) -> frozenset[str]:
    """Return the behaviours that are the opposite of any."""
    table = the_tables().behaviours
    return frozenset[str]().union(*(table[name].opposites for name in behaviours))
