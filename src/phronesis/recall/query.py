"""Queries and search options; what a question names: terms, times, people, a speaker, and the key that it asks for."""

import dataclasses
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from phronesis.core.calendar import TimeSpan, find_times
from phronesis.core.ids import Scope
from phronesis.core.items import Item
from phronesis.core.proposals import USER
from phronesis.core.relations import NAME, Entity, normal_name
from phronesis.core.results import Degraded, SearchResult
from phronesis.core.retrieval_plan import MODES, Mode, Store, SubQuery, TimeWindow
from phronesis.core.text import UNSPACED, replace_unstorable
from phronesis.core.values import FAMILY, canonical_relative
from phronesis.errors import ModelError
from phronesis.index.tokens import question_terms, search_terms, term_hash
from phronesis.models.embedder import Embedder
from phronesis.models.embedders import Embedders
from phronesis.recall.as_of import items_of
from phronesis.recall.asked_keys import AskedKey
from phronesis.recall.entities import is_about, names_of_user_in_lanes
from phronesis.recall.scope_index import LaneIndex, LaneLayout, subject_code
from phronesis.recall.scoring.lane_arrays import Floats, Mask
from phronesis.recall.scoring.signals import DayRange, Question, Voice, Wording, asks_when
from phronesis.recall.scoring.text_properties import FROM_ASSISTANT, FROM_USER, SAID
from phronesis.store.database import Unit
from phronesis.store.eligible import ReadConditions
from phronesis.store.lanes import Lane
from phronesis.store.relations import find_entities, read_families, read_mentions

MAX_WORDS: Final = 4
"""Maximum words of a name, including titles and double surnames."""

MAX_QUERY_WORDS: Final = 64
"""Number of words of a question that are looked up as names."""

_WORD: Final = re.compile(rf"https?://\S+|(?:[^\W{UNSPACED}]|[@./~+-])+")
_POSSESSIVE: Final = re.compile(r"['’]s\b")


def names_in(text: str) -> set[str]:
    """Return every run of one to four words of a question in normal form, as candidate names.

    For Chinese, which has no spaces, runs of two to four characters are candidates too.
    """
    held = replace_unstorable(
        text
    )  # normalised like stored names; an address may contain characters that no database accepts
    words = [word.strip(".,;:!?-") for word in _WORD.findall(_POSSESSIVE.sub(" ", held))][:MAX_QUERY_WORDS]
    out: set[str] = set()
    for start in range(len(words)):
        for end in range(start + 1, min(start + MAX_WORDS, len(words)) + 1):
            out.add(normal_name(" ".join(words[start:end])))
    for run in re.findall(r"[一-鿿]{2,}", text[:500]):
        out |= {run[i : i + n] for n in range(2, MAX_WORDS + 1) for i in range(len(run) - n + 1)}
    return out - {""}


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """An entity that a question names: its ids, and all its names in normal form."""

    entity_ids: frozenset[str]
    names: frozenset[str]


def named_in(unit: Unit, lane_id: int, names: set[str]) -> list[NamedEntity]:
    """Return the entities that these names denote in a lane, each with all its aliases.

    A bare name denotes all its namesakes, unless one of them is named with the relation: "my sister Anna".
    """

    def root(entity: Entity) -> str:
        return entity.canonical_id or entity.id

    found = find_entities(unit, lane_id, sorted(names)) if names else []
    own = {entity.normal: entity for entity in found if entity.kind == NAME}
    people = [entity for entity in found if entity.related and entity.normal in own]
    bare = {person.canonical_id for person in people}
    roots = {root(entity) for entity in found if entity not in people and entity.id not in bare}
    families: dict[str, list[Entity]] = defaultdict(list)
    for entity in read_families(unit, lane_id, sorted(roots)):
        families[root(entity)].append(entity)
    for person in people:
        families[root(own[person.normal])].append(person)
    return [
        NamedEntity(frozenset(one.id for one in family), frozenset(one.normal for one in family))
        for family in families.values()
    ]


def mentioned_items(unit: Unit, lane_id: int, named: Iterable[NamedEntity]) -> set[str]:
    """Return the ids of items that mention any of the named entities, under any of their names."""
    ids = {entity_id for one in named for entity_id in one.entity_ids}
    return {mention.item_id for mention in read_mentions(unit, lane_id, sorted(ids))}


