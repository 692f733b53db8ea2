"""Chunks cover their text, in order, within their limit, and end where the text has a border."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.errors import InputError
from phronesis.resources.laws.outline import LEAST_LIMIT, Chunk, chunks_of

PIECES = st.sampled_from(
    [
        "word ",
        "Sentence. ",
        "\n",
        "\n\n",
        "- entry\n",
        "| a | b |\n",
        "```\n",
        "~~~~\n",
        "    code = 1\n",
        "中文，",
        "句子。",
        "”",
        "x" * 40,
        "字" * 40,
        "\u3000",
        "\r\n",
        "1. one\n",
        "é",
        "𠀀",
        "!",
        "…",
    ]
)
TEXTS = st.one_of(st.text(max_size=400), st.lists(PIECES, max_size=60).map("".join))


@given(TEXTS, st.integers(LEAST_LIMIT, 200), st.data())
def test_chunks_cover_the_text_in_order_within_the_limit(text: str, limit: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, limit // 4))
    chunks = chunks_of(text, limit=limit, overlap=overlap)
    covered: set[int] = set()
    for chunk in chunks:
        assert 0 <= chunk.start < chunk.end <= len(text)
        assert chunk.end - chunk.start <= limit
        assert not text[chunk.start].isspace()
        assert not text[chunk.end - 1].isspace()
        covered.update(range(chunk.start, chunk.end))
    assert {n for n, char in enumerate(text) if not char.isspace()} <= covered
    for before, after in pairwise(chunks):
        assert before.start < after.start
        assert before.end < after.end
        assert before.end - after.start <= overlap


def test_a_short_text_is_one_chunk_and_nothing_gives_none() -> None:
    assert chunks_of("  A short text.\n") == [Chunk(2, 15)]
    assert chunks_of(" \n\t") == []


def test_sentences_are_cut_between_and_the_last_is_repeated() -> None:
    text = "One two three four. Five six. Seven eight nine ten."
    first, second = chunks_of(text, limit=40, overlap=10)
    assert text[first.start : first.end] == "One two three four. Five six."
    assert text[second.start : second.end] == "Five six. Seven eight nine ten."
    chinese = "系统每天备份一次。备份保存七天。过期的备份会被删除，无法恢复。"
    assert [chinese[c.start : c.end] for c in chunks_of(chinese, limit=40, overlap=0)] == [
        "系统每天备份一次。备份保存七天。",
        "过期的备份会被删除，无法恢复。",
    ]


def test_entries_of_a_list_are_kept_whole() -> None:
    text = "- first entry, that goes on\n  in a second line\n- second entry\n- third entry"
    assert [text[c.start : c.end] for c in chunks_of(text, limit=60, overlap=0)] == [
        "- first entry, that goes on\n  in a second line",
        "- second entry\n- third entry",
    ]


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


@pytest.mark.parametrize(("limit", "overlap", "field"), [(15, 0, "limit"), (40, 11, "overlap"), (40, -1, "overlap")])
def test_a_limit_that_cannot_be_kept_is_refused(limit: int, overlap: int, field: str) -> None:
    with pytest.raises(InputError) as refused:
        chunks_of("text", limit=limit, overlap=overlap)
    assert refused.value.field == field
