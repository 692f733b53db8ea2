"""The time that a question asks about, as one window of whole UTC days, in English and Chinese.

The words are those of ``core.calendar``; this module combines several of them. "From A to B" and "between A and B" run
from the beginning of A to the end of B, "since A" to the end of today, "after A" from the following day. Any other
times, compared or not, are joined from the first day to the last. A recurring time (a weekday, a month without a year)
is the last one in a question about the past, the next one in a question about the future; the less specific end of a
range is resolved against the other. "Before June" has no beginning and gives no window.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from phronesis.core.calendar import find_times
from phronesis.core.retrieval_plan import TimeWindow
from phronesis.recall.planning.intent import MessageIntent, SentenceIntent

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
    asked = [one for one in decided.sentences if one.asked and one.intent != "how_to"]
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
    if not one.asked:
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
