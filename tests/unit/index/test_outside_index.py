"""What the port to an index outside promises, kept by the reference and by Chroma; and Chroma when it is away."""

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from claim_blocks import COPPER, USER, block
from memory_index import InMemoryIndex
from phronesis import Memory
from phronesis.errors import IndexUnavailable, MissingExtra
from phronesis.index.chroma import Chroma
from phronesis.index.external_index import OutsideDocument, OutsideIndex, Space

Opened = Callable[[], OutsideIndex]
AXES = np.eye(4, dtype=np.float32)


def document(name: str, axis: int, **facts: str | int) -> OutsideDocument:
    return OutsideDocument(name, f"text of {name}", facts, AXES[axis])


def names(space: Space, **where: list[str]) -> list[str]:
    return sorted(found.id for found in space.held(where))


@pytest.fixture(params=["memory", "chroma"])
def reopened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    """Return what gives the index, closed and opened again at each call where it outlives a process."""
    opened: list[OutsideIndex] = [] if request.param == "chroma" else [InMemoryIndex()]

    def reopen() -> OutsideIndex:
        if request.param == "memory":
            return opened[0]
        if opened:
            opened.pop().close()
        opened.append(Chroma(path=str(tmp_path / "folder"), url=None, collection="claims"))
        return opened[0]

    yield reopen
    opened[0].close()


def test_documents_are_put_found_replaced_and_taken_away(reopened: Opened) -> None:
    index = reopened()
    space = index.space("model", 4)
    space.put([])
    space.remove([])
    assert names(space, store=["a"]) == []
    space.put(
        [
            document("a1", 0, store="a", lane="1"),
            document("a2", 1, store="a", lane="2", version=7),
            document("b1", 0, store="b", lane="1"),
        ]
    )
    assert names(space, store=["a"]) == ["a1", "a2"]
    assert names(space, store=["a"], lane=["2", "3"]) == ["a2"]
    assert names(space, store=["a", "b"], lane=["1"]) == ["a1", "b1"]
    assert space.nearest(AXES[0] + AXES[1] / 2, {"store": ["a"]}, limit=5) == ["a1", "a2"]
    assert space.nearest(AXES[1], {"store": ["a"], "lane": ["2", "1"]}, limit=1) == ["a2"]
    assert space.nearest(AXES[1], {"store": ["nobody"]}, limit=3) == []
    space.put([OutsideDocument("a1", "other", {"store": "a", "lane": "3"}, AXES[3])])
    kept = {found.id: found for found in reopened().space("model", 4).held({"store": ["a"]}, vectors=True)}
    assert (kept["a1"].text, kept["a1"].facts) == ("other", {"store": "a", "lane": "3"})
    assert kept["a2"].facts == {"store": "a", "lane": "2", "version": 7}
    assert np.array_equal(kept["a1"].vector, AXES[3])  # type: ignore[arg-type]
    space = reopened().space("model", 4)
    assert next(space.held({"lane": ["2"]})).vector is None
    space.remove(["a2", "never there"])
    space.clear({"store": ["b"]})
    assert names(space, lane=["1", "2", "3"]) == ["a1"]


def test_each_model_has_a_space_that_keeps_its_id(reopened: Opened) -> None:
    index = reopened()
    one, other = index.space("model", 4), index.space("other", 8)
    assert one.id != other.id
    assert {space.id for space in index.spaces()} == {one.id, other.id}
    again = reopened()
    assert (again.space("model", 4).id, again.space("other", 8).id) == (one.id, other.id)
    assert len(again.spaces()) == 2


def test_a_collection_made_anew_is_another_space_and_is_filled(tmp_path: Path) -> None:
    index = {"backend": "chroma", "path": str(tmp_path / "chroma")}
    policy = {"embedder": "hashing", "reasoning": {"index": index}}
    with Memory.open("sqlite://", policy=policy) as memory:
        item = memory.reasoning.add(block(COPPER), user_id=USER)
        assert memory.mem_search("formate", user_id=USER).degraded == ()
        mirror = memory.admin.components.mirror
        assert mirror is not None
        chroma = mirror.index
        assert isinstance(chroma, Chroma)
        [collection] = chroma._connected().list_collections()
        collection.delete(ids=[f"{item.id}::claim::c1"])
        assert len(memory.mem_search("formate", user_id=USER)) == 0
        assert memory.reasoning.rebuild_index().repaired_outside == 1
        assert len(memory.mem_search("formate", user_id=USER)) == 1
        chroma._connected().delete_collection(collection.name)
        away = memory.mem_search("formate", user_id=USER)
        assert [(one.item.id, found.reason) for one, found in zip(away, away.degraded, strict=True)] == [
            (item.id, "index.unavailable")
        ]
        memory.flush()
        [collection] = chroma._connected().list_collections()
        assert sorted(collection.get()["ids"]) == [item.id, f"{item.id}::claim::c1"]


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    index = {"backend": "chroma", "path": str(tmp_path / "file" / "chroma")}
    with Memory.open("sqlite://", policy={"embedder": "hashing", "reasoning": {"index": index}}) as memory:
        item = memory.reasoning.add(block(COPPER), user_id=USER)
        found = memory.mem_search("formate", user_id=USER)
        assert [one.item.id for one in found] == [item.id]
        assert [one.reason for one in found.degraded] == ["index.unavailable"]
        with pytest.raises(IndexUnavailable, match="file/chroma cannot be used"):
            memory.flush()
        assert not memory.erase(id=item.id).clean


def test_the_package_is_named_when_it_is_missing() -> None:
    with (
        mock.patch("importlib.util.find_spec", return_value=None),
        pytest.raises(MissingExtra, match=r"phronesis\[chroma\]"),
    ):
        Chroma(path="x", url=None, collection="claims")


def test_a_server_that_is_not_there_or_says_nothing_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        index = Chroma(path=None, url=url, collection="claims", timeout=0.2)
        with pytest.raises(IndexUnavailable, match=url):
            index.space("model", 4)
    with pytest.raises(IndexUnavailable):
        index.spaces()
    index.close()


@pytest.mark.slow
def test_a_server_keeps_what_a_folder_keeps(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program = "import sys; from chromadb.cli.cli import app; app()"
    arguments = ["run", "--path", str(tmp_path), "--host", "127.0.0.1", "--port", str(port)]
    server = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v2/heartbeat", timeout=1).close()
                break
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        index = Chroma(path=None, url=f"http://127.0.0.1:{port}", collection="claims", token="word", timeout=30)  # noqa: S106
        space = index.space("model", 4)
        space.put([document(f"a{n}", n % 4, store="a") for n in range(1200)])
        assert len(names(space, store=["a"])) == 1200
        assert space.nearest(AXES[2], {"store": ["a"]}, limit=1) == ["a2"] or len(index.spaces()) == 1
        index.close()
    finally:
        server.kill()
        server.wait()
    with pytest.raises(IndexUnavailable):
        Chroma(path=None, url=f"http://127.0.0.1:{port}", collection="claims", timeout=1).spaces()
