"""Reading a question: names cut out of it, and the times that it names."""

from datetime import UTC, date, datetime

from phronesis.index.tokens import term_hash, tokenize
from phronesis.recall.hits import deduplicate_messages
from phronesis.recall.scoring.signals import DayRange
from phronesis.recall.search_options import read_question, spoken_names, without_names

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
