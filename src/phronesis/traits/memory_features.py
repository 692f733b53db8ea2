"""What the rules see in a memory: plain words (``behaviour_words.toml``), where it shows, its odds; how a trait is put.

What is known of people besides (a birthday, a new floor of the office, what a sister does) is most of what is told, and
near to what they do in words and meaning: grouped with it, it makes traits that are none. The classifier
(``showing.npz``), over the reader's token states, was fitted by ``phronesis bench showing`` on labelled users. Where no
reader is installed, every memory may show a behaviour but those that the plain words of ``apart`` tell from it.
"""

import math
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final, Literal

from Stemmer import Stemmer

from phronesis.core.lazy_loading import load_once
from phronesis.index.tokens import tokenize
from phronesis.models.reader import TextClassifier, load_reader, load_text_classifier
from phronesis.models.text_features import has_han, normalise_text
from phronesis.traits.laws.records import GENERAL, Facet, MemoryInput

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
    given = tomllib.loads((files(__package__) / "behaviour_words.toml").read_text("utf-8"))
    opposites = defaultdict[str, set[str]](set)
    for one, others in given["opposite"].items():
        for other in others:
            opposites[one].add(other)
            opposites[other].add(one)
    return Tables(
        behaviours={
            name: Behaviour(field=field, opposites=frozenset(opposites[name]), **_parse_words(rest))
            for name, (field, *rest) in given["behaviour"].items()
        },
        fields={
            name: Field(likes=_parse_say(likes), core=core, context=context)
            for name, (*likes, core, context) in given["field"].items()
        },
        cores={name: CoreTrait(say=_parse_say(say), facet=facet) for name, (*say, facet) in given["core"].items()},
        situations={
            name: Situation(context=context, side=side == "side", **_parse_words((*say, english, chinese)))
            for name, (*say, context, side, english, chinese) in given["situation"].items()
        },
        marks={name: Words(**_parse_words(row)) for name, row in given["mark"].items()},
    )


def _parse_say(pair: Sequence[str]) -> Say:
    return {"en": pair[0], "zh": pair[1]}


def _parse_words(row: Sequence[str]) -> dict[str, Any]:
    *say, english, chinese = row
    stemmed = [searchable(one).partition("\n")[0] for one in english.split(",") if one.strip()]
    return {"say": _parse_say(say), "words": [*stemmed, *(one.strip() for one in chinese.split(",") if one.strip())]}


def opposites_of(behaviours: frozenset[str]) -> frozenset[str]:
    """Return the behaviours that are the opposite of any."""
    table = the_tables().behaviours
    return frozenset[str]().union(*(table[name].opposites for name in behaviours))


USERS_NAMES: Final = frozenset({"user", "the user", "用户", "我", "i", "me", "self", "myself"})
"""How a memory's subject names the user. Somebody else's name is somebody else, until the caller says otherwise."""

BEHAVIOUR_KINDS: Final = frozenset({"fact", "episodic", "preference", "event", "procedure", "profile"})
"""Kinds that may show a behaviour; a task, a plan and a decision are none yet."""

STATED: Final = frozenset({"fact", "preference", "profile", "event"})
"""Kinds of what is so, or is to happen, rather than of what was done."""

