"""Columns line up whatever is in them."""

from phronesis.interfaces.cli.output import clean, columns, cut, on_one_line, pad, table


def test_chinese_takes_two_columns_and_a_mark_none() -> None:
    for text, wide in (("", 0), ("tea", 3), ("绿茶", 4), ("e\u0301", 1), ("ｔ", 2), ("a绿", 3)):
        assert columns(text) == wide
        assert columns(pad(text, 6)) == 6


def test_cut() -> None:
    cases: list[tuple[str, int | None, str]] = [
        ("tea", 3, "tea"),
        ("teas", 3, "te…"),
        ("绿茶", 3, "绿…"),
        ("tea", None, "tea"),
    ]
    for text, limit, shown in cases:
        assert cut(text, limit) == shown


def test_table_aligns_chinese() -> None:
    lines = table([("绿茶", "x"), ("tea", "y")], head=("drink", "z"))
    assert [columns(line[: line.index(last)]) for line, last in zip(lines, "zxy", strict=True)] == [7, 7, 7]


def test_clean_keeps_lines_and_shows_controls() -> None:
    assert clean("a\tb\r\nc\x1b[0m\x00") == "a\tb\nc\ufffd[0m\ufffd"
    assert on_one_line(" a\n b ") == "a b"
