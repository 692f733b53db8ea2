"""AsyncMemory: the verbs of Memory as coroutines, each run on a worker thread.

Every verb repeats the parameters of Memory's verb, so that type checkers see them.
"""

import asyncio
import functools
from collections.abc import Callable, Coroutine, Generator
from datetime import datetime
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from phronesis.config import PolicySource
from phronesis.core.api_keys import ApiKey, Role
from phronesis.memory import Memory
from phronesis.memory.keys import KeyRing

P = ParamSpec("P")
R = TypeVar("R")

Verb = Callable[Concatenate[Memory, P], R]
AsyncVerb = Callable[Concatenate["AsyncMemory", P], Coroutine[Any, Any, R]]


def _verb(method: Verb[P, R]) -> AsyncVerb[P, R]:
    @functools.wraps(method)
    async def call(self: "AsyncMemory", /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(method, self.memory, *args, **kwargs)

    return call


class Opening:
    """The result of ``AsyncMemory.open``: await it, or enter it with ``async with``."""

    def __init__(self, make: Callable[[], Memory]) -> None:
        self._make = make
        self._opened: AsyncMemory | None = None

    def __await__(self) -> Generator[Any, None, "AsyncMemory"]:
        return self._open().__await__()

    async def __aenter__(self) -> "AsyncMemory":
        self._opened = await self._open()
        return self._opened

    async def __aexit__(self, *_error: object) -> None:
        if self._opened is not None:
            await self._opened.close()

    async def _open(self) -> "AsyncMemory":
        return AsyncMemory(await asyncio.to_thread(self._make))


class AsyncKeyRing:
    """The asyncio version of KeyRing, returned by ``AsyncMemory.keys``."""

    def __init__(self, ring: KeyRing) -> None:
        self._ring = ring

    async def create(self, role: Role | str, *, label: str, actor: str = "agent") -> tuple[str, ApiKey]:
        """Create a key; return its token, which cannot be read again, and the key as listed."""
        return await asyncio.to_thread(self._ring.create, role, label=label, actor=actor)

    async def list(self) -> list[ApiKey]:
        """Return every key of the tenant, revoked ones too, oldest first."""
        return await asyncio.to_thread(self._ring.list)

    async def revoke(self, key_id: str) -> ApiKey:
        """Revoke a key; NotFound if the tenant has no key of that id."""
        return await asyncio.to_thread(self._ring.revoke, key_id)

    async def find(self, token: str) -> ApiKey | None:
        """Return the key of a token; None if it grants no access."""
        return await asyncio.to_thread(self._ring.find, token)

    async def any_active(self) -> bool:
        """Return whether the tenant has an active key."""
        return await asyncio.to_thread(self._ring.any_active)

    async def any_made(self) -> bool:
        """Return whether the tenant ever had a key, revoked or not: if so, every request needs one."""
        return await asyncio.to_thread(self._ring.any_made)


class AsyncMemory:
    """Memory for asyncio: ``async with AsyncMemory.open(…) as m: await m.add(…)``.

    Cancelling an await does not cancel the work: a write that has started finishes on its thread and may be in the log
    although the caller saw no result. Repeat the call with the same ``idempotency_key`` to get that result.
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    @staticmethod
    def open(
        url: str | None = None,
        *,
        policy: PolicySource | None = None,
        tenant: str | None = None,
        clock: Callable[[], datetime] | None = None,
        embedder: Any = None,
    ) -> Opening:
        """Open a store on a thread; see ``Memory.open``."""
        return Opening(lambda: Memory.open(url, policy=policy, tenant=tenant, clock=clock, embedder=embedder))

    @property
    def tenant(self) -> str:
        """The tenant's name."""
        return self.memory.tenant

    @property
    def keys(self) -> AsyncKeyRing:
        """The API keys that authenticate a server's callers for this tenant."""
        return AsyncKeyRing(self.memory.keys)

    def for_tenant(self, name: str) -> "AsyncMemory":
        """Return an AsyncMemory of another tenant over the same connections; closing it leaves this one open."""
        return AsyncMemory(self.memory.for_tenant(name))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    abstract = _verb(Memory.abstract)
    add = _verb(Memory.add)
    add_reasoning = _verb(Memory.add_reasoning)
    archive = _verb(Memory.archive)
    check_claims = _verb(Memory.check_claims)
    close = _verb(Memory.close)
    commit_turn = _verb(Memory.commit_turn)
    compose_context = _verb(Memory.compose_context)
    correct_trait = _verb(Memory.correct_trait)
    delete = _verb(Memory.delete)
    delete_all = _verb(Memory.delete_all)
    doctor = _verb(Memory.doctor)
    due = _verb(Memory.due)
    erase = _verb(Memory.erase)
    explain = _verb(Memory.explain)
    export = _verb(Memory.export)
    feedback = _verb(Memory.feedback)
    flush = _verb(Memory.flush)
    forget = _verb(Memory.forget)
    get = _verb(Memory.get)
    get_all = _verb(Memory.get_all)
    get_run = _verb(Memory.get_run)
    get_trait_evidence = _verb(Memory.get_trait_evidence)
    get_turns = _verb(Memory.get_turns)
    get_user_traits = _verb(Memory.get_user_traits)
    ingest = _verb(Memory.ingest)
    ingest_resource = _verb(Memory.ingest_resource)
    ingest_source = _verb(Memory.ingest_source)
    get_episode = _verb(Memory.get_episode)
    get_resource = _verb(Memory.get_resource)
    get_source = _verb(Memory.get_source)
    aggregate = _verb(Memory.aggregate)
    history = _verb(Memory.history)
    import_ = _verb(Memory.import_)
    jobs = _verb(Memory.jobs)
    learn = _verb(Memory.learn)
    list_reflections = _verb(Memory.list_reflections)
    list_runs = _verb(Memory.list_runs)
    list_sessions = _verb(Memory.list_sessions)
    list_users = _verb(Memory.list_users)
    mem_get = _verb(Memory.mem_get)
    mem_search = _verb(Memory.mem_search)
    migrate_memories = _verb(Memory.migrate_memories)
    overview = _verb(Memory.overview)
    pin = _verb(Memory.pin)
    plan = _verb(Memory.plan)
    quarantine_list = _verb(Memory.quarantine_list)
    quarantine_reject = _verb(Memory.quarantine_reject)
    quarantine_release = _verb(Memory.quarantine_release)
    query = _verb(Memory.query)
    rebuild = _verb(Memory.rebuild)
    rebuild_claim_index = _verb(Memory.rebuild_claim_index)
    record_run = _verb(Memory.record_run)
    rederive = _verb(Memory.rederive)
    reembed = _verb(Memory.reembed)
    reflect = _verb(Memory.reflect)
    retrieve = _verb(Memory.retrieve)
    retract = _verb(Memory.retract)
    retry = _verb(Memory.retry)
    review_run = _verb(Memory.review_run)
    rollback = _verb(Memory.rollback)
    run_feedback = _verb(Memory.run_feedback)
    search = _verb(Memory.search)
    should_reflect = _verb(Memory.should_reflect)
    unarchive = _verb(Memory.unarchive)
    unpin = _verb(Memory.unpin)
    update = _verb(Memory.update)
