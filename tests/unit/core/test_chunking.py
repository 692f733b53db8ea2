"""Chunks cover their text, in order, within their limit, and end where the text has a border."""

from phronesis.resources.laws.outline import chunks_of


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
