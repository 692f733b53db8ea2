"""AsyncMemory: the verbs of Memory as coroutines, each run on a worker thread.

Every verb repeats the parameters of Memory's verb, so that type checkers see them.
"""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from datetime import datetime
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from phronesis.config import PolicySource
from phronesis.memory import Memory
from phronesis.memory.admin import Admin
from phronesis.memory.entities import Entities
from phronesis.memory.items import Items, Quarantine
from phronesis.memory.keys import KeyRing
from phronesis.memory.reading import Sessions
from phronesis.memory.resources import Resources
from phronesis.memory.runs import Reasoning, Runs
from phronesis.memory.runtime import Verbs
from phronesis.memory.traits import Traits

P = ParamSpec("P")
R = TypeVar("R")
V_co = TypeVar("V_co", bound=Verbs | KeyRing, covariant=True)
Carrier = Callable[[Callable[..., Any], tuple[Any, ...], Mapping[str, Any]], Awaitable[Any]]
"""Carries out a verb, a method of Memory or of a group, with arguments."""


class AsyncVerbs(Generic[V_co]):
    """Base class of groups of verbs as coroutines."""

    def __init__(self, carry_out: Carrier) -> None:
        self._carry_out = carry_out


def async_verb(
    method: Callable[Concatenate[V_co, P], R],
) -> Callable[Concatenate[AsyncVerbs[V_co], P], Coroutine[Any, Any, R]]:
    """Return a verb as a coroutine with the same parameters."""

    @functools.wraps(method)
    async def call(self: AsyncVerbs[V_co], /, *args: P.args, **kwargs: P.kwargs) -> R:
        result: R = await self._carry_out(method, args, kwargs)
        return result

    return call


class AsyncItems(AsyncVerbs[Items]):
    """The verbs of ``Items`` as coroutines."""

    archive = async_verb(Items.archive)
    unarchive = async_verb(Items.unarchive)
    pin = async_verb(Items.pin)
    unpin = async_verb(Items.unpin)
    retract = async_verb(Items.retract)
    delete_all = async_verb(Items.delete_all)
    due = async_verb(Items.due)
    preview = async_verb(Items.preview)


class AsyncEntities(AsyncVerbs[Entities]):
    """The verbs of ``Entities`` as coroutines."""

    get = async_verb(Entities.get)
    merge = async_verb(Entities.merge)
    split = async_verb(Entities.split)
    list = async_verb(Entities.list)


class AsyncSessions(AsyncVerbs[Sessions]):
    """The verbs of ``Sessions`` as coroutines."""

    list = async_verb(Sessions.list)
    turns = async_verb(Sessions.turns)


class AsyncTraits(AsyncVerbs[Traits]):
    """The verbs of ``Traits`` as coroutines."""

    evidence = async_verb(Traits.evidence)
    correct = async_verb(Traits.correct)
    delete = async_verb(Traits.delete)
    reflections = async_verb(Traits.reflections)


class AsyncResources(AsyncVerbs[Resources]):
    """The verbs of ``Resources`` as coroutines."""

    ingest = async_verb(Resources.ingest)
    get = async_verb(Resources.get)
    ingest_source = async_verb(Resources.ingest_source)
    get_source = async_verb(Resources.get_source)
    get_episode = async_verb(Resources.get_episode)


class AsyncReasoning(AsyncVerbs[Reasoning]):
    """The verbs of ``Reasoning`` as coroutines."""

    add = async_verb(Reasoning.add)
    check = async_verb(Reasoning.check)
    get = async_verb(Reasoning.get)
    rebuild_index = async_verb(Reasoning.rebuild_index)


class AsyncRuns(AsyncVerbs[Runs]):
    """The verbs of ``Runs`` as coroutines."""

    record = async_verb(Runs.record)
    feedback = async_verb(Runs.feedback)
    list = async_verb(Runs.list)
    get = async_verb(Runs.get)
    review = async_verb(Runs.review)


class AsyncQuarantine(AsyncVerbs[Quarantine]):
    """The verbs of ``Quarantine`` as coroutines."""

    list = async_verb(Quarantine.list)
    release = async_verb(Quarantine.release)
    reject = async_verb(Quarantine.reject)


class AsyncServedAdmin(AsyncVerbs[Admin]):
    """The verbs of ``Admin`` that a server offers, as coroutines."""

    jobs = async_verb(Admin.jobs)
    retry = async_verb(Admin.retry)
    overview = async_verb(Admin.overview)
    users = async_verb(Admin.users)
    contexts = async_verb(Admin.contexts)
    context = async_verb(Admin.context)
    requests = async_verb(Admin.requests)
    latencies = async_verb(Admin.latencies)
    unlearned = async_verb(Admin.unlearned)


