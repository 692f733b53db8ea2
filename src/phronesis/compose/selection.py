"""Which candidates are shown: greedily, best first, each slot within its share and then with what others leave."""

from collections.abc import Sequence
from typing import Any, Final

from phronesis.compose.excerpts import Count
from phronesis.compose.pieces import Piece, block_piece, citation_of, evidence_piece, turn_piece
from phronesis.core.budget import Ledger
from phronesis.core.context import Block, Budget, Candidates
from phronesis.core.results import Evidence

COUNT_LIMIT: Final = "count limit"
SLOT_BUDGET: Final = "slot budget"
TOTAL_BUDGET: Final = "total budget"


class Selection:
    """What was chosen so far, and what was dropped and why.

    The order: system blocks, summary and recent turns within their shares; evidence with what they leave; recent turns
    with what evidence leaves; system blocks up to their cap. Sizes are estimates, each piece counted by itself.
    """

    def __init__(self, candidates: Candidates, *, budget: Budget, ledger: Ledger, count: Count) -> None:
        self.chosen: list[Piece] = []
        self.dropped: list[dict[str, Any]] = []
        self._candidates = candidates
        self._budget = budget
        self._ledger = ledger
        self._count = count

    def fill(self) -> None:
        """Choose among all candidates; afterwards each is in ``chosen`` or in ``dropped``."""
        waiting = self._system_blocks()
        self._summary()
        turns = list(enumerate(self._candidates.recent_turns))
        limit = max(0, self._budget.recent_turn_count)
        for index, turn in turns[: max(0, len(turns) - limit)]:
            self._drop("recent_turns", index, turn, COUNT_LIMIT)
        newest_first = turns[::-1][:limit]
        shown = self._turns(newest_first, self._ledger.own("recent_turns"))
        # As long as not even the newest turn has found room, the turns' share is not theirs to lend.
        self._evidence(held=self._ledger.own("recent_turns") if newest_first and not shown else 0)
        rest = newest_first[shown:]
        more = self._turns(rest, self._ledger.room("recent_turns"), cut=not shown)
        for index, turn in rest[more:]:
            self._drop("recent_turns", index, turn, TOTAL_BUDGET)
        for piece in waiting:
            if piece.tokens <= self._ledger.room("system_blocks"):
                self._take(piece)
            else:
                reason = SLOT_BUDGET if piece.tokens <= self._ledger.spare() else TOTAL_BUDGET
                self._drop("system_blocks", piece.index, piece.source, reason)

    def let_go(self, tokens: int) -> None:
        """Drop the least valuable pieces until their estimates sum up to ``tokens``: one at least.

        Evidence of the lowest rank first, then the oldest turns, the summary, the system blocks, each from its end.
        """
        freed = 0
        while self.chosen and freed < max(1, tokens):
            piece = min(self.chosen, key=_value)
            self.chosen.remove(piece)
            self._ledger.release(piece.slot, piece.tokens)
            self._drop(piece.slot, piece.index, piece.source, TOTAL_BUDGET)
            freed += piece.tokens

    def _system_blocks(self) -> list[Piece]:
        """Take the blocks that fit the share; give the others. An instruction is shown whole or not at all."""
        waiting = []
        for index, block in enumerate(self._candidates.system_blocks):
            cap = self._budget.system_blocks
            piece = block_piece("system_blocks", index, block, room=cap, cut=False, count=self._count)
            if piece is None:
                self._drop("system_blocks", index, block, SLOT_BUDGET)
            elif piece.tokens <= self._ledger.own("system_blocks"):
                self._take(piece)
            else:
                waiting.append(piece)
        return waiting

    def _summary(self) -> None:
        for index, block in enumerate(self._candidates.working_summary):
            room = self._ledger.own("working_summary")
            piece = block_piece("working_summary", index, block, room=room, cut=True, count=self._count)
            if piece:
                self._take(piece)
            else:
                self._drop("working_summary", index, block, SLOT_BUDGET)

    def _turns(self, newest_first: Sequence[tuple[int, Block]], room: int, *, cut: bool = False) -> int:
        """Take turns while they fit into ``room``; give how many. A gap would mislead, so the first too long ends it.

        With ``cut`` the newest is shortened if it must be.
        """
        for taken, (index, turn) in enumerate(newest_first):
            piece = turn_piece(index, turn, room=room, cut=cut and not taken, count=self._count)
            if piece is None:
                return taken
            self._take(piece)
            room -= piece.tokens
        return len(newest_first)

    def _evidence(self, *, held: int) -> None:
        taken = 0
        for index, evidence in enumerate(self._candidates.evidence):
            if taken >= self._budget.evidence_count:
                self._drop("evidence", index, evidence, COUNT_LIMIT)
                continue
            room = self._ledger.room("evidence", held=held)
            snippet_tokens = self._budget.snippet_tokens
            piece = evidence_piece(index, evidence, snippet_tokens=snippet_tokens, room=room, count=self._count)
            if piece:
                self._take(piece)
                taken += 1
            else:
                self._drop("evidence", index, evidence, SLOT_BUDGET if held else TOTAL_BUDGET)

    def _take(self, piece: Piece) -> None:
        self._ledger.use(piece.slot, piece.tokens)
        self.chosen.append(piece)

    def _drop(self, slot: str, index: int, source: Block | Evidence, reason: str) -> None:
        self.dropped.append({"slot": slot, "index": index, "citation": citation_of(source), "reason": reason})


_VALUE: Final = {"evidence": 0, "recent_turns": 1, "working_summary": 2, "system_blocks": 3}


def _value(piece: Piece) -> tuple[int, int]:
    return _VALUE[piece.slot], piece.index if piece.slot == "recent_turns" else -piece.index
