"""The integrity chain: each entry's hash covers the one before it.

It finds damage and careless edits. It is no proof against the owner of the database, who can write it anew.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from phronesis.core.canonical import encode
from phronesis.storage.lanes import GENESIS, Lane
from phronesis.storage.log import EntryRow, PartRow
from phronesis.truth.parts import COMMITMENT_BYTES, Part, commitment


@dataclass(frozen=True, slots=True)
class Break:
    """A place where the log does not verify."""

    lane_id: int
    seq: int
    entry_id: str
    problem: str


def link(previous: str, facts: Mapping[str, Any], commitments: bytes) -> str:
    """Give the hash of an entry: over the one before, its columns, and the commitments of its parts."""
    return hashlib.sha256(previous.encode() + encode(facts) + commitments).hexdigest()


def facts_of(row: EntryRow) -> dict[str, Any]:
    """Give the columns that the chain covers."""
    return {
        "lane": row.lane_id, "seq": row.seq, "entry": row.entry_id, "verb": row.verb, "version": row.handler_version,
        "actor": row.actor, "at": row.recorded_at, "parent": row.parent_id, "paths": list(row.paths),
    }  # fmt: skip


def problems(row: EntryRow, parts: Sequence[tuple[PartRow, bytes]], *, previous: str, expected: int) -> list[str]:
    """Say what is wrong with one entry, given the hash before it and the seq it must have; nothing when all is well.

    Finds gaps in ``seq``, altered columns, altered or foreign parts. Parts that were erased are not there to be
    checked; their commitments are.
    """
    found: list[str] = []
    if row.seq != expected:
        found.append(f"seq {expected} is missing")
    if link(previous, facts_of(row), row.commitments) != row.hash:
        found.append("the entry was altered, or the one before it")
    for part, body in parts:
        kept = row.commitments[part.n * COMMITMENT_BYTES : (part.n + 1) * COMMITMENT_BYTES]
        if part.n >= len(row.paths) or commitment(Part(row.paths[part.n], body), part.salt) != kept:
            found.append(f"part {part.n} of the payload was altered")
    return found


def verify(
    lane: Lane, rows: Iterable[tuple[EntryRow, Sequence[tuple[PartRow, bytes]]]], *, previous: str = GENESIS
) -> list[Break]:
    """Check a lane's entries in order, with the parts that are left and their bodies; and that the head is the last."""
    found: list[Break] = []
    expected = 1
    for row, parts in rows:
        found += [
            Break(lane.lane_id, row.seq, row.entry_id, problem)
            for problem in problems(row, parts, previous=previous, expected=expected)
        ]
        previous, expected = row.hash, row.seq + 1
    if expected - 1 != lane.head_seq or previous != lane.head_hash:
        found.append(Break(lane.lane_id, lane.head_seq, "", "the lane's head is not its last entry"))
    return found
