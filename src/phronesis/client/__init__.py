"""Client: the verbs of Memory, executed by a server (``phronesis serve``).

Every verb repeats the parameters of Memory's verb, so that type checkers see them.
"""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from phronesis.async_memory import AsyncMemoryVerbs, AsyncServedAdmin
from phronesis.client.exchange import Delivery, Outbox, RefusedWrite
from phronesis.client.requests import ROUTES, Route, prepare_call, prepare_erasure
from phronesis.client.transport import AsyncTransport, Transport
from phronesis.core.results import ErasureCertificate
from phronesis.memory import Memory
from phronesis.memory.admin import Admin
from phronesis.memory.entities import Entities
from phronesis.memory.items import Items, Quarantine
from phronesis.memory.reading import Sessions
from phronesis.memory.resources import Resources
from phronesis.memory.runs import Reasoning, Runs
from phronesis.memory.runtime import Verbs
from phronesis.memory.traits import Traits

__all__ = ["AsyncClient", "Client", "Delivery", "Outbox", "RefusedWrite"]

P = ParamSpec("P")
R = TypeVar("R")
V_co = TypeVar("V_co", bound=Verbs, covariant=True)


class RemoteVerbs(Generic[V_co]):
    """Base class of ``Client`` and of its groups of verbs."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport


def _verb(
    method: Callable[Concatenate[V_co, P], R], http_method: str, path: str, **options: Any
) -> Callable[Concatenate[RemoteVerbs[V_co], P], R]:
    """Return a verb that is executed by a server, and note its route."""
    ROUTES[method] = Route(http_method, path, **options)

    @functools.wraps(method)
    def call(self: RemoteVerbs[V_co], /, *args: P.args, **kwargs: P.kwargs) -> R:
        answer: R = self._transport.run(self._transport.steps_of(prepare_call(method, args, kwargs)))
        return answer

    return call


class RemoteItems(RemoteVerbs[Items]):
    """The group ``items``."""

    archive = _verb(Items.archive, "POST", "/memories/{id}/archive")
    unarchive = _verb(Items.unarchive, "POST", "/memories/{id}/unarchive")
    pin = _verb(Items.pin, "POST", "/memories/{id}/pin")
    unpin = _verb(Items.unpin, "POST", "/memories/{id}/unpin")
    retract = _verb(Items.retract, "POST", "/memories/{id}/retract")
    delete_all = _verb(Items.delete_all, "DELETE", "/memories")
    due = _verb(Items.due, "GET", "/due")
    preview = _verb(Items.preview, "POST", "/preview")


class RemoteEntities(RemoteVerbs[Entities]):
    """The group ``entities``."""

    get = _verb(Entities.get, "GET", "/entities/{id}")
    merge = _verb(Entities.merge, "POST", "/entities/merge")
    split = _verb(Entities.split, "POST", "/entities/{id}/split")
    list = _verb(Entities.list, "GET", "/entities")


class RemoteSessions(RemoteVerbs[Sessions]):
    """The group ``sessions``."""

    turns = _verb(Sessions.turns, "GET", "/turns")
    list = _verb(Sessions.list, "GET", "/sessions")


class RemoteTraits(RemoteVerbs[Traits]):
    """The group ``traits``."""

    evidence = _verb(Traits.evidence, "GET", "/traits/{id}/evidence")
    correct = _verb(Traits.correct, "PATCH", "/traits/{id}")
    delete = _verb(Traits.delete, "DELETE", "/traits/{id}")
    reflections = _verb(Traits.reflections, "GET", "/users/{user_id}/reflections")


class RemoteResources(RemoteVerbs[Resources]):
    """The group ``resources``."""

    ingest_source = _verb(Resources.ingest_source, "POST", "/experiences")
    get_source = _verb(Resources.get_source, "GET", "/experiences/source")
    ingest = _verb(Resources.ingest, "POST", "/resources")
    get = _verb(Resources.get, "GET", "/resources/{id}")
    get_episode = _verb(Resources.get_episode, "GET", "/experiences/episode")


class RemoteReasoning(RemoteVerbs[Reasoning]):
    """The group ``reasoning``."""

    add = _verb(Reasoning.add, "POST", "/reasoning")
    check = _verb(Reasoning.check, "POST", "/reasoning/check")
    get = _verb(Reasoning.get, "GET", "/reasoning/{id}")
    rebuild_index = _verb(Reasoning.rebuild_index, "POST", "/reasoning/index")


class RemoteRuns(RemoteVerbs[Runs]):
    """The group ``runs``."""

    record = _verb(Runs.record, "POST", "/runs", member="run_id")
    list = _verb(Runs.list, "GET", "/runs")
    get = _verb(Runs.get, "GET", "/runs/{run_id}")
    feedback = _verb(Runs.feedback, "POST", "/runs/{run_id}/feedback")
    review = _verb(Runs.review, "GET", "/runs/{run_id}/review")


class RemoteAdmin(RemoteVerbs[Admin]):
    """The group ``admin``."""

    jobs = _verb(Admin.jobs, "GET", "/jobs")
    retry = _verb(Admin.retry, "POST", "/jobs/{entry_id}/retry")
    overview = _verb(Admin.overview, "GET", "/overview")
    users = _verb(Admin.users, "GET", "/users")
    contexts = _verb(Admin.contexts, "GET", "/contexts")
    context = _verb(Admin.context, "GET", "/contexts/{context_id}")
    requests = _verb(Admin.requests, "GET", "/requests")
    latencies = _verb(Admin.latencies, "GET", "/requests/latencies")
    unlearned = _verb(Admin.unlearned, "GET", "/unlearned")


class RemoteQuarantine(RemoteVerbs[Quarantine]):
    """The group ``quarantine``."""

    list = _verb(Quarantine.list, "GET", "/quarantine")
    release = _verb(Quarantine.release, "POST", "/quarantine", fixed={"action": "release"})
    reject = _verb(Quarantine.reject, "POST", "/quarantine", fixed={"action": "reject"})


class Client(RemoteVerbs[Memory]):
    """A memory on a server: ``with Client("http://127.0.0.1:8765", api_key=…) as m: m.add(…)``. Thread-safe.

    Its verbs take and return what those of ``Memory`` do. The API key determines tenant, role and actor. Verbs that
    need the store's machine (rebuild, import, keys, doctor …) are not available.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout: float = 30.0,
        retries: int = 3,
        outbox: str | Path | None = None,
    ) -> None:
        """Create a client; nothing is sent before the first verb.

        Args:
            url: the server's address, such as ``http://127.0.0.1:8765``.
            api_key: a key, as ``phronesis serve keys create`` prints it; None if the server needs none.
            timeout: seconds to wait for a response.
            retries: how often a call is repeated when the connection breaks, or the server asks to wait. Writes are
                done once: each has an idempotency key, generated if none is given.
            outbox: a file that keeps ``add``, ``commit_turn``, ``ingest``, ``feedback``, ``resources.ingest`` and
                ``resources.ingest_source`` while no server can be reached; their result then is ``queued``. They are
                sent in order before the next call, by ``flush`` and by ``close``, once.

        Raises:
            InputError: ``url`` is not an address, ``retries`` not a count, or ``outbox`` not a file for this server.
            MissingExtra: the HTTP library is not installed.
        """
        transport = Transport(url, api_key=api_key, timeout=timeout, retries=retries, outbox=outbox)
        super().__init__(transport)
        self.outbox = transport.exchanges.outbox
        self.items = RemoteItems(transport)
        self.entities = RemoteEntities(transport)
        self.sessions = RemoteSessions(transport)
        self.traits = RemoteTraits(transport)
        self.resources = RemoteResources(transport)
        self.reasoning = RemoteReasoning(transport)
        self.runs = RemoteRuns(transport)
        self.admin = RemoteAdmin(transport)
        self.quarantine = RemoteQuarantine(transport)

    add = _verb(Memory.add, "POST", "/memories")
    get_all = _verb(Memory.get_all, "GET", "/memories", renamed={"kinds": "kind"})
    search = _verb(Memory.search, "POST", "/memories/search")
    get = _verb(Memory.get, "GET", "/memories/{id}")
    update = _verb(Memory.update, "PATCH", "/memories/{id}")
    delete = _verb(Memory.delete, "DELETE", "/memories/{id}")
    history = _verb(Memory.history, "GET", "/memories/{id}/history")
    explain = _verb(Memory.explain, "GET", "/memories/{id}/explain")
    rollback = _verb(Memory.rollback, "POST", "/rollback")
    commit_turn = _verb(Memory.commit_turn, "POST", "/turns")
    compose_context = _verb(Memory.compose_context, "POST", "/context", fixed={"explain": True})
    ingest = _verb(Memory.ingest, "POST", "/experiences")
    aggregate = _verb(Memory.aggregate, "POST", "/aggregate")
    abstract = _verb(Memory.abstract, "POST", "/abstract")
    query = _verb(Memory.query, "POST", "/query")
    mem_search = _verb(Memory.mem_search, "GET", "/reasoning")
    feedback = _verb(Memory.feedback, "POST", "/feedback")
    forget = _verb(Memory.forget, "POST", "/forget")
    get_user_traits = _verb(Memory.get_user_traits, "GET", "/users/{user_id}/traits")
    should_reflect = _verb(Memory.should_reflect, "GET", "/users/{user_id}/should-reflect")
    reflect = _verb(Memory.reflect, "POST", "/users/{user_id}/reflect")
    learn = _verb(Memory.learn, "POST", "/runs/{run_id}/learn")
    plan = _verb(Memory.plan, "POST", "/plan")
    retrieve = _verb(Memory.retrieve, "POST", "/retrieve", whole="plan")

    def erase(
        self,
        *,
        id: str | None = None,  # noqa: A002 - the contract's name
        user_id: str | None = None,
        expected_version: int | None = None,
        reason: str | None = None,
    ) -> ErasureCertificate:
        """Erase an item, or a user, permanently; needs an admin's key.

        InputError unless exactly one of ``id`` and ``user_id`` is given. Sessions can only be erased on the server's
        machine.
        """
        call = prepare_erasure(item_id=id, user_id=user_id, expected_version=expected_version, reason=reason)
        certificate: ErasureCertificate = self._transport.run(self._transport.steps_of(call))
        return certificate

    def flush(self) -> Delivery:
        """Send what waits in the outbox, in order, until the server is away; return what became of it."""
        delivery: Delivery = self._transport.run(self._transport.exchanges.deliver())
        return delivery

    def close(self) -> None:
        """Send what waits in the outbox, unless the server is known to be away, and close the connections."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class AsyncClient(AsyncMemoryVerbs):
    """A `Client` for asyncio: ``async with AsyncClient("http://127.0.0.1:8765") as m: await m.add(…)``."""

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout: float = 30.0,
        retries: int = 3,
        outbox: str | Path | None = None,
    ) -> None:
        """Create a client with the arguments of `Client`; nothing is sent before the first verb."""
        transport = AsyncTransport(url, api_key=api_key, timeout=timeout, retries=retries, outbox=outbox)

        async def carry_out(method: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
            return await transport.run(transport.steps_of(prepare_call(method, args, kwargs)))

        super().__init__(lambda _: carry_out)
        self.admin = AsyncServedAdmin(carry_out)
        self.outbox = transport.exchanges.outbox
        self._transport = transport

    async def erase(
        self,
        *,
        id: str | None = None,  # noqa: A002 - the contract's name
        user_id: str | None = None,
        expected_version: int | None = None,
        reason: str | None = None,
    ) -> ErasureCertificate:
        """Erase an item, or a user, permanently, as `Client.erase` does."""
        call = prepare_erasure(item_id=id, user_id=user_id, expected_version=expected_version, reason=reason)
        certificate: ErasureCertificate = await self._transport.run(self._transport.steps_of(call))
        return certificate

    async def flush(self) -> Delivery:
        """Send what waits in the outbox, in order, until the server is away; return what became of it."""
        delivery: Delivery = await self._transport.run(self._transport.exchanges.deliver())
        return delivery

    async def close(self) -> None:
        """Send what waits in the outbox, unless the server is known to be away, and close the connections."""
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()
