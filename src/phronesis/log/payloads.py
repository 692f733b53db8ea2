"""Payload parts under salted commitments, the hash chain of entries, and their reading, verbatim or made storable.

Each part has its own commitment, so that one message can be erased while the chain still verifies.
"""

import hashlib
import hmac
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from phronesis.core.entries import ERASED, Entry, is_erased
from phronesis.core.serialization import decode, encode
from phronesis.core.text import replace_unstorable
from phronesis.core.timestamps import from_micros
from phronesis.errors import InputError, IntegrityError, NotFound
from phronesis.store.database import Unit
from phronesis.store.lanes import GENESIS, Lane, get_lane
from phronesis.store.log import EntryRow, PartRow, find_entries, find_entry, read_blob, read_entries, read_parts

MEMBERS: Final[Mapping[str, str]] = {"messages": "message", "events": "l1"}
"""The payload lists whose members become items, with the items' kind; an item's natural key is its position."""

SPLIT: Final = (*MEMBERS, "tool_calls", "refs")
"""The payload lists whose members are separate parts. The rest is the envelope, part 0."""

SALT_BYTES: Final = 16
COMMITMENT_BYTES: Final = 32
ENVELOPE: Final = 0
"""The number of the part with everything outside the other parts. Its path is empty."""

METADATA: Final = "metadata"
"""The path of metadata that applies to all messages of a payload; it is erased with the last message."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part: its path in the payload (``messages/3``; empty for the envelope) and its canonical body."""

    path: str
    body: bytes


def split(payload: Mapping[str, Any]) -> list[Part]:
    """Split a payload into the envelope, the members of its ``SPLIT`` lists, and the metadata of its messages.

    Only what `join` restores exactly is split off; anything else of such a name stays in the envelope.
    """
    lists = [name for name in SPLIT if _is_cut(payload.get(name))]
    apart = {*lists, METADATA} if "messages" in lists and payload.get(METADATA) else set(lists)
    envelope = {name: value for name, value in payload.items() if name not in apart}
    parts = [Part("", encode(envelope))]
    for name in lists:
        parts += [Part(f"{name}/{n}", encode(member)) for n, member in enumerate(payload[name])]
    if METADATA in apart:
        parts.append(Part(METADATA, encode(payload[METADATA])))
    return parts


def join(paths: Sequence[str], bodies: Mapping[int, bytes]) -> dict[str, Any]:
    """Join parts into a payload; a part without a body was erased and is replaced by ``ERASED``.

    An erased envelope gives a payload that is itself marked: ``{"$erased": True, …}``. Erased metadata is left out.
    """
    envelope = decode(bodies[ENVELOPE]) if ENVELOPE in bodies else dict(ERASED)
    payload: dict[str, Any] = dict(envelope)
    for n, path in enumerate(paths):
        if path == METADATA:
            payload |= {METADATA: decode(bodies[n])} if n in bodies else {}
        elif path:
            member = decode(bodies[n]) if n in bodies else dict(ERASED)
            payload.setdefault(path.partition("/")[0], []).append(member)
    return payload


def as_read(payload: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[Part]]:
    """Return a payload as it reads back from its parts, as in a replay, and the parts.

    JSON joins surrogate pairs that came as two characters, and sorts keys, which decides between keys that differ only
    in a character that no database holds. InputError for a payload with the erased mark, which would read as erased.
    """
    if is_erased(payload) or any(
        is_erased(member) for name in SPLIT if _is_cut(payload.get(name)) for member in payload[name]
    ):
        raise InputError("this call carries the mark of an erased part, '$erased'; leave it out", field="$erased")
    parts = split(payload)
    if not any(b"\\u" in part.body for part in parts):
        return payload, parts
    return join([part.path for part in parts], {n: part.body for n, part in enumerate(parts)}), parts


def _is_cut(value: object) -> bool:
    """Return whether a payload member is a non-empty list of mappings; an empty one would leave no part."""
    if not isinstance(value, (list, tuple)) or not value:
        return False
    return all(isinstance(member, (dict, Mapping)) for member in value)


