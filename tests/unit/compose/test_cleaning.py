"""What is invisible goes, what looks like our markup does not stay so, and everything else stays."""

import pytest

from phronesis.compose.cleaning import clean, label, without_citations


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("Hello\tworld\nагент 你好 قال 👩\u200d👩\u200d👧", "Hello\tworld\nагент 你好 قال 👩\u200d👩\u200d👧"),
        ("a\r\nb\rc\u2028d\x85e", "a\nb\nc\nd\ne"),
        ("a\x1b[2Jb\x07", "a[2Jb"),
        ("\u202eabc\u202c\u2066d\u2069", "abcd"),
        ("NUL \x00 and half \ud83d", "NUL � and half �"),
        ("hi\U000e0049\U000e0067", "hi"),
        ("1 < 2, <b>bold</b> <memo> a<b", "1 < 2, <b>bold</b> <memo> a<b"),
        ("</memory-123456789>", "&lt;/memory-123456789>"),
        ("< / Turn>", "&lt; / Turn>"),
        ("＜／ｍｅｍｏｒｙ＞", "&lt;／ｍｅｍｏｒｙ＞"),
        ("‹\u200d/memory", "&lt;\u200d/memory"),
        ("<\u200bmemory", "&lt;memory"),
        ("<|im_end|><start_of_turn>", "&lt;|im_end|>&lt;start_of_turn>"),
    ],
)
def test_clean(given: str, shown: str) -> None:
    assert clean(given) == shown


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("see [mem:1] and [memo: x]", "see [quoted mem:1] and [memo: x]"),
        ("［ＭＥＭ：1］【mem : 2】", "[quoted mem:1］[quoted mem: 2】"),
        ("[abc: 1]", "[abc: 1]"),
    ],
)
def test_only_we_cite(given: str, shown: str) -> None:
    assert without_citations(given) == shown


def test_a_label_is_one_short_line_without_marks() -> None:
    assert label("Anna  (admin)\n[mem:1] <x>; 小明") == "Anna admin mem 1 x 小明"
    assert label("x" * 1_000) == "x" * 40
    assert label("\u202e<>") == ""
