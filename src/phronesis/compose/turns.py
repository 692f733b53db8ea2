"""The recent turns of a session as blocks: word for word, but without what was forgotten since.

What was recorded without waiting (``wait=False``) and is not interpreted yet is read from the log.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from phronesis.core.context import Block
from phronesis.core.entries import Entry, is_erased
from phronesis.core.ids import item_id
from phronesis.core.results import Turn
from phronesis.recall.browse import turns_of
from phronesis.storage.conversations import repeats_of_entries
from phronesis.storage.database import Unit
from phronesis.storage.items import ItemState, read_items, read_states
from phronesis.storage.lanes import Lane
from phronesis.storage.log import read_entries
from phronesis.truth.reader import load_listed

MAX_PENDING: Final = 64
"""Entries that wait to be interpreted of which the newest are looked at: more than a session's turns shown."""

_SPOKEN: Final = ("turn", "add")
"""Verbs whose payload holds messages."""


@dataclass(frozen=True, slots=True)
class RecentTurns:
    """Blocks, oldest first; how many turns, and the lane they are in (None: there are none)."""

    blocks: Sequence[Block]
    count: int
    lane: Lane | None

    @property
    def characters(self) -> int:
        """How long they are together."""
        return sum(len(block.text) for block in self.blocks)


def recent_turns(
    unit: Unit, lanes: Sequence[Lane], session_id: str, *, last: int, as_of: int | None = None
) -> RecentTurns:
    """Give the last turns of a session.

    A message that was archived or retracted since is left out, unless a time is asked for; what is in quarantine is
    data, whoever said it. Of what a client sent again the message that it repeats decides. Where its item still says
    the same words, a block cites it, so that it is not shown again. What is not interpreted yet has no item.
    """
    blocks: list[Block] = []
    count, where = 0, None
    for lane in lanes:
        turns = turns_of(unit, [lane], session_id, last=last, as_of=as_of)
        waiting = _pending(unit, lane, session_id) if as_of is None else []
        if not turns and not waiting:
            continue
        count, where = count + len(turns) + len(waiting), where or lane
        said, states = _said(unit, lane, turns)
        edited = read_items(unit, lane, [identity for identity, state in states.items() if state.version > 1])
        for identity, message in said:
            state = states.get(identity)
            text = "" if is_erased(message) else message_words(message)
            if not text.strip() or (state is not None and not state.kept and as_of is None):
                continue
            held = state is not None and state.held
            same = state is not None and not held and (state.version == 1 or edited[identity].content == text)
            blocks.append(_block(message, text, (f"mem:{identity}",) if same else (), held=held))
        known = {message["id"]: message_words(message) for _, message in said if "id" in message}
        for message in (message for entry in waiting for message in entry.payload["messages"]):
            text = "" if is_erased(message) else message_words(message)
            if text.strip() and ("id" not in message or known.get(message["id"]) != text):
                blocks.append(_block(message, text, (), held=False))
    return RecentTurns(blocks, count, where)


def _pending(unit: Unit, lane: Lane, session_id: str) -> list[Entry]:
    """Give the entries of a session, oldest first, that hold messages and are not interpreted yet."""
    after = max(lane.applied_seq, lane.head_seq - MAX_PENDING)
    if after >= lane.head_seq:
        return []
    rows = read_entries(unit, lane.lane_id, after=after, until=lane.head_seq)
    found = load_listed(unit, lane, [row.entry_id for row in rows if row.verb in _SPOKEN])
    entries = sorted(found.values(), key=lambda entry: entry.seq)
    return [one for one in entries if one.payload.get("session_id") == session_id and one.payload.get("messages")]


def _said(
    unit: Unit, lane: Lane, turns: Sequence[Turn]
) -> tuple[list[tuple[str, Mapping[str, Any]]], dict[str, ItemState]]:
    """Give the messages of turns, each with the id of its item, and the state of these items.

    A message that its session held already has no item of its own: its item is that of the message it repeats.
    """
    places = {(turn.entry_id, n): message for turn in turns for n, message in enumerate(turn.messages)}
    ids = {place: item_id(place[0], "message", str(place[1])) for place in places}
    states = read_states(unit, lane, ids.values())
    unknown = {entry for (entry, n), message in places.items() if ids[entry, n] not in states and "id" in message}
    if unknown:
        repeated = {(row.entry_id, row.n): row.item_id for row in repeats_of_entries(unit, sorted(unknown))}
        ids |= repeated
        states |= read_states(unit, lane, [one for one in repeated.values() if one not in states])
    return [(ids[place], message) for place, message in places.items()], states


def message_words(message: Mapping[str, Any]) -> str:
    """Give the words of a message as it was recorded: its content, or the text parts of a content given in parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def _block(message: Mapping[str, Any], text: str, citations: Sequence[str], *, held: bool) -> Block:
    role = str(message.get("role", "user"))
    fenced = held or role not in ("user", "assistant")
    return Block(text=text, citations=citations, role=role, name=message.get("name"), fenced=fenced)
