"""Session history in a context: recent turns, and the working summary of what came before, each line with its sources.

A model's summary (``conversation/summaries``) is stored. All other lines are computed on each read, so they are never
out of date: items derived from the session, and the openings of the user's messages, shorter with age, in chronological
order. Lines are appended, and the oldest are shortened or dropped in batches: between two batches the summary keeps its
beginning, as prompt caches require.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from sys import maxsize
from typing import Any, Final

from phronesis.compose.item_wording import dates_of_relative_times, days_of_items, first_sentence, said_at, words_of
from phronesis.core.context import Block
from phronesis.core.data_delimiters import strip_contexts
from phronesis.core.entries import Entry, SummaryRow, TurnPayload, is_erased, payload_of
from phronesis.core.ids import item_id
from phronesis.core.items import Item
from phronesis.core.results import Turn
from phronesis.core.statements import compared_form
from phronesis.core.timestamps import to_micros
from phronesis.log.payloads import load_listed, message_text
from phronesis.recall.as_of import items_of
from phronesis.recall.browse import turns_of
from phronesis.store.conversations import find_summary, repeats_of_entries
from phronesis.store.database import Unit
from phronesis.store.eligible import ReadConditions
from phronesis.store.items import ItemHead, read_heads, read_items
from phronesis.store.lanes import Lane
from phronesis.store.log import read_entries

# The recent turns of a session as blocks: verbatim, without messages that were forgotten since.

MAX_PENDING: Final = 64
"""Maximum number of pending entries that are read, the newest: more than the turns shown."""

_SPOKEN: Final = ("turn", "add")
"""Verbs whose payload holds messages."""


@dataclass(frozen=True, slots=True)
class RecentTurns:
    """The blocks, oldest first, the number of turns, and their lane (None if there are no turns)."""

    blocks: Sequence[Block]
    count: int
    lane: Lane | None

    @property
    def characters(self) -> int:
        """The total length of the blocks."""
        return sum(len(block.text) for block in self.blocks)


def recent_turns(
    unit: Unit, lanes: Sequence[Lane], session_id: str, *, last: int, as_of: int | None = None
) -> RecentTurns:
    """Return the last turns of a session.

    A message that was archived or retracted since is left out, unless a time is asked for; a quarantined one is data,
    whoever said it. For a message that a client sent again, the message it repeats decides. If its item still has the
    same text, a block cites it, so that it is not shown again. A pending message has no item.
    """
    blocks: list[Block] = []
    count, where = 0, None
    for lane in lanes:
        turns = turns_of(unit, [lane], session_id, last=last, as_of=as_of)
        waiting = _pending_entries(unit, lane, session_id) if as_of is None else []
        if not turns and not waiting:
            continue
        count, where = count + len(turns) + len(waiting), where or lane
        said, states = _spoken_blocks(unit, lane, turns)
        edited = read_items(unit, lane, [identity for identity, state in states.items() if state.version > 1])
        for identity, message in said:
            state = states.get(identity)
            text = "" if is_erased(message) else message_text(message)
            if not text.strip() or (state is not None and not state.is_current and as_of is None):
                continue
            held = state is not None and state.quarantine is not None
            same = state is not None and not held and (state.version == 1 or edited[identity].content == text)
            blocks.append(_block(message, text, (f"mem:{identity}",) if same else (), held=held))
        known = {message["id"]: message_text(message) for _, message in said if "id" in message}
        for message in (message for entry in waiting for message in payload_of(entry, TurnPayload)["messages"]):
            text = "" if is_erased(message) else message_text(message)
            if text.strip() and ("id" not in message or known.get(message["id"]) != text):
                blocks.append(_block(message, text, (), held=False))
    return RecentTurns(blocks, count, where)


def _pending_entries(unit: Unit, lane: Lane, session_id: str) -> list[Entry]:
    """Return the pending entries of a session that hold messages, oldest first."""
    after = max(lane.applied_seq, lane.head_seq - MAX_PENDING)
    if after >= lane.head_seq:
        return []
    rows = read_entries(unit, lane.lane_id, after=after, until=lane.head_seq)
    found = load_listed(unit, lane, [row.entry_id for row in rows if row.verb in _SPOKEN])
    entries = sorted(found.values(), key=lambda entry: entry.seq)
    return [one for one in entries if one.payload.get("session_id") == session_id and one.payload.get("messages")]


def _spoken_blocks(
    unit: Unit, lane: Lane, turns: Sequence[Turn]
) -> tuple[list[tuple[str, Mapping[str, Any]]], dict[str, ItemHead]]:
    """Return the messages of turns with the ids of their items, and the states of these items.

    A repeated message has no item of its own: its item is that of the message it repeats.
    """
    places = {(turn.entry_id, n): message for turn in turns for n, message in enumerate(turn.messages)}
    ids = {place: item_id(place[0], "message", str(place[1])) for place in places}
    states = read_heads(unit, lane.lane_id, ids.values())
    unknown = {entry for (entry, n), message in places.items() if ids[entry, n] not in states and "id" in message}
    if unknown:
        repeated = {(row.entry_id, row.n): row.item_id for row in repeats_of_entries(unit, sorted(unknown))}
        ids |= repeated
        states |= read_heads(unit, lane.lane_id, [one for one in repeated.values() if one not in states])
    return [(ids[place], message) for place, message in places.items()], states


def _block(message: Mapping[str, Any], text: str, citations: Sequence[str], *, held: bool) -> Block:
    role = str(message.get("role", "user"))
    fenced = held or role not in ("user", "assistant")
    return Block(text=text, citations=citations, role=role, name=message.get("name"), fenced=fenced)


LABEL: Final = "Earlier in this session"

BATCH: Final = 16
"""Number of a session's messages whose lines are shortened and dropped together (this project's choice)."""

NOTED_KINDS: Final = ("decision", "task", "intention", "event", "fact", "episodic")
"""Kinds of derived items that a summary shows. Profile and preferences are in the core memory."""


@dataclass(frozen=True, slots=True)
class SummaryPolicy:
    """Limits of the rule-based lines; the slot's budget decides how many are shown.

    ``noted`` lines are items derived from the session, ``said`` lines are the user's messages. Of a message ``opening``
    characters of its first sentence are quoted; half of that in the batch before the newest, a quarter in earlier ones.
    """

    noted: int = 16
    said: int = 24
    opening: int = 160

    def most(self, age: int) -> int:
        """Return the number of characters quoted of a message of the batch that is ``age`` batches old."""
        return self.opening >> min(age, 2)


@dataclass(frozen=True, slots=True)
class WorkingSummary:
    """The lines, best first, and their author: ``rules``, or the entry whose stored model answer they are."""

    blocks: Sequence[Block] = ()
    made_by: str = "rules"
    noted: Sequence[str] = ()
    """Ids of the derived items among the lines' citations."""


