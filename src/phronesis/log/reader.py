"""Read entries with their payloads from the log, verbatim or made safe for databases."""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from phronesis.core.entries import Entry, is_erased
from phronesis.core.text import is_storable, storable
from phronesis.core.timestamps import from_micros
from phronesis.errors import IntegrityError, NotFound
from phronesis.log.chain import Break, join, verify
from phronesis.store.database import Unit
from phronesis.store.lanes import Lane, get_lane
from phronesis.store.log import EntryRow, PartRow, find_entry, find_with_parts, read_blob, read_entries, read_parts


def body_of(unit: Unit, part: PartRow) -> bytes:
    """Return a part's body, from its row or its blob; IntegrityError when the blob is gone or damaged."""
    if part.body is not None:
        return part.body
    blob = read_blob(unit, str(part.blob_id))
    try:
        return zlib.decompress(blob or b"")
    except zlib.error as error:
        raise IntegrityError(
            f"part {part.n} of entry {part.entry_id} is {'damaged' if blob else 'gone'}; restore it from an export"
        ) from error


def _remaining_body(unit: Unit, part: PartRow) -> bytes:
    try:
        return body_of(unit, part)
    except IntegrityError:
        return b""  # which no commitment is for: even an empty payload has its brackets


def entry_of(unit: Unit, row: EntryRow, parts: list[PartRow], lane: Lane) -> Entry:
    """Return an entry with its original payload."""
    payload = join(row.paths, {part.n: body_of(unit, part) for part in parts})
    return Entry(
        id=row.entry_id,
        lane_id=row.lane_id,
        seq=row.seq,
        verb=row.verb,
        handler_version=row.handler_version,
        actor=row.actor,
        recorded_at=from_micros(row.recorded_at),
        payload=payload,
        parent_id=row.parent_id,
        user_id=lane.user_id,
        namespace=lane.namespace,
    )


def load_entries(unit: Unit, lane: Lane, *, after: int, until: int, limit: int = 200) -> list[Entry]:
    """Return a lane's entries with ``after`` < seq ≤ ``until``, at most ``limit``, in order."""
    rows = read_entries(unit, lane.lane_id, after=after, until=until, limit=limit)
    parts = read_parts(unit, [row.entry_id for row in rows])
    return [entry_of(unit, row, parts[row.entry_id], lane) for row in rows]


def load_entry(unit: Unit, entry_id: str) -> Entry:
    """Return one entry; NotFound when this tenant has none of that id."""
    row = find_entry(unit, entry_id)
    if row is None:
        raise NotFound(f"there is no entry {entry_id} in this tenant", field="entry_id")
    return entry_of(unit, row, read_parts(unit, [entry_id])[entry_id], get_lane(unit, row.lane_id))


def load_listed(unit: Unit, lane: Lane, entry_ids: Sequence[str]) -> dict[str, Entry]:
    """Return entries of one lane by id, leaving out unknown ids."""
    found = find_with_parts(unit, lane.lane_id, entry_ids)
    return {row.entry_id: entry_of(unit, row, parts, lane) for row, parts in found}


def iterate(unit: Unit, lane: Lane) -> Iterator[Entry]:
    """Return all of a lane's entries in order, a page at a time."""
    after = 0
    while page := load_entries(unit, lane, after=after, until=lane.head_seq):
        yield from page
        after = page[-1].seq


def check_chain(unit: Unit, lane: Lane) -> list[Break]:
    """Verify a lane's chain and every remaining part; return an empty list when all verify."""

    def rows() -> Iterator[tuple[EntryRow, list[tuple[PartRow, bytes]]]]:
        after = 0
        while page := read_entries(unit, lane.lane_id, after=after, until=1 << 62, limit=200):
            parts = read_parts(unit, [row.entry_id for row in page])
            for row in page:
                yield row, [(part, _remaining_body(unit, part)) for part in parts[row.entry_id]]
            after = page[-1].seq

    return verify(lane, rows())


def fit(value: Any) -> Any:
    """Return payload data with every text made storable (no NUL, no lone surrogates); the same object if it is."""
    return value if _fits(value) else _storable_value(value)


def _fits(value: Any) -> bool:
    if isinstance(value, str):
        return is_storable(value)
    if isinstance(value, dict):
        return all(map(is_storable, value)) and all(map(_fits, value.values()))
    if isinstance(value, list):
        return all(map(_fits, value))
    return True


def _storable_value(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(key): _storable_value(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_storable_value(inner) for inner in value]
    return value


def texts_of(entry: Entry) -> dict[int, str]:
    """Return the text of each message by number, without erased ones."""
    messages = enumerate(entry.payload.get("messages", ()))
    return {n: fit(message_text(message)) for n, message in messages if not is_erased(message)}


def message_text(message: Mapping[str, Any]) -> str:
    """Return the text of a message: its content, or the text parts of a list of parts."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
