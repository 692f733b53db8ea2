"""After a write the lanes that were written to are looked at for missing vectors, and now and then all of them."""

import threading
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pytest

from phronesis.index import vectorizer
from phronesis.index.vectorizer import LOOK_AROUND_SECONDS, WrittenLanes
from phronesis.memory import Memory
from phronesis.models.embedder import HashingEmbedder
from phronesis.store.documents import count_without_vector
from phronesis.store.lanes import documented_lanes, list_lanes

USERS = ("ada", "ben", "eve")


class Failing(HashingEmbedder):
    """The hashing encoder, which may be out of order."""

    broken = False

    def embed_documents(self, texts: Sequence[str]) -> Any:
        if self.broken:
            raise ConnectionError
        return super().embed_documents(texts)


@pytest.fixture
def encoder() -> Failing:
    return Failing()


@pytest.fixture
def memory(encoder: Failing) -> Iterator[Memory]:
    with Memory.open("sqlite://", tenant="acme", embedder=encoder) as opened:
        opened._runtime._background.stop()  # the test says when there is time
        for user in USERS:
            opened.add("Tea is hot.", user_id=user, infer=False)
        yield opened


@pytest.fixture
def looked_at(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> list[Collection[int] | None]:
    asked: list[Collection[int] | None] = []

    def watched(unit: Any, only: Collection[int] | None = None) -> Any:
        asked.append(only)
        return documented_lanes(unit, only)

    monkeypatch.setattr(vectorizer, "documented_lanes", watched, raising=False)
    return asked


def work(memory: Memory) -> None:
    memory._runtime._work(lambda: False)


def lanes_of(memory: Memory) -> dict[str, int]:
    with memory.admin.components.database.transaction("acme", "read") as unit:
        return {lane.name or "": lane.lane_id for lane in list_lanes(unit)}


def without_vector(memory: Memory, encoder: Failing) -> int:
    with memory.admin.components.database.transaction("acme", "read") as unit:
        return count_without_vector(unit, encoder.name)


def test_a_write_has_its_own_lane_looked_at_alone(
    memory: Memory, encoder: Failing, looked_at: list[Collection[int] | None]
) -> None:
    work(memory)
    memory.add("Milk is cold.", user_id="ben", infer=False)
    work(memory)
    work(memory)
    assert looked_at == [None, {lanes_of(memory)["ben"]}, set()]
    assert without_vector(memory, encoder) == 0


def test_an_edit_and_what_waited_to_be_interpreted_are_looked_at(
    memory: Memory, encoder: Failing, looked_at: list[Collection[int] | None]
) -> None:
    work(memory)
    item = memory.get_all(user_id="eve")[0]
    memory.update(item.id, content="Tea was hot.")
    memory.add("Milk is cold.", user_id="ada", infer=False, wait=False)
    work(memory)
    lanes = lanes_of(memory)
    assert looked_at == [None, {lanes["eve"], lanes["ada"]}]
    assert without_vector(memory, encoder) == 0


def test_a_rebuild_has_every_lane_looked_at(memory: Memory, looked_at: list[Collection[int] | None]) -> None:
    work(memory)
    memory.admin.rebuild()
    work(memory)
    assert looked_at == [None, None]


def test_all_lanes_are_looked_at_first_and_now_and_then() -> None:
    now = [0.0]
    lanes = WrittenLanes(seconds=lambda: now[0])
    lanes.note("acme", 1)
    assert lanes.take("acme") is None
    lanes.note("acme", 1)
    assert lanes.take("acme") == {1}
    now[0] += LOOK_AROUND_SECONDS
    lanes.note("acme", 2)
    assert lanes.take("acme") is None
    assert lanes.take("acme") == set()
    lanes.note_all("acme")
    assert lanes.take("acme") is None


def test_no_lane_is_lost_among_writers_and_one_who_takes() -> None:
    lanes, found = WrittenLanes(), set[int]()
    lanes.take("acme")

    def write(base: int) -> None:
        for n in range(2_000):
            lanes.note("acme", base + n)

    threads = [threading.Thread(target=write, args=(base,)) for base in (0, 10_000)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        found |= set(lanes.take("acme") or ())
    found |= set(lanes.take("acme") or ())
    assert len(found) == 4_000
