"""Vectors are made batch after batch, and none that goes meanwhile is forgotten."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from phronesis.index.vectorizer import BATCH, Vectorizer
from phronesis.memory import Memory
from phronesis.models.embedders import Embedders
from phronesis.models.hashing_embedder import HashingEmbedder
from phronesis.storage.documents import count_without_vector, delete_vectors, documents_without_vector
from phronesis.storage.lanes import list_lanes


class Watched(HashingEmbedder):
    """The hashing encoder; before the second batch it lets ``meanwhile`` happen."""

    memory: Memory
    batches: list[int]
    first: str

    def embed_documents(self, texts: Sequence[str]) -> Any:
        self.batches.append(len(texts))
        if len(self.batches) == 2:
            with self.memory.stages.database.transaction("acme", "derive") as unit:
                for lane in list_lanes(unit):
                    delete_vectors(unit, lane.lane_id, [self.first])
        return super().embed_documents(texts)


def test_a_vector_that_goes_while_others_are_made_is_made_again() -> None:
    encoder = Watched()
    with Memory.open("sqlite://", tenant="acme", policy={"embedder": "none"}) as memory:
        encoder.memory, encoder.batches = memory, []
        for n in range(2 * BATCH):
            memory.add(f"tea of number {n}", user_id="u", infer=False)
        database = memory.stages.database
        with database.transaction("acme", "read") as unit:
            [lane] = list_lanes(unit)
            waiting = documents_without_vector(unit, lane.lane_id, encoder.name, limit=3)
            encoder.first = waiting[0].id
            later = documents_without_vector(unit, lane.lane_id, encoder.name, limit=3, begin=waiting[1].seq)
        assert [one.seq for one in waiting] == [1, 2, 3]
        assert later[:2] == waiting[1:]
        memory.stages.vectorizer.reembed("acme", encoder)
        assert encoder.batches == [BATCH, BATCH, 1]
        with database.transaction("acme", "read") as unit:
            assert count_without_vector(unit, encoder.name) == 0


class Noted(HashingEmbedder):
    """The hashing encoder, slowly; notes each text that it encodes."""

    texts: list[str]

    def embed_documents(self, texts: Sequence[str]) -> Any:
        self.texts += texts
        time.sleep(0.02)
        return super().embed_documents(texts)


def test_threads_that_make_vectors_share_the_work() -> None:
    encoder = Noted()
    encoder.texts = []
    with Memory.open("sqlite://", tenant="acme", policy={"embedder": "none"}) as memory:
        for n in range(3 * BATCH):
            memory.add(f"tea of number {n}", user_id="u", infer=False)
        vectorizer = Vectorizer(memory.stages.database, Embedders(encoder))
        with ThreadPoolExecutor(2) as threads:
            made = [one.result() for one in [threads.submit(vectorizer.run, "acme") for _ in range(2)]]
        assert sum(made) == 3 * BATCH
        assert sorted(encoder.texts) == sorted(set(encoder.texts))
