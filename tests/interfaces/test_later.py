"""What is made when somebody first asks: once for all who ask, anew after a failure, and gone with the server."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from phronesis.interfaces.server_process import LazyApp


@dataclass
class Maker:
    """Makes applications, and notes how often, and what begins and ends."""

    failures: int = 0
    made: int = 0
    told: list[str] = field(default_factory=list)
    go: threading.Event = field(default_factory=threading.Event)

    def __call__(self) -> Starlette:
        self.made += 1
        assert self.go.wait(10)
        if self.made <= self.failures:
            raise RuntimeError("no such package")

        @contextlib.asynccontextmanager
        async def lifespan(_app: Starlette) -> AsyncIterator[None]:
            self.told.append("began")
            yield
            self.told.append("ended")

        return Starlette(routes=[Route("/", lambda _request: PlainTextResponse("here"))], lifespan=lifespan)


def _get(later: LazyApp) -> "asyncio.Future[httpx2.Response]":
    async def ask() -> httpx2.Response:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(later), base_url="http://later") as client:
            return await client.get("/")

    return asyncio.ensure_future(ask())


def test_all_who_ask_first_wait_for_one_and_it_ends_with_the_server() -> None:
    maker = Maker()

    async def lived() -> list[str]:
        later = LazyApp(maker)
        async with later.lasting():
            asked = [_get(later) for _ in range(3)]
            await asyncio.sleep(0.05)
            maker.go.set()
            texts = [(await one).text for one in asked]
            texts.append((await _get(later)).text)
            assert maker.told == ["began"]
        async with later.lasting():
            texts.append((await _get(later)).text)
        return texts

    assert asyncio.run(lived()) == ["here"] * 5
    assert maker.made == 2
    assert maker.told == ["began", "ended"] * 2


def test_a_failure_is_told_and_the_next_one_tries_again() -> None:
    maker = Maker(failures=1)
    maker.go.set()

    async def lived() -> str:
        later = LazyApp(maker)
        async with later.lasting():
            with pytest.raises(RuntimeError, match="no such package"):
                await _get(later)
            return (await _get(later)).text

    assert asyncio.run(lived()) == "here"
    assert maker.told == ["began", "ended"]


def test_a_server_that_stops_does_not_wait_for_what_is_being_made() -> None:
    maker = Maker()

    async def lived() -> None:
        later = LazyApp(maker)
        async with later.lasting():
            asked = _get(later)
            await asyncio.sleep(0.05)
        with pytest.raises(asyncio.CancelledError):
            await asked
        maker.go.set()

    asyncio.run(lived())
    assert maker.told == []
