"""What is invisible goes, what looks like our markup does not stay so, and everything else stays."""

import re
import unicodedata

from hypothesis import given as drawn
from hypothesis import strategies as st

from phronesis.core.text import PLACE_LENGTH, TITLE_LENGTH, clean, escape_citations, label, name_of, place, title
from unit.compose.drawn import TEXTS


def test_clean() -> None:
    cases: list[tuple[str, str]] = [
        ("a\r\nb\rc\u2028d\x85e", "a\nb\nc\nd\ne"),
        ("a\x1b[2Jb\x07", "a[2Jb"),
        ("\u202eabc\u202c\u2066d\u2069", "abcd"),
        ("NUL \x00 and half \ud83d", "NUL � and half �"),
        ("1 < 2, <b>bold</b> <memo> a<b", "1 < 2, <b>bold</b> <memo> a<b"),
        ("</memory-123456789>", "&lt;/memory-123456789>"),
        ("＜／ｍｅｍｏｒｙ＞", "&lt;／ｍｅｍｏｒｙ＞"),
        ("<m\u200dem\ufe0fory> <\u3164/turn>", "&lt;m\u200dem\ufe0fory> &lt;\u3164/turn>"),
        ("<<SYS>> </s> <s> <span>", "&lt;&lt;SYS>> &lt;/s> &lt;s> <span>"),
        ("[INST] [/ＩＮＳＴ] [instant] [TOOL_CALLS]", "&#91;INST] &#91;/ＩＮＳＴ] [instant] &#91;TOOL_CALLS]"),
        ("<|im_end|><start_of_turn>", "&lt;|im_end|>&lt;start_of_turn>"),
    ]
    for given, shown in cases:
        assert clean(given) == shown


def test_only_we_cite() -> None:
    cases: list[tuple[str, str]] = [
        ("see [mem:1] and [memo: x]", "see [quoted mem:1] and [memo: x]"),
        ("［ＭＥＭ：1］【mem : 2】", "[quoted mem:1］[quoted mem: 2】"),
        ("[abc: 1]", "[abc: 1]"),
        ("[m\u200dem:1] ﹇mem︓2] [mem⩴3", "[quoted mem:1] [quoted mem:2] [quoted mem:3"),
    ]
    for given, shown in cases:
        assert escape_citations(given) == shown


def test_a_label_is_one_short_line_without_marks() -> None:
    assert label("Anna  (admin)\n[mem:1] <x>; 小明") == "Anna admin mem 1 x 小明"
    assert label("x" * 1_000) == "x" * 40
    assert label("\u202e<>") == ""
    assert label("＜m(emory-1＞") == "&lt;m emory-1＞"  # what is left of a mark is looked at too


def test_an_address_is_one_short_line_without_marks_but_slashes() -> None:
    cases: list[tuple[str, str]] = [
        ("file:///srv/%E6%8E%A5%E5%8F%A3%20(neu).md", "/srv/接口 neu .md"),
        ("https://example.com/a?b=c", "example.com/a?b c"),
        ("x/[mem:1] (2026-01-01, user)\n\n# System", "x/ mem 1 2026-01-01 user System"),
        ("％［mem：1］", "％[quoted mem:1］"),
        ("%5Bmem%3A1%5D%3C/memory-1%3E", "mem 1 /memory-1"),
        ("system", ""),
        ("us*er", ""),
    ]
    for address, shown in cases:
        assert place(address) == shown


@drawn(st.lists(TEXTS, max_size=6))
def test_titles_are_bounded_and_cite_nothing(names: list[str]) -> None:
    shown = title(names)
    assert len(shown) <= TITLE_LENGTH + 2 * len("[quoted mem:")
    assert "\n" not in shown
    assert escape_citations(clean(shown)) == shown


def test_nobody_has_a_role_for_a_name() -> None:
    cases: list[str] = ["system", "ＳＹＳＴＥＭ", "Sys\u200dtem", " user ", "Admin", "系统", "管理員"]
    for role in cases:
        assert name_of(role) == ""
        assert name_of(f"Anna {role}")


BETWEEN = re.compile("[\\s\u034f\u061c\u115f\u1160\u17b4\u17b5\u200b-\u200f\u2060-\u206f\u3164\ufe00-\ufe0f\uffa0]")
OURS = st.text("<[＜［/mem:turnINST|> \u200d\u3164-1]", max_size=20)


def as_read(text: str) -> str:
    """What a model may make of a text: whatever its width and case, without what is between letters."""
    return unicodedata.normalize("NFKC", BETWEEN.sub("", text)).casefold()


@drawn(st.lists(TEXTS | OURS, max_size=4).map("".join))
def test_nothing_of_ours_can_be_written_from_inside(text: str) -> None:
    shown = as_read(escape_citations(clean(text)))
    assert not re.search(r"\[m\d+\]", shown)
    for ours in ("<memory", "</memory", "<turn", "</turn", "<|", "[mem:", "[inst]", "[/inst]", "<<sys>>", "</s>"):
        assert ours not in shown


def test_a_long_address_keeps_its_host_and_its_file() -> None:
    long = place("https://kb.example.com/" + "folder/" * 10_000 + "the-manual.html")
    assert long.startswith("kb.example.com/folde…")
    assert long.endswith("/folder/the-manual.html")
    assert len(long) == PLACE_LENGTH
    assert place("file:///" + "%E6%B1%89" * 5_000 + ".md").endswith("汉.md")


def test_a_title_and_headings_are_one_line_the_last_heading_always_there() -> None:
    assert title(["Pump manual", "Pump manual", "Resetting"]) == "Pump manual › Resetting"
    assert title(["接口规范", "超时"]) == "接口规范 › 超时"
    assert title(["A" * 90, "B" * 90, "C" * 90]) == f"{'A' * 40} › {'C' * 40}"
    assert title(["a", "b" * 40, "c" * 40, "d"]) == f"a › {'c' * 40} › d"
    assert title(["</memory-1>\n[mem:1]", "（x）"]) == "memory-1 mem 1 › （x）".replace(
        "memory-1", "/memory-1"
    ).replace("/", "")
    assert (title(["System"]), title(["Manual", "User"]), title([])) == ("", "Manual › User", "")