# The speaker signal: marks the places of a lane that the requested speaker said.


def speaker_of(
    index: LaneIndex, laid: LaneLayout, named: Sequence[NamedEntity], speaking: Collection[str], voice: Voice | None
) -> tuple[Floats | None, bool]:
    """Return a mask of the requested speaker's places, and whether the question names the speaker.

    If one speaker is named, by any name: that speaker's messages and items about them. If none is: the user's or the
    assistant's, according to the question's "I" and "you". If several are: None.
    """
    families = [one.names for one in named if any(name in index.speakers for name in one.names)]
    known = {name for family in families for name in family}
    families += [frozenset({name}) for name in speaking if name in index.speakers and name not in known]
    if len(families) > 1:
        return None, False
    about = _mask_about(index, laid, [name for one in named for name in one.names])
    if families:
        [names] = families
        said = np.isin(laid.speakers, [index.speakers[name] for name in names if name in index.speakers])
        said &= laid.properties.flags & SAID > 0
        if np.any(laid.properties.flags[said] & FROM_USER):
            about |= _mask_about(index, laid, [USER])
        return (said | about).astype(np.float32), True
    if speaking:
        return None, False  # a speaker of another lane
    if voice is None:
        return (about.astype(np.float32), True) if about.any() else (None, False)
    said = laid.properties.flags & SAID > 0
    meant = laid.properties.flags & (FROM_ASSISTANT if voice == "assistant" else FROM_USER) > 0
    held = about if voice == "assistant" else np.ones_like(about)
    return np.where(said, meant, held).astype(np.float32), False


def _mask_about(index: LaneIndex, laid: LaneLayout, names: Collection[str]) -> Mask:
    codes = [subject_code(index.subjects[name]) for name in names if name in index.subjects]
    return np.isin(laid.speakers, codes) if codes else np.zeros(len(laid.speakers), dtype=np.bool_)


# What a lane holds under the key that a question asks for, of whom it asks.

MOST: Final = 100
"""Items of a lane that are looked at under the keys asked for, the newest: more are no answer but a listing."""


def items_under_key(unit: Unit, lane: Lane, asked: AskedKey, wanted: ReadConditions) -> set[str]:
    """Return the ids of a lane's items that hold what is asked for, at the times that ``wanted`` asks for."""
    found = _under(unit, lane, asked.keys, wanted)
    if not found or asked.about is None:
        return {item.id for item in found}
    names = _names_of(unit, lane, asked, wanted)
    mine = asked.about == USER
    return {item.id for item in found if (mine or item.subject is not None) and is_about(item, names)}


def _under(unit: Unit, lane: Lane, keys: Iterable[str], wanted: ReadConditions) -> Sequence[Item]:
    whole = [key for key in keys if not key.endswith(FAMILY)]
    ways: list[dict[str, Any]] = [{"key": {"in": whole}}] if whole else []
    ways += [{"key": {"contains": key.removesuffix("*")}} for key in keys if key.endswith(FAMILY)]
    narrowed = dataclasses.replace(wanted, kinds=None, attributes={}, filters={"OR": ways})
    return items_of(unit, [lane], narrowed, limit=MOST)


def _names_of(unit: Unit, lane: Lane, asked: AskedKey, wanted: ReadConditions) -> set[str]:
    """Return the normal names under which memories speak of whom a question asks of."""
    about = asked.about or USER
    if about == USER:
        return names_of_user_in_lanes(unit, [lane], wanted)
    names = {normal_name(about), normal_name(canonical_relative(about))}
    if asked.related is not None:
        of_user = names_of_user_in_lanes(unit, [lane], wanted)
        told = [item for item in _under(unit, lane, (asked.related,), wanted) if is_about(item, of_user)]
        # Of several children each may be meant, unless only one of them is said to be what the question calls them.
        told = [item for item in told if normal_name(about) in normal_name(item.content)] or told
        named = [item.value for item in told if isinstance(item.value, str)]
        # Of namesakes the one in this relation: "sister Anna", 妹妹小芳.
        names |= {normal_name(f"{before}{name}") for name in named for before in ("", about, f"{about} ")}
    return names | {name for one in named_in(unit, lane.lane_id, names) for name in one.names}