PERSONAL_KEYS: Final = frozenset({"hobby", "diet", "skill"})
"""Keys of a profile that tell of what somebody does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFeatures:
    """A memory as the rules read it.

    ``barred``: it is of a kind that shows no behaviour, or about somebody else, as whoever wrote it says. ``marks`` are
    those of the table. ``odds``: the log odds that it shows a behaviour of the user's (`add_odds`); ``apart``: what it
    tells the user did not do; ``private``: it seems sensitive, so it shows nothing together with what does not;
    ``place``: what counts as a session of its own, that in which it was said, else its day.
    """

    id: str
    at: datetime
    place: str
    text: str
    code: Code
    kind: str
    behaviours: frozenset[str]
    situations: frozenset[str]
    marks: frozenset[str]
    stems: frozenset[str]
    barred: bool
    odds: float = 0.0
    apart: bool = False
    private: bool = False

    @property
    def habit(self) -> bool:
        """Whether it says that it recurs."""
        return "habit" in self.marks


def read(memory: MemoryInput) -> MemoryFeatures:
    """Read a memory."""
    tables = the_tables()
    text = searchable(memory.content)
    return MemoryFeatures(
        id=memory.id,
        at=memory.at,
        place=f"d:{memory.at.date().isoformat()}" if memory.session_id is None else f"s:{memory.session_id}",
        text=memory.content,
        code="zh" if has_han(memory.content) else "en",
        kind=memory.kind,
        behaviours=_find_named(tables.behaviours, text),
        situations=_find_named(tables.situations, text),
        marks=_find_named(tables.marks, text),
        stems=frozenset(tokenize(memory.content[:MAX_READ])),
        barred=_is_barred(memory),
    )


def read_all(memories: Sequence[MemoryInput]) -> list[MemoryFeatures]:
    """Read memories, each once, in the order of time."""
    return [read(one) for one in sorted({one.id: one for one in memories}.values(), key=lambda one: (one.at, one.id))]


def _find_named(table: Mapping[str, Words], text: str) -> frozenset[str]:
    """Return what of a table a `searchable` text names."""
    return frozenset(name for name, one in table.items() if any(word in text for word in one.words))


def _is_barred(memory: MemoryInput) -> bool:
    impersonal = memory.kind == "profile" and memory.key not in PERSONAL_KEYS
    about_others = memory.subject is not None and memory.subject.strip().casefold() not in USERS_NAMES
    return memory.kind not in BEHAVIOUR_KINDS or impersonal or about_others


CLASSES: Final = ("shown", "apart", "private")
"""It shows a behaviour; it tells what others do, what is only thought of, or a joke; it is nobody's business."""

SHOWN: Final = -0.5
"""Log odds above which a memory may show a behaviour: what is as likely as not does, if others show the same."""

KNOWN: Final = 1.0
"""By how much the odds may be lower where a plain word names an everyday behaviour."""

MANY: Final = 16
USUAL: Final = -0.45
RELATIVE_TO_USER: Final = 0.75
"""The mean of the odds of labelled users' memories, and the share by which another mean of a user's is taken away,
short plain sentences ("Went for a swim.") all have lower odds than long ones. Of fewer than `MANY` memories the mean
says nothing: there every memory may show a behaviour that says nothing against it."""

SURELY: Final = 0.5
HINTED: Final = 0.3
"""The least chances at which a memory is taken to be apart, and private."""

_LEAST: Final = 1e-4

Chances = Mapping[str, float]
"""How likely a text is of each class."""

Judge = Callable[[str], Chances | None]


def shows(one: MemoryFeatures) -> bool:
    """Return whether a memory may show a behaviour of the user's."""
    named = bool(one.behaviours) and not one.apart and "ended" not in one.marks
    return not one.barred and one.odds > SHOWN - KNOWN * named


def add_odds(readings: Sequence[MemoryFeatures], judge: Judge | None = None) -> list[MemoryFeatures]:
    """Return the readings of a user's memories with their odds. ``judge`` stands in for the installed classifier."""
    judge = judge or chances_of
    told = [_judge_features(one, judge(one.text)) for one in readings]
    if len(told) < MANY:
        return [replace(one, odds=2 * SHOWN if one.apart or "ended" in one.marks else 0.0) for one in told]
    own = RELATIVE_TO_USER * (sum(one.odds for one in told) / len(told) - USUAL)
    return [replace(one, odds=round(one.odds - own, 4)) for one in told]


def _judge_features(one: MemoryFeatures, chances: Chances | None) -> MemoryFeatures:
    if chances is None:
        return replace(
            one, odds=0.0 if {"apart", "ended"}.isdisjoint(one.marks) else 2 * SHOWN, apart="apart" in one.marks
        )
    chance = min(max(chances["shown"], _LEAST), 1 - _LEAST)
    return replace(
        one,
        odds=math.log(chance / (1 - chance)),
        apart=chances["apart"] >= SURELY,
        private=chances["private"] >= HINTED,
    )


@lru_cache(maxsize=1 << 14)
def chances_of(text: str) -> Chances | None:
    """Return how likely a memory is of each class; None where no reader is installed."""
    reader = load_reader()
    states = [] if reader is None else reader.states(normalise_text(text[:MAX_READ]))
    return load_showing()(states[0]) if states else None


@load_once
def load_showing() -> TextClassifier:
    """Return the classifier that is installed with the package."""
    return load_text_classifier((files(__package__) / "showing.npz").read_bytes())


MAX_LENGTH: Final = {"en": 80, "zh": 30}
"""Characters of a memory that a sentence about a trait repeats at most."""