def working_summary(
    unit: Unit,
    lane: Lane,
    session_id: str,
    wanted: ReadConditions,
    *,
    apart: AbstractSet[str] = frozenset(),
    policy: SummaryPolicy = SummaryPolicy(),
    zone: tzinfo = UTC,
) -> WorkingSummary:
    """Summarise a session of a lane: the stored summary if there is one, and rule-based lines for later messages.

    Items ``apart`` are shown elsewhere.
    """
    row = find_summary(unit, lane.lane_id, session_id)
    # Only the latest summary is stored: for an earlier time the rules apply.
    later = row is not None and wanted.as_of is not None and to_micros(row.recorded_at) > wanted.as_of
    row = None if later or wanted.valid_at is not None else row

    def newest(kinds: Sequence[str], limit: int, **more: str) -> list[Item]:
        own = replace(wanted, kinds=kinds, attributes={"session_id": session_id, **more})
        return items_of(unit, [lane], own, limit=limit)

    noted, said = newest(NOTED_KINDS, policy.noted), newest(("message",), policy.said, role="user")
    batches = _batches(noted, said)
    noted = [item for item in _drop_partial_batch(noted, batches, most=policy.noted) if item.id not in apart]
    said = _drop_partial_batch(said, batches, most=policy.said)
    lines: list[Block] = []
    if row is not None:
        lines = _lines(unit, lane, row)
        noted = [item for item in noted if item.recorded_at > row.recorded_at]
        said = [item for item in said if item.position is None or item.position >= row.position]
    # A decision is often the message verbatim: it is shown once, as the derived item.
    told = {compared_form(item.content) for item in noted}
    said = [item for item in said if compared_form(item.content) not in told]
    days = days_of_items(unit, [lane], noted, wanted, zone)
    made_by = row.entry_id if row is not None and lines else "rules"
    lines += _rule_lines(noted, said, days=days, batches=batches, policy=policy, zone=zone)
    return WorkingSummary(lines, made_by, [item.id for item in noted])


