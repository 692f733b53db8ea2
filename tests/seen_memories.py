"""Memories and traits to reflect on."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from phronesis.traits.laws.records import MemoryInput, TraitInput

START = datetime(2025, 3, 1, 8, tzinfo=UTC)


def memory(n: int, content: str, **fields: Any) -> MemoryInput:
    """Give the ``n``-th memory: two in each session, a week apart."""
    given: dict[str, Any] = {
        "kind": "episodic",
        "at": START + timedelta(days=7 * (n // 2), minutes=n),
        "session_id": f"s{n // 2}",
    }
    return MemoryInput(id=f"m{n:03d}", content=content, **given | fields)


def memories(*texts: str, **fields: Any) -> list[MemoryInput]:
    """Give memories, each in a session of its own."""
    return [memory(2 * n, text, **fields) for n, text in enumerate(texts)]


def trait(content: str, supporting: Sequence[str] = (), **fields: Any) -> TraitInput:
    """Give a behaviour that was found before."""
    given: dict[str, Any] = {"id": "t1", "stage": "emerging", "subtype": "behavior", "confidence": 0.5}
    return TraitInput(content=content, supporting=tuple(supporting), **given | fields)


def ids(seen: Sequence[MemoryInput]) -> set[str]:
    """Give the ids of memories."""
    return {one.id for one in seen}


def cosine_of(groups: dict[str, int], *, near: float = 0.9, far: float = 0.7) -> Any:
    """Give cosines by group: ``near`` in one, ``far`` between two; an id without a group has no vector."""

    def cosine(wanted: Sequence[str]) -> npt.NDArray[np.float32]:
        out = np.full((len(wanted), len(wanted)), far, np.float32)
        for row, one in enumerate(wanted):
            for column, other in enumerate(wanted):
                if one not in groups or other not in groups:
                    out[row, column] = np.nan
                elif one == other:
                    out[row, column] = 1.0
                elif groups[one] == groups[other]:
                    out[row, column] = near
        return out

    return cosine
