"""How a question is searched: wordings, names, a window and modes, and one encoding for two stores."""

from datetime import UTC, datetime
from typing import Any

import numpy as np

from phronesis.core.results import Degraded
from phronesis.core.retrieval_plan import TimeWindow
from phronesis.errors import AnswerRejected, ModelError, ModelRefused, ModelUnavailable
from phronesis.index.tokens import term_hash
from phronesis.models.embedders import PAUSE_SECONDS, Embedders
from phronesis.recall.query import Encodings, SearchOptions, read_question
from phronesis.recall.scoring.signals import DayRange

DAY = datetime(2026, 5, 1, tzinfo=UTC)
NEXT = datetime(2026, 5, 2, tzinfo=UTC)


class Encoder:
    name = "test/1"
    dimension = 2

    def __init__(self, *, fault: ModelError | None = None) -> None:
        self.fault = fault
        self.asked: list[str] = []

    def embed_query(self, text: str) -> Any:
        self.asked.append(text)
        if self.fault is not None:
            raise self.fault
        return np.ones(2, np.float32)


def test_a_question_is_encoded_once_a_call_where_meaning_is_asked_for() -> None:
    encoder: Any = Encoder()
    known = Embedders(encoder)
    manner = SearchOptions(encodings=Encodings())
    first, _ = manner.encoded(known, encoder, "tea?")
    again, told = SearchOptions(encodings=manner.encodings).encoded(known, encoder, "tea?")
    assert first is again
    assert told == ()
    assert encoder.asked == ["tea?"]
    manner.encoded(known, encoder, "coffee?")
    SearchOptions().encoded(known, encoder, "tea?")
    assert encoder.asked == ["tea?", "coffee?", "tea?"]

    assert SearchOptions().encoded(known, None, "tea?") == (None, ())
    assert SearchOptions(modes=("exact",)).encoded(known, encoder, "tea?") == (None, ())
    assert len(encoder.asked) == 3


GONE = ModelUnavailable("gone")


def test_a_question_that_is_not_to_be_had_is_asked_once_a_call() -> None:
    for fault in (GONE, ModelRefused("too long", field="parameters"), AnswerRejected("a page")):
        encoder: Any = Encoder(fault=fault)
        known, encodings = Embedders(encoder), Encodings()
        for _ in range(3):
            vector, told = SearchOptions(encodings=encodings).encoded(known, encoder, "tea?")
            assert (vector, told) == (None, (Degraded("embed", fault.code, "words", "test/1"),))
        assert encoder.asked == ["tea?"]


def test_an_encoder_that_was_not_reached_is_left_alone_for_a_while() -> None:
    now = [100.0]
    encoder: Any = Encoder(fault=GONE)
    known = Embedders(encoder, seconds=lambda: now[0])
    away = (Degraded("embed", "model.unavailable", "words", "test/1"),)
    for text in ("tea?", "coffee?", "milk?"):
        assert SearchOptions().encoded(known, encoder, text) == (None, away)
    assert encoder.asked == ["tea?"]
    encoder.fault = None
    known.reached(encoder)
    assert SearchOptions().encoded(known, encoder, "tea?")[1] == ()
    encoder.fault = GONE
    assert SearchOptions().encoded(known, encoder, "coffee?") == (None, away)
    encoder.fault = None
    assert SearchOptions().encoded(known, encoder, "coffee?") == (None, away)
    now[0] += PAUSE_SECONDS
    vector, told = SearchOptions().encoded(known, encoder, "milk?")
    assert vector is not None
    assert told == ()


def test_a_window_is_the_time_and_its_words_are_no_terms() -> None:
    manner = SearchOptions(window=TimeWindow(DAY, NEXT, "last Friday"))
    found = read_question("What tea last Friday or in 2020?", speakers=(), now=NEXT, days=(), manner=manner)
    assert found.times == [DayRange(DAY.toordinal(), DAY.toordinal())] == [found.window]
    assert list(found.terms) == [term_hash("tea"), term_hash("2020")]
    bare = SearchOptions(window=TimeWindow(DAY, NEXT))
    assert bare.words_of("tea last Friday") == "tea last Friday"
    assert SearchOptions().stretch() is None
