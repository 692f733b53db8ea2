"""What became of each row of a batch, and of all of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from phronesis.core.plain import Record
from phronesis.errors import PhronesisError

Done = Literal["recorded", "known", "missing"]
"""Recorded by this batch, known before, or, in a dry run, missing: it would be recorded."""

MAX_ERRORS: Final = 20
"""Failed rows that a summary holds; the report holds all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told(Record):
    """One row: what of it was done, None where the row does not say so, or the error ``{code, field, message}``.

    ``supports`` and ``contras`` count the claims for and against which the run counts, ``added`` and ``updated`` the
    items that the learn made or rewrote, ``dropped`` the proposals that it did not take. A dry run weighs no claims:
    ``added`` and ``dropped`` are what rules propose, and ``added`` is less where the bank says it already.
    """

    line: int
    run_id: str | None = None
    run: Done | None = None
    feedback: Done | None = None
    learn: Done | None = None
    supports: int = 0
    contras: int = 0
    added: int = 0
    updated: int = 0
    dropped: int = 0
    error: Mapping[str, Any] | None = None


def failed(line: int, run_id: str | None, error: PhronesisError) -> Told:
    """Tell of a row that failed."""
    said = {"code": error.code, "field": error.field, "message": error.message}
    return Told(line=line, run_id=run_id, error=said)


@dataclass(slots=True)
class Summary:
    """Counts over the rows of a batch, of learns those that were not known; the first failed rows in full."""

    rows: int = 0
    failed: int = 0
    runs: dict[str, int] = field(default_factory=dict)
    feedback: dict[str, int] = field(default_factory=dict)
    learns: dict[str, int] = field(default_factory=dict)
    supports: int = 0
    contras: int = 0
    added: int = 0
    updated: int = 0
    dropped: int = 0
    errors: list[Told] = field(default_factory=list)

    def add(self, told: Told) -> None:
        """Count one more row."""
        self.rows += 1
        if told.error is not None:
            self.failed += 1
            if len(self.errors) < MAX_ERRORS:
                self.errors.append(told)
            return
        for counts, done in ((self.runs, told.run), (self.feedback, told.feedback), (self.learns, told.learn)):
            if done is not None:
                counts[done] = counts.get(done, 0) + 1
        if told.learn == "known":
            return  # counted when it was learned
        for name in ("supports", "contras", "added", "updated", "dropped"):
            setattr(self, name, getattr(self, name) + getattr(told, name))