class AsyncMemoryVerbs(AsyncVerbs[Memory]):
    """The verbs of ``Memory`` that a server offers, as coroutines, and their groups."""

    def __init__(self, carrier: Callable[[str], Carrier]) -> None:
        """Create the groups; ``carrier`` gives what carries out the verbs of each by its name, "" for Memory's own."""
        super().__init__(carrier(""))
        self.items = AsyncItems(carrier("items"))
        self.entities = AsyncEntities(carrier("entities"))
        self.sessions = AsyncSessions(carrier("sessions"))
        self.traits = AsyncTraits(carrier("traits"))
        self.resources = AsyncResources(carrier("resources"))
        self.reasoning = AsyncReasoning(carrier("reasoning"))
        self.runs = AsyncRuns(carrier("runs"))
        self.quarantine = AsyncQuarantine(carrier("quarantine"))

    abstract = async_verb(Memory.abstract)
    add = async_verb(Memory.add)
    commit_turn = async_verb(Memory.commit_turn)
    compose_context = async_verb(Memory.compose_context)
    delete = async_verb(Memory.delete)
    explain = async_verb(Memory.explain)
    feedback = async_verb(Memory.feedback)
    forget = async_verb(Memory.forget)
    get = async_verb(Memory.get)
    get_all = async_verb(Memory.get_all)
    get_user_traits = async_verb(Memory.get_user_traits)
    ingest = async_verb(Memory.ingest)
    aggregate = async_verb(Memory.aggregate)
    history = async_verb(Memory.history)
    learn = async_verb(Memory.learn)
    mem_search = async_verb(Memory.mem_search)
    plan = async_verb(Memory.plan)
    query = async_verb(Memory.query)
    reflect = async_verb(Memory.reflect)
    retrieve = async_verb(Memory.retrieve)
    rollback = async_verb(Memory.rollback)
    search = async_verb(Memory.search)
    should_reflect = async_verb(Memory.should_reflect)
    update = async_verb(Memory.update)


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


class AsyncKeyRing(AsyncVerbs[KeyRing]):
    """The verbs of ``KeyRing`` as coroutines, returned by ``AsyncMemory.admin.keys``."""

    create = async_verb(KeyRing.create)
    list = async_verb(KeyRing.list)
    revoke = async_verb(KeyRing.revoke)
    find = async_verb(KeyRing.find)
    any_active = async_verb(KeyRing.any_active)
    any_made = async_verb(KeyRing.any_made)


def _on_thread(verbs: Verbs | KeyRing) -> Carrier:
    """Return what carries out verbs of Memory, or of one of its groups, on a worker thread."""

    async def carry_out(method: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        return await asyncio.to_thread(method, verbs, *args, **kwargs)

    return carry_out


class AsyncAdmin(AsyncServedAdmin):
    """The verbs of ``Admin`` as coroutines."""

    def __init__(self, admin: Admin) -> None:
        super().__init__(_on_thread(admin))
        self._admin = admin

    @property
    def tenant(self) -> str:
        """The tenant's name."""
        return self._admin.tenant

    @property
    def keys(self) -> AsyncKeyRing:
        """The API keys that authenticate a server's callers for this tenant."""
        return AsyncKeyRing(_on_thread(self._admin.keys))

    rebuild = async_verb(Admin.rebuild)
    rederive = async_verb(Admin.rederive)
    reembed = async_verb(Admin.reembed)
    migrate = async_verb(Admin.migrate)
    doctor = async_verb(Admin.doctor)


class AsyncMemory(AsyncMemoryVerbs):
    """Memory for asyncio: ``async with AsyncMemory.open(…) as m: await m.add(…)``.

    Cancelling an await does not cancel the work: a write that has started finishes on its thread and may be in the log
    although the caller saw no result. Repeat the call with the same ``idempotency_key`` to get that result.
    """

    def __init__(self, memory: Memory) -> None:
        super().__init__(lambda group: _on_thread(getattr(memory, group) if group else memory))
        self.memory = memory
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

    close = async_verb(Memory.close)
    erase = async_verb(Memory.erase)
    export = async_verb(Memory.export)
    flush = async_verb(Memory.flush)
    import_ = async_verb(Memory.import_)
