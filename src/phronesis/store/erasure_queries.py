"""Statements of an erasure: find and remove dependent rows, and search bytes for thousands of probe strings at once."""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from phronesis.core.relations import EvidenceRow
from phronesis.core.text import replace_unstorable
from phronesis.store.compiled_statements import batches, each_in, own_rows
from phronesis.store.database import Unit
from phronesis.store.schema import (
    creations,
    deltas,
    edges,
    entries,
    evidence,
    failures,
    items,
    outcomes,
    repeated_messages,
)

# Probes: strings that identify an erased text, and a search for many of them in bytes.

SHINGLE_BYTES: Final = 32
"""Length in bytes of the pieces into which a longer text is split: about five English words, or ten Chinese
characters. Shorter pieces are common phrases and prove nothing."""

STRIDE_BYTES: Final = SHINGLE_BYTES // 2
"""Distance in bytes between the starts of pieces: any remnant of SHINGLE_BYTES + STRIDE_BYTES - 1 bytes holds a whole
piece."""

MIN_ASCII_BYTES: Final = 12
MIN_BYTES: Final = 8
"""Minimum length in bytes of a text that is searched for: "ok" or "Paris" occurs in too many places. Three Chinese
characters (nine bytes) are a name already."""

MAX_PIECES: Final = 4096
"""Maximum number of pieces of one text, evenly spread: enough to cover 64 KB without a gap."""

_WINDOW: Final = 8
_TABLE_BITS: Final = 22
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio: Knuth's multiplicative hash
_SHIFT: Final = np.uint64(64 - _TABLE_BITS)


@dataclass(frozen=True, slots=True)
class _TextForms:
    """The pieces of one text in all its stored forms."""

    plain: frozenset[bytes]
    others: frozenset[bytes]


class Probes:
    """Byte strings to search for, and the texts they were made from.

    ``too_short`` counts the texts that are not searched for.
    """

    def __init__(
        self, sought: Sequence[_TextForms], *, too_short: int = 0, but: AbstractSet[bytes] = frozenset()
    ) -> None:
        self._sought = sought
        self.too_short = too_short
        self._pieces = set[bytes]().union(*(text.plain | text.others for text in sought)) - but
        self._by_anchor: dict[int, list[bytes]] = {}
        for piece in sorted(self._pieces):
            self._by_anchor.setdefault(_anchor(piece), []).append(piece)
        self._anchors = np.array(sorted(self._by_anchor), dtype=np.uint64)
        self._table = np.zeros(1 << _TABLE_BITS, dtype=np.bool_)
        self._table[(self._anchors * _MIX) >> _SHIFT] = True

    @classmethod
    def of(cls, texts: Iterable[str], raw: Iterable[bytes] = ()) -> "Probes":
        """Make the probes of some texts, in every form in which they are stored; ``raw`` are searched for verbatim."""
        sought: list[_TextForms] = []
        too_short = 0
        for text in dict.fromkeys(texts):
            plain, *others = _forms(text)
            if len(plain) >= (MIN_ASCII_BYTES if plain.isascii() else MIN_BYTES):
                sought.append(_TextForms(_cut_shingles(plain), frozenset[bytes]().union(*map(_cut_shingles, others))))
            else:
                too_short += 1
        sought += [_TextForms(_cut_shingles(body), frozenset()) for body in raw if len(body) >= MIN_ASCII_BYTES]
        return cls(sought, too_short=too_short)

    def __len__(self) -> int:
        return len(self._pieces)

    @property
    def texts(self) -> int:
        """The number of texts searched for."""
        return len(self._sought)

    def without(self, found: AbstractSet[bytes]) -> "Probes":
        """Return the probes without those given.

        A text all of whose probes are removed is no longer searched for.
        """
        return Probes([text for text in self._sought if not text.plain <= found], too_short=self.too_short, but=found)

    def only(self, found: AbstractSet[bytes]) -> "Probes":
        """Return only the given probes."""
        return Probes([_TextForms(text.plain & found, text.others & found) for text in self._sought])

    def find(self, haystack: bytes) -> Iterator[tuple[int, bytes]]:
        """Return (offset, probe) of each occurrence.

        Every probe has an anchor of eight bytes; one lookup at each position finds the few places worth comparing,
        whatever the number of probes.
        """
        if not self._pieces:
            return
        for shift in range(_WINDOW):
            count = (len(haystack) - shift) // _WINDOW
            if count <= 0:
                return
            words: npt.NDArray[np.uint64] = np.frombuffer(haystack, "<u8", count, shift)
            places = np.flatnonzero(self._table[(words * _MIX) >> _SHIFT])
            found = words[places]
            near = np.minimum(np.searchsorted(self._anchors, found), len(self._anchors) - 1)
            for place in places[self._anchors[near] == found].tolist():
                yield from self._compare(haystack, place * _WINDOW + shift, int(words[place]))

    def _compare(self, haystack: bytes, at: int, anchor: int) -> Iterator[tuple[int, bytes]]:
        for piece in self._by_anchor[anchor]:
            start = at - _anchor_offset(piece)
            if start >= 0 and haystack.startswith(piece, start):
                yield start, piece


