"""Reading a question: names cut out of it, and the times that it names."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.index.tokens import term_hash, tokenize
from phronesis.memory import Memory
from phronesis.recall.hits import deduplicate_messages
from phronesis.recall.query import mentioned_items, named_in, names_in, read_question, spoken_names, without_names
from phronesis.recall.scoring.signals import DayRange

NOW = datetime(2026, 11, 22, tzinfo=UTC)


def stretch(first: date, last: date) -> DayRange:
    return DayRange(first.toordinal(), last.toordinal())


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
        assert " ".join(without_names(text, held).split()) == " ".join(rest.split())


def test_terms_leave_the_speaker_out_unless_nothing_is_left() -> None:
    found = read_question("What does Ana drink?", speakers={"ana"}, now=NOW, days=())
    assert list(found.terms) == [term_hash(term) for term in tokenize("drink")]
    assert list(read_question("Ana?", speakers={"ana"}, now=NOW, days=()).terms) == [term_hash("ana")]


def times(text: str, *days: date) -> list[DayRange]:
    return list(read_question(text, speakers=(), now=NOW, days=[day.toordinal() for day in days]).times)


def test_in_a_talk_that_ended_long_ago_it_counts_from_its_end_too() -> None:
    found = times("上个月他去了哪儿？", date(2023, 1, 1), date(2023, 9, 8))
    assert stretch(date(2023, 8, 1), date(2023, 8, 31)) in found


def test_what_adds_no_message_is_left_out() -> None:
    said = {"fact": {"m1"}, "both": {"m1", "m2"}, "stated": set[str]()}
    assert deduplicate_messages(["m1", "fact", "both", "m2", "stated"], said) == ["m1", "both", "stated"]
    assert deduplicate_messages(["fact", "m1", "m2"], said) == ["fact", "m2"]


# Who a question names, and what mentions them under any name.


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
