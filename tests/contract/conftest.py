"""What most tests of the verbs need: a memory without an encoder, and a clock that begins where its module says."""

from collections.abc import Iterator

import pytest

from phronesis import Memory
from set_clock import Clock


@pytest.fixture
def clock(request: pytest.FixtureRequest) -> Clock:
    """A clock that stands at the module's ``START``."""
    return Clock(request.module.START)


@pytest.fixture
def memory(database_url: str) -> Iterator[Memory]:
    with Memory.open(database_url, policy={"embedder": "none"}, tenant="acme") as opened:
        yield opened
