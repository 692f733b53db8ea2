"""Texts that became no memory: refused by a gate, repeated, or not recognised by the extractor.

They are read from the outcomes beside the entries, latest first, a bounded number of entries for each page.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from phronesis.core.activity import NOTHING_PROPOSED, UNRECOGNISED, UnlearnedText
from phronesis.core.entries import Entry, MessageRow, Outcome
from phronesis.core.ids import is_id, item_id
from phronesis.core.proposals import DUPLICATE, GATED, Refusal, proposals_in, refusals_in
from phronesis.core.reports import Page
from phronesis.core.serialization import decode
from phronesis.errors import InputError
from phronesis.log.payloads import entry_of, fit, texts_of
from phronesis.store import conversations
from phronesis.store.database import Unit
from phronesis.store.lanes import Lane
from phronesis.store.log import EntryRow, entries_back, failures_of, read_outcomes, read_parts

SCANNED: Final = 400
"""Maximum entries read for one page: what a rule or a role selects may be rare."""

BATCH: Final = 50
"""Entries read at a time."""

VERBS: Final = ("turn", "add", "item")
"""Verbs whose entries say something to remember."""

_DIGITS: Final = 6
"""Maximum digits of the number in a cursor."""

_MESSAGE: Final = "message"
_REPEATED: Final = "the session holds this message already"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlearnedQuery:
    """Which texts: of a rule, said in a role, recorded from ``since`` and before ``until`` (microseconds)."""

    rule: str | None = None
    role: str | None = None
    since: int | None = None
    until: int | None = None

    def takes(self, one: UnlearnedText) -> bool:
        """Return whether a text is of the rule and the role."""
        return self.rule in (None, one.rule) and self.role in (None, one.role)


def unlearned_page(
    unit: Unit, lanes: Sequence[Lane], wanted: UnlearnedQuery, *, everywhere: bool, limit: int, cursor: str | None
) -> Page[UnlearnedText]:
    """Return what was not learned in these lanes, latest first.

    ``everywhere``: the lanes are all of the tenant's. A page has at most ``limit`` texts. It may have fewer, or none,
    and a cursor all the same, where many entries had to be read.
    """
    at, start = _read_cursor(cursor)
    by_id, found, read = {lane.lane_id: lane for lane in lanes}, list[UnlearnedText](), 0
    while by_id and read < SCANNED:
        chosen, times = None if everywhere else list(by_id), (wanted.since, wanted.until)
        rows = entries_back(unit, chosen, VERBS, upto=at, times=times, limit=BATCH)
        for entry_id, texts in _texts_of_entries(unit, by_id, rows):
            first = start if entry_id == at else 0
            for n, one in enumerate(texts[first:], first):
                if wanted.takes(one) and len(found) == limit:
                    return Page(tuple(found), f"{entry_id}.{n}")
                if wanted.takes(one):
                    found.append(one)
            at, start = entry_id, len(texts)
        if len(rows) < BATCH:
            return Page(tuple(found))
        read += len(rows)
    return Page(tuple(found), f"{at}.{start}" if by_id else None)


def _read_cursor(cursor: str | None) -> tuple[str | None, int]:
    """Return the entry that a page begins with, and the number of its first text."""
    if cursor is None:
        return None, 0
    entry_id, _, number = cursor.partition(".")
    if not is_id(entry_id) or not number.isdecimal() or len(number) > _DIGITS:
        raise InputError(
            "cursor is none of this listing; give next_cursor as it came, or leave cursor out to begin with the latest",
            field="cursor",
        )
    return entry_id, int(number)


def _texts_of_entries(
    unit: Unit, lanes: Mapping[int, Lane], rows: Sequence[EntryRow]
) -> Iterator[tuple[str, list[UnlearnedText]]]:
    """Yield each entry with what was not learned of it; nothing of entries that wait for their interpretation."""
    ids = [row.entry_id for row in rows]
    parts, outcomes, failed = read_parts(unit, ids), read_outcomes(unit, ids), failures_of(unit, ids)
    repeats: dict[str, list[MessageRow]] = {}
    for repeat in conversations.repeats_of_entries(unit, ids):
        repeats.setdefault(repeat.entry_id, []).append(repeat)
    for row in rows:
        lane = lanes.get(row.lane_id)
        if lane is None or row.seq > lane.applied_seq:
            yield row.entry_id, []
            continue
        roles: dict[str, list[Outcome]] = {}
        for one in outcomes[row.entry_id]:
            made = Outcome(role=one["role"], made_by=one["made_by"], n=one["n"], body=decode(one["body"]))
            roles.setdefault(made.role, []).append(made)
        entry = entry_of(unit, row, parts[row.entry_id], lane)
        told = _RefusingEntry(entry, roles, repeats.get(row.entry_id, []), is_failed=row.entry_id in failed)
        yield row.entry_id, [told.text(n, one) for n, one in enumerate(told.refusals())]


@dataclass(frozen=True, slots=True)
class _RefusingEntry:
    """An entry with its outcomes, and its messages that repeat held ones."""

    entry: Entry
    outcomes: Mapping[str, Sequence[Outcome]]
    repeats: Sequence[MessageRow]
    is_failed: bool

    def refusals(self) -> list[tuple[Refusal, str | None]]:
        """Return what was refused with its extractor, then the messages that were not recognised, in order."""
        repeated = {row.n for row in self.repeats}
        texts, messages = texts_of(self.entry), self.entry.payload.get("messages", ())
        made_by = [one.made_by for one in self.outcomes.get(GATED, ()) for _ in one.body["refusals"]]
        refused = [
            (one, made_by[n] if n < len(made_by) else None)
            for n, one in enumerate(refusals_in(self.entry, self.outcomes))
        ]
        out = [(one, by) for one, by in refused if one.n not in repeated and (one.n in texts or one.n >= len(messages))]
        told = {one.n for one, _ in out} | {one.n for one in proposals_in(self.outcomes) if not one.doubtful}
        out += [(Refusal(n=n, text=texts[n], rule=DUPLICATE, reason=_REPEATED), None) for n in repeated & texts.keys()]
        if not self.is_failed and self.entry.payload.get("infer") is not False:
            quiet = (n for n in texts if n not in told | repeated and messages[n].get("role") == "user")
            out += [
                (Refusal(n=n, text=texts[n], rule=UNRECOGNISED, reason=NOTHING_PROPOSED), None)
                for n in quiet
                if texts[n].strip()
            ]
        return sorted(out, key=lambda pair: pair[0].n)

    def text(self, place: int, refused: tuple[Refusal, str | None]) -> UnlearnedText:
        """Return the record of a refusal."""
        one, made_by = refused
        payload, messages = self.entry.payload, self.entry.payload.get("messages", ())
        repeat = next((row.item_id for row in self.repeats if row.n == one.n), None)
        own = item_id(self.entry.id, _MESSAGE, str(one.n)) if one.n < len(messages) else None
        return UnlearnedText(
            id=f"{self.entry.id}.{place}",
            entry_id=self.entry.id,
            recorded_at=self.entry.recorded_at,
            text=fit(one.text),
            rule=one.rule,
            reason=one.reason,
            role=messages[one.n].get("role") if one.n < len(messages) else "tool" if messages else None,
            message=texts_of(self.entry).get(one.n) or fit(payload.get("content")),
            item_id=repeat or own,
            session_id=payload.get("session_id"),
            user_id=self.entry.user_id,
            namespace=self.entry.namespace,
            extractor=made_by,
        )
