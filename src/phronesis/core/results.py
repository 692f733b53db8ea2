"""Results of the verbs: frozen records, each with ``to_dict()``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from phronesis.core.items import Item
from phronesis.core.proposals import Gated
from phronesis.core.relations import UNUSED, ItemUse
from phronesis.core.serialization import EntryResult, Record, RecordSequence, as_json


@dataclass(frozen=True, slots=True)
class Source(Record):
    """The source of an item: an entry of the log, and a place in it.

    ``quote`` is the exact text; ``source_ref`` an external reference (file and line, message, experiment).
    """

    entry_id: str
    source_ref: str | None = None
    session_id: str | None = None
    message_id: str | None = None
    occurred_at: datetime | None = None
    quote: str | None = None


@dataclass(frozen=True, slots=True)
class Match(Record):
    """The part of an item that matched the query: the whole, a chunk, a claim or a view."""

    id: str
    part: str
    snippet: str
    distance: float


@dataclass(frozen=True, slots=True)
class ClaimMatch(Match):
    """A claim that matched the query: ``id`` is ``{parent_mem_id}::claim::{claim_id}``."""

    parent_mem_id: str
    claim_id: str
    claim_status: str


@dataclass(frozen=True, slots=True)
class Evidence(Record):
    """One item with a ``score`` from 0 to 1, and ids: ``conflicts``, the ``same``, and by what it may be outdated."""

    item: Item
    score: float
    matched: Sequence[ClaimMatch | Match] = ()
    sources: Sequence[Source] = ()
    conflicts: Sequence[str] = ()
    why: Mapping[str, float] | None = None
    same: Sequence[str] = ()
    outdated_by: Sequence[str] = ()

    @property
    def related_ids(self) -> Sequence[str]:
        """The ids of what it is shown beside: what contradicts it, or may have outdated it."""
        return (*self.conflicts, *self.outdated_by)

    @property
    def matched_claims(self) -> tuple[ClaimMatch, ...]:
        """Those of ``matched`` that are claims, best first."""
        return tuple(match for match in self.matched if isinstance(match, ClaimMatch))

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; ``matched_claims`` where there are any."""
        claims = as_json(self.matched_claims)
        return {**Record.to_dict(self), **({"matched_claims": claims} if claims else {})}


@dataclass(frozen=True, slots=True)
class Degraded(Record):
    """A role whose model gave no usable answer: the error's code, and the fallback."""

    role: str
    reason: str
    by: str
    instead_of: str


@dataclass(frozen=True, slots=True)
class SearchResult(RecordSequence[Evidence]):
    """The evidence found, best first. ``abstained``: the best score is below ``threshold``, nothing supports an answer.

    ``degraded`` names the roles whose model was away: it was searched by words alone, or nothing was reranked.
    ``channels`` are those that took part: ``lexical`` always, ``dense`` where there were vectors to compare, ``key``
    where the question asks for a key ("Where do I live?") that something is held under.
    """

    evidence: tuple[Evidence, ...]
    abstained: bool = False
    explain: Mapping[str, Any] | None = None
    degraded: tuple[Degraded, ...] = ()
    channels: tuple[str, ...] = ("lexical",)
    threshold: float = 0.1


@dataclass(frozen=True, slots=True)
class AddResult(EntryResult):
    """The result of ``add``: the items created or extended, and those superseded.

    What was held already is no item of this call when a message says it again, and the held one when ``kind`` states it
    again. ``pending``: durable, but not interpreted yet. ``degraded``: the roles in which rules stood in for a model.
    """

    entry_id: str
    items: Sequence[Item] = ()
    gated: Sequence[Gated] = ()
    superseded: Sequence[Item] = ()
    pending: bool = False
    degraded: Sequence[Degraded] = ()


@dataclass(frozen=True, slots=True)
class ReferenceResult(Record):
    """The result of a turn's reference: the ``mode`` of its ingestion, or a ``code`` and ``why`` it is not ingested.

    ``document_id`` is the resulting document, None while it is still to be read or fetched.
    """

    uri: str
    type: str
    mode: str | None = None
    code: str | None = None
    why: str | None = None
    document_id: str | None = None


@dataclass(frozen=True, slots=True)
class CommitResult(EntryResult):
    """The result of ``commit_turn``: ``stored`` are the items of the turn, ``superseded`` those that it ended.

    ``referred`` tells of each of its references, in order, once it is interpreted.
    """

    entry_id: str
    stored: Sequence[Item] = ()
    gated: Sequence[Gated] = ()
    superseded: Sequence[Item] = ()
    pending: bool = False
    degraded: Sequence[Degraded] = ()
    referred: Sequence[ReferenceResult] = ()


@dataclass(frozen=True, slots=True)
class EditResult(Record):
    """The result of an edit: its entry, which can be rolled back, and the items as they are now.

    ``gated`` names the secrets and personal numbers that were redacted before it was stored.
    """

    entry_id: str
    items: Sequence[Item] = ()
    pending: bool = False
    gated: Sequence[Gated] = ()


