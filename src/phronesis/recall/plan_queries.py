"""What a plan searches for: the queries of each retriever, and the time that the message asks about.

The message comes first, whole, with weight 1: alone it finds most. Added to it are the parts of a message that asks
several things, the referent of a follow-up ("does it …?"), and the agent's task. No names alone, no synonyms and
no translations: they did not improve results (docs/decisions/06-retrieval-plan.md).
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

from phronesis.core.calendar import find_times
from phronesis.core.ids import Scope
from phronesis.core.name_detection import find_mentions
from phronesis.core.relations import normal_name
from phronesis.core.retrieval_plan import MAX_QUERIES, SubPlan, SubQuery, TimeWindow
from phronesis.recall.as_of import visible_lanes
from phronesis.recall.intent import MAX_READ, Message, MessageIntent, SentenceIntent, excerpt, identifiers, judge
from phronesis.recall.query import names_in
from phronesis.store.database import Database
from phronesis.store.relations import find_entities

# Names, files and addresses that a message mentions, and which of its words are names in the scope.

MAX_NAMED: Final = 16
"""Maximum entities of one plan by rules: a message that names more is a list."""

_QUOTED: Final = re.compile(r"[\"“「『]([^\"“”「」『』\n]{2,40})[\"”」』]")


def known_names(database: Database, tenant: str, scope: Scope, text: str) -> set[str]:
    """Return the names in a message, in normal form, that belong to an entity of a lane that the scope sees."""
    names = sorted(names_in(excerpt(text, MAX_READ)))
    if not names:
        return set()
    with database.transaction(tenant, "read") as unit:
        return {one.normal for lane in visible_lanes(unit, scope) for one in find_entities(unit, lane.lane_id, names)}


def entities_in(text: str, known: Collection[str] = ()) -> tuple[str, ...]:
    """Return the entities in a message: files, addresses, titles, names, identifiers, quotations, known names.

    A known name is left out if a longer one contains it.
    """
    read = excerpt(text, MAX_READ)
    found = [(one.start, one.surface) for one in find_mentions(read)]
    found += [(match.start(1), match[1].strip()) for match in _QUOTED.finditer(read)]
    found += identifiers(read)
    folded = normal_name(read)
    ordered = sorted(known, key=lambda name: (-len(name), name))
    longest = [name for n, name in enumerate(ordered) if not any(name in longer for longer in ordered[:n])]
    found += [(max(0, folded.find(name)), name) for name in longest]
    out: dict[str, str] = {}
    for _, surface in sorted(found, key=lambda one: (one[0], -len(one[1]))):
        if surface and not any(normal_name(surface) in earlier for earlier in out):
            out[normal_name(surface)] = surface
    return tuple(list(out.values())[:MAX_NAMED])


PART: Final = 0.8
FOLLOW_UP: Final = 0.7
STATE: Final = 0.3
"""Weights of the additional queries (our choice): below 1, since each says less than the message or adds to it."""

MAX_PARTS: Final = 3
MAX_TOPIC: Final = 200
MAX_STATE: Final = 400
"""Maximum characters of a follow-up's topic, and of the agent's state."""

MAX_QUERY: Final = 8_000
"""Maximum characters of a query: a longer one is reduced to its beginning and end."""

OVERFETCH: Final = 2
"""Results requested per place of a retriever: duplicates and crowded ones are dropped later."""

STATE_FIELDS: Final = ("goal", "task", "topic")
"""Fields of ``agent_state`` that describe the agent's task."""


