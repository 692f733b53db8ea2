"""AsyncMemory: the verbs of Memory as coroutines, each run on a worker thread.

Every verb repeats the parameters of Memory's verb, so that type checkers see them.
"""

import asyncio
from collections.abc import Callable, Generator, Mapping
from datetime import datetime
from typing import Any, Self

from phronesis.async_verbs import AsyncMemoryVerbs, AsyncServedAdmin, Carrier, async_verb
from phronesis.config import PolicySource
from phronesis.core.api_keys import ApiKey, Role
from phronesis.memory import Memory
from phronesis.memory.admin import Admin
from phronesis.memory.keys import KeyRing
from phronesis.memory.runtime import Verbs


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


def _on_thread(verbs: Verbs) -> Carrier:
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
        return AsyncKeyRing(self._admin.keys)

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
