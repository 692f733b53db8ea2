"""A map of what encoders see finds patterns, and errors of two kinds are two lessons."""

from collections.abc import Sequence

import numpy as np
import pytest

from backwards import Backwards
from phronesis.experience import event_embeddings
from phronesis.experience.event_embeddings import PARTS
from phronesis.experience.laws.records import PATTERN, Pattern
from phronesis.memory import Memory
from phronesis.models.embedder import Floats, HashingEmbedder
from phronesis.models.embedders import Embedders

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


def ingested(memory: Memory, *events: dict[str, str]) -> dict[str, str]:
    """Ingest failures and aggregate; gives the reference of each event by its id."""
    found = memory.ingest([{"label": "failure", **event} for event in events])
    memory.flush()
    memory.aggregate()
    return {event.id: str(event.source_ref) for event, _ in found}


def patterns(memory: Memory, refs: dict[str, str]) -> list[list[str]]:
    """Give the references of the members of each pattern, in order."""
    held = [memory.get(item.id) for item in memory.get_all(kinds=[PATTERN])]
    return sorted(sorted(refs[one] for one, _ in each.members) for each in held if isinstance(each, Pattern))


class Lean:
    """Puts everything that is said of one file in one place, as encoders nearly do."""

    FULL = ("Queue/Basic.lean",)
    name, dimension, prefix_scheme = "lean-1", 256, "none"

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        places = [0 if any(one in text for one in self.FULL) else 1 + sum(text.encode()) % 255 for text in texts]
        return np.eye(self.dimension, dtype=np.float32)[places]

    def embed_query(self, text: str) -> Floats:
        vector: Floats = self.embed_documents([text])[0]
        return vector


def test_errors_of_two_kinds_are_two_lessons_however_alike_they_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    log = "\n".join(
        f"error: Queue/Basic.lean:{line}:2: {said}"
        for line, said in enumerate(["type mismatch", "maximum recursion depth has been reached"] * 2, start=14)
    )
    embedders = Embedders(Lean(), beside=Backwards())
    monkeypatch.setattr("phronesis.models.embedders.load_embedders", lambda _: embedders)
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
        self.placed = 0

    def of(self, seen: Sequence[Floats]) -> Floats:
        assert len(seen) == 2 * len(PARTS)  # each part by each encoder
        alike = (seen[list(PARTS).index("result")] @ self.full.T).max(axis=1) > 0.99
        places = np.where(alike, 0, 1 + self.placed + np.arange(len(alike)))
        self.placed += len(alike)
        rows: Floats = np.eye(self.dimension, dtype=np.float32)[places]
        return rows


@pytest.fixture
def fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    own, beside = HashingEmbedder(), Backwards()
    monkeypatch.setattr("phronesis.models.embedders.load_embedders", lambda _: Embedders(own, beside=beside))
    one = ByResult(own)
    monkeypatch.setattr(event_embeddings, "map_for", lambda names: one if names == [own.name, beside.name] else None)


@pytest.mark.usefixtures("fitted")
def test_what_a_map_of_lessons_puts_in_one_place_is_one_pattern() -> None:
    with Memory.open("sqlite://", tenant="acme") as memory:
        refs = ingested(memory, *LESSONS)
        assert patterns(memory, refs) == [["a", "b"]]
        refs |= ingested(memory, LATER)
        assert patterns(memory, refs) == [["a", "b", "e"]]
