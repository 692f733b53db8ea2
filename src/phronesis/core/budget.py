"""Dividing a context's tokens among its slots, and lending what a slot leaves (law 5). Arithmetic only.

Each slot has a cap. When the caps together exceed the whole budget, every slot's share is cut in proportion. The shares
do not depend on the message, so that what is shown of the stable slots does not change with the question. What any slot
leaves of its share may be borrowed by the borrowers, without a cap; the stable slots never borrow.
"""

from collections.abc import Mapping
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

    def __init__(self, available: int, caps: Mapping[str, int], *, total: int | None = None) -> None:
        """Keep ``available`` tokens, of a ``total`` that the shares are parts of (default: of what is available)."""
        self._available = max(0, available)
        self._caps = {slot: max(0, cap) for slot, cap in caps.items()}
        self._shares = shares(available if total is None else total, caps)
        self._used = dict.fromkeys(caps, 0)

    def spare(self) -> int:
        """Give the tokens that no slot uses."""
        return self._available - sum(self._used.values())

    def own(self, slot: str) -> int:
        """Give the tokens left of the slot's own share, never more than are spare."""
        return max(0, min(self._shares[slot] - self._used[slot], self.spare()))

    def room(self, slot: str, *, held: int = 0) -> int:
        """Give the tokens the slot may still use; ``held`` of the spare ones are kept for others."""
        spare = max(0, self.spare() - max(0, held))
        return spare if slot in BORROWERS else min(spare, self.own(slot))

    def part(self, slot: str, *, beside: str) -> int:
        """Return the slot's part of the spare tokens, shared with another slot as their shares are; at most its own."""
        both = self._shares[slot] + self._shares[beside]
        return min(self.own(slot), self.spare() * self._shares[slot] // both if both else 0)

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
