"""What rewriting old memories as claims came to, memory by memory (requirement RB-23)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from phronesis.core.plain import Record
from phronesis.core.results import Degraded
from phronesis.errors import Violation

MigrationStatus = Literal["migrated", "would_migrate", "already", "refused", "erased", "pending"]


@dataclass(frozen=True, slots=True)
class TakenOut(Record):
    """A statement that no claim holds, and why: ``kb_alias``, ``next_step``, ``question``, ``repeated``.

    Of ``kb_alias`` the statement stayed, without the alias.
    """

    why: str
    text: str


@dataclass(frozen=True, slots=True)
class MigratedSource(Record):
    """What became of one old memory.

    ``source`` is its citation (``mem:…``), the id that a file gave it, or its place there ("number 3"). ``blocks`` are
    the contents of the items that it became or would become, ``item_ids`` those items; ``diff`` the old text beside
    them. ``by`` is who rewrote it: the rules or a model. ``degraded``: a model was asked, and rules stood in.
    ``refused`` left it as it was, ``violations`` say why; ``already``: an earlier call did it;
    ``erased``: an earlier call did it, and its words were erased since, which no call brings back.
    """

    source: str
    status: MigrationStatus
    entry_id: str | None = None
    item_ids: Sequence[str] = ()
    blocks: Sequence[str] = ()
    diff: str = ""
    taken_out: Sequence[TakenOut] = ()
    violations: Sequence[Violation] = ()
    by: str = ""
    degraded: Sequence[Degraded] = ()


@dataclass(frozen=True, slots=True)
class MigrationResult(Record):
    """What became of every old memory, in their order. ``dry_run``: nothing was written."""

    sources: Sequence[MigratedSource]
    dry_run: bool = False

    @property
    def counts(self) -> Mapping[str, int]:
        """How many of each status there are, those that there are none of left out."""
        return dict(Counter(one.status for one in self.sources))

    @property
    def refused(self) -> Sequence[MigratedSource]:
        """Those that were left as they were."""
        return [one for one in self.sources if one.status == "refused"]

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values, the counts too."""
        return {**Record.to_dict(self), "counts": dict(self.counts)}
