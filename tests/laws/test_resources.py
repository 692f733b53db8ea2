"""Documents: chunks and sections cover the text within their limits, and a summary quotes."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phronesis.core.entries import ReadDocument, Section
from phronesis.errors import InputError
from phronesis.resources import laws as outline
from phronesis.resources.laws import (
    Chunk,
    Difference,
    Heading,
    Lines,
    SectionText,
    chunks_of,
    declared_title,
    difference,
    first_headings,
    has_words,
    plain_title,
    sections_of,
    summary_of,
)

TEXTS = st.text(st.sampled_from("ab .\n|`一。-"), max_size=200)


def pieces(text: str, limit: int = 16, overlap: int = 0) -> list[str]:
    return [text[one.start : one.end] for one in chunks_of(text, limit=limit, overlap=overlap)]


@settings(max_examples=40, deadline=None)
@given(TEXTS, st.integers(16, 40), st.integers(0, 4))
def test_chunks_cover_the_text_within_the_limit(text: str, limit: int, overlap: int) -> None:
    found = chunks_of(text, limit=limit, overlap=overlap)
    covered = {place for one in found for place in range(one.start, one.end)}
    assert covered >= {place for place, sign in enumerate(text) if not sign.isspace()}
    for one in found:
        part = text[one.start : one.end]
        assert part == part.strip() != ""
        assert len(part) + part.count("一") + part.count("。") <= limit
    for one, following in pairwise(found):
        assert one.start < following.start
        assert one.end - following.start <= overlap


@pytest.mark.parametrize(("limit", "overlap", "field"), [(15, 0, "limit"), (16, 5, "overlap"), (16, -1, "overlap")])
def test_limits_that_cannot_be_kept_are_refused(limit: int, overlap: int, field: str) -> None:
    with pytest.raises(InputError) as raised:
        chunks_of("x", limit=limit, overlap=overlap)
    assert raised.value.field == field
    assert chunks_of("x", limit=16, overlap=4) == [Chunk(0, 1)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("aaaaaaaa\n\nbb. cc dd ee ff", ["aaaaaaaa", "bb. cc dd ee ff"]),
        ("aaaaaaaa bb. cc ddd eee", ["aaaaaaaa bb.", "cc ddd eee"]),
        ("aaaaaaaa bb\ncc ddd eee", ["aaaaaaaa bb", "cc ddd eee"]),
        ("aaaaaaaa b. c\n- ddd eee", ["aaaaaaaa b. c", "- ddd eee"]),
        ("aaaaaaaa b. c\nddd eee", ["aaaaaaaa b.", "c\nddd eee"]),
        ("aaaaaaaaaaaaaaaaaaaa", ["a" * 16, "a" * 4]),
        ("aaaaaaaaaaaaaaa bbb", ["a" * 15, "bbb"]),
        ("aaa. bbbbbbbbbbbbbbbb", ["aaa. bbbbbbbbbbb", "bbbbb"]),
        ("一二三四五六七八九", ["一二三四五六七八", "九"]),
        ("a一二三四五六七八", ["a一二三四五六七", "八"]),
        ("a" * 16, ["a" * 16]),
        ("  a  ", ["a"]),
        ("```\naa. bbb\n```\ncccc", ["```\naa. bbb\n```", "cccc"]),
        ("~~~\naaa\n```\nbb\n~~~ cc", ["~~~\naaa\n```\nbb", "~~~ cc"]),
        ("| aaaaaaa. b |\n| cc |", ["| aaaaaaa. b |", "| cc |"]),
    ],
)
def test_a_chunk_ends_at_the_best_border_of_its_second_half(text: str, expected: list[str]) -> None:
    assert pieces(text) == expected


def test_a_chunk_repeats_whole_sentences_or_words_of_the_one_before() -> None:
    assert pieces("aaaa bbbb. c d eeee ffff gggg", 16, 4)[:2] == ["aaaa bbbb.", "c d eeee ffff"]
    assert pieces("aaaaaaaaaa bb ccccc dd", 16, 4) == ["aaaaaaaaaa bb", "bb ccccc dd"]
    assert pieces("aaaaaaaaaaa bb\n\nccccc dd", 16, 4) == ["aaaaaaaaaaa bb", "ccccc dd"]


def sections(text: str, *headings: tuple[int, str, int, int]) -> list[tuple[tuple[str, ...], str]]:
    found = sections_of(text, [Heading(*heading) for heading in headings])
    return [(one.path, text[one.start : one.end]) for one in found]


def test_sections_have_the_path_of_their_headings() -> None:
    text = "pre\nA\none\nB\ntwo\nC\n\n  three\n"
    given_headings = [(1, "A", 4, 6), (2, "B", 10, 12), (1, "C", 16, 18)]
    assert sections(text, *given_headings) == [
        ((), "pre"),
        (("A",), "one"),
        (("A", "B"), "two"),
        (("C",), "  three"),
    ]
    assert sections(text, (1, "A", 4, 6), (1, "", 10, 12))[-1][0] == ()
    assert sections("--", (1, "A", 0, 1)) == []
    assert sections("A\n--", (1, "A", 0, 2)) == [((), "A\n--")]
    deep = [(n, f"h{n}", n, n + 1) for n in range(1, 12)]
    assert len(sections("x" * 20, *deep)[-1][0]) == 8


def test_a_long_section_is_cut_and_too_many_headings_are_text(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(sections("a" * 4000)) == 1
    words = "word " * 1599
    assert [len(text) for _, text in sections(words)] == [len(words.strip())]
    assert len(sections("word " * 1601)) == 2
    code = "    x = 1\n" * 1000
    assert all(text.startswith("    x") for _, text in sections(code))
    monkeypatch.setattr(outline, "MAX_SECTIONS", 2)
    monkeypatch.setattr(outline, "MAX_HEADINGS", 3)
    text = "A\na\nB\nb\nC\nc"
    levels = [(1, "A", 0, 2), (2, "B", 4, 6), (1, "C", 8, 10)]
    assert [path for path, _ in sections(text, *levels)] == [("A",), ("C",)]
    assert [path for path, _ in sections(text, *((1, *rest) for _, *rest in levels))] == [("A",), ("B",)]  # type: ignore[arg-type]
    assert len(first_headings(Heading(1, "x", n, n) for n in range(9))) == 3


@pytest.mark.parametrize(
    ("written", "title"),
    [(" a \n b ", "a b"), ("x" * 200, "x" * 200), ("x" * 201, "x" * 199 + "…"), ("x " * 500, ("x " * 100)[:-1] + "…")],
)
def test_a_title_is_one_line_of_at_most_200_characters(written: str, title: str) -> None:
    assert plain_title(written) == title
    assert declared_title(written) == title
    assert declared_title("(anonymous)") == declared_title("Untitled Document 3") == ""
    assert has_words("- a")
    assert not has_words("- a", 0, 2)
    assert not has_words("a -", 1)


def document(title: str, *parts: tuple[str, ...]) -> ReadDocument:
    text, found = "", []
    for *path, own in parts:
        found.append(Section(tuple(path), len(text), len(text) + len(own)))
        text += own + "\n"
    return ReadDocument(text=text, title=title, sections=tuple(found), media_type="text/plain", made_by="test")


def test_a_summary_is_title_first_words_headings_and_beginnings() -> None:
    long = "This sentence is certainly long enough to add something."
    made = document(
        "Title", ("A", "First. Second."), ("A", "B", long + " More."), ("A", "C", "Short."), ("D", "| row |")
    )
    assert summary_of(made) == f"Title\nFirst. Second.\nA · B · C · D\nB: {long} More."
    assert summary_of(made, limit=20) == "Title\nFirst. Second."
    assert summary_of(made, limit=19) == "Title\nA · B · C · D"
    assert summary_of(made, limit=3) == "Tit"
    assert summary_of(document("", ("only prose",))) == "only prose"
    assert summary_of(document("", ("A", "x"), ("A", "B", "y"))) == "x\nB"
    assert summary_of(document("", ("A", "x"))) == "x\nA"


def test_the_parts_of_a_summary_are_cut_at_sentences() -> None:
    def first(text: str) -> str:
        return summary_of(document("", (text,)))

    assert first("a" * 400) == "a" * 400
    assert first("a" * 401) == "a" * 399 + "…"
    assert first("a" * 399 + ".") == "a" * 399 + "."
    assert first("One. " + "a" * 400) == "One."
    assert first("```\ncode\n```\nprose **bold** [link](x)\ngoes on\n\nnext") == "prose bold link goes on"
    assert first("| a |\n\nKey: value\n# h\ntext\n- x\n| b |") == "text - x"
    assert first("x" * 4000 + "y")[-1] == "…"

    def second(sentence: str) -> bool:
        return "\nB: " in summary_of(document("", ("A", "x"), ("B", sentence)))

    assert second("b" * 40)
    assert not second("b" * 39)
    cut = summary_of(document("", ("A", "x"), ("B", "b" * 201)))
    assert cut.endswith("B: " + "b" * 199 + "…")
    titles = [(f"{n:0100}", "x") for n in range(9)]
    assert summary_of(document("", *titles)).count(" · ") == 3
    exact = [("a" * 497, "x"), ("b", "x")]
    assert summary_of(document("", *exact)) == "x\n" + "a" * 497
    assert summary_of(document("", ("a" * 498, "x"))) == "x"


def test_code_is_cut_between_lines_and_only_where_nothing_else_is_left() -> None:
    code = "```\nalpha = 1. 5\n\nbeta = 2\n```\n"
    text = f"Words before the code.\n{code}\nWords."
    assert [text[c.start : c.end] for c in chunks_of(text, limit=40, overlap=0)] == [
        "Words before the code.",
        "```\nalpha = 1. 5\n\nbeta = 2\n```\n\nWords.",
    ]
    long = "```\n" + "some code here\n" * 5
    assert all(
        text.rstrip().endswith("here")
        for c in chunks_of(long, limit=40, overlap=10)
        for text in [long[c.start : c.end]]
    )
    assert len(chunks_of("```\n" + "x" * 100, limit=40, overlap=10)) == 3  # one line longer than a chunk


@given(st.text(max_size=300), st.data())
def test_sections_are_disjoint_and_in_order(text: str, data: st.DataObject) -> None:
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=20)))
    spans = zip(places[::2], places[1::2], strict=False)
    headings = [
        Heading(data.draw(st.integers(0, 4)), data.draw(st.text(max_size=5)), start, end) for start, end in spans
    ]
    found = sections_of(text, headings)
    assert bool(found) == any(char.isalnum() for char in text)
    end = 0
    for section in found:
        assert end <= section.start < section.end <= len(text)
        assert has_words(text, section.start, section.end)
        assert all(title.strip() == title != "" for title in section.path)
        end = section.end


@given(st.text(alphabet="a \n", max_size=40), st.data())
def test_lines_are_those_that_splitting_gives(text: str, data: st.DataObject) -> None:
    """Each word stands where counting line feeds before it says."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    first, last = Lines.of(text).between(start, end)
    words = text[start:end]
    if words.strip():
        assert first == text.count("\n", 0, start + len(words) - len(words.lstrip())) + 1
        assert last == first + words.strip().count("\n")


