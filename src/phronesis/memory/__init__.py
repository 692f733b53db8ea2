"""Memory, the public service object: it joins the verbs of this package's modules into one class."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Self

from phronesis.config import PolicySource
from phronesis.memory.admin import Keeping, Quarantining, Upkeep
from phronesis.memory.experience import Asking, Experience
from phronesis.memory.keys import KeyRing
from phronesis.memory.reading import Overviewing, Reading
from phronesis.memory.reasoning import Migrating, Reasoning
from phronesis.memory.resources import Resources
from phronesis.memory.retrieval import CarryingOut, Planning
from phronesis.memory.runs import Runs
from phronesis.memory.traits import Traits
from phronesis.memory.writing import Writing

__all__ = ["Memory"]


class Memory(
    Writing,
    Reading,
    Overviewing,
    Resources,
    Planning,
    CarryingOut,
    Traits,
    Reasoning,
    Runs,
    Experience,
    Asking,
    Upkeep,
    Migrating,
    Quarantining,
    Keeping,
):
    """A memory of one tenant in one database. Thread-safe; use it as a context manager, or call ``close``.

    Every write is in the log and synced to disk before the call returns. Reads change nothing.
    """

    @staticmethod
    def open(
        url: str | None = None,
        *,
        policy: PolicySource | None = None,
        tenant: str | None = None,
        clock: Callable[[], datetime] | None = None,
        embedder: Any = None,
    ) -> "Memory":
        """Open a store; create it if it does not exist.

        Args:
            url: ``sqlite:///path`` or ``postgresql://…``; default ``PHRONESIS_URL``, else SQLite in the user's data
                folder.
            policy: the path of a ``brain.yml``, or its fields as a mapping: embedder, token_counter, budgets, gateways,
                roles, limits, prices (docs/models.md); default: the file that ``PHRONESIS_POLICY`` names, else none.
            tenant: the tenant's name, default "default"; tenants never see each other's data.
            clock: a function that returns the time, for tests and simulations.
            embedder: an object of the ``Embedder`` port, instead of the policy's.

        Raises:
            InputError: a field is wrong.
            MissingExtra: a package is not installed.
            StorageError: the database cannot be used; the message names the remedy.
        """
        from phronesis.wiring import open_memory  # noqa: PLC0415 - the one upward import: the composition root

        return open_memory(url, policy=policy, tenant=tenant, clock=clock, embedder=embedder)

    @property
    def tenant(self) -> str:
        """The tenant's name."""
        return self._tenant

    @property
    def keys(self) -> KeyRing:
        """The API keys that authenticate a server's callers for this tenant."""
        stages = self._open_stages()
        return KeyRing(stages.database, self._tenant, stages.clock)

    def for_tenant(self, name: str) -> "Memory":
        """Return a Memory of another tenant over the same connections.

        Closing it leaves this one open; closing this one closes it too. An unclosed one that is garbage-collected leaks
        nothing once its pending work is done.
        """
        from phronesis.config import check_tenant  # noqa: PLC0415 - pydantic is not needed before

        other = Memory(self._open_stages(), check_tenant(name), host=self)
        self._take_in(other)
        return other

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def flush(self) -> int:
        """Interpret every pending entry and make every missing vector; return the number of vectors made.

        An external index receives its pending changes; IndexUnavailable if it cannot be reached.
        """
        stages = self._open_stages()
        try:
            self._drain()
            made = stages.vectorizer.run(self._tenant)
            if stages.mirror is not None:
                stages.mirror.follow(self._tenant)
        finally:
            stages.ledger.settle()
        return made
