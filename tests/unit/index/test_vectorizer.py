"""Vectors are made batch after batch, and none that goes meanwhile is forgotten."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from phronesis.errors import AnswerRejected, ModelBudgetSpent, ModelError, ModelRefused, ModelUnavailable
from phronesis.index.vectorizer import BATCH, Vectorizer
from phronesis.memory import Memory
from phronesis.models.embedder import HashingEmbedder
from phronesis.models.embedders import Embedders
from phronesis.store.documents import count_without_vector, delete_vectors, documents_without_vector, read_vectors
from phronesis.store.lanes import list_lanes


class Watched(HashingEmbedder):
    """The hashing encoder; before the second batch it lets ``meanwhile`` happen."""

    memory: Memory
    batches: list[int]
    first: str

    def embed_documents(self, texts: Sequence[str]) -> Any:
        self.batches.append(len(texts))
        if len(self.batches) == 2:
            with self.memory.admin.components.database.transaction("acme", "derive") as unit:
                for lane in list_lanes(unit):
                    delete_vectors(unit, lane.lane_id, [self.first])
        return super().embed_documents(texts)


def test_a_vector_that_goes_while_others_are_made_is_made_again() -> None:
    encoder = Watched()
    with Memory.open("sqlite://", tenant="acme", policy={"embedder": "none"}) as memory:
        encoder.memory, encoder.batches = memory, []
        for n in range(2 * BATCH):
            memory.add(f"tea of number {n}", user_id="u", infer=False)
        database = memory.admin.components.database
        with database.transaction("acme", "read") as unit:
            [lane] = list_lanes(unit)
            waiting = documents_without_vector(unit, lane.lane_id, encoder.name, limit=3, entries=range(9))
            encoder.first = waiting[0].id
            later = documents_without_vector(
                unit, lane.lane_id, encoder.name, limit=3, entries=range(waiting[1].seq, 9)
            )
        assert [one.seq for one in waiting] == [1, 2, 3]
        assert later[:2] == waiting[1:]
        memory.admin.components.vectorizer.reembed("acme", encoder)
        assert encoder.batches == [BATCH, BATCH, 1]
        with database.transaction("acme", "read") as unit:
            assert count_without_vector(unit, encoder.name) == 0


def test_equal_texts_are_encoded_once_and_what_is_compared_in_one_call() -> None:
    encoder = Watched()
    encoder.batches = []
    with Memory.open("sqlite://", policy={"embedder": "none"}) as memory:
        encoder.memory = memory
        for n in range(4):
            memory.ingest({"attempt": f"raise the heat {n % 2}", "goal": "tea", "source_ref": f"note {n}"}, user_id="u")
        assert Vectorizer(memory.admin.components.database, Embedders(encoder)).run(memory.admin.tenant) == 12
    assert encoder.batches == [5], "two wholes, two attempts and a goal"


class Choosy(HashingEmbedder):
    """The hashing encoder at a server that takes no text of over ``most`` characters, and of some texts nothing."""

    def __init__(self, error: Exception, *, most: int = 1_500) -> None:
        super().__init__()
        self.error, self.most, self.calls = error, most, 0

    def embed_documents(self, texts: Sequence[str]) -> Any:
        self.calls += 1
        if any(len(text) > self.most or "unspeakable" in text for text in texts):
            raise self.error
        return super().embed_documents(texts)


TOO_LONG: list[ModelError] = [
    ModelRefused("too long", field="parameters", details={"status": 400}),
    ModelUnavailable("too long", details={"status": 500}),
    ModelBudgetSpent("too long", field="limits.tokens_per_call"),
    AnswerRejected("half an answer"),
]


@pytest.mark.parametrize("error", TOO_LONG, ids=lambda error: type(error).__name__)
def test_a_text_that_is_refused_costs_its_own_vector_alone(error: ModelError) -> None:
    encoder = Choosy(error)
    texts = {"first": "f", "long": "the kettle " * 300, "bad": "unspeakable", "other": "tea", "last": "coffee"}
    with Memory.open("sqlite://", tenant="acme", policy={"embedder": "none"}) as memory:
        for name, text in texts.items():
            memory.add(text, user_id="v" if name == "last" else "u", infer=False)
        database = memory.admin.components.database
        with database.transaction("acme", "read") as unit:
            lanes = [lane.lane_id for lane in list_lanes(unit)]
            waiting = {
                lane: documents_without_vector(unit, lane, encoder.name, limit=9, entries=range(9)) for lane in lanes
            }
        rows = {one.text: (lane, one.id) for lane, found in waiting.items() for one in found}
        vectorizer = Vectorizer(database, Embedders(encoder))
        assert vectorizer.run("acme") == 5
        with database.transaction("acme", "read") as unit:
            made = {
                name: read_vectors(unit, rows[text][0], encoder.name, [rows[text][1]])[0].embedding
                for name, text in texts.items()
            }
        encoder.calls = 0
        assert vectorizer.run("acme") == 0
        assert encoder.calls == 0
    assert not made.pop("bad").any()
    texts["long"] = texts["long"][:1_000]
    for name, vector in made.items():
        np.testing.assert_allclose(vector, HashingEmbedder().embed_query(texts[name]), atol=1e-3)


OF_ALL: list[ModelError] = [
    ModelRefused("no such key", field="api_key", details={"status": 401}),
    ModelUnavailable("gone"),
    ModelBudgetSpent("the day is over"),
    AnswerRejected("a page"),
]


@pytest.mark.parametrize("error", OF_ALL, ids=lambda error: type(error).__name__)
def test_what_refuses_every_text_sets_none_aside(error: ModelError) -> None:
    encoder = Choosy(error, most=0)
    with Memory.open("sqlite://", tenant="acme", policy={"embedder": "none"}) as memory:
        for user in ("u", "v"):
            memory.add("tea", user_id=user, infer=False)
        vectorizer = Vectorizer(memory.admin.components.database, Embedders(encoder))
        with pytest.raises(type(error), match=str(error)):
            vectorizer.run("acme")
        assert encoder.calls <= 2  # nothing is asked for the next lane
        encoder.most = 1_500
        assert vectorizer.run("acme") == 2


class Failing(HashingEmbedder):
    """The hashing encoder; a text about the kettle ends it."""

    error: Exception

    def embed_documents(self, texts: Sequence[str]) -> Any:
        if any("kettle" in text for text in texts):
            raise self.error
        return super().embed_documents(texts)


def test_a_lane_that_fails_does_not_stop_the_next() -> None:
    encoder = Failing()
    with Memory.open("sqlite://", tenant="acme", policy={"embedder": "none"}) as memory:
        for user, text in (("u", "the kettle"), ("v", "tea"), ("w", "coffee")):
            memory.add(text, user_id=user, infer=False)
        encoder.error = RuntimeError("out of range")
        vectorizer = Vectorizer(memory.admin.components.database, Embedders(encoder))
        for _ in range(2):  # the second run comes last to the lane that failed
            with pytest.raises(RuntimeError, match="out of range"):
                vectorizer.run("acme")
        with memory.admin.components.database.transaction("acme", "read") as unit:
            assert count_without_vector(unit, encoder.name) == 1
        memory.add("more coffee", user_id="w", infer=False)
        encoder.error = ModelUnavailable("too slow")  # which ends a run: the others go first
        with pytest.raises(ModelUnavailable):
            vectorizer.run("acme")
        with memory.admin.components.database.transaction("acme", "read") as unit:
            assert count_without_vector(unit, encoder.name) == 1