def _forms(text: str) -> dict[bytes, None]:
    """Return the encodings of a text: verbatim, as derived text stores it, and in both JSON forms."""
    said = (text, replace_unstorable(text))
    escaped = [json.dumps(form, ensure_ascii=ascii_only)[1:-1] for form in said for ascii_only in (False, True)]
    return dict.fromkeys(form.encode("utf-8", "surrogatepass") for form in (*said, *escaped))


def _cut_shingles(form: bytes) -> frozenset[bytes]:
    if len(form) <= SHINGLE_BYTES:
        return frozenset([form])
    starts = list(range(0, len(form) - SHINGLE_BYTES, STRIDE_BYTES))
    starts = starts[:: -(-len(starts) // MAX_PIECES)]
    return frozenset(form[start : start + SHINGLE_BYTES] for start in (*starts, len(form) - SHINGLE_BYTES))


def _anchor_offset(piece: bytes) -> int:
    return (len(piece) - _WINDOW) // 2


def _anchor(piece: bytes) -> int:
    start = _anchor_offset(piece)
    return int.from_bytes(piece[start : start + _WINDOW], "little")


_EVIDENCE: Final = [evidence.c[name] for name in EvidenceRow.__dataclass_fields__]
_FETCHED: Final = 500


def items_of_entries(unit: Unit, lane_id: int, entry_ids: Iterable[str]) -> set[str]:
    """Return the ids of the items that some entries of a lane made."""
    listed = list(entry_ids)
    created = sa.select(deltas.c.item_id).where(*own_rows(unit, deltas, lane_id=lane_id, op="create"))
    plain = sa.select(creations.c.item_ids).where(*own_rows(unit, creations, lane_id=lane_id))
    found = {row.item_id for row in each_in(unit, created, deltas.c.entry_id, listed)}
    made = (item_id for row in each_in(unit, plain, creations.c.entry_id, listed) for item_id in row.item_ids)
    return found | {item_id for item_id in made if item_id is not None}


def items_of_session(unit: Unit, lane_id: int, session_id: str) -> set[str]:
    """Return the ids of the lane's items with a session, whatever their status."""
    return set(_ids(unit, lane_id, items.c.session_id, [session_id]))


def count_items(unit: Unit, lane_id: int, item_ids: Iterable[str] | None = None) -> int:
    """Return how many items a lane holds, or how many of ``item_ids``."""
    if item_ids is not None:
        return len(set(_ids(unit, lane_id, items.c.id, item_ids)))
    query = sa.select(sa.func.count()).where(*own_rows(unit, items, lane_id=lane_id))
    return int(unit.run(query).scalar_one())


def repeats_of(unit: Unit, item_ids: Iterable[str]) -> list[tuple[str, int]]:
    """Return (entry id, n) of every message that duplicates one of these items, besides its own source."""
    columns = repeated_messages.c
    query = sa.select(columns.entry_id, columns.n).where(columns.tenant_id == unit.tenant)
    return [(row.entry_id, row.n) for row in each_in(unit, query, columns.item_id, item_ids)]


def sources_of_item(unit: Unit, lane_id: int, item_id: str) -> list[tuple[str | None, str | None]]:
    """Return (item id, entry id) of the sources of an item: its evidence of polarity ``source``."""
    query = sa.select(evidence.c.source_item_id, evidence.c.source_entry_id).where(
        *own_rows(unit, evidence, lane_id=lane_id, item_id=item_id, polarity="source")
    )
    return [(row.source_item_id, row.source_entry_id) for row in unit.run(query)]


def taken_from(unit: Unit, lane_id: int, item_ids: Collection[str]) -> set[str]:
    """Return the ids of the lane's items whose sources are all among these items."""
    query = sa.select(evidence.c.item_id).where(*own_rows(unit, evidence, lane_id=lane_id, polarity="source"))
    wanted = {row.item_id for row in each_in(unit, query, evidence.c.source_item_id, item_ids)}
    gone = set(item_ids)
    return {item for item in wanted if all(source in gone for source, _ in sources_of_item(unit, lane_id, item))}


def evidence_from(unit: Unit, lane_id: int, gone: Collection[str]) -> list[EvidenceRow]:
    """Return the lane's evidence from any of these items or entries.

    A row that names its item comes from that item alone, whatever its entry.
    """
    found: dict[Any, EvidenceRow] = {}
    for batch in batches(sorted(gone)):
        query = sa.select(*_EVIDENCE).where(*own_rows(unit, evidence, lane_id=lane_id), _comes_from(batch))
        for row in unit.run(query).mappings():
            found_row = EvidenceRow.from_row(dict(row))
            found[found_row.identity] = found_row
    return [found[identity] for identity in sorted(found)]


def leaning_lanes(unit: Unit, gone: Collection[str], *, beside: int) -> dict[int, set[str]]:
    """Return the tenant's other lanes whose evidence or edges name any of these ids, with those ids."""
    out: dict[int, set[str]] = {}
    for batch in batches(sorted(gone)):
        among = set(batch)
        named = sa.select(
            evidence.c.lane_id, evidence.c.source_item_id, evidence.c.source_entry_id, evidence.c.source_key
        ).where(*own_rows(unit, evidence), evidence.c.lane_id != beside, _comes_from(batch))
        for row in unit.run(named):
            ids = (row.source_item_id, row.source_entry_id, row.source_key)
            out.setdefault(row.lane_id, set()).update(among.intersection(ids))
        reached = sa.select(edges.c.lane_id, edges.c.to_id).where(
            *own_rows(unit, edges), edges.c.lane_id != beside, edges.c.to_id.in_(batch)
        )
        for row in unit.run(reached):
            out.setdefault(row.lane_id, set()).add(row.to_id)
    return out


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """An outcome as stored."""

    lane_id: int
    entry_id: str
    role: str
    n: int
    body: bytes


def all_outcomes(unit: Unit) -> Iterator[OutcomeRow]:
    """Return every outcome of the tenant."""
    columns = [outcomes.c[name] for name in OutcomeRow.__dataclass_fields__]
    query = sa.select(*columns).where(*own_rows(unit, outcomes))
    for row in unit.run(query.execution_options(yield_per=_FETCHED)).mappings():
        yield OutcomeRow(**{**row, "body": bytes(row["body"])})


def drop_outcome(unit: Unit, entry_id: str, role: str, n: int) -> None:
    """Delete one outcome."""
    unit.run(sa.delete(outcomes).where(*own_rows(unit, outcomes, entry_id=entry_id, role=role, n=n)))


def drop_outcomes(unit: Unit, entry_ids: Iterable[str], *, keep: Collection[str]) -> None:
    """Delete entries' outcomes, except those of the roles ``keep``, and their recorded failures."""
    for batch in batches(entry_ids):
        unit.run(
            sa.delete(outcomes).where(
                *own_rows(unit, outcomes), outcomes.c.entry_id.in_(batch), outcomes.c.role.not_in(sorted(keep))
            )
        )
        unit.run(sa.delete(failures).where(*own_rows(unit, failures), failures.c.entry_id.in_(batch)))


def entries_of_lane(unit: Unit, lane_id: int, *, before: int) -> list[str]:
    """Return the ids of a lane's entries below a ``seq``, in order."""
    query = sa.select(entries.c.entry_id).where(*own_rows(unit, entries, lane_id=lane_id), entries.c.seq < before)
    return list(unit.run(query.order_by(entries.c.seq)).scalars())


def _comes_from(ids: Sequence[str]) -> sa.ColumnElement[bool]:
    return sa.or_(
        evidence.c.source_item_id.in_(ids),
        sa.and_(evidence.c.source_item_id.is_(None), evidence.c.source_entry_id.in_(ids)),
        evidence.c.source_key.in_(ids),
    )


def _ids(unit: Unit, lane_id: int, column: sa.Column[Any], values: Iterable[str]) -> Iterator[str]:
    query = sa.select(items.c.id).where(*own_rows(unit, items, lane_id=lane_id))
    return (row.id for row in each_in(unit, query, column, values))
