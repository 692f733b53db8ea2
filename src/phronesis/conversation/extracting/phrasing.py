"""How a proposal is put: as a sentence that stands alone, with its day, and joined to what it takes the place of."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from phronesis.conversation.extracting.clauses import Clause
from phronesis.conversation.extracting.tables import Language
from phronesis.core.calendar import find_times
from phronesis.core.proposals import USER, Proposal


def content_of(clause: Clause, language: Language, *, subject: str, speaker: str, elided: bool, lead: str) -> str:
    """Return a clause so that it stands alone: with its subject, where it leaves it out or says "she".

    ``elided``: it leaves its subject out; ``lead`` is then what it goes on with, from the clause before ("like ...").
    """
    raw = clause.raw
    third = language.text["third"].match(raw)
    if third is not None:
        return f"{subject}{raw[third.end() :]}" if subject != speaker else raw
    if elided:
        who = language.frames["me"] if subject == speaker == USER else subject
        rest = language.text["list_on"].sub("", language.text["opening"].sub("", raw, count=1))
        space = " " if language.grammar.spaces else ""
        return f"{who}{space}{lead.removesuffix(rest)}{rest}"
    return f"{speaker}: {raw}" if speaker != USER and subject == speaker else raw


def ahead(clause: Clause, at: datetime, lean: int) -> bool:
    """Return whether a clause's time lies where its pattern says: what is past is no appointment."""
    times = find_times(clause.raw, at, lean=lean)
    today = at.date()
    return not times or (times[0].last >= today if lean > 0 else times[0].first <= today)


_BESIDE: Final = 2
"""Characters between clauses that stand side by side: a comma and a space."""

_COARSE: Final = frozenset({"month", "season", "year"})
"""How finely a day is not named."""


def coarse(clause: Clause, at: datetime) -> bool:
    """Return whether a clause names a time, and no day."""
    return any(one.precision in _COARSE for one in find_times(clause.raw, at))


def long_ago(clause: Clause, at: datetime) -> bool:
    """Return whether a clause names no more than a year, and one before the last two."""
    times = find_times(clause.raw, at)
    return bool(times) and all(one.precision == "year" and one.last.year < at.year - 2 for one in times)


def is_deadline(clause: Clause, at: datetime, language: Language) -> bool:
    """Return whether a clause names a limit rather than a time: "by June", 六月前."""
    before, after = language.text["limit_before"], language.text["limit_after"]
    return bool(clause.times) and any(
        before.search(clause.raw[: time.start].lower()) or after.match(clause.raw[time.end :])
        for time in find_times(clause.raw, at, lean=1)
    )


def days_of(clause: Clause, at: datetime, lean: int, language: Language) -> list[str]:
    """Return the days that a clause's times begin at, as ISO 8601, but for limits ("by June", 六月前)."""
    if not clause.times:
        return []
    before, after = language.text["limit_before"], language.text["limit_after"]
    return [
        f"{time.first.isoformat()}T00:00:00Z"
        for time in find_times(clause.raw, at, lean=lean)
        if not before.search(clause.raw[: time.start].lower()) and not after.match(clause.raw[time.end :])
    ]


def due_day(clause: Clause, at: datetime, language: Language) -> str | None:
    """Return the day that what a clause wants done is due, as ISO 8601: one that lies ahead, or today.

    A limit counts by its first day ("by June", 六月前); else a month, a season or a year is no day to be reminded on.
    """
    limit = language.text["limit_before"]
    for time in find_times(clause.raw, at, lean=1) if clause.times else ():
        limited = limit.search(clause.raw[: time.start].lower()) or language.text["limit_after"].match(
            clause.raw[time.end :]
        )
        if time.first >= at.date() and (limited or time.precision not in _COARSE):
            return f"{time.first.isoformat()}T00:00:00Z"
    return None


def _decided_against(one: Proposal, other: Proposal, language: Language) -> str | None:
    """Return what is decided against where the next decision beside it says what for.

    决定不用飞书了，全公司换回钉钉.
    """
    both = one.kind == other.kind == "decision" and one.subject == other.subject and one.value is not None
    if not both or other.start - one.end > _BESIDE or one.replaces is not None:
        return None
    against = language.text["against"].match(one.value or "")
    return None if against is None else against["old"]


def join_proposals(proposals: Sequence[Proposal], language: Language) -> list[Proposal]:
    """Return proposals with "I left Siemens" and "I now work at Bosch" as one: what is new, and what it replaces.

    Of keys that hold many values, what is used does so where the two stand side by side: 不用Jira了，换成飞书了. What
    is dropped in a clause that begins with it is told for itself: 快手早卸了，现在全靠运满满.
    A name that others use is left out where the same message asks to be called by it.
    """

    def same(one: Proposal, other: Proposal) -> bool:
        beside = one.key == "uses" and min(abs(one.start - other.end), abs(other.start - one.end)) <= _BESIDE
        apart = _told_for_itself(one, other, language) or _told_for_itself(other, one, language)
        beside = beside and not apart
        return (one.subject, one.key, one.kind) == (other.subject, other.key, other.kind) and (
            one.cardinality == "one" or beside
        )

    asked = {(one.subject, one.value) for one in proposals if one.key == "address_as"}
    proposals = [one for one in proposals if one.key != "alias" or (one.subject, one.value) not in asked]
    new = [one for one in proposals if one.act == "assert"]
    gone = [one for one in proposals if one.act == "retract" and any(same(one, other) for other in new)]
    kept: list[Proposal] = []
    for one in proposals:
        if one in gone:
            continue
        old = next((other.value for other in gone if same(one, other)), None)
        last = kept[-1] if kept else None
        if last is not None and (dropped := _decided_against(last, one, language)) is not None:
            kept.pop()
            old = dropped
        kept.append(replace(one, replaces=old) if one.act == "assert" and one.replaces is None and old else one)
    return kept


def _told_for_itself(gone: Proposal, other: Proposal, language: Language) -> bool:
    before, _, after = gone.quote.partition(gone.value or " ")
    first = gone.start < other.start or language.text["dropped_after"].search(after) is None
    return gone.act == "retract" and language.text["dropped_before"].search(before) is None and first


def rename_subject(proposals: Sequence[Proposal], word: str, name: str, begun: int) -> list[Proposal]:
    """Return what was said since ``begun`` of "my boyfriend" to the name that follows: 我男朋友是个消防员，叫贺南."""
    return [replace(one, subject=name) if one.subject == word and one.start >= begun else one for one in proposals]
