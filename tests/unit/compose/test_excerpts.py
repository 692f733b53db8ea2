"""An excerpt keeps to its limit, holds what was found, and ends where a sentence or a word does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.compose.item_wording import excerpt
from phronesis.models.token_counter import ByteBound, O200k
from unit.compose.drawn import TEXTS

O200K = O200k().count
BYTES = ByteBound().count
ENGLISH = "".join(f"This is sentence number {number} of a long report. " for number in range(400))
CHINESE = "".join(f"这是报告的第{number}句话，内容很长。" for number in range(400))


@pytest.mark.parametrize("count", [O200K, BYTES], ids=["o200k", "bytes"])
@given(text=TEXTS, snippet=TEXTS, limit=st.integers(-2, 200))
def test_the_limit_is_kept(count: object, text: str, snippet: str, limit: int) -> None:
    counted = O200K if count is O200K else BYTES
    shown, cut = excerpt(text, snippet=snippet, limit=limit, count=counted)
    assert counted(shown) <= max(0, limit)
    assert cut or limit >= 0


def test_a_long_text_ends_with_a_sentence_and_uses_its_room() -> None:
    cases: list[tuple[str, str]] = [(ENGLISH, "report.…"), (CHINESE, "很长。…")]
    for text, end in cases:
        shown, cut = excerpt(text, limit=100, count=O200K)
        assert cut
        assert shown.endswith(end)
        assert text.startswith(shown[:-1])
        assert 70 <= O200K(shown) <= 100


def test_what_was_found_is_shown_from_the_start_of_its_sentence() -> None:
    cases: list[tuple[str, str, str]] = [
        (ENGLISH, "number 300 of", "…This is sentence number 300"),
        (CHINESE, "第300句", "…这是报告的第300句"),
    ]
    for text, snippet, start in cases:
        shown, _ = excerpt(text, snippet=snippet, limit=100, count=O200K)
        assert shown.startswith(start)
        assert snippet in shown


def test_a_stretch_that_was_found_is_shown_from_its_beginning() -> None:
    cases: list[tuple[str, str]] = [(ENGLISH, "This is sentence number 200 of"), (CHINESE, "这是报告的第200句话")]
    for text, sentence in cases:
        start = text.index(sentence)
        shown, cut = excerpt(text, snippet=f"…{text[start + 60 : start + 120]}…", start=start, limit=100, count=O200K)
        assert cut
        assert shown.startswith(f"…{sentence}")
        assert excerpt(text, snippet="nowhere", start=start, limit=100, count=O200K)[0] == shown
        assert excerpt(text, start=10**9, limit=100, count=O200K)[0].startswith(text[:20])


def test_words_are_kept_whole_where_no_sentence_ends_and_characters_where_no_word_does() -> None:
    shown, _ = excerpt("alpha beta gamma delta " * 100, limit=50, count=O200K)
    assert shown.rstrip("…").rpartition(" ")[2] in {"alpha", "beta", "gamma", "delta"}
    shown, _ = excerpt("e\u0301" * 500, limit=50, count=BYTES)
    assert shown[:-1].endswith("\u0301")
    shown, _ = excerpt("👩\u200d👩\u200d👧" * 50, limit=50, count=BYTES)
    assert shown[:-1].endswith(("👧", "👩\u200d👩\u200d👧"))
