"""The recent turns of a session as blocks: word for word, but without what was forgotten since."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from phronesis.core.context import Block
from phronesis.core.entries import is_erased
from phronesis.core.ids import item_id
from phronesis.recall.browse import turns_of
from phronesis.storage.database import Unit
from phronesis.storage.items import read_items, read_states
from phronesis.storage.lanes import Lane


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
    data, whoever said it. Where its item still says the same words, a block cites it, so that it is not shown again.
    """
    blocks: list[Block] = []
    count, where = 0, None
    for lane in lanes:
        turns = turns_of(unit, [lane], session_id, last=last, as_of=as_of)
        if not turns:
            continue
        count, where = count + len(turns), where or lane
        said = [(item_id(turn.entry_id, "message", str(n)), message)
                for turn in turns for n, message in enumerate(turn.messages)]  # fmt: skip
        states = read_states(unit, lane, [identity for identity, _ in said])
        edited = read_items(unit, lane, [identity for identity, state in states.items() if state.version > 1])
        for identity, message in said:
            state = states.get(identity)
            text = "" if is_erased(message) else message_words(message)
            held = state is not None and state.held
            if not text.strip() or (state is not None and not state.live and not held and as_of is None):
                continue
            same = state is not None and not held and (state.version == 1 or edited[identity].content == text)
            blocks.append(_block(message, text, (f"mem:{identity}",) if same else (), held=held))
    return RecentTurns(blocks, count, where)


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