# Search options: alternative wordings, names, a time window, and the channels to use.

Vector = npt.NDArray[np.float32]

Asking = tuple[Vector | None, tuple[str, int] | None]
"""A question's vector, and the name and dimension of the model whose vectors it is compared with."""


Encodings = dict[tuple[str, str], tuple[Vector | None, tuple[Degraded, ...]]]
"""The query vectors of one call, by encoder and text.

A call may search two stores: each question is encoded once, and a failure is reported the same to both.
"""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Search options. The default is an ordinary search.

    ``wordings`` are matched by their words alone, each with its weight. ``names`` are looked up in addition to those in
    the question. ``signals`` adds the inputs of relevance to ``why`` (``scoring.weights``).
    """

    wordings: Sequence[SubQuery] = ()
    modes: Sequence[Mode] = MODES
    names: Sequence[str] = ()
    window: TimeWindow | None = None
    signals: bool = False
    encodings: Encodings | None = None

    @property
    def by_name(self) -> bool:
        """Return whether the search looks up names."""
        return "relational" in self.modes

    def names_of(self, text: str) -> set[str]:
        """Return the normal forms of candidate names; empty if the search looks up no names."""
        if not self.by_name:
            return set()
        return names_in(text) | {normal_name(name) for name in self.names} - {""}

    def words_of(self, text: str) -> str:
        """Return the searched text: the question without the time expression that the window replaces."""
        if "exact" not in self.modes:
            return ""
        if self.window is None or not self.window.words:
            return text
        return text.replace(self.window.words, " ")

    def further(self) -> list[Wording]:
        """Return the alternative wordings as terms.

        Without empty ones; none if the search ignores words.
        """
        if "exact" not in self.modes:
            return []
        found = [Wording([term_hash(term) for term in search_terms(one.text)], one.weight) for one in self.wordings]
        return [one for one in found if one.terms]

    def window_bounds(self) -> DayRange | None:
        """Return the first and the last day of the window."""
        if self.window is None:
            return None
        first, until = self.window.since.toordinal(), self.window.until
        midnight = not (until.hour or until.minute or until.second or until.microsecond)
        return DayRange(first, max(first, until.toordinal() - (1 if midnight else 0)))

    def encoded(
        self, embedders: Embedders, encoder: Embedder | None, text: str
    ) -> tuple[Vector | None, tuple[Degraded, ...]]:
        """Return the question's vector; None with a ``Degraded`` record if the encoder is unavailable."""
        if encoder is None or "semantic" not in self.modes:
            return None, ()
        known = self.encodings if self.encodings is not None else {}
        if (encoder.name, text) not in known:
            try:
                known[encoder.name, text] = embedders.question(encoder, text), ()
            except ModelError as error:
                known[encoder.name, text] = None, (Degraded("embed", error.code, "words", encoder.name),)
        return known[encoder.name, text]


ORDINARY: Final = SearchOptions()
"""The default search options."""


@dataclass(frozen=True, slots=True)
class Query:
    """A validated search. ``store``: memory or resources only; None: whichever holds its kinds.

    Days in its text are in the time zone ``zone``.
    """

    text: str
    scope: Scope
    wanted: ReadConditions
    limit: int
    explain: bool = False
    store: Store | None = None
    manner: SearchOptions = ORDINARY
    zone: tzinfo = UTC


class Search(Protocol):
    """An object that answers a query (``recall.search.Searcher``)."""

    def search(self, tenant: str, query: Query) -> SearchResult:
        """Return the evidence for a query, best first."""
        ...


# The times that a question names, and its speakers' names: read apart from its terms.

MAX_YEARS: Final = 20
"""Number of years tried for a date without a year, the latest ones in the scope."""

MAX_DATED: Final = 2_000
"""Characters of a question that are scanned for times."""

_NAMES_LOOKED_AT: Final = 500

_NAMED: Final = re.compile(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|spring|summer|autumn|fall|winter|christmas|new\s?year"
    r"|halloween|valentine)|[0-9一二三四五六七八九十]月|[春夏秋冬]|节|節|元旦|五一|国庆|圣诞",
    re.IGNORECASE,
)
_RECKONED: Final = re.compile(r"\b(?:last|this|next|past|previous|coming)\b|[上下本这這去今明前]", re.IGNORECASE)


