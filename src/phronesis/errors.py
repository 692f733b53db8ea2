"""Every error that Phronesis raises, with a stable code.

A message names the field and the remedy. ``code`` is for programs, and part of the public contract.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar


class PhronesisError(Exception):
    """The root of the tree."""

    code: ClassVar[str] = "phronesis.error"

    def __init__(self, message: str, *, field: str | None = None, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.details: Mapping[str, Any] = details or {}

    def __reduce__(self) -> tuple[Any, ...]:
        # Keyword-only arguments are lost by Exception's own pickling; errors cross process borders in workers.
        return (_rebuild, (type(self), self.message, self.field, dict(self.details)))

    def to_dict(self) -> dict[str, Any]:
        """Return ``code``, ``message``, ``field`` and ``details`` as plain JSON values."""
        return {"code": self.code, "message": self.message, "field": self.field, "details": dict(self.details)}


def _rebuild(kind: type[PhronesisError], message: str, field: str | None, details: Mapping[str, Any]) -> PhronesisError:
    return kind(message, field=field, details=details)


class InputError(PhronesisError, ValueError):
    """A field of a call is wrong; nothing was stored."""

    code = "input.invalid"


class BudgetTooSmall(InputError):
    """The token budget cannot hold what a context must contain."""

    code = "input.budget"


class TooLarge(InputError):
    """More than is taken at once: bytes, members or levels of nesting; nothing was stored."""

    code = "input.too_large"


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One rule that a block of claims breaks, and where: line (from 1), key and claim, None where it is of none."""

    rule: str
    message: str
    line: int | None = None
    key: str | None = None
    claim_id: str | None = None


class ClaimsRefused(InputError):
    """A block of claims breaks rules; ``violations`` lists every mistake, and nothing was stored."""

    code = "input.claims"

    @classmethod
    def of(cls, violations: Iterable[Violation]) -> "ClaimsRefused":
        """Return the error that lists these, one at least; its message is the first."""
        found = list(violations)
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        details = {"violations": [asdict(violation) for violation in found]}
        return cls(f"{found[0].rule}: {found[0].message}{more}", field="content", details=details)

    @property
    def violations(self) -> tuple[Violation, ...]:
        """Every mistake, in the order of the rules."""
        return tuple(Violation(**row) for row in self.details.get("violations", ()))


class NotFound(PhronesisError, LookupError):
    """There is no such thing in this scope."""

    code = "not_found"


class Erased(NotFound):
    """It was here and has been erased; it cannot be brought back."""

    code = "erased"


class Conflict(PhronesisError):
    """The call does not fit what is stored."""

    code = "conflict"


class IdempotencyConflict(Conflict):
    """The idempotency key was used before with another payload."""

    code = "conflict.idempotency"


class VersionConflict(Conflict):
    """``expected_version`` is not the version of the item."""

    code = "conflict.version"


class RollbackConflict(Conflict):
    """Later changes stand on the one to be undone; ``later`` lists their delta ids, newest first."""

    code = "conflict.rollback"

    @property
    def later(self) -> Sequence[str]:
        """The delta ids that stand in the way."""
        return tuple(self.details.get("later", ()))


class AccessRefused(PhronesisError):
    """A server does not let this caller do this."""

    code = "access"


class Unauthenticated(AccessRefused):
    """No API key was given, or one that is not known here or was revoked."""

    code = "access.key"


class Forbidden(AccessRefused):
    """The key is known, and its role does not allow this; ``details["role"]`` is the one that is needed."""

    code = "access.role"


class RateLimited(AccessRefused):
    """Too many calls in too short a time."""

    code = "access.rate"

    @property
    def retry_after(self) -> float:
        """Seconds until a call is taken again."""
        return float(self.details.get("retry_after", 1.0))


class MissingExtra(PhronesisError, ImportError):
    """An optional package is needed; the message says which extra to install."""

    code = "missing_extra"


class StorageError(PhronesisError):
    """The database refused or failed."""

    code = "storage.error"


class SchemaTooNew(StorageError):
    """The database was written by a newer Phronesis."""

    code = "storage.schema_too_new"


class SchemaMissing(StorageError):
    """The database has not been prepared; ``phronesis store upgrade`` does it."""

    code = "storage.schema_missing"


class StorageReadOnly(StorageError):
    """The database cannot be written."""

    code = "storage.read_only"


class StorageFull(StorageError):
    """The disk is full; nothing of the call was stored."""

    code = "storage.full"


class StorageBusy(StorageError):
    """Another writer held the lock for too long; try again."""

    code = "storage.busy"


class StorageRefused(StorageError):
    """The database took the statement but not the values: a repeated key, a wrong type, a text too long."""

    code = "storage.refused"


class IntegrityError(StorageError):
    """The log's integrity chain does not verify."""

    code = "storage.integrity"


class ModelError(PhronesisError):
    """A model was asked and gave nothing that can be used. The twin by rules, where there is one, takes its place."""

    code = "model.error"


class ModelUnavailable(ModelError):
    """The server was not reached, took too long or failed, after every retry."""

    code = "model.unavailable"


class ModelRefused(ModelError):
    """The server refuses the call, and would again: a wrong key, an unknown model, a parameter it does not take."""

    code = "model.refused"


class AnswerRejected(ModelError):
    """The model answered, and the answer is not what was asked for: cut off, refused, or not of the schema."""

    code = "model.answer"


class ModelBudgetSpent(ModelError):
    """The call is too large, or the day's tokens or money are spent."""

    code = "model.budget"


class ModelCancelled(ModelError):
    """Whoever asked has gone."""

    code = "model.cancelled"


class IndexUnavailable(PhronesisError):
    """The index outside the database was not reached or failed; what it is to be told waits, and nothing is lost."""

    code = "index.unavailable"


class FetchFailed(PhronesisError):
    """A document was not had from its address: not reached, too slow, or answered without it."""

    code = "fetch.failed"


class FetchRefused(FetchFailed):
    """A rule of fetching forbids the address, or what it gives; nothing of it was kept."""

    code = "fetch.refused"

    @property
    def rule(self) -> str:
        """The rule: ``scheme``, ``ports``, ``allow_private``, ``max_bytes`` and others."""
        return str(self.details.get("rule", ""))


class ServerUnavailable(PhronesisError):
    """A client reached no server of ours; what it sent may have been done all the same.

    ``details["sent"]`` is False if nothing was sent, ``details["status"]`` that of a response that was not ours.
    """

    code = "server.unavailable"


class DaemonMismatch(PhronesisError):
    """The daemon of this store is of another version, or does not take this connection."""

    code = "daemon"


class EntryFailed(PhronesisError):
    """An entry is in the log but could not be interpreted; the message names the remedy, mostly ``admin.retry(id)``."""

    code = "entry.failed"


class HandlerMissing(PhronesisError):
    """Nothing here interprets this entry: it stays pending, and so do those after it, until something does."""

    code = "entry.no_handler"


class PluginBroken(PhronesisError):
    """An installed plug-in cannot be loaded, or two have one name; the message names the distribution."""

    code = "plugin.broken"


class Closed(PhronesisError, RuntimeError):
    """The Memory was closed."""

    code = "closed"
