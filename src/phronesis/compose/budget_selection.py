"""Selecting candidates greedily, best first: each slot within its share, then from what other slots leave unused.

A selected candidate is a `RenderedPiece`: cleaned, shortened and cited, with an estimate of its tokens.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from itertools import groupby
from typing import Any, Final

from phronesis.compose.item_wording import (
    CITATIONS_SHOWN,
    MIN_EXCERPT,
    Count,
    estimate_heading,
    excerpt,
    fit_text,
    heading_of,
    message_prefix,
    speaker,
    words_of,
)
from phronesis.core.context import DUE_LABEL, Block, Budget, Candidates
from phronesis.core.data_delimiters import SAMPLE
from phronesis.core.entries import SECTION
from phronesis.core.results import Evidence
from phronesis.core.text import clean, escape_citations, label
from phronesis.index.projections import chunk_start
from phronesis.models.token_counter import MESSAGE_OVERHEAD

SUMMARY_CITATIONS_SHOWN: Final = 1
"""Maximum citations before a line of the summary."""

_SEPARATOR_TOKENS: Final = 2
"""Line breaks around a piece: at most two, at most a token each."""


@dataclass(frozen=True, slots=True)
class RenderedPiece:
    """A candidate as rendered: its text, preceded by a heading with its citation (empty before a turn's).

    ``tokens`` estimates what it adds to the larger rendering; ``index`` is its position.
    """

    slot: str
    index: int
    source: Block | Evidence
    text: str
    tokens: int
    shortened: bool = False
    heading: str = ""

    @property
    def due(self) -> bool:
        """Return whether it is a due item."""
        return self.slot == "system_blocks" and is_due(self.source)

    @property
    def block(self) -> Block:
        """The source of a piece that is no evidence."""
        if not isinstance(self.source, Block):
            raise TypeError(f"{self.slot} holds blocks")
        return self.source


def citation_of(source: Block | Evidence) -> str | None:
    """Return its name in reports: the item's citation, or a block's first one, if any."""
    if isinstance(source, Evidence):
        return source.item.citation
    return source.citations[0] if source.citations else None


def evidence_piece(
    index: int, evidence: Evidence, *, snippet_tokens: int, room: int, count: Count, zone: tzinfo = UTC
) -> RenderedPiece | None:
    """Return a memory under its heading, in at most ``room`` tokens, its text in at most ``snippet_tokens``.

    None if the room is too small for that, or for a useful part of it.
    """
    heading = heading_of(evidence, zone)
    overhead = count(estimate_heading(heading)) + _SEPARATOR_TOKENS
    limit = min(snippet_tokens, room - overhead)
    found = evidence.matched[0] if evidence.matched else None
    shown, shortened = excerpt(
        words_of(evidence.item),
        snippet="" if found is None else found.snippet,
        start=chunk_start(found.part) if found is not None and evidence.item.kind == SECTION else None,
        limit=limit,
        count=count,
    )
    if limit < 0 or (shortened and (not shown or limit < min(snippet_tokens, MIN_EXCERPT))):
        return None
    quoted = escape_citations(shown)
    tokens = overhead + count(quoted)
    return RenderedPiece("evidence", index, evidence, quoted, tokens, shortened, heading) if tokens <= room else None


def is_due(source: Block | Evidence) -> bool:
    """Return whether it is a due item, the part of core memory that depends on the time of the call."""
    return isinstance(source, Block) and source.label == DUE_LABEL


def group_of(block: Block) -> tuple[str | None, bool]:
    """Return the group of a block, its label and fence: blocks of one group are rendered together."""
    return block.label, block.fenced


def block_piece(
    slot: str, index: int, block: Block, *, room: int, cut: bool, first: bool = True, count: Count
) -> RenderedPiece | None:
    """Return a block of instructions or of the summary in at most ``room`` tokens, after its citations.

    None if the room is too small: for the whole, or with ``cut`` for a useful part. The ``first`` of a group includes
    its fence and label.
    """
    most = SUMMARY_CITATIONS_SHOWN if slot == "working_summary" else CITATIONS_SHOWN
    about = [f"({_on_one_line(block.about)})"] if block.about else []
    heading = " ".join([*(f"[{citation}]" for citation in block.citations[:most]), *about])
    frame = count(SAMPLE.memory("")) if first and block.fenced else 0
    frame += count(f"{label(block.label)}:\n") if first and block.label else 0
    overhead = count(estimate_heading(heading)) + frame + _SEPARATOR_TOKENS
    text = block.text if block.label is None else " ".join(block.text.split())
    shown, shortened = fit_text(text, room - overhead, cut=cut, count=count)
    if shown is None:
        return None
    quoted = escape_citations(shown) if block.label is None else _on_one_line(shown)
    tokens = overhead + count(quoted)
    if tokens > room:
        return None
    source = dataclasses.replace(block, text=shown) if shortened else block
    return RenderedPiece(slot, index, source, quoted, tokens, shortened, heading)


def _on_one_line(text: str) -> str:
    return " ".join(escape_citations(clean(text)).split())


def turn_piece(index: int, block: Block, *, room: int, cut: bool, count: Count) -> RenderedPiece | None:
    """Return a recent turn in at most ``room`` tokens; None if that is too small, as for `block_piece`."""
    # In the text every turn is fenced; in the messages a plain one has its prefix and a message's overhead instead.
    fence = count(SAMPLE.turn(speaker(block), ""))
    overhead = max(fence, count(message_prefix(block))) + MESSAGE_OVERHEAD + _SEPARATOR_TOKENS
    shown, shortened = fit_text(block.text, room - overhead, cut=cut, count=count)
    if shown is None:
        return None
    source = dataclasses.replace(block, text=shown) if shortened else block
    return RenderedPiece("recent_turns", index, source, shown, overhead + count(shown), shortened)


# Allocating a context's tokens to its slots, and lending unused tokens (law 5).

BORROWERS: Final = ("evidence", "recent_turns")
"""The slots that may exceed their cap with tokens that others leave, in order of priority."""


class SlotLedger:
    """The allowance and use of each slot, in tokens. It only counts; the caller asks before it spends.

    A slot's share is its cap, or its proportional part of the total, rounded down, if the caps exceed that.
    """

    def __init__(self, available: int, caps: Mapping[str, int], *, total: int | None = None) -> None:
        """Manage ``available`` tokens; shares are parts of ``total`` (default: ``available``)."""
        self._available = max(0, available)
        self._caps = {slot: max(0, cap) for slot, cap in caps.items()}
        room, wanted = max(0, available if total is None else total), sum(self._caps.values())
        self._shares = {slot: cap if wanted <= room else cap * room // wanted for slot, cap in self._caps.items()}
        self._used = dict.fromkeys(caps, 0)

    def spare(self) -> int:
        """Return the tokens that no slot uses."""
        return self._available - sum(self._used.values())

    def own(self, slot: str) -> int:
        """Return the tokens left of the slot's own share, at most the spare ones."""
        return max(0, min(self._shares[slot] - self._used[slot], self.spare()))

    def room(self, slot: str, *, held: int = 0) -> int:
        """Return the tokens the slot may still use; ``held`` of the spare ones are reserved for others."""
        spare = max(0, self.spare() - max(0, held))
        return spare if slot in BORROWERS else min(spare, self.own(slot))

    def part(self, slot: str, *, beside: str) -> int:
        """Return the slot's part of the spare tokens, split with another slot by their shares; at most its share."""
        both = self._shares[slot] + self._shares[beside]
        return min(self.own(slot), self.spare() * self._shares[slot] // both if both else 0)

    def use(self, slot: str, tokens: int) -> None:
        """Record the use of ``tokens`` by a slot; a negative number takes it back."""
        self._used[slot] += tokens

    def report(self) -> dict[str, dict[str, int]]:
        """Return ``cap``, ``share``, ``used`` and ``borrowed`` (used beyond the share) of each slot."""
        return {
            slot: {
                "cap": self._caps[slot],
                "share": self._shares[slot],
                "used": used,
                "borrowed": max(0, used - self._shares[slot]),
            }
            for slot, used in self._used.items()
        }


COUNT_LIMIT: Final = "count"
SLOT_BUDGET: Final = "share"
TOTAL_BUDGET: Final = "budget"
SHOWN_ALREADY: Final = "duplicate"
"""The reason for dropping a candidate whose text is part of a message that is shown whole."""


class Selection:
    """The candidates chosen so far, and those dropped, with reasons.

    Order: system blocks, recent turns and summary within their shares; due items and evidence with the rest; recent
    turns with what evidence leaves. Neither the system blocks nor the summary depend on the evidence found for the
    message. Sizes are estimates, each piece counted by itself.
    """

    def __init__(self, candidates: Candidates, *, budget: Budget, ledger: SlotLedger, count: Count) -> None:
        self.chosen: list[RenderedPiece] = []
        self.dropped: list[dict[str, Any]] = []
        self._candidates = candidates
        self._budget = budget
        self._ledger = ledger
        self._count = count
        self._turned: set[str] = set()
        self._quoted: set[str] = set()
        self._groups: set[object] = set()

    def fill(self) -> None:
        """Choose among all candidates; afterwards each is in ``chosen`` or in ``dropped``."""
        system = list(enumerate(self._candidates.system_blocks))
        self._blocks("system_blocks", [one for one in system if not is_due(one[1])])
        turns = list(enumerate(self._candidates.recent_turns))
        limit = max(0, self._budget.recent_turn_count)
        for index, turn in turns[: max(0, len(turns) - limit)]:
            self._drop("recent_turns", index, turn, COUNT_LIMIT)
        newest_first = turns[::-1][:limit]
        # After a long message both get less: the turns must not use the evidence's part.
        own = self._ledger.own("recent_turns")
        room = self._ledger.part("recent_turns", beside="evidence") if self._candidates.evidence else own
        shown = self._turns(newest_first, room)
        self._summary(list(enumerate(self._candidates.working_summary)))
        # Until the newest turn is placed, the turns' share is not lent.
        held = min(room, self._ledger.own("recent_turns")) if newest_first and not shown else 0
        for index, block in system:
            if is_due(block):  # within what the stable part leaves, so that it is never displaced
                piece = self._piece("system_blocks", index, block, self._ledger.spare() - held)
                self._take(piece, "system_blocks", index, block, TOTAL_BUDGET)
        self._evidence(held=held)
        rest = newest_first[shown:]
        more = self._turns(rest, self._ledger.room("recent_turns"), cut=not shown)
        for index, turn in rest[more:]:
            self._drop("recent_turns", index, turn, TOTAL_BUDGET)
        for piece in [one for one in self.chosen if one.slot == "evidence" and self._repeats(one.source)]:
            self._release(piece, SHOWN_ALREADY)  # its content is in a message that was taken later

    def drop_cheapest(self, tokens: int) -> None:
        """Drop the least valuable pieces until their estimates sum to ``tokens``: at least one.

        Evidence of the lowest rank first, then the oldest turns, the summary, the system blocks, each from its end.
        """
        freed = 0
        while self.chosen and freed < max(1, tokens):
            piece = min(self.chosen, key=_value)
            self._release(piece, TOTAL_BUDGET)
            freed += piece.tokens

    def _blocks(self, slot: str, waiting: Sequence[tuple[int, Block]]) -> None:
        """Take the blocks that fit the slot's own share.

        An instruction is shown whole or not at all; a summary line may be cut.
        """
        for index, block in waiting:
            if self._repeats(block):
                self._drop(slot, index, block, SHOWN_ALREADY)
                continue
            own = self._ledger.own(slot)
            reason = SLOT_BUDGET if own < self._ledger.spare() else TOTAL_BUDGET
            self._take(self._piece(slot, index, block, own), slot, index, block, reason)

    def _summary(self, waiting: Sequence[tuple[int, Block]]) -> None:
        """Take the lines of the summary; a batch is taken whole, except the first, or none from there on.

        A batch that is left out stays out in the next call, so that the lines before it keep their place.
        """
        begun: set[str] = set()  # kinds of batches
        full: set[str] = set()  # kinds of which no further batch is taken
        for batch, group in groupby(waiting, key=lambda one: one[1].batch):
            kind = "" if batch is None else batch.partition(" ")[0]
            lines = list(group)
            if kind in full:
                for index, block in lines:
                    self._drop("working_summary", index, block, SLOT_BUDGET)
                continue
            chosen, dropped = len(self.chosen), len(self.dropped)
            self._blocks("working_summary", lines)
            cut = any(row["reason"] != SHOWN_ALREADY for row in self.dropped[dropped:])
            if cut and batch is not None:
                full.add(kind)
                for piece in self.chosen[chosen:] if kind in begun else ():
                    self._release(piece, SLOT_BUDGET)
            begun.add(kind)

    def _piece(self, slot: str, index: int, block: Block, room: int) -> RenderedPiece | None:
        first = block.label is None or (slot, group_of(block)) not in self._groups
        cut = slot == "working_summary"
        return block_piece(slot, index, block, room=room, cut=cut, first=first, count=self._count)

    def _turns(self, newest_first: Sequence[tuple[int, Block]], room: int, *, cut: bool = False) -> int:
        """Take turns while they fit into ``room``; return how many. It stops at the first that does not fit.

        A gap would mislead. With ``cut`` the newest is shortened if needed.
        """
        for taken, (index, turn) in enumerate(newest_first):
            piece = turn_piece(index, turn, room=room, cut=cut and not taken, count=self._count)
            if piece is None:
                return taken
            self._take(piece, "recent_turns", index, turn, TOTAL_BUDGET)
            room -= piece.tokens
        return len(newest_first)

    def _evidence(self, *, held: int) -> None:
        taken = 0
        for index, evidence in enumerate(self._candidates.evidence):
            if self._repeats(evidence):
                self._drop("evidence", index, evidence, SHOWN_ALREADY)
                continue
            if taken >= self._budget.evidence_count:
                self._drop("evidence", index, evidence, COUNT_LIMIT)
                continue
            piece = evidence_piece(
                index,
                evidence,
                snippet_tokens=self._budget.snippet_tokens,
                room=self._ledger.room("evidence", held=held),
                count=self._count,
                zone=self._candidates.zone,
            )
            self._take(piece, "evidence", index, evidence, SLOT_BUDGET if held else TOTAL_BUDGET)
            taken += piece is not None

    def _repeats(self, source: Block | Evidence) -> bool:
        """Return whether a candidate says no more than its source messages, which are all shown whole.

        Ended, disputed and possibly outdated items say more than their source message.
        """
        origins = self._candidates.taken_from
        if isinstance(source, Evidence):
            own = source.item.citation
            if own not in origins:
                return own in self._turned
            return not source.related_ids and not source.item.ended and self._are_shown(origins[own])
        return self._are_shown([origin for own in source.citations for origin in origins.get(own, (own,))])

    def _are_shown(self, messages: Sequence[str]) -> bool:
        return bool(messages) and (self._turned | self._quoted).issuperset(messages)

    def _take(self, piece: RenderedPiece | None, slot: str, index: int, source: Block | Evidence, reason: str) -> None:
        """Choose a piece; without one, drop its source for a reason."""
        if piece is None:
            self._drop(slot, index, source, reason)
            return
        self._ledger.use(slot, piece.tokens)
        self.chosen.append(piece)
        if isinstance(source, Block):
            self._groups.add((slot, group_of(source)))
            if slot == "recent_turns" and not piece.shortened:
                self._turned.update(source.citations)
        elif not piece.shortened and source.item.kind == "message":
            self._quoted.add(source.item.citation)

    def _release(self, piece: RenderedPiece, reason: str) -> None:
        self.chosen.remove(piece)
        self._ledger.use(piece.slot, -piece.tokens)
        self._drop(piece.slot, piece.index, piece.source, reason)

    def _drop(self, slot: str, index: int, source: Block | Evidence, reason: str) -> None:
        self.dropped.append({"slot": slot, "index": index, "citation": citation_of(source), "reason": reason})


_VALUE: Final = {"evidence": 0, "recent_turns": 1, "working_summary": 2, "system_blocks": 3}


def _value(piece: RenderedPiece) -> tuple[float, int]:
    # Due items are dropped after the evidence and before the turns.
    value = 0.5 if piece.due else _VALUE[piece.slot]
    return value, piece.index if piece.slot == "recent_turns" else -piece.index