def read_question(
    text: str, *, speakers: Collection[str], now: datetime, days: Sequence[int], manner: SearchOptions = ORDINARY
) -> Question:
    """Return the parsed question. ``speakers`` are the names of the scope's speakers that it contains.

    Speakers' names are removed from the terms, unless nothing else is left. ``days`` are the first and last day
    (ordinals) of the scope, or empty: a date without a year is tried in each of its years. If ``manner`` has a window,
    no other time is parsed.
    """
    words, window = manner.words_of(text), manner.window_bounds()
    found = [] if window is not None else find_times(text[:MAX_DATED], now, lean=-1)
    others = question_terms(remove_names(_without_times(words, found), speakers)) if found else []
    # "Yesterday" in a text is another day than in the question.
    words = _without_times(words, [time for time in found if time.relative])
    terms = question_terms(remove_names(words, speakers)) or question_terms(words)
    if found and not others:
        terms = []  # "What did I do on November 18?" asks for that day, not for texts with an 18
    return Question(
        [term_hash(term) for term in terms],
        _times(text, days, found) if window is None else [window],
        asks_when(text),
        now.toordinal(),
        manner.further(),
        window,
        len(others),
    )


def _without_times(text: str, times: Sequence[TimeSpan]) -> str:
    """Remove time expressions from a text."""
    for time in reversed(times):
        text = f"{text[: time.start]} {text[time.end :]}"
    return text


def _times(text: str, days: Sequence[int], found: Sequence[TimeSpan]) -> list[DayRange]:
    """Return the times that a question names; ``found`` are relative to today.

    If all of them lie after the last message (an old conversation, imported later), they are taken relative to that
    message's day.
    """
    asked = text[:MAX_DATED]

    def ranges(times: Iterable[TimeSpan], *, recurring: bool) -> set[DayRange]:
        taken = (time for time in times if time.relative and _is_recurring(asked[time.start : time.end]) is recurring)
        return {DayRange(time.first.toordinal(), time.last.toordinal()) for time in taken}

    out = {DayRange(time.first.toordinal(), time.last.toordinal()) for time in found if not time.relative}
    out |= ranges(found, recurring=False)
    if days:
        first, last = date.fromordinal(min(days)), date.fromordinal(max(days))
        if out and all(time.first > last.toordinal() for time in out):
            ending = datetime(last.year, last.month, last.day, tzinfo=UTC)
            out |= ranges(find_times(asked, ending, lean=-1), recurring=False)
        for year in range(max(first.year, last.year - MAX_YEARS + 1), last.year + 1):
            out |= ranges(find_times(asked, datetime(year, 12, 31, tzinfo=UTC), lean=-1), recurring=True)
    return sorted(out, key=lambda time: (time.first, time.last))


def _is_recurring(words: str) -> bool:
    """Return whether the words name a time of any year (May 4, 五月), not a relative one (last May, 上个月)."""
    return _NAMED.search(words) is not None and _RECKONED.search(words) is None


def spoken_names(text: str, names: Collection[str]) -> set[str]:
    """Return those of ``names`` (normal forms) that a question contains.

    In an unspaced script a name may occur anywhere; otherwise it must not be part of a longer word.
    """
    folded = " ".join(text[:MAX_DATED].casefold().split())
    return {name for name in names if name and name in folded and _pattern(name).search(folded) is not None}


def remove_names(text: str, names: Collection[str]) -> str:
    """Remove names (normal forms) from a text."""
    for name in sorted(names, key=len, reverse=True)[:_NAMES_LOOKED_AT]:
        text = _pattern(name).sub(" ", text)
    return text


def _pattern(name: str) -> re.Pattern[str]:
    word = rf"[^\W{UNSPACED}]"
    before = rf"(?<!{word})" if re.match(word, name) else ""
    after = rf"(?!{word})" if re.search(rf"{word}\Z", name) else ""
    return re.compile(before + r"\s+".join(map(re.escape, name.split())) + rf"(?:['’]s\b)?{after}", re.IGNORECASE)
