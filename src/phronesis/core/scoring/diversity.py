"""Results that bring something of their own: one stretch of talk does not fill the list where others say as much."""

import heapq
from collections.abc import Hashable, Sequence
from typing import Final

CROWDING: Final = 0.05
"""Standard deviations that a result loses for each better one of its session or document, without an encoder.

On the three labelled sets .02 and .05 found as much among the first 10 and .000 to .004 more among the first 20; .2 and
more lost, and so did a limit of five results a session. With an encoder .05 cost .003 to .010 among the first 10: B12
has none (docs/benchmarks.md)."""


def diversified(
    scores: Sequence[float], groups: Sequence[Hashable], *, crowding: float, limit: int
) -> list[tuple[int, float]]:
    """Give the best ``limit`` positions, each with what it lost: ``crowding`` for each one of its group before it.

    ``scores`` fall (ties stand in their order), ``groups`` say where each comes from. Positions are taken one after
    the other, the best of what is left first, so scores less losses fall too. ``crowding`` is at least 0, which
    changes nothing.
    """
    taken: dict[Hashable, int] = {}
    # Nothing loses more than for all the others that are taken: what is below that is never reached.
    least = scores[min(limit, len(scores)) - 1] - crowding * (limit - 1) if scores else 0.0
    waiting = [(-score, position, 0) for position, score in enumerate(scores) if score >= least]
    out: list[tuple[int, float]] = []
    while waiting and len(out) < limit:
        _, position, counted = waiting[0]
        before = taken.get(groups[position], 0)
        loss = crowding * before
        if before != counted:  # others of its group were taken since it was last placed
            heapq.heapreplace(waiting, (loss - scores[position], position, before))
            continue
        heapq.heappop(waiting)
        taken[groups[position]] = before + 1
        out.append((position, loss))
    return out
