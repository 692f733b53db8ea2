"""The faces of a memory have the same verbs, parameters, defaults and annotations: Memory, AsyncMemory and Client."""

import asyncio
import inspect
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import phronesis
from phronesis import async_memory, client
from phronesis.async_memory import AsyncMemory
from phronesis.errors import NotFound
from phronesis.interfaces.reference import GROUPS
from phronesis.memory import Memory

NOT_AWAITED = {"open", "for_tenant"}
"""What gives a Memory back, and has its own type here."""

AT_THE_STORE = {
    *("export", "for_tenant", "import_", "open"),
    *("admin.doctor", "admin.migrate", "admin.rebuild", "admin.rederive", "admin.reembed"),
}
"""Verbs that need the machine of the store: a Client has them not."""

OWN = {"erase", "close", "flush"}
"""Verbs of a Client under names of Memory's: a session is erased at the store, and a Client flushes its outbox."""

POLICY = {"embedder": "none"}


def verbs(kind: type) -> dict[str, Callable[..., Any]]:
    members = inspect.getmembers(kind, inspect.isfunction)
    return {name: member for name, member in members if not name.startswith("_")}


def properties(kind: type) -> set[str]:
    return {name for name, member in inspect.getmembers(kind) if isinstance(member, property)}


def differences(sync: type, wrapped: type) -> list[str]:
    """Name what the two do not share."""
    ours, theirs = verbs(sync), verbs(wrapped)
    out = [f"{name} is in one only" for name in ours.keys() ^ theirs.keys()]
    for name in ours.keys() & theirs.keys() - NOT_AWAITED:
        if not inspect.iscoroutinefunction(theirs[name]):
            out.append(f"{name} is no coroutine")
        if inspect.unwrap(theirs[name]) is not inspect.unwrap(ours[name]):
            out.append(f"{name} is another verb")
        same_hints = get_type_hints(ours[name]) == get_type_hints(theirs[name])
        if not same_hints or _parameters(ours[name]) != _parameters(theirs[name]):
            out.append(f"{name} has another signature")
    out += [
        f"{name} differs" for name in NOT_AWAITED & ours.keys() if _parameters(ours[name]) != _parameters(theirs[name])
    ]
    return out


def _parameters(verb: Callable[..., Any]) -> list[tuple[str, Any, Any, Any]]:
    given = inspect.signature(verb).parameters.values()
    return [(p.name, p.kind, p.default, p.annotation) for p in given]


def test_the_two_have_the_same_verbs_and_signatures() -> None:
    assert differences(Memory, AsyncMemory) == []
    for name, group in GROUPS.items():
        wrapped = getattr(async_memory, f"Async{group.__name__}")
        assert differences(group, wrapped) == [], name
        assert properties(group) - {"components"} == properties(wrapped)


def test_a_client_has_every_verb_that_needs_no_machine_of_the_store() -> None:
    for name, group in {"": Memory, **GROUPS}.items():
        remote = client.Client if group is Memory else getattr(client, f"Remote{group.__name__}")
        ours, theirs = verbs(group), verbs(remote)
        prefix = f"{name}." if name else ""
        missing = {one for one in ours if f"{prefix}{one}" not in AT_THE_STORE}
        assert missing - theirs.keys() == set(), name
        assert theirs.keys() - ours.keys() == set(), name
        for one in theirs.keys() - OWN:  # its own: a session is erased at the store
            assert _parameters(theirs[one]) == _parameters(ours[one]), one
            assert get_type_hints(theirs[one]) == get_type_hints(ours[one]), one


def test_the_two_clients_have_the_same_verbs() -> None:
    """The groups of an AsyncClient are those of AsyncMemory, but for ``admin``."""
    groups = {client.Client: client.AsyncClient, client.RemoteAdmin: async_memory.AsyncServedAdmin}
    for sync, wrapped in groups.items():
        ours, theirs = verbs(sync), verbs(wrapped)
        assert ours.keys() == theirs.keys()
        for name, verb in theirs.items():
            assert inspect.iscoroutinefunction(verb), name
            assert _parameters(verb) == _parameters(ours[name]), name
            assert get_type_hints(verb) == get_type_hints(ours[name]), name
    remote, asynchronous = client.Client("http://127.0.0.1:9"), client.AsyncClient("http://127.0.0.1:9")
    for name, group in GROUPS.items():
        assert verbs(type(getattr(remote, name))).keys() == verbs(type(getattr(asynchronous, name))).keys()
        assert name == "admin" or type(getattr(asynchronous, name)).__name__ == f"Async{group.__name__}"


def test_a_memory_has_forty_names_at_most(tmp_path: Path) -> None:
    with Memory.open(f"sqlite:///{tmp_path / 'memory.db'}", policy=POLICY) as memory:
        assert len([name for name in dir(memory) if not name.startswith("_")]) <= 40
        assert {name: type(getattr(memory, name)) for name in GROUPS} == GROUPS


def test_verbs_work_in_a_loop(sqlite_url: str, tmp_path: Path) -> None:
    async def story() -> None:
        async with AsyncMemory.open(sqlite_url, policy=POLICY, tenant="acme") as m:
            assert m.admin.tenant == "acme"
            made = await m.add("Tea is hot", user_id="alice")
            assert (await m.get(made.items[0].id)).content == "Tea is hot"
            assert [e.item.id for e in await m.search("tea", user_id="alice")] == [made.items[0].id]
            with pytest.raises(NotFound):
                await m.get("00000000-0000-7000-8000-000000000000")
            async with m.for_tenant("other") as other:
                assert await other.get_all(user_id="alice") == []
            await asyncio.gather(*(m.add(f"number {n}", user_id="alice") for n in range(20)))
            assert len(await m.get_all(user_id="alice")) == 21
            assert (await m.admin.rebuild(verify=True)).equal
            await m.export(tmp_path / "a.jsonl")
        again = await AsyncMemory.open(sqlite_url, policy=POLICY, tenant="acme")
        async with again:
            assert len(await again.get_all(user_id="alice")) == 21

    asyncio.run(story())


def test_the_loop_does_not_wait(sqlite_url: str) -> None:
    go = threading.Event()

    def clock() -> datetime:
        assert go.wait(10)
        return datetime(2026, 1, 1, tzinfo=UTC)

    async def story() -> None:
        async with AsyncMemory.open(sqlite_url, policy=POLICY, clock=clock) as m:
            busy = asyncio.create_task(m.add("x"))
            await asyncio.sleep(0.05)
            assert not busy.done()
            go.set()
            assert (await busy).items

    asyncio.run(story())


def test_a_cancelled_write_that_has_begun_is_not_lost(sqlite_url: str) -> None:
    begun, go = threading.Event(), threading.Event()

    def clock() -> datetime:
        begun.set()
        assert go.wait(10)
        return datetime(2026, 1, 1, tzinfo=UTC)

    async def story() -> None:
        async with AsyncMemory.open(sqlite_url, policy=POLICY, clock=clock) as m:
            task = asyncio.create_task(m.add("kept", idempotency_key="k"))
            assert await asyncio.to_thread(begun.wait, 10)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            go.set()
            known = await m.add("kept", idempotency_key="k")
            assert [item.id for item in await m.get_all()] == [known.items[0].id]

    asyncio.run(story())


def test_it_is_public_and_lazy() -> None:
    assert phronesis.AsyncMemory is AsyncMemory
    assert "AsyncMemory" in dir(phronesis)
