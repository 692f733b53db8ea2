"""The tables of a reflection by rules, ready to be asked: ``behaviours.toml`` and ``words.toml``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final, Literal

from phronesis.core.lazy_loading import load_once
from phronesis.core.pattern_tables import parse_folded
from phronesis.errors import PhronesisError
from phronesis.traits.by_rules.terms import Terms, words_of
from phronesis.traits.laws.records import GENERAL, Facet

Code = Literal["en", "zh"]
CODES: Final[tuple[Code, ...]] = ("en", "zh")

Say = Mapping[Code, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """An everyday behaviour: how it is said, where it belongs, what its opposite is."""

    name: str
    domain: str
    say: Say
    opposites: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
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
class Situation:
    """When or where something shows; ``side`` names one that a trait may depend on."""

    say: Say
    pattern: Mapping[Code, re.Pattern[str]]
    context: str
    side: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """All that the rules know of words."""

    behaviours: Mapping[str, Behaviour]
    domains: Mapping[str, Domain]
    cores: Mapping[str, CoreTrait]
    situations: Mapping[str, Situation]
    terms: Terms
    generic: Mapping[Code, frozenset[str]]
    marks: Mapping[Code, Mapping[str, re.Pattern[str]]]
    others: frozenset[str]
    given_names: frozenset[str]
    irregular: Mapping[str, str]


_MARKS: Final = {
    "en": (
        "supposed",
        "stance",
        "joke",
        "quoted",
        "once",
        "static",
        "habit",
        "ended",
        "negated",
        "denied",
        "instead",
        "verb",
    ),
    "zh": (
        "supposed",
        "stance",
        "joke",
        "quoted",
        "once",
        "static",
        "habit",
        "ended",
        "negated",
        "denied",
        "instead",
        "other",
    ),
}


@load_once
def the_tables() -> Tables:
    """Return the tables that are installed with the package."""
    folder = files("phronesis.traits.by_rules")
    return parse_tables(*((folder / name).read_text("utf-8") for name in ("behaviours.toml", "words.toml")))


def parse_tables(behaviours: str, words: str) -> Tables:
    """Read the tables; PhronesisError when one names what is not there."""
    given, other = parse_folded("behaviours.toml", behaviours), parse_folded("words.toml", words)
    irregular = dict(pair.split("=") for pair in other["en"]["irregular"].split())
    terms = Terms(irregular)
    found = {
        name: _behaviour(name, domain, row, terms)
        for domain, rows in given["behaviour"].items()
        for name, row in rows.items()
    }
    domains = {
        name: Domain(likes=_say(row["likes"]), core=row["core"], context=row["context"])
        for name, row in given["domain"].items()
    }
    cores = {name: CoreTrait(say=_say(row["say"]), facet=row["facet"]) for name, row in given["core"].items()}
    for one in found.values():
        if unknown := sorted({one.domain} - domains.keys() | one.opposites - found.keys()):
            raise PhronesisError(f"behaviours.toml: {one.name} names {unknown[0]!r}, which is not there")
    for name, domain in domains.items():
        if domain.core not in cores:
            raise PhronesisError(f"behaviours.toml: domain {name} names {domain.core!r}, which is not there")
    stems = frozenset(word.stem for word in words_of(other["en"]["generic"], irregular))
    other["zh"]["other"] = _people(other["zh"]["other"], other["zh"]["surnames"])
    return Tables(
        behaviours=found,
        domains=domains,
        cores=cores,
        situations={name: _situation(row) for name, row in other["situation"].items()},
        terms=terms,
        generic={"en": stems, "zh": frozenset(other["zh"]["generic"].split())},
        marks={code: {name: re.compile(other[code][name]) for name in _MARKS[code]} for code in CODES},
        others=frozenset(other["en"]["other"].split()),
        given_names=frozenset(other["en"]["names"].split()),
        irregular=irregular,
    )


def _behaviour(name: str, domain: str, row: Mapping[str, Any], terms: Terms) -> Behaviour:
    terms.add_english((one.strip() for one in row["en"].split(",") if one.strip()), name)
    terms.add_chinese(row["zh"].split(), name)
    return Behaviour(name=name, domain=domain, say=_say(row["say"]), opposites=frozenset(row.get("not", ())))


def _situation(row: Mapping[str, Any]) -> Situation:
    return Situation(
        say=_say(row["say"]),
        pattern={code: re.compile(row[code]) for code in CODES},
        context=row.get("context", GENERAL),
        side=row.get("sides"),
    )


def _say(pair: tuple[str, str]) -> Say:
    return {"en": pair[0], "zh": pair[1]}


def _people(words: str, surnames: str) -> str:
    """Return a pattern of people that a Chinese text may begin with: 我妈, 用户的表姐, 用户说同事, 小王."""
    each = "|".join(sorted(map(re.escape, words.split()), key=len, reverse=True))
    lead = (
        "(?:我们|我|用户|咱)?(?:说|提到|讲|聊到|聊起|提起|吐槽|抱怨|表示)?(?:自己|他|她)?"
        "(?:家|的|[有那这一某][个位]|[^给和跟陪帮带为替教送接请约叫找问看喂，。]{1,4}的)?"
    )
    return f"^(?:{lead}(?:{each})|[小老阿][{surnames}])(?!和我|跟我|同我|们?一起|们?聚|会[，,])"


def opposites_of(behaviours: frozenset[str]) -> frozenset[str]:
    """Return the behaviours that are the opposite of any."""
    table = the_tables().behaviours
    return frozenset(
        name
        for name, row in table.items()
        if row.opposites & behaviours or any(name in table[mine].opposites for mine in behaviours)
    )
