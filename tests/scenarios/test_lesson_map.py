"""Where a map of lessons fits the encoders, events are compared by where it puts them, whenever they come."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from backwards import Backwards
from lesson_patterns import ingested, patterns
from phronesis import wiring
from phronesis.experience import event_embeddings
from phronesis.experience.lesson_map import PARTS
from phronesis.memory import Memory
from phronesis.models.embedder import Floats, HashingEmbedder
from phronesis.models.embedders import Embedders

LESSONS = [
    {"situation": "Night shift", "attempt": "Unpacked big layers", "result": "No room was left", "source_ref": "a"},
    {"attempt": "Wrote the export to the small volume", "result": "It filled up at once", "source_ref": "b"},
    {"attempt": "Asked for a discount first", "result": "They walked away", "source_ref": "c"},
    {
        "attempt": "Named no price at all",
        "reflection": "Wait for theirs",
        "result": "Nothing came of it",
        "source_ref": "d",
    },
]

LATER = {"attempt": "Copied the archive beside the database", "result": "The disk was full", "source_ref": "e"}


class ByResult:
    """Stands for a fitted map: puts events of a full disk in one place and all others in places of their own."""

    FULL = ("No room was left", "It filled up at once", "The disk was full")
    dimension = 64

    def __init__(self, encoder: HashingEmbedder) -> None:
        self.full = np.stack([encoder.embed_query(text) for text in self.FULL])
        self.asked: list[list[tuple[int, ...]]] = []

    def of(self, seen: Sequence[Floats]) -> Floats:
        self.asked.append([part.shape for part in seen])
        result = seen[list(PARTS).index("result")]
        alike = (result @ self.full.T).max(axis=1) > 0.99
        rows = np.eye(64, dtype=np.float32)[self.place(len(result))]
        rows[alike] = np.eye(64, dtype=np.float32)[0]
        return rows

    def place(self, count: int) -> list[int]:
        had = sum(shapes[0][0] for shapes in self.asked) - count
        return [1 + had + n for n in range(count)]


@pytest.fixture
def fitted(monkeypatch: pytest.MonkeyPatch) -> ByResult:
    own, beside = HashingEmbedder(), Backwards()
    monkeypatch.setattr(wiring, "load_embedders", lambda _: Embedders(own, beside=beside))
    one = ByResult(own)
    monkeypatch.setattr(event_embeddings, "map_for", lambda names: one if names == [own.name, beside.name] else None)
    return one


@pytest.fixture
def memory(fitted: ByResult) -> Iterator[Memory]:
    assert fitted.asked == []
    with Memory.open("sqlite://", tenant="acme") as opened:
        yield opened


def test_what_the_map_puts_in_one_place_is_one_pattern(memory: Memory, fitted: ByResult) -> None:
    refs = ingested(memory, *LESSONS)
    assert patterns(memory, refs) == [["a", "b"]]
    size = HashingEmbedder().dimension
    assert fitted.asked[0] == [(len(LESSONS), size)] * (2 * len(PARTS))  # each part by each encoder
    refs |= ingested(memory, LATER)
    assert patterns(memory, refs) == [["a", "b", "e"]]
    assert [shapes[0][0] for shapes in fitted.asked] == [len(LESSONS), 1]  # what was there is not placed again
