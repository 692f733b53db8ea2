"""mem0's ``AsyncMemory``: the verbs of ``Memory`` as coroutines, each on a thread."""

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import phronesis.memory
from phronesis.adapters.mem0.memory import Memory

P = ParamSpec("P")
R = TypeVar("R")


def _verb(
    method: Callable[Concatenate[Memory, P], R],
) -> Callable[Concatenate["AsyncMemory", P], Coroutine[Any, Any, R]]:
    @functools.wraps(method)
    async def call(self: "AsyncMemory", /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(method, self.memory, *args, **kwargs)

    return call


class AsyncMemory:
    """The verbs of ``Memory`` as coroutines. The constructor opens the store and blocks, as does ``close``."""

    def __init__(self, config: dict[str, Any] | None = None, *, memory: phronesis.memory.Memory | None = None) -> None:
        self.memory = Memory(config, memory=memory)

    @classmethod
    def from_config(cls, config_dict: dict[str, Any]) -> "AsyncMemory":
        """Open a store by a configuration."""
        return cls(config_dict)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Close the store that this opened; one that was passed in stays open."""
        self.memory.close()

    add = _verb(Memory.add)
    chat = _verb(Memory.chat)
    delete = _verb(Memory.delete)
    delete_all = _verb(Memory.delete_all)
    get = _verb(Memory.get)
    get_all = _verb(Memory.get_all)
    history = _verb(Memory.history)
    reset = _verb(Memory.reset)
    search = _verb(Memory.search)
    update = _verb(Memory.update)
