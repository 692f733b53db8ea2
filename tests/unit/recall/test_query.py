"""Reading a question: names, times, window, and one encoding for two stores."""

from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.results import Degraded
from phronesis.core.retrieval_plan import TimeWindow
from phronesis.errors import AnswerRejected, ModelError, ModelRefused, ModelUnavailable
from phronesis.index.tokens import term_hash, tokenize
from phronesis.memory import Memory
from phronesis.models.embedders import PAUSE_SECONDS, Embedders
from phronesis.recall.hits import deduplicate_messages
from phronesis.recall.query import (
    Encodings,
    SearchOptions,
    mentioned_items,
    named_in,
    names_in,
    read_question,
    remove_names,
    spoken_names,
)
from phronesis.recall.scoring.signals import DayRange

NOW = datetime(2026, 11, 22, tzinfo=UTC)


def test_speakers_names_are_found_and_cut() -> None:
    cases: list[tuple[str, set[str], set[str], str]] = [
        ("What did Ana's dog do?", {"ana"}, {"ana"}, "What did   dog do?"),
        ("Is Anabel here?", {"ana"}, set(), "Is Anabel here?"),
        ("李娜上个月去哪儿了？", {"李娜", "周航"}, {"李娜"}, " 上个月去哪儿了？"),
        ("Alice的生日", {"alice"}, {"alice"}, " 的生日"),
        ("did  mary   ann call", {"mary ann"}, {"mary ann"}, "did    call"),
    ]
    for text, names, held, rest in cases:
        assert spoken_names(text, names) == held
        assert " ".join(remove_names(text, held).split()) == " ".join(rest.split())


def test_terms_leave_the_speaker_out_unless_nothing_is_left() -> None:
    found = read_question("What does Ana drink?", speakers={"ana"}, now=NOW, days=())
    assert list(found.terms) == [term_hash(term) for term in tokenize("drink")]
    assert list(read_question("Ana?", speakers={"ana"}, now=NOW, days=()).terms) == [term_hash("ana")]


def test_in_a_talk_that_ended_long_ago_it_counts_from_its_end_too() -> None:
    days = [date(2023, 1, 1).toordinal(), date(2023, 9, 8).toordinal()]
    asked = read_question("上个月他去了哪儿？", speakers=(), now=NOW, days=days)
    assert DayRange(date(2023, 8, 1).toordinal(), date(2023, 8, 31).toordinal()) in asked.times


def test_what_adds_no_message_is_left_out() -> None:
    said = {"fact": {"m1"}, "both": {"m1", "m2"}, "stated": set[str]()}
    assert deduplicate_messages(["m1", "fact", "both", "m2", "stated"], said) == ["m1", "both", "stated"]
    assert deduplicate_messages(["fact", "m1", "m2"], said) == ["fact", "m2"]


POLICY = {"embedder": "none"}


def test_what_might_be_a_name_is_a_candidate() -> None:
    cases: list[tuple[str, set[str]]] = [
        ("What did Alice's sister say?", {"alice", "sister", "alice sister", "what did alice sister"}),
        ("Where is Ludwig van der Rohe?", {"ludwig van der rohe", "rohe"}),
        ("who wrote to bob@corp.com about src/main.py", {"bob@corp.com", "src/main.py"}),
        ("see https://Example.com/A?b=c now", {"https://example.com/a?b=c"}),
        ("我和Alice去北京了吗", {"alice", "北京"}),
        ("ＡＬＩＣＥ　ｂ", {"alice b"}),
    ]
    for text, names in cases:
        assert names <= names_in(text)


@given(st.text(st.characters(), max_size=100))
def test_any_question_gives_names_that_are_not_empty(text: str) -> None:
    assert "" not in names_in(text)


def found(memory: Memory, name: str) -> set[str]:
    with memory._runtime._components.database.transaction(memory.admin.tenant, "read") as unit:
        lane = unit.connection.exec_driver_sql("SELECT lane_id FROM lanes").scalar_one()
        ids = mentioned_items(unit, lane, named_in(unit, lane, {name}))
    return {memory.get(item).content for item in ids}


def alias(memory: Memory, subject: str, other: str) -> None:
    memory.add(f"{subject} is {other}", kind="fact", subject=subject, key="alias", value=other)


@pytest.mark.parametrize(
    "pairs",
    [
        [("Robert", "Bob"), ("Bob", "Bobby")],
        [("Bob", "Bobby"), ("Robert", "Bob")],
        [("Bob", "Bob"), ("Bob", "Robert"), ("Robert", "Bob"), ("Bobby", "Robert")],
    ],
)
def test_every_name_finds_what_any_name_is_in_whatever_order_they_came(pairs: list[tuple[str, str]]) -> None:
    with Memory.open("sqlite://", policy=POLICY) as memory:
        for name in ("Bob", "Bobby", "Robert"):
            memory.add(f"and then {name} sang")
        for subject, other in pairs:
            alias(memory, subject, other)
        for name in ("bob", "bobby", "robert"):
            assert {f"and then {each} sang" for each in ("Bob", "Bobby", "Robert")} <= found(memory, name)
        assert found(memory, "nobody") == set()
        assert found(memory, "") == set()
        assert memory.admin.rebuild(verify=True).equal


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
    known.mark_available(encoder)
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
    assert SearchOptions().window_bounds() is None
