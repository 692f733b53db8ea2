"""An encoder beside the tenant's own makes vectors of experience, and of nothing else; searches never see them."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from backwards import Backwards
from phronesis.experience.laws.records import PATTERN, Pattern
from phronesis.index.vectorizer import Vectorizer
from phronesis.memory import Memory
from phronesis.models.embedder import HashingEmbedder
from phronesis.models.embedders import Embedders
from phronesis.store.documents import count_without_vector, read_vectors
from phronesis.store.lanes import active_model, list_lanes

EVENTS = [
    {
        "attempt": f"Ran the layer build on runner {n}",
        "result": "No space left on device",
        "label": "failure",
        "source_ref": f"log:{n}",
    }
    for n in range(3)
]


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open("sqlite://", tenant="acme", policy={"embedder": "none"}) as opened:
        opened.add("I like tea", user_id="u", infer=False)
        opened.ingest(EVENTS)
        yield opened


def vectors_of(memory: Memory, model: str) -> dict[str, np.ndarray[Any, Any]]:
    with memory.admin.components.database.transaction("acme", "read") as unit:
        return {
            row.document_id: row.embedding
            for lane in list_lanes(unit)
            for row in read_vectors(unit, lane.lane_id, model)
        }


def test_events_get_vectors_of_both_and_the_rest_of_the_own_one(memory: Memory) -> None:
    own, beside = HashingEmbedder(), Backwards()
    vectorizer = Vectorizer(memory.admin.components.database, Embedders(own, beside=beside))
    made = vectorizer.run("acme")
    by_own, by_beside = vectors_of(memory, own.name), vectors_of(memory, beside.name)
    assert made == len(by_own) + len(by_beside)
    assert by_beside.keys() < by_own.keys()
    assert len(by_beside) == 3 * len(EVENTS)  # the whole, what was tried, what came of it
    with memory.admin.components.database.transaction("acme", "read") as unit:
        assert active_model(unit) == (own.name, own.dimension)
        assert count_without_vector(unit, own.name) == 0
    assert vectorizer.run("acme") == 0


class Knowing(HashingEmbedder):
    """Takes texts that speak of one thing for the same, whatever their words; others as the hashing encoder does."""

    @property
    def name(self) -> str:
        return "knowing-1"

    def embed_documents(self, texts: Sequence[str]) -> Any:
        meant = {"disk": "no room is left", "volume": "no room is left"}
        return super().embed_documents(
            [next((what for word, what in meant.items() if word in text), text) for text in texts]
        )


LESSONS = [
    {"attempt": "Unpacked big layers, disk full", "label": "failure", "source_ref": "a"},
    {"attempt": "Unpacked the archive, the volume was exhausted", "label": "failure", "source_ref": "b"},
    {"attempt": "Asked for a discount too early", "label": "failure", "source_ref": "c"},
]


@pytest.mark.parametrize(("beside", "found"), [(None, []), (Knowing(), [["a", "b"]])])
def test_events_are_compared_by_both(
    monkeypatch: pytest.MonkeyPatch, beside: Knowing | None, found: list[list[str]]
) -> None:
    monkeypatch.setattr(
        "phronesis.models.embedders.load_embedders", lambda _: Embedders(HashingEmbedder(), beside=beside)
    )
    with Memory.open("sqlite://", tenant="acme") as memory:
        refs = {event.id: str(event.source_ref) for event, _ in memory.ingest(LESSONS)}
        memory.flush()
        memory.aggregate()
        patterns = [memory.get(item.id) for item in memory.get_all(kinds=[PATTERN])]
        members = [sorted(refs[one] for one, _ in held.members) for held in patterns if isinstance(held, Pattern)]
        assert members == found
        assert memory.admin.rebuild(verify=True).equal
