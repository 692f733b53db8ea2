"""Selecting candidates greedily, best first: each slot within its share, then from what other slots leave unused."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from phronesis.compose.snippets import (
    Count,
    RenderedPiece,
    block_piece,
    citation_of,
    evidence_piece,
    group_of,
    is_due,
    turn_piece,
)
from phronesis.core.context import Block, Budget, Candidates
from phronesis.core.results import Evidence

# Allocating a context's tokens to its slots, and lending unused tokens (law 5).

BORROWERS: Final = ("evidence", "recent_turns")
"""The slots that may exceed their cap with tokens that others leave, in order of priority."""


def shares(available: int, caps: Mapping[str, int]) -> dict[str, int]:
    """Return each slot's tokens: its cap, or its proportional part of ``available`` if caps exceed that.

    Parts are rounded down. A negative cap or ``available`` counts as 0. The sum never exceeds ``available``.
    """
    room = max(0, available)
    wanted = {slot: max(0, cap) for slot, cap in caps.items()}
    total = sum(wanted.values())
    if total <= room:
        return wanted
    return {slot: cap * room // total for slot, cap in wanted.items()}


class SlotLedger:
    """The allowance and use of each slot, in tokens. It only counts; the caller asks before it spends."""

    def __init__(self, available: int, caps: Mapping[str, int], *, total: int | None = None) -> None:
        """Manage ``available`` tokens; shares are parts of ``total`` (default: ``available``)."""
        self._available = max(0, available)
        self._caps = {slot: max(0, cap) for slot, cap in caps.items()}
        self._shares = shares(available if total is None else total, caps)
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
        """Record the use of ``tokens`` by a slot."""
        self._used[slot] += tokens

    def release(self, slot: str, tokens: int) -> None:
        """Revert a ``use``."""
        self._used[slot] -= tokens

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
        self._due([one for one in system if is_due(one[1])], held=held)
        self._evidence(held=held)
        rest = newest_first[shown:]
        more = self._turns(rest, self._ledger.room("recent_turns"), cut=not shown)
        for index, turn in rest[more:]:
            self._drop("recent_turns", index, turn, TOTAL_BUDGET)
        self._drop_repeated()

    def let_go(self, tokens: int) -> None:
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
            piece = self._piece(slot, index, block, self._ledger.own(slot))
            if piece is None:
                bound = self._ledger.own(slot) < self._ledger.spare()
                self._drop(slot, index, block, SLOT_BUDGET if bound else TOTAL_BUDGET)
            else:
                self._add_piece(piece)

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

    def _due(self, waiting: Sequence[tuple[int, Block]], *, held: int) -> None:
        """Take the due items within what the stable part leaves, so that they never displace it."""
        for index, block in waiting:
            piece = self._piece("system_blocks", index, block, self._ledger.spare() - held)
            if piece is None:
                self._drop("system_blocks", index, block, TOTAL_BUDGET)
            else:
                self._add_piece(piece)

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
            self._add_piece(piece)
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
            room = self._ledger.room("evidence", held=held)
            snippet_tokens = self._budget.snippet_tokens
            piece = evidence_piece(
                index,
                evidence,
                snippet_tokens=snippet_tokens,
                room=room,
                count=self._count,
                zone=self._candidates.zone,
            )
            if piece:
                self._add_piece(piece)
                taken += 1
            else:
                self._drop("evidence", index, evidence, SLOT_BUDGET if held else TOTAL_BUDGET)

    def _repeats(self, source: Block | Evidence) -> bool:
        """Return whether a candidate says no more than its source messages, which are all shown whole.

        Ended, disputed and possibly outdated items say more than their source message.
        """
        origins = self._candidates.taken_from
        if isinstance(source, Evidence):
            own = source.item.citation
            if own not in origins:
                return own in self._turned
            return not source.beside and not source.item.ended and self._are_shown(origins[own])
        return self._are_shown([origin for own in source.citations for origin in origins.get(own, (own,))])

    def _are_shown(self, messages: Sequence[str]) -> bool:
        return bool(messages) and (self._turned | self._quoted).issuperset(messages)

    def _drop_repeated(self) -> None:
        """Drop evidence whose content is in a message that was taken later."""
        for piece in [one for one in self.chosen if one.slot == "evidence"]:
            if self._repeats(piece.source):
                self._release(piece, SHOWN_ALREADY)

    def _add_piece(self, piece: RenderedPiece) -> None:
        self._ledger.use(piece.slot, piece.tokens)
        self.chosen.append(piece)
        source = piece.source
        if isinstance(source, Block):
            self._groups.add((piece.slot, group_of(source)))
        if not piece.shortened and piece.slot == "recent_turns" and isinstance(source, Block):
            self._turned.update(source.citations)
        elif not piece.shortened and isinstance(source, Evidence) and source.item.kind == "message":
            self._quoted.add(source.item.citation)

    def _release(self, piece: RenderedPiece, reason: str) -> None:
        self.chosen.remove(piece)
        self._ledger.release(piece.slot, piece.tokens)
        self._drop(piece.slot, piece.index, piece.source, reason)

    def _drop(self, slot: str, index: int, source: Block | Evidence, reason: str) -> None:
        self.dropped.append({"slot": slot, "index": index, "citation": citation_of(source), "reason": reason})


_VALUE: Final = {"evidence": 0, "recent_turns": 1, "working_summary": 2, "system_blocks": 3}


def _value(piece: RenderedPiece) -> tuple[float, int]:
    # Due items are dropped after the evidence and before the turns.
    value = 0.5 if piece.due else _VALUE[piece.slot]
    return value, piece.index if piece.slot == "recent_turns" else -piece.index
