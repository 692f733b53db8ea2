import os
import socket
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from phronesis.errors import InputError
from phronesis_benchmarks.cached_embedder import CachedEmbedder
from phronesis_benchmarks.datasets import Conversation
from phronesis_benchmarks.peers import PEERS, peer_contender
from phronesis_benchmarks.runner import measure

MODULES = {"bm25": "phronesis", "chromadb": "chromadb", "mem0": "mem0", "langgraph": "langgraph"}

pytestmark = pytest.mark.filterwarnings("ignore")  # the peers' own


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> None:
        raise AssertionError(f"network: {arguments[1:]}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture(params=list(PEERS))
def name(request: pytest.FixtureRequest) -> str:
    chosen = str(request.param)
    skip_without(chosen)
    return chosen


def skip_without(peer: str) -> None:
    """Skip; the package is looked for and not imported, since mem0 would then come with its telemetry on."""
    if find_spec(MODULES[peer]) is None:
        pytest.skip(f"{peer} is not installed")


def test_a_peer_finds_what_was_said_and_its_costs_are_taken(
    name: str, conversation: Conversation, embedder: CachedEmbedder
) -> None:
    outcome = measure(peer_contender(name, embedder), [conversation], embedder=embedder, seed=0)
    assert outcome.rankings[0].ranked[0] == "D2:2"
    assert outcome.encoded_while_timed == 0
    assert outcome.quality["all"]["recall@20"].mean > 0.5


def test_a_peer_of_another_name_is_refused(embedder: CachedEmbedder) -> None:
    with pytest.raises(InputError, match="'zep' is none of bm25, chromadb, mem0, langgraph"):
        peer_contender("zep", embedder)


def test_mem0_leaves_the_environment_as_it_was(embedder: CachedEmbedder, tmp_path: Path) -> None:
    skip_without("mem0")
    before = dict(os.environ)
    peer_contender("mem0", embedder).open(tmp_path).close()
    assert dict(os.environ) == before