def _lines(unit: Unit, lane: Lane, row: SummaryRow) -> list[Block]:
    """Return the stored lines, as data, except those based on something archived, ended or quarantined since."""
    states = read_heads(unit, lane.lane_id, [source for line in row.lines for source in line.of])
    return [
        Block(line.text, tuple(f"mem:{source}" for source in line.of), fenced=True, label="So far", place=n)
        for n, line in enumerate(row.lines)
        if all(source in states and states[source].live for source in line.of)
    ]


def _batches(noted: Sequence[Item], said: Sequence[Item]) -> dict[str, int]:
    """Return the number of each item's batch.

    For a message by its position, for a derived item by the messages before it.
    """
    found = {item.id: (item.position or 0) // BATCH for item in said}
    marks = sorted((to_micros(item.recorded_at), found[item.id]) for item in said)
    for item in noted:
        before = bisect_right(marks, (to_micros(item.recorded_at), maxsize))
        found[item.id] = marks[before - 1][1] if before else (marks[0][1] if marks else 0) - 1
    return found


def _drop_partial_batch(items: Sequence[Item], batches: Mapping[str, int], *, most: int) -> list[Item]:
    """Return the items without those of the oldest batch, if that batch may be incomplete."""
    oldest = min((batches[item.id] for item in items), default=0)
    newest = max((batches[item.id] for item in items), default=0)
    if len(items) < most or oldest == newest:
        return list(items)
    return [item for item in items if batches[item.id] > oldest]


def _rule_lines(
    noted: Sequence[Item],
    said: Sequence[Item],
    *,
    days: Mapping[str, str],
    batches: Mapping[str, int],
    policy: SummaryPolicy,
    zone: tzinfo,
) -> list[Block]:
    """Return the derived items, the newest batch first, then the openings of messages, the newest first.

    Their places are in chronological order; a derived item follows its message.
    """

    def order(item: Item) -> tuple[int, bool, int, str]:
        return to_micros(item.recorded_at), item.kind != "message", item.position or 0, item.id

    places = {item.id: n for n, item in enumerate(sorted([*noted, *said], key=order))}
    rows = [
        (item, words_of(item), days.get(item.id, ""))
        for item in sorted(noted, key=lambda item: (-batches[item.id], -item.importance))
    ]
    newest = max(batches.values(), default=0)
    for item in said:
        text = first_sentence(strip_contexts(item.content).text, most=policy.most(newest - batches[item.id]))
        if text:
            rows.append((item, text, dates_of_relative_times(text, said_at(item, zone=zone))))
    return [
        Block(
            text,
            (item.citation,),
            "user" if item.kind == "message" else "system",
            fenced=True,
            label=LABEL,
            about=about,
            batch=f"{'said' if item.kind == 'message' else 'noted'} {batches[item.id]}",
            place=places[item.id],
        )
        for item, text, about in rows
    ]
