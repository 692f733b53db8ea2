"""AsyncMemory: the verbs of Memory as coroutines, each run on a worker thread.

Every verb repeats the parameters of Memory's verb, so that type checkers see them.
"""

import asyncio
import functools
from collections.abc import Callable, Coroutine, Generator
from datetime import datetime
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from phronesis.config import PolicySource
from phronesis.core.api_keys import ApiKey, Role
from phronesis.memory import Memory
from phronesis.memory.admin import Admin
from phronesis.memory.entities import Entities
from phronesis.memory.items import Items
from phronesis.memory.keys import KeyRing
from phronesis.memory.quarantine import Quarantine
from phronesis.memory.reading import Sessions
from phronesis.memory.reasoning import Reasoning
from phronesis.memory.resources import Resources
from phronesis.memory.runs import Runs
from phronesis.memory.runtime import Verbs
from phronesis.memory.traits import Traits

P = ParamSpec("P")
R = TypeVar("R")
V_co = TypeVar("V_co", bound=Verbs, covariant=True)


class AsyncVerbs(Generic[V_co]):
    """Base class of ``AsyncMemory`` and of its groups of verbs."""

    def __init__(self, verbs: V_co) -> None:
        self._verbs = verbs


def _verb(
    method: Callable[Concatenate[V_co, P], R],
) -> Callable[Concatenate[AsyncVerbs[V_co], P], Coroutine[Any, Any, R]]:
    @functools.wraps(method)
    async def call(self: AsyncVerbs[V_co], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(method, self._verbs, *args, **kwargs)

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
    """The asyncio version of KeyRing, returned by ``AsyncMemory.admin.keys``."""

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


class AsyncItems(AsyncVerbs[Items]):
    """The verbs of ``Items`` as coroutines."""

    archive = _verb(Items.archive)
    unarchive = _verb(Items.unarchive)
    pin = _verb(Items.pin)
    unpin = _verb(Items.unpin)
    retract = _verb(Items.retract)
    delete_all = _verb(Items.delete_all)
    due = _verb(Items.due)
    preview = _verb(Items.preview)


class AsyncEntities(AsyncVerbs[Entities]):
    """The verbs of ``Entities`` as coroutines."""

    get = _verb(Entities.get)
    merge = _verb(Entities.merge)
    split = _verb(Entities.split)
    list = _verb(Entities.list)


class AsyncSessions(AsyncVerbs[Sessions]):
    """The verbs of ``Sessions`` as coroutines."""

    list = _verb(Sessions.list)
    turns = _verb(Sessions.turns)


class AsyncTraits(AsyncVerbs[Traits]):
    """The verbs of ``Traits`` as coroutines."""

    evidence = _verb(Traits.evidence)
    correct = _verb(Traits.correct)
    delete = _verb(Traits.delete)
    reflections = _verb(Traits.reflections)


class AsyncResources(AsyncVerbs[Resources]):
    """The verbs of ``Resources`` as coroutines."""

    ingest = _verb(Resources.ingest)
    get = _verb(Resources.get)
    ingest_source = _verb(Resources.ingest_source)
    get_source = _verb(Resources.get_source)
    get_episode = _verb(Resources.get_episode)


class AsyncReasoning(AsyncVerbs[Reasoning]):
    """The verbs of ``Reasoning`` as coroutines."""

    add = _verb(Reasoning.add)
    check = _verb(Reasoning.check)
    get = _verb(Reasoning.get)
    rebuild_index = _verb(Reasoning.rebuild_index)


class AsyncRuns(AsyncVerbs[Runs]):
    """The verbs of ``Runs`` as coroutines."""

    record = _verb(Runs.record)
    feedback = _verb(Runs.feedback)
    list = _verb(Runs.list)
    get = _verb(Runs.get)
    review = _verb(Runs.review)


class AsyncQuarantine(AsyncVerbs[Quarantine]):
    """The verbs of ``Quarantine`` as coroutines."""

    list = _verb(Quarantine.list)
    release = _verb(Quarantine.release)
    reject = _verb(Quarantine.reject)


class AsyncAdmin(AsyncVerbs[Admin]):
    """The verbs of ``Admin`` as coroutines."""

    @property
    def tenant(self) -> str:
        """The tenant's name."""
        return self._verbs.tenant

    @property
    def keys(self) -> AsyncKeyRing:
        """The API keys that authenticate a server's callers for this tenant."""
        return AsyncKeyRing(self._verbs.keys)

    rebuild = _verb(Admin.rebuild)
    rederive = _verb(Admin.rederive)
    retry = _verb(Admin.retry)
    reembed = _verb(Admin.reembed)
    migrate = _verb(Admin.migrate)
    doctor = _verb(Admin.doctor)
    jobs = _verb(Admin.jobs)
    overview = _verb(Admin.overview)
    users = _verb(Admin.users)
    contexts = _verb(Admin.contexts)
    context = _verb(Admin.context)
    requests = _verb(Admin.requests)
    latencies = _verb(Admin.latencies)
    unlearned = _verb(Admin.unlearned)


class AsyncMemory(AsyncVerbs[Memory]):
    """Memory for asyncio: ``async with AsyncMemory.open(…) as m: await m.add(…)``.

    Cancelling an await does not cancel the work: a write that has started finishes on its thread and may be in the log
    although the caller saw no result. Repeat the call with the same ``idempotency_key`` to get that result.
    """

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.memory = memory
        self.items = AsyncItems(memory.items)
        self.entities = AsyncEntities(memory.entities)
        self.sessions = AsyncSessions(memory.sessions)
        self.traits = AsyncTraits(memory.traits)
        self.resources = AsyncResources(memory.resources)
        self.reasoning = AsyncReasoning(memory.reasoning)
        self.runs = AsyncRuns(memory.runs)
        self.quarantine = AsyncQuarantine(memory.quarantine)
        self.admin = AsyncAdmin(memory.admin)

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

    def for_tenant(self, name: str) -> "AsyncMemory":
        """Return an AsyncMemory of another tenant over the same connections; closing it leaves this one open."""
        return AsyncMemory(self.memory.for_tenant(name))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    abstract = _verb(Memory.abstract)
    add = _verb(Memory.add)
    close = _verb(Memory.close)
    commit_turn = _verb(Memory.commit_turn)
    compose_context = _verb(Memory.compose_context)
    delete = _verb(Memory.delete)
    erase = _verb(Memory.erase)
    explain = _verb(Memory.explain)
    export = _verb(Memory.export)
    feedback = _verb(Memory.feedback)
    flush = _verb(Memory.flush)
    forget = _verb(Memory.forget)
    get = _verb(Memory.get)
    get_all = _verb(Memory.get_all)
    get_user_traits = _verb(Memory.get_user_traits)
    ingest = _verb(Memory.ingest)
    aggregate = _verb(Memory.aggregate)
    history = _verb(Memory.history)
    import_ = _verb(Memory.import_)
    learn = _verb(Memory.learn)
    mem_search = _verb(Memory.mem_search)
    plan = _verb(Memory.plan)
    query = _verb(Memory.query)
    reflect = _verb(Memory.reflect)
    retrieve = _verb(Memory.retrieve)
    rollback = _verb(Memory.rollback)
    search = _verb(Memory.search)
    should_reflect = _verb(Memory.should_reflect)
    update = _verb(Memory.update)
