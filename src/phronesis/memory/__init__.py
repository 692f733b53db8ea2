"""Memory, the public face: the everyday verbs, and groups of verbs for what belongs to one subject."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Self

from phronesis.config import PolicySource
from phronesis.memory.admin import Admin
from phronesis.memory.entities import Entities
from phronesis.memory.experience import ExperienceVerbs
from phronesis.memory.items import Items, Quarantine
from phronesis.memory.reading import ReadVerbs, Sessions
from phronesis.memory.resources import Resources
from phronesis.memory.retention import StoreVerbs
from phronesis.memory.retrieval import RetrievalVerbs
from phronesis.memory.runs import LearnVerbs, Reasoning, ReasoningVerbs, Runs
from phronesis.memory.runtime import Runtime
from phronesis.memory.traits import Traits, TraitVerbs
from phronesis.memory.writing import WriteVerbs

__all__ = ["Memory"]


class Memory(
    WriteVerbs, ReadVerbs, RetrievalVerbs, ExperienceVerbs, ReasoningVerbs, LearnVerbs, TraitVerbs, StoreVerbs
):
    """A memory of one tenant in one database. Thread-safe; use it as a context manager, or call ``close``.

    Every write is in the log and synced to disk before the call returns. Reads change nothing.

    Attributes:
        items: archive, pin and retract single items; what is due; preview what a message would become.
        entities: people, places and things: list, get, merge, split.
        sessions: the sessions of a scope, and what was said in them.
        traits: the evidence of a trait, and its correction.
        resources: documents, and sources of experience.
        reasoning: blocks of claims: add, check, get, rebuild_index.
        runs: experiments: record, feedback, list, get, review.
        quarantine: items that look like prompt injection: list, release, reject.
        admin: rebuild, rederive, retry, reembed, migrate, doctor; jobs, users, overview, keys.
    """

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime)
        self.items = Items(runtime)
        self.entities = Entities(runtime)
        self.sessions = Sessions(runtime)
        self.traits = Traits(runtime)
        self.resources = Resources(runtime)
        self.reasoning = Reasoning(runtime)
        self.runs = Runs(runtime)
        self.quarantine = Quarantine(runtime)
        self.admin = Admin(runtime)

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
                roles, limits, prices (docs/how-to/models.md); default: the file of ``PHRONESIS_POLICY``, else none.
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

    def for_tenant(self, name: str) -> "Memory":
        """Return a Memory of another tenant over the same connections.

        Closing it leaves this one open; closing this one closes it too. An unclosed one that is garbage-collected leaks
        nothing once its pending work is done.
        """
        return Memory(self._runtime.for_tenant(name))

    def flush(self) -> int:
        """Interpret every pending entry and make the vectors that searches miss; return the number of vectors made.

        Vectors by which only reflection and consolidation compare are made there, and by the background work.
        An external index receives its pending changes; IndexUnavailable if it cannot be reached.
        """
        return self._runtime.flush()

    def close(self) -> None:
        """Stop the background thread and close the connections.

        Missing vectors are made by the next write, flush or worker.
        """
        self._runtime.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
