"""Each thing once: by key, by message, by words; and what is a document's, and whose."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from found_evidence import candidate, memory, section
from phronesis.core.results import Evidence
from phronesis.recall.deduplication import Candidate, Fate, Text, site_of, without_duplicates

LONG = "Fill the kettle with vinegar and boil it twice to remove the limescale."
CHINESE = "每月用柠檬酸清洗水壶一次，可以去除水垢，然后用清水冲洗。"


def ranked(*found: Evidence) -> list[Candidate]:
    return [candidate(one, n + 1, 1.0 - n / 100) for n, one in enumerate(found)]


def names(kept: Sequence[Candidate]) -> list[str]:
    return [one.evidence.item.id for one in kept]


def told(dropped: Sequence[Fate]) -> list[tuple[str, str | None, str]]:
    return [(one.candidate.evidence.item.id, one.of, one.why["because"]) for one in dropped]


def test_one_key_is_shown_once() -> None:
    kept, dropped = without_duplicates(ranked(section(1), section(2), section(1, text="other words"), memory(1)))
    assert names(kept) == ["s1", "s2", "m1"]
    assert told(dropped) == [("s1", "mem:s1", "same key")]
    two, _ = without_duplicates(ranked(section(1, text=""), section(1, text="b b b", part="chunk:3000")))
    assert len(two) == 2


def test_a_memory_and_its_message_are_one() -> None:
    message = memory("message", kind="message", message_id="a", messages=["a"])
    kept, dropped = without_duplicates(ranked(memory(1, messages=["a", "b"]), message, memory(2, messages=["c"])))
    assert names(kept) == ["m1", "m2"]
    assert told(dropped) == [("mmessage", "mem:m1", "same message")]
    kept, _ = without_duplicates(ranked(message, memory(1, messages=["a", "b"])))
    assert names(kept) == ["mmessage", "m1"]


@pytest.mark.parametrize("words", [LONG, CHINESE])
def test_the_same_words_in_two_documents_are_shown_once(words: str) -> None:
    other = section(2, document="d2", text=f"  {words.upper()} \n")
    kept, dropped = without_duplicates(ranked(section(1, text=words), other))
    assert names(kept) == ["s1"]
    assert told(dropped) == [("s2", "mem:s1", "same words")]
    kept, dropped = without_duplicates(ranked(section(1, text=words, uri=None), other))
    assert names(kept) == ["s2"]
    assert told(dropped) == [("s1", "mem:s2", "same words")]


def test_a_section_stands_for_the_message_that_quotes_it_at_its_place() -> None:
    kept, dropped = without_duplicates(ranked(memory(1, text=LONG), memory(2), section(1, text=LONG)))
    assert names(kept) == ["s1", "m2"]
    assert kept[0].relevance == 1.0
    assert told(dropped) == [("m1", "mem:s1", "same words")]
    first, _, last = ranked(memory(1, text=LONG), memory(2), section(1, text=LONG))
    kept, _ = without_duplicates([replace(first, judged=0.9), replace(last, judged=0.4)])
    assert kept[0].judged == 0.9


@given(st.text(max_size=300))
def test_any_text_can_be_compared(text: str) -> None:
    assert isinstance(Text(text).repeats(Text(LONG)), bool)
    assert isinstance(Text(LONG).repeats(Text(text)), bool)


def test_whose_a_document_is() -> None:
    cases: list[tuple[str, str | None]] = [
        ("https://www.a.example/b?c", "a.example"),
        ("file:///manuals/kettle/one.md", "/manuals/kettle"),
        ("C:\\manuals\\one.md", "\\manuals".replace("\\", "/")),
        ("mailto:a@b.example", None),
        ("http://[bad", None),
    ]
    for uri, site in cases:
        assert site_of(uri) == site, uri


@given(st.text(max_size=200))
def test_any_address_can_be_read(uri: str) -> None:
    site = site_of(uri)
    assert site is None or site
