"""Another encoder, on a live store: searches never stop, and nobody mixes vectors of two models."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from phronesis.errors import InputError
from phronesis.memory import Memory
from phronesis.models.embedder import HashingEmbedder
from phronesis.store import schema
from phronesis.store.lanes import active_model
from phronesis.store.schema import MEMORY


class Folded(HashingEmbedder):
    """The hashing encoder with its features folded to fewer dimensions: another model, other vectors."""

    def __init__(self, dimension: int) -> None:
        self._size = dimension
        self.asked: list[str] = []

    @property
    def name(self) -> str:
        return f"folded-{self._size}"

    @property
    def dimension(self) -> int:
        return self._size

    def embed_documents(self, texts: Sequence[str]) -> Any:
        whole = super().embed_documents(texts)
        folded = whole.reshape(len(texts), -1, self._size).sum(axis=1)
        lengths = np.linalg.norm(folded, axis=1, keepdims=True)
        return np.divide(folded, lengths, out=folded, where=lengths > 0).astype(np.float32)

    def embed_query(self, text: str) -> Any:
        self.asked.append(text)
        return self.embed_documents([text])[0]


def models(memory: Memory) -> dict[str, int]:
    """Give how many vectors each model has."""
    with memory.admin.components.database.transaction(memory.admin.tenant, "read") as unit:
        kept = {row.model_id: 0 for row in unit.run(sa.select(schema.embedding_models.c.model_id))}
        query = sa.select(MEMORY.vectors.c.model_id, sa.func.count().label("n")).group_by(MEMORY.vectors.c.model_id)
        return kept | {row.model_id: row.n for row in unit.run(query)}


def active(memory: Memory) -> Any:
    with memory.admin.components.database.transaction(memory.admin.tenant, "read") as unit:
        return active_model(unit)


def filled(url: str, count: int = 40, **options: Any) -> Memory:
    memory = Memory.open(url, **({"embedder": HashingEmbedder()} | options))
    for n in range(count):
        memory.add(f"tea of number {n}", user_id=f"user-{n % 2}")
    memory.flush()
    return memory


def explained(memory: Memory, text: str = "tea") -> Any:
    return memory.search(text, user_id="user-1", explain=True).explain


def test_searches_and_writes_go_on_with_the_old_one_meanwhile(sqlite_url: str) -> None:
    halfway, go = threading.Event(), threading.Event()

    class Slow(Folded):
        def embed_documents(self, texts: Sequence[str]) -> Any:
            halfway.set()
            assert go.wait(20)
            return super().embed_documents(texts)

    with filled(sqlite_url) as memory:
        thread = threading.Thread(target=memory.admin.reembed, args=(Slow(64),))
        thread.start()
        assert halfway.wait(20)
        assert active(memory) == ("hashing-256-1", 256)
        for _ in range(3):
            assert explained(memory)["embedder"] == "hashing-256-1"
            assert "dense" in explained(memory)["channels"]
        memory.add("written meanwhile", user_id="user-1")
        assert memory.search("meanwhile", user_id="user-1")[0].item.content == "written meanwhile"
        go.set()
        thread.join(20)
        memory.flush()
        assert models(memory) == {"folded-64": 41}
        assert explained(memory)["embedder"] == "folded-64"


def test_a_reembed_that_was_killed_goes_on(sqlite_url: str) -> None:
    class Dying(Folded):
        batches = 0

        def embed_documents(self, texts: Sequence[str]) -> Any:
            self.batches += 1
            if self.batches == 2:
                raise KeyboardInterrupt
            return super().embed_documents(texts)

    with filled(sqlite_url, 80) as memory:
        with pytest.raises(KeyboardInterrupt):
            memory.admin.reembed(Dying(64))
        assert active(memory) == ("hashing-256-1", 256)
        assert explained(memory)["embedder"] == "hashing-256-1"
        made = memory.admin.reembed(Folded(64)).vectors
        assert 0 < made < 80
        assert models(memory) == {"folded-64": 80}


def test_the_model_of_one_tenant_is_not_that_of_another(sqlite_url: str) -> None:
    with filled(sqlite_url) as memory:
        other = memory.for_tenant("other")
        other.add("tea", user_id="user-1")
        other.flush()
        memory.admin.reembed(Folded(64))
        assert explained(other)["embedder"] == "hashing-256-1"
        assert "dense" in explained(other)["channels"]
        assert explained(memory)["embedder"] == "folded-64"
        other.add("more tea", user_id="user-1")
        other.flush()
        assert explained(other)["lanes"][0]["without_vector"] == 0


def test_what_is_no_encoder_is_refused(sqlite_url: str) -> None:
    cases: list[Any] = ["none", "novel", 3]
    with filled(sqlite_url, 1) as memory:
        for model in cases:
            with pytest.raises(InputError):
                memory.admin.reembed(model)