def commitment(part: Part, salt: bytes) -> bytes:
    """Return SHA-256 over salt, path and body. The salt keeps short texts from being guessed."""
    return hashlib.sha256(salt + len(part.path).to_bytes(4, "big") + part.path.encode() + part.body).digest()


def keyed_hash(secret: bytes, purpose: str, data: bytes) -> str:
    """Return a keyed hash (HMAC-SHA-256), so that blob addresses and idempotency keys differ between tenants."""
    return hmac.new(secret, purpose.encode() + b"\0" + data, hashlib.sha256).hexdigest()


# The hash chain: each entry's hash covers the hash of the entry before it.


@dataclass(frozen=True, slots=True)
class Break:
    """A place where the log does not verify."""

    lane_id: int
    seq: int
    entry_id: str
    problem: str


def link(previous: str, facts: Mapping[str, Any], commitments: bytes) -> str:
    """Return the hash of an entry: over the previous hash, its columns, and the commitments of its parts."""
    return hashlib.sha256(previous.encode() + encode(facts) + commitments).hexdigest()


def facts_of(row: EntryRow) -> dict[str, Any]:
    """Return the columns that the chain covers."""
    return {
        "lane": row.lane_id,
        "seq": row.seq,
        "entry": row.entry_id,
        "verb": row.verb,
        "version": row.handler_version,
        "actor": row.actor,
        "at": row.recorded_at,
        "parent": row.parent_id,
        "paths": list(row.paths),
    }


def problems(row: EntryRow, parts: Sequence[tuple[PartRow, bytes]], *, previous: str, expected: int) -> list[str]:
    """Return the problems of one entry, given the previous hash and the expected seq; empty when it verifies.

    Finds gaps in ``seq``, altered columns, altered or foreign parts. For erased parts, only the commitments are
    checked.
    """
    found = [] if row.seq == expected else [f"seq {expected} is missing"]
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
    """Verify a lane's entries in order, with their remaining parts and bodies, and that the head is the last entry."""
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


def remaining_body(unit: Unit, part: PartRow) -> bytes | None:
    """Return a part's body; None when it is gone or damaged."""
    try:
        return body_of(unit, part)
    except IntegrityError:
        return None


def entry_of(unit: Unit, row: EntryRow, parts: list[PartRow], lane: Lane) -> Entry:
    """Return an entry with its original payload."""
    return make_entry(row, lane, join(row.paths, {part.n: body_of(unit, part) for part in parts}))


def make_entry(row: EntryRow, lane: Lane, payload: Mapping[str, Any]) -> Entry:
    """Return the entry of a row."""
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
    parts = read_parts(unit, entry_ids)
    found = find_entries(unit, lane.lane_id, entry_ids)
    return {row.entry_id: entry_of(unit, row, parts[row.entry_id], lane) for row in found}


def each_row(unit: Unit, lane: Lane, *, until: int) -> Iterator[tuple[EntryRow, list[PartRow]]]:
    """Yield a lane's entries with their remaining parts in order, read a page at a time."""
    after = 0
    while page := read_entries(unit, lane.lane_id, after=after, until=until, limit=200):
        parts = read_parts(unit, [row.entry_id for row in page])
        yield from ((row, parts[row.entry_id]) for row in page)
        after = page[-1].seq


def iterate(unit: Unit, lane: Lane) -> Iterator[Entry]:
    """Yield all of a lane's entries in order."""
    return (entry_of(unit, row, parts, lane) for row, parts in each_row(unit, lane, until=lane.head_seq))


def check_chain(unit: Unit, lane: Lane) -> list[Break]:
    """Verify a lane's chain and every remaining part; return an empty list when all verify."""
    # No commitment is for no bytes: even an empty payload has its brackets.
    rows = (
        (row, [(part, remaining_body(unit, part) or b"") for part in parts])
        for row, parts in each_row(unit, lane, until=1 << 62)
    )
    return verify(lane, rows)


def fit(value: Any) -> Any:
    """Return payload data with every text made storable: no NUL, no lone surrogates."""
    if isinstance(value, str):
        return replace_unstorable(value)
    if isinstance(value, dict):
        return {replace_unstorable(key): fit(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [fit(inner) for inner in value]
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