def word_queries(
    message: Message,
    decided: MessageIntent,
    *,
    whole: str,
    entities: Sequence[str],
    recent: Sequence[str],
    state: Mapping[str, Any],
) -> tuple[tuple[SubQuery, ...], tuple[SubQuery, ...], tuple[SubQuery, ...]]:
    """Return the queries for a message: all, and for each retriever all except the other's parts, if it has its own.

    ``whole`` is the message's full text, ``recent`` the earlier texts, oldest first.
    """
    first = SubQuery(excerpt(whole, MAX_QUERY))
    parts = _parts(decided)
    beside: list[SubQuery] = []
    topic = _topic(message, entities, recent)
    if topic:
        beside.append(SubQuery(f"{excerpt(whole, MAX_TOPIC)} {topic}", FOLLOW_UP, "expansion"))
    told = [value.strip() for name in STATE_FIELDS if isinstance(value := state.get(name), str) and value.strip()]
    if told:
        beside.append(SubQuery(" ".join(dict.fromkeys(told))[:MAX_STATE], STATE, "state"))
    every = distinct([first, *(part for part, _ in parts), *beside])

    def queries(*, needs: bool) -> tuple[SubQuery, ...]:
        own = [part for part, of in parts if of is needs]
        return tuple(one for one in every if one.origin != "part" or not own or one in own)

    return every, queries(needs=False), queries(needs=True)


def distinct(queries: Sequence[SubQuery]) -> tuple[SubQuery, ...]:
    """Return the queries in order, each wording once, at most as many as a plan may have."""
    out: dict[str, SubQuery] = {}
    for one in queries:
        out.setdefault(" ".join(one.text.casefold().split()), one)
    return tuple(out.values())[:MAX_QUERIES]


def sub_plan(store: str, queries: Sequence[SubQuery], limit: int, share: float) -> SubPlan:
    """Return the request to one retriever. ``share`` is its part of ``limit``; it is asked for twice that.

    At least ``limit`` results are requested, to fill in if the other retriever finds nothing.
    """
    own = max(limit, round(OVERFETCH * share * limit))
    return SubPlan("memory" if store == "memory" else "resources", tuple(queries), limit=own)


def _parts(decided: MessageIntent) -> list[tuple[SubQuery, bool]]:
    asked = [one for one in decided.sentences if one.is_question]
    if len(asked) == 1:
        clauses = [part for part in asked[0].sentence.clauses if part.asks]
        found = [(part.text, judge(part).needs) for part in clauses]
    else:
        found = [(one.sentence.text, one.needs) for one in asked]
    if len(found) < 2:  # noqa: PLR2004 - one question is the message itself
        return []
    return [(SubQuery(text, PART, "part"), needs) for text, needs in found[:MAX_PARTS]]


def _topic(message: Message, entities: Sequence[str], recent: Sequence[str]) -> str:
    """Return the topic of a message with "it" or 那个: the names in the last texts, or their words."""
    if entities or not any(one.shows("follow") for one in message.sentences):
        return ""
    for text in reversed(recent[-2:]):
        named = entities_in(text)
        if named:
            return " ".join(named)[:MAX_TOPIC]
    return " ".join(recent[-1].split())[:MAX_TOPIC] if recent else ""


MAX_SCANNED: Final = 2_000
"""Characters of a question that are scanned for times."""

_FROM: Final = re.compile(
    r"\b(?:between|from)\s{1,3}(?P<a>[\w ,'’-]{1,40}?)\s{1,3}(?:and|to|through|until|till|up to)\s{1,3}"
    r"(?:the\s)?(?P<b>\S[\w ,'’-]{0,40})",
    re.IGNORECASE,
)
_THROUGH: Final = re.compile(r"\s{0,3}(?:to|through|until|till|[-–—~～至到])\s{0,3}(?:the\s)?", re.IGNORECASE)
# "May" is a month if another time precedes it.
_AND_MONTH: Final = re.compile(
    r"\s(?:and|or|to|through|until|till|[-–—&])\s(?P<m>(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)\w{0,7})\b",
    re.IGNORECASE,
)
_TO_NOW: Final = re.compile(
    r"\s{0,3}(?:(?:to|until|till|through|up to|up until)\s(?:now|date|the present)\b|onwards?\b|on\b(?=\s*[,.?!]|\s*$)"
    "|(?:(?:一直)?(?:到|至)(?:现在|現在|目前|如今|今(?![天日年晚早]))|以来|以來|迄今))",
    re.IGNORECASE,
)
_SINCE: Final = re.compile(r"\b(?:ever\s)?since\s(?:the\s|about\s|around\s)?$|(?:自从|自從|自)$", re.IGNORECASE)
_OPEN_FROM: Final = re.compile("(?:从|從)$")
_ONWARD: Final = re.compile("(?:开始|開始|起(?!来|來)|以后|以後|之后|之後)")
_AFTER: Final = re.compile(r"\bafter\s(?:the\s)?$", re.IGNORECASE)
_LATER: Final = re.compile("(?:之后|之後|以后|以後)")
_UP_TO: Final = re.compile(r"\b(?:by|until|till)\s(?:the\s)?$|(?:截至|截止到?)$", re.IGNORECASE)
_BEFORE: Final = re.compile(r"\b(?:before|prior\sto)\s(?:the\s)?$", re.IGNORECASE)
_EARLIER: Final = re.compile("(?:之前|以前|前)(?![天年几面])")
_ENDING: Final = re.compile("为止|為止")

