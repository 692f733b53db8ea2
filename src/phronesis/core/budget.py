"""Dividing a context's tokens among its slots, and lending what a slot leaves (law 5). Arithmetic only.

Each slot has a cap. When the caps together exceed what is there, every slot's share is cut in proportion; what a slot
leaves of its share may be borrowed: by evidence, then by recent turns, without a cap, since these are what there is
always more of; then by the other slots, back up to their caps, and beyond them by the shares of slots that use nothing.
"""

from collections.abc import Collection, Mapping
from typing import Final

BORROWERS: Final = ("evidence", "recent_turns")
"""The slots that may go beyond their cap with what others leave, in the order in which they may."""


def shares(available: int, caps: Mapping[str, int]) -> dict[str, int]:
    """Give each slot's tokens: its cap, or its proportional part of ``available`` rounded down if caps exceed that.

    A negative cap or ``available`` counts as 0. The sum never exceeds ``available``.
    """
    room = max(0, available)
    wanted = {slot: max(0, cap) for slot, cap in caps.items()}
    total = sum(wanted.values())
    if total <= room:
        return wanted
    return {slot: cap * room // total for slot, cap in wanted.items()}


class Ledger:
    """What each slot may use and uses, in tokens. It keeps the books; whoever spends asks first."""

    def __init__(self, available: int, caps: Mapping[str, int]) -> None:
        self._available = max(0, available)
        self._caps = {slot: max(0, cap) for slot, cap in caps.items()}
        self._shares = shares(available, caps)
        self._used = dict.fromkeys(caps, 0)

    def spare(self) -> int:
        """Give the tokens that no slot uses."""
        return self._available - sum(self._used.values())

    def own(self, slot: str) -> int:
        """Give the tokens left of the slot's own share, never more than are spare."""
        return max(0, min(self._shares[slot] - self._used[slot], self.spare()))

    def room(self, slot: str, *, held: int = 0, wanting: Collection[str] = ()) -> int:
        """Give the tokens the slot may still use with borrowing; ``held`` of the spare ones are kept for others.

        A slot that is no borrower asks when the borrowers have had their turn: one that uses nothing by then, and is
        not ``wanting`` more, is empty and lends its share.
        """
        spare = max(0, self.spare() - max(0, held))
        if slot in BORROWERS:
            return spare
        lending = {other for other, used in self._used.items() if not used} - {slot, *wanting}
        empty = sum(self._shares[other] for other in lending)
        return max(0, min(spare, self._caps[slot] + empty - self._used[slot]))

    def use(self, slot: str, tokens: int) -> None:
        """Book ``tokens`` on a slot."""
        self._used[slot] += tokens

    def release(self, slot: str, tokens: int) -> None:
        """Take back what ``use`` booked."""
        self._used[slot] -= tokens

    def report(self) -> dict[str, dict[str, int]]:
        """Give ``cap``, ``share``, ``used`` and ``borrowed`` (used beyond the share) of each slot."""
        return {
            slot: {
                "cap": self._caps[slot],
                "share": self._shares[slot],
                "used": used,
                "borrowed": max(0, used - self._shares[slot]),
            }
            for slot, used in self._used.items()
        }
