"""The working summary: what a session was about before its recent turns, each line with what it stands on.

What a model summed up (``derive/summarising``) is stored; everything else is made when it is read, so that it is never
behind: what was derived from the session first, then the openings of what the user said, the older the shorter.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from phronesis.compose.excerpts import opening
from phronesis.compose.wording import words_of
from phronesis.core.context import Block
from phronesis.core.conversation import SummaryRow
from phronesis.core.injected_text import own_text
from phronesis.core.instants import to_micros
from phronesis.core.items import Item, Trust
from phronesis.core.statements import plain_form
from phronesis.recall.browse import items_of
from phronesis.storage.conversations import find_summary
from phronesis.storage.database import Unit
from phronesis.storage.eligible import Wanted
from phronesis.storage.items import OfSession, live_of_session, read_states
from phronesis.storage.lanes import Lane

NOTED_KINDS: Final = ("decision", "task", "intention", "event", "fact", "episodic")
"""What a conversation came to. Profile and preferences stand in the core memory."""


@dataclass(frozen=True, slots=True)
class SummaryPolicy:
    """What a team decides about the lines by rules; the slot's budget decides how many of them are shown.

    ``noted`` lines are of what came of the session, ``said`` of what the user said. Of a message ``opening`` characters
    of its first sentence are quoted; half of that in the middle third of them, a quarter in the oldest: the oldest are
    compressed first.
    """

    noted: int = 16
    said: int = 24
    opening: int = 160

    def most(self, n: int) -> int:
        """Give the characters that are quoted of the n-th newest message, from 0."""
        return self.opening >> (3 * n // self.said)


@dataclass(frozen=True, slots=True)
class WorkingSummary:
    """The lines, best first, and who made them: ``rules``, or the entry whose model answer is stored."""

    blocks: Sequence[Block] = ()
    made_by: str = "rules"
    noted: Sequence[str] = ()
    """Ids of derived items among what the lines cite."""


def working_summary(
    unit: Unit,
    lane: Lane,
    session_id: str,
    wanted: Wanted,
    *,
    apart: AbstractSet[str] = frozenset(),
    policy: SummaryPolicy = SummaryPolicy(),
) -> WorkingSummary:
    """Sum up a session of a lane: the stored summary where there is one, and by rules what came after it.

    Items ``apart`` are shown elsewhere.
    """
    row = _stored(unit, lane, session_id, wanted)
    meant = OfSession(NOTED_KINDS, policy.noted), OfSession(("message",), policy.said, "user")
    noted, said = _of_session(unit, lane, session_id, wanted, meant)
    noted = [item for item in noted if item.id not in apart]
    lines: list[Block] = []
    if row is not None:
        lines = _lines(unit, lane, row)
        noted = [item for item in noted if item.recorded_at > row.recorded_at]
        said = [item for item in said if item.position is None or item.position >= row.position]
    # A decision is often the message word for word: it is told once, as what was noted.
    told = {plain_form(item.content) for item in noted}
    said = [item for item in said if plain_form(item.content) not in told]
    blocks = [*lines, *_noted(noted), *_said(said, policy)]
    return WorkingSummary(blocks, row.entry_id if row is not None and lines else "rules", [item.id for item in noted])


def _of_session(
    unit: Unit, lane: Lane, session_id: str, wanted: Wanted, meant: Sequence[OfSession]
) -> Sequence[Sequence[Item]]:
    """Give items of the session for each of what is meant, the newest first."""
    if not wanted.past:
        return live_of_session(unit, lane, session_id, meant)
    own = {"session_id": session_id}
    return [
        items_of(unit, [lane], dataclasses.replace(
            wanted, kinds=one.kinds, attributes=own if one.role is None else {**own, "role": one.role}
        ), limit=one.limit)
        for one in meant
    ]  # fmt: skip


def _stored(unit: Unit, lane: Lane, session_id: str, wanted: Wanted) -> SummaryRow | None:
    row = find_summary(unit, lane.lane_id, session_id)
    if row is None or wanted.valid_at is not None:
        return None
    # Only the last one is kept: for an earlier time the rules sum up.
    return row if wanted.as_of is None or to_micros(row.recorded_at) <= wanted.as_of else None


def _lines(unit: Unit, lane: Lane, row: SummaryRow) -> list[Block]:
    """Give the stored lines but those that stand on something archived, ended or quarantined since. They are data."""
    states = read_states(unit, lane, [source for line in row.lines for source in line.of])
    return [
        Block(line.text, tuple(f"mem:{source}" for source in line.of), fenced=True, label="So far", place=n)
        for n, line in enumerate(row.lines)
        if all(source in states and states[source].live for source in line.of)
    ]


def _noted(items: Sequence[Item]) -> list[Block]:
    """Give what was derived, the most important first, shown in the order in which it came up."""
    places = {item.id: n for n, item in enumerate(sorted(items, key=_when))}
    return [
        Block(words_of(item), (item.citation,), fenced=item.trust < Trust.USER, label="Noted", place=places[item.id])
        for item in sorted(items, key=lambda item: -item.importance)
    ]


def _said(items: Iterable[Item], policy: SummaryPolicy) -> list[Block]:
    """Give the openings of messages, the newest first, shown in the order in which they were said."""
    blocks = []
    for n, item in enumerate(items):
        text = opening(own_text(item.content).text, most=policy.most(n))
        if not text:
            continue
        blocks.append(Block(text, (item.citation,), "user", fenced=True, label="Said by the user", place=-n))
    return blocks


def _when(item: Item) -> tuple[int, str]:
    return to_micros(item.occurred_at or item.recorded_at), item.id
