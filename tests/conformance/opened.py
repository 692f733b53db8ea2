"""A Memory for tests of adapters: in memory, found by words alone."""

from collections.abc import Iterator
from contextlib import contextmanager

from phronesis import Memory


@contextmanager
def opened(url: str = "sqlite://") -> Iterator[Memory]:
    with Memory.open(url, policy={"embedder": "none"}) as memory:
        yield memory
