"""What the port to an index outside promises, kept by the reference and by Chroma; and Chroma when it is away."""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from memory_index import InMemoryIndex
from phronesis.errors import IndexUnavailable, MissingExtra
from phronesis.index.chroma import Chroma
from phronesis.index.projections import OutsideDocument, OutsideIndex, Space

Opened = Callable[[], OutsideIndex]
AXES = np.eye(4, dtype=np.float32)


def document(name: str, axis: int, **facts: str | int) -> OutsideDocument:
    return OutsideDocument(name, f"text of {name}", facts, AXES[axis])


def names(space: Space, **where: list[str]) -> list[str]:
    return sorted(found.id for found in space.list_documents(where))


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
    kept = {found.id: found for found in reopened().space("model", 4).list_documents({"store": ["a"]}, vectors=True)}
    assert (kept["a1"].text, kept["a1"].facts) == ("other", {"store": "a", "lane": "3"})
    assert kept["a2"].facts == {"store": "a", "lane": "2", "version": 7}
    assert np.array_equal(kept["a1"].vector, AXES[3])  # type: ignore[arg-type]
    space = reopened().space("model", 4)
    assert next(space.list_documents({"lane": ["2"]})).vector is None
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
