"""What sees lessons finds patterns: an encoder that was taught them, or a map of what other encoders see."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from backwards import Backwards
from lesson_patterns import ingested, patterns
from phronesis.experience import event_embeddings
from phronesis.experience.event_embeddings import whole_text
from phronesis.experience.laws.records import Pattern
from phronesis.experience.lesson_map import PARTS, TEXTS
from phronesis.memory import Memory
from phronesis.models.embedder import Floats, HashingEmbedder
from phronesis.models.embedders import Embedders
from phronesis.wiring import searching

LESSONS = [
    {"situation": "Night shift", "attempt": "Unpacked big layers", "result": "The disk was full", "source_ref": "a"},
    {"attempt": "Wrote the export to the small volume", "result": "It had a full disk at once", "source_ref": "b"},
    {"attempt": "Asked for a discount first", "result": "They walked away", "source_ref": "c"},
    {
        "attempt": "Named no price at all",
        "reflection": "Wait for theirs",
        "result": "Nothing came of it",
        "source_ref": "d",
    },
]
LATER = {"attempt": "Copied the archive beside the database", "result": "No room, a full disk", "source_ref": "e"}


class Taught:
    """Puts what tells of a full disk in one place and every other text in one of its own."""

    FULL: tuple[str, ...] = ("disk was full", "full disk")
    name, dimension, prefix_scheme = "taught-1", 256, "none"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        self.asked += texts
        places = [0 if any(one in text for one in self.FULL) else 1 + sum(text.encode()) % 255 for text in texts]
        return np.eye(self.dimension, dtype=np.float32)[places]

    def embed_query(self, text: str) -> Floats:
        vector: Floats = self.embed_documents([text])[0]
        return vector


@pytest.fixture
def taught(monkeypatch: pytest.MonkeyPatch) -> Taught:
    one = Taught()
    own, beside = HashingEmbedder(), Backwards()
    monkeypatch.setattr(searching, "load_embedders", lambda _: Embedders(own, beside=beside, of_lessons=[one]))
    return one


@pytest.fixture
def memory(taught: Taught) -> Iterator[Memory]:
    assert taught.asked == []
    with Memory.open("sqlite://", tenant="acme") as opened:
        yield opened


def test_what_it_puts_in_one_place_is_one_pattern(memory: Memory) -> None:
    refs = ingested(memory, *LESSONS)
    assert patterns(memory, refs) == [["a", "b"]]
    refs |= ingested(memory, LATER)
    assert patterns(memory, refs) == [["a", "b", "e"]]


def test_it_sees_the_whole_of_each_event_once_and_nothing_else(memory: Memory, taught: Taught) -> None:
    memory.add("I live in Berlin.", user_id="u")
    ingested(memory, *LESSONS)
    wholes = [whole_text(event) for event in LESSONS]
    assert sorted(taught.asked) == sorted([*wholes, *TEXTS]), "and once the texts that are known to be unrelated"
    memory.aggregate(full=True)
    memory.flush()
    assert len(taught.asked) == len(LESSONS) + len(TEXTS)


class Lean(Taught):
    """Puts everything that is said of one file in one place, as encoders nearly do."""

    FULL = ("Queue/Basic.lean",)


def test_errors_of_two_kinds_are_two_lessons_however_alike_they_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    log = "\n".join(
        f"error: Queue/Basic.lean:{line}:2: {said}"
        for line, said in enumerate(["type mismatch", "maximum recursion depth has been reached"] * 2, start=14)
    )
    embedders = Embedders(HashingEmbedder(), beside=Backwards(), of_lessons=[Lean()])
    monkeypatch.setattr(searching, "load_embedders", lambda _: embedders)
    with Memory.open("sqlite://") as memory:
        kind = {event.id: event.result for event, _ in memory.resources.ingest_source(log, source_type="lean")}
        memory.flush()
        new = [one for one in memory.aggregate().new if isinstance(one, Pattern)]
        found = [one for one in new if one.cluster_info["method"] == "average link"]  # and not one by a view
        told = sorted(sorted({kind[event] for event, _ in one.members}) for one in found)
        assert told == [["maximum recursion depth has been reached"], ["type mismatch"]]


class ByResult:
    """Stands for a fitted map: puts events of a full disk in one place and all others in places of their own."""

    FULL = ("The disk was full", "It had a full disk at once", "No room, a full disk")
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
    monkeypatch.setattr(searching, "load_embedders", lambda _: Embedders(own, beside=beside))
    one = ByResult(own)
    monkeypatch.setattr(event_embeddings, "map_for", lambda names: one if names == [own.name, beside.name] else None)
    return one


def test_what_a_map_of_lessons_puts_in_one_place_is_one_pattern(fitted: ByResult) -> None:
    with Memory.open("sqlite://", tenant="acme") as memory:
        refs = ingested(memory, *LESSONS)
        assert patterns(memory, refs) == [["a", "b"]]
        size = HashingEmbedder().dimension
        assert fitted.asked[0] == [(len(LESSONS), size)] * (2 * len(PARTS))  # each part by each encoder
        refs |= ingested(memory, LATER)
        assert patterns(memory, refs) == [["a", "b", "e"]]
        assert [shapes[0][0] for shapes in fitted.asked] == [len(LESSONS), 1]  # what was there is not placed again