WORDS = st.builds(
    SectionText, path=st.lists(st.sampled_from("AB"), max_size=2).map(tuple), text=st.sampled_from(["", "x", "y", "z"])
)


def test_headings_say_which_section_was_rewritten() -> None:
    held = {"1": SectionText(("A",), "x"), "2": SectionText(("B",), "y")}
    same = SectionText(("A",), "x")
    assert difference(held, [same, SectionText(("B",), "z")]) == Difference({0: "1"}, {1: "2"})
    assert difference(held, [same, SectionText(("C",), "z")]) == Difference({0: "1"}, {}, ("2",))


@given(st.lists(WORDS, max_size=6), st.lists(WORDS, max_size=6))
def test_every_section_is_matched_at_most_once(old: list[SectionText], new: list[SectionText]) -> None:
    """Those held are kept, replaced or gone, each once; as many words as can be are kept."""
    held = {str(n): words for n, words in enumerate(old)}
    found = difference(held, new)
    used = [*found.kept.values(), *found.replaced.values(), *found.gone]
    assert sorted(used) == sorted(held)
    assert not found.kept.keys() & found.replaced.keys()
    assert all(held[one].text == new[n].text for n, one in found.kept.items())
    assert all(held[one].path == new[n].path for n, one in found.replaced.items())
    shared = sum(
        min(sum(w.text == t for w in old), sum(w.text == t for w in new)) for t in {w.text for w in (*old, *new)}
    )
    assert len(found.kept) == shared