# Contain a date but name no time: an edition, a release, a number of a standard, a song title.
_EDITION: Final = re.compile(r"(?:\b(?:versions?|releases?|editions?|rev|tag|v)\.?\s?|版本\s?|\d-)$", re.IGNORECASE)
_OF_EDITION: Final = re.compile(r"[\s-]?(?:editions?\b|releases?\b|版)", re.IGNORECASE)
_TITLE: Final = re.compile("(?:Yesterday|Today|Tomorrow|Tonight|Last Night|Last Christmas|This Morning)")
_OPENS: Final = re.compile(r"(?:^|[.!?。！？:：;；\n,，—–-])\s{0,3}[\"'“‘(（]?$")


@dataclass(frozen=True, slots=True)
class _Time:
    """A time at [start, end); ``floats``: its date depends on whether the question refers to the past or the future."""

    start: int
    end: int
    first: date
    last: date
    floats: bool


def read_window(text: str, now: datetime, *, ahead: bool = False) -> TimeWindow | None:
    """Return the window that a question asked at ``now`` is about; ``ahead``: it is about the future.

    None if it names no time, or one without a beginning.
    """
    asked = text[:MAX_SCANNED]
    lean = 1 if ahead else -1
    times = _times(asked, now, lean)
    found = _spoken_range(asked, now, lean) or _joined(asked, times, now, lean)
    if found is None:
        return None
    last = min(found.last, date.max - timedelta(days=1))
    if found.first > last:
        return None
    return TimeWindow(_midnight(found.first), _midnight(last + timedelta(days=1)), asked[found.start : found.end])


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _times(text: str, now: datetime, lean: int) -> list[_Time]:
    other = {(one.start, one.end): one for one in find_times(text, now, lean=-lean)}
    out = []
    for one in find_times(text, now, lean=lean):
        before, after = text[max(0, one.start - 24) : one.start], text[one.end : one.end + 12]
        titled = _TITLE.match(text, one.start) is not None and _OPENS.search(before) is None
        if not titled and _EDITION.search(before) is None and _OF_EDITION.match(after) is None:
            twin = other.get((one.start, one.end))
            out.append(_Time(one.start, one.end, one.first, one.last, twin is None or twin.first != one.first))
    for known in list(out):
        month = _AND_MONTH.match(text, known.end)
        read = _alone(month["m"], now, lean) if month is not None else None
        if month is not None and read is not None and not any(known.end < o.end <= month.end("m") for o in out):
            out.append(_Time(month.start("m"), month.end("m"), read.first, read.last, read.floats))
    return sorted(out, key=lambda one: one.start)


def _spoken_range(text: str, now: datetime, lean: int) -> _Time | None:
    """Parse "between A and B" and "from A to B", in which "May" is always a month."""
    for match in _FROM.finditer(text):
        a, b = _alone(match["a"], now, lean, whole=True), _alone(match["b"], now, lean)
        if a is not None and b is not None:
            return _range((match["a"], match["b"]), (a, b), lean, start=match.start("a"), end=match.start("b") + b.end)
    return None


def _alone(words: str, at: datetime, lean: int, *, whole: bool = False) -> _Time | None:
    """Parse text that begins with a time; ``whole``: and contains nothing else."""
    opened = "in " if words[:1].isascii() else ""
    found = _times(opened + words, at, lean)
    if not found or found[0].start > len(opened) or (whole and found[0].end < len(opened + words.rstrip())):
        return None
    one = found[0]
    return _Time(0, one.end - len(opened), one.first, one.last, one.floats)