@dataclass(frozen=True, slots=True)
class HistoryEvent(Record):
    """One change of an item: ``fields`` maps a name to (before, after); roll it back by ``delta_id``.

    ``event`` is what it came to, in one word: created, modified, superseded, retracted, dissolved, promoted,
    reinforced, contradicted … (`recall.as_of`); ``verb`` is what was called, ``actor`` who called it.
    """

    delta_id: str
    entry_id: str
    verb: str
    op: str
    event: str
    version: int
    at: datetime
    actor: str
    reason: str
    fields: Mapping[str, Sequence[Any]]
    evidence_added: Sequence[Mapping[str, Any]] = ()
    evidence_removed: Sequence[Mapping[str, Any]] = ()
    edges_added: Sequence[Mapping[str, Any]] = ()
    edges_removed: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Explanation(Record):
    """The provenance of an item down to the log, and its use; ``needs_validation``: no source is left to support it."""

    item: Item
    sources: Sequence[Source]
    evidence: Sequence[Mapping[str, Any]]
    edges: Sequence[Mapping[str, Any]]
    history: Sequence[HistoryEvent]
    needs_validation: bool
    use: ItemUse = UNUSED


@dataclass(frozen=True, slots=True)
class SessionInfo(Record):
    """A session: how much it holds and its metadata."""

    session_id: str
    user_id: str | None
    namespace: str | None
    created_at: datetime
    updated_at: datetime
    turn_count: int
    message_count: int
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Turn(Record):
    """A recorded turn, times in UTC; erased parts are ``{"$erased": true}``.

    ``metadata`` is what was given for the turn as a whole.
    """

    entry_id: str
    session_id: str
    number: int
    recorded_at: datetime
    messages: Sequence[Mapping[str, Any]]
    tool_calls: Sequence[Mapping[str, Any]]
    refs: Sequence[Mapping[str, Any]]
    session_metadata: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RebuildResult(Record):
    """The comparison of a replay of the log with the live state; ``differences`` name rows, never their text."""

    equal: bool
    live_hash: str
    replayed_hash: str
    differences: Sequence[str] = ()
    entries: int = 0
    applied: bool = False


@dataclass(frozen=True, slots=True)
class RederiveResult(Record):
    """The changes of a rederive, as item ids: new items, changed ones, and those no longer found."""

    entry_id: str
    added: Sequence[str] = ()
    changed: Sequence[str] = ()
    vanished: Sequence[str] = ()
    pending: bool = False


@dataclass(frozen=True, slots=True)
class ReembedResult(Record):
    """The model that searches use now, and the number of vectors made."""

    model: str
    dimension: int
    vectors: int


@dataclass(frozen=True, slots=True)
class ClaimIndexResult(Record):
    """The size of a rebuilt claim index: items, claims and search documents, older versions included.

    ``repaired`` documents were missing, altered or nobody's; ``repaired_outside`` those of an index outside the
    database, None where there is none.
    """

    items: int
    claims: int
    documents: int
    repaired: int
    repaired_outside: int | None = None


@dataclass(frozen=True, slots=True)
class ExportResult(Record):
    """The path of an export, and its size."""

    path: str
    lanes: int
    entries: int


@dataclass(frozen=True, slots=True)
class ImportResult(Record):
    """The number of imported entries, and of those that existed already."""

    lanes: int
    entries_added: int
    entries_known: int


@dataclass(frozen=True, slots=True)
class Check(Record):
    """One check of ``doctor``; if it is not ok, with ``level``, ``code`` and a repairing ``command``."""

    name: str
    ok: bool
    detail: str
    remedy: str | None = None
    level: Literal["error", "warning"] | None = None
    code: str | None = None
    command: str | None = None


@dataclass(frozen=True, slots=True)
class PolicyValue(Record):
    """One field of the policy in force: its path, its value, and the source of the value.

    ``source`` is ``default``, ``argument``, an environment variable's name, or a file and the line in it.
    """

    path: str
    value: Any
    source: str


@dataclass(frozen=True, slots=True)
class DoctorReport(Record):
    """The result of ``doctor``; ``ok`` when every check is. ``policy`` is the whole policy in force, field by field."""

    checks: Sequence[Check]
    policy: Sequence[PolicyValue] = ()

    @property
    def ok(self) -> bool:
        """Return whether every check passed."""
        return all(check.ok for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"ok": self.ok, **Record.to_dict(self)}


@dataclass(frozen=True, slots=True)
class ErasureCertificate(Record):
    """The certificate of an erasure: what was removed, and what a scan found afterwards.

    Counts and ids of entries only: the certificate itself quotes nothing.

    Attributes:
        erasure_entry_ids: the entries that record it: one in the lane, one in each other lane that leaned on it.
        entries_touched: entries that lost a part; their rows, commitments and places in the chain stay.
        parts_erased: payload parts removed with their salts.
        items_erased: items that stood on those parts.
        entries_prepared_again: entries whose outcomes leaned on what is gone.
        texts_sought: erased texts that the scan looked for, whole or in pieces.
        texts_too_short: erased texts too short to be told from any other occurrence of the same few letters.
        texts_held_elsewhere: erased texts that also stand in entries that were not erased: they are left alone.
        rows_scanned: rows of the tenant that were looked at.
        files_scanned: files of the database that were looked at, byte by byte.
        clean: whether no trace was found, and nothing is outstanding.
        residue: where traces were found.
        outstanding: what is still to be done, and when it will be: an index outside that was not reached, a SQLite file
            that could not be written anew because somebody else was writing or the disk was full, and what leaned on
            the words and could not be taken away or prepared again.
        not_scanned: where this process cannot look.
        at: when it was recorded.
    """

    erasure_entry_ids: Sequence[str]
    entries_touched: int
    parts_erased: int
    items_erased: int
    entries_prepared_again: int
    texts_sought: int
    texts_too_short: int
    texts_held_elsewhere: int
    rows_scanned: int
    files_scanned: int
    clean: bool
    residue: Sequence[str] = ()
    not_scanned: Sequence[str] = ()
    at: datetime | None = None
    outstanding: Sequence[str] = ()