LEAST_LENGTH: Final = {"en": 12, "zh": 4}
"""Characters of a clause that says something: a verb and an object."""

SHARED: Final = 0.5
"""Share of the members that must hold what a sentence says of them all."""

SITUATED: Final = 0.6
"""Share of the members that must show a situation for the sentence to name it."""

_CLAUSE: Final = re.compile(r"[,;:.!?]\s|[，。；：！？、!?]|\.$")
_SUBJECTS: Final = ("the user ", "user ", "i ", "用户", "我")
_OFTEN: Final = {"en": ("now often ", "often: ", "often ", "always "), "zh": ("现在经常", "经常：", "经常", "总是")}
_SOMETIMES: Final = {"en": "Sometimes ", "zh": "有时"}


def clause_of(text: str) -> str:
    """Return the first telling clause of a memory, without the user as its subject."""
    code: Code = "en" if text.isascii() else "zh"
    bare = " ".join(text.split())
    subject = next((one for one in _SUBJECTS if bare.lower().startswith(one)), "")
    parts = [part.strip() for part in _CLAUSE.split(bare[len(subject) :])]
    best = next((part for part in parts if len(part) >= LEAST_LENGTH[code]), max(parts, key=len))
    return best[: MAX_LENGTH[code]].strip() or text.strip()[: MAX_LENGTH[code]]


def weaken_wording(content: str, code: Code) -> str | None:
    """Return a trait in a lower degree ("Sometimes goes running"); None where it is in one already."""
    if content.startswith(_SOMETIMES[code]):
        return None
    lead = next((one for one in _OFTEN[code] if content.lower().startswith(one)), "")
    bare = content[len(lead) :]
    return f"{_SOMETIMES[code]}{bare[:1].lower()}{bare[1:]}"


def language_of(members: Sequence[MemoryFeatures]) -> Code:
    """Return the language that most members are in; Chinese where they are as many."""
    return "zh" if 2 * sum(one.code == "zh" for one in members) >= len(members) else "en"


def behaviours_of(members: Sequence[MemoryFeatures]) -> list[str]:
    """Return the behaviours that at least half of the members show, the commonest first."""
    counts = Counter(name for one in members for name in one.behaviours)
    least = max(2, SHARED * len(members))
    return sorted((name for name in counts if counts[name] >= least), key=lambda name: (-counts[name], name))


def context_of(members: Sequence[MemoryFeatures]) -> str:
    """Return where something shows: what its behaviours and its words say most often, general where they disagree."""
    tables = the_tables()
    votes: Counter[str] = Counter()
    for one in members:
        votes.update({tables.situations[name].context for name in one.situations} - {GENERAL})
    for name in behaviours_of(members)[:1]:
        votes[tables.fields[tables.behaviours[name].field].context] += len(members)
    ranked = sorted(votes.items(), key=lambda pair: (-pair[1], pair[0]))
    return ranked[0][0] if ranked and ranked[0][1] * 2 >= len(members) else GENERAL


def statement_of(members: Sequence[MemoryFeatures]) -> str:
    """Return the sentence: the behaviour that they share, else the clause of the member that shares most words."""
    code = language_of(members)
    for name in behaviours_of(members)[:1]:
        named = Counter(place for one in members for place in one.situations)
        least = max(2, SITUATED * len(members))
        situation = next((place for place in the_tables().situations if named[place] >= least), None)
        return trait_sentence(the_tables().behaviours[name].say[code], situation, code)
    counts = Counter(stem for one in members for stem in one.stems)
    clear = [one for one in members if one.code == code]
    best = min(clear, key=lambda one: (-sum(counts[stem] > 1 for stem in one.stems), len(one.text), one.at, one.id))
    clause = clause_of(best.text)
    return f"经常：{clause}" if code == "zh" else f"Often: {clause[:1].lower()}{clause[1:]}"


def trait_sentence(say: str, situation: str | None, code: Code) -> str:
    """Return a behaviour as a sentence, with when it shows."""
    when = "" if situation is None else the_tables().situations[situation].say[code]
    when = "" if shares_words(say, when, code) else when
    return f"Often {say} {when}".strip() if code == "en" else f"经常{when}{say}"


def shares_words(say: str, when: str, code: Code) -> bool:
    """Return whether a sentence would name one time twice: "goes to bed early before bed"."""
    if code == "zh":
        return not set(say).isdisjoint(set(when) - set("的时在上前"))
    return not set(say.lower().split()).isdisjoint(when.split())