def _range(words: tuple[str, str], ends: tuple[_Time, _Time], lean: int, *, start: int, end: int) -> _Time | None:
    """Join two ends. A fixed end determines the other; else the last past range, or the next one."""
    (a_words, b_words), (a, b) = words, ends
    day_alone = re.fullmatch(r"\S{1,3}[日号號]", b_words) is not None
    if b.floats and (not a.floats or lean > 0 or day_alone):
        b = _alone(b_words, _midnight(a.first), 1) or b
    elif a.floats:
        a = _alone(a_words, _midnight(b.last), -1) or a
    return _Time(start, end, a.first, b.last, floats=False) if a.first <= b.last else None


def _joined(text: str, times: Sequence[_Time], now: datetime, lean: int) -> _Time | None:
    """Join the times of a question, each parsed with its context."""
    out: list[_Time] = []
    at = 0
    while at < len(times):
        one, after = times[at], times[at + 1] if at + 1 < len(times) else None
        if after is not None and _THROUGH.fullmatch(text, one.end, after.start) is not None:
            words = text[one.start : one.end], text[after.start : after.end]
            both = _range(words, (one, after), lean, start=one.start, end=after.end)
            at += 2
        else:
            both = _beside(text, one, now.date(), lean)
            at += 1
        if both is not None:
            out.append(both)
    if not out:
        return None
    first, last = min(one.first for one in out), max(one.last for one in out)
    return _Time(out[0].start, out[-1].end, first, last, floats=False)


def _beside(text: str, one: _Time, today: date, lean: int) -> _Time | None:
    """Parse a time with the word before or after it: since, after, until, before; 以来, 之后, 为止, 之前."""
    before, here = text[max(0, one.start - 16) : one.start], one.end
    opened = _OPEN_FROM.search(before) is not None

    def to(first: date, last: date) -> _Time:
        return _Time(one.start, one.end, first, last, floats=False)

    if _SINCE.search(before) or _TO_NOW.match(text, here) or (opened and _ONWARD.match(text, here)):
        return to(one.first, today)
    if _AFTER.search(before) or _LATER.match(text, here):
        return to(one.last + timedelta(days=1), today) if one.last < today else None
    if _BEFORE.search(before) or _EARLIER.match(text, here):
        return to(today, one.first - timedelta(days=1)) if lean > 0 and one.first > today else None
    if _UP_TO.search(before) or _ENDING.match(text, here):
        return to(today, one.last) if lean > 0 else None
    return one


# Which time expressions of a message count, and whether they refer to the past or the future.


def window_of(decided: MessageIntent, now: datetime) -> TimeWindow | None:
    """Return the window that a message asks about, or None."""
    asked = [one for one in decided.sentences if one.is_question and one.intent != "how_to"]
    if not asked:
        return None
    text = " ".join(part for one in decided.sentences for part in _dated(one, decided))
    if not text:
        return None
    ahead = not decided.needs and any(one.sentence.shows("ahead") for one in asked)
    ahead = ahead and not any(one.sentence.looks_back for one in asked)
    window = read_window(text, now, ahead=ahead)
    if window is not None and decided.intent == "act" and window.since > now:
        return None  # a deadline, not a search criterion
    return window


def _dated(one: SentenceIntent, decided: MessageIntent) -> Sequence[str]:
    """Return the parts of a sentence whose times count."""
    sentence = one.sentence
    if one.intent == "how_to":
        return ()
    if not one.is_question:
        told = sentence.shows("told") or not (decided.needs or decided.intent in ("act", "advise"))
        return (sentence.text,) if told and not sentence.shows("chat") else ()
    if one.intent in ("act", "advise") and not (sentence.shows("recall") or one.needs):
        return ()  # the time is a due time
    if not one.needs:
        return (sentence.text,)
    clauses = [
        part
        for part in sentence.clauses  # without those that tell of the user and nothing of where the answer is
        if not part.mine or part.asks or part.shows("told") or part.shows("doc")
    ]
    return (" ".join(part.text for part in clauses),)
