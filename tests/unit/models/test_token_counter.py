"""The byte bound bounds, the o200k count is exact, and neither raises."""

import sys
import unicodedata
from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.errors import MissingExtra
from phronesis.models import token_counter
from phronesis.models.token_counter import (
    PIECE_CHARACTERS,
    WINDOW,
    ByteBound,
    CachedCounts,
    O200k,
    TokenCounter,
    load_token_counter,
)

ANY_TEXT = st.text(st.characters(), max_size=80)


@lru_cache
def o200k() -> O200k:
    return O200k()


@given(text=ANY_TEXT)
def test_the_exact_count_never_exceeds_the_bound(text: str) -> None:
    assert o200k().count(text) <= ByteBound().count(text)


@given(text=ANY_TEXT)
def test_the_bound_covers_bytes_before_and_after_nfkc(text: str) -> None:
    clean = "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)
    expected = max(len(clean.encode()), len(unicodedata.normalize("NFKC", clean).encode())) + bool(clean)
    assert ByteBound().count(text) == expected


@given(
    text=st.text(
        st.characters(categories=["L", "M"], exclude_characters="Aa"), min_size=WINDOW - 20, max_size=3 * WINDOW
    )
)
def test_the_bound_holds_across_windows(text: str) -> None:
    assert ByteBound().count(text) > len(unicodedata.normalize("NFKC", text).encode())


@pytest.mark.parametrize("counter", [ByteBound(), O200k()], ids=["bytes", "o200k"])
def test_no_text_raises(counter: TokenCounter) -> None:
    assert isinstance(counter, TokenCounter)
    for text in ("<|endoftext|>", "\ud800", "\udc00\ud800", "\x00", "\ufdfa", "🎉" * 100, "\u0300" * 1000):
        assert counter.count(text) >= 1
    assert counter.count("") == 0


def test_a_long_text_is_counted_in_pieces_without_changing_the_count() -> None:
    cases: list[str] = [
        "The cat sat_\non the mat, didn't it?  2024 was fine.\n\n",
        "今天天气很好，我们去公园。\n",
        "camelCase HTTPServer² ½ x\t\n/path ",
    ]
    for part in cases:
        text = part * (3 * PIECE_CHARACTERS // len(part))
        assert o200k().count(text) == len(o200k()._encoding.encode_ordinary(text))


def test_a_stretch_without_a_cut_counts_as_bytes_and_the_rest_exactly() -> None:
    stretch = "!" * (PIECE_CHARACTERS + 10)
    assert o200k().count(stretch) == len(stretch)
    assert o200k().count(f"{stretch}a tail") == len(stretch) + 1 + o200k().count(" tail")
    assert o200k().count("ab" * 600_000) == 1_200_000


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bpe_openai", None)
    assert isinstance(load_token_counter("auto"), ByteBound)
    with pytest.raises(MissingExtra, match=r'pip install "phronesis\[tokens\]"') as caught:
        load_token_counter("o200k")
    assert caught.value.field == "token_counter"


def test_counts_are_kept_without_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Noting(ByteBound):
        def count(self, text: str) -> int:
            asked.append(text)
            return super().count(text)

    monkeypatch.setattr(token_counter, "KEPT", 3)
    kept = CachedCounts(Noting())
    assert (kept.name, kept.exact) == ("bytes", False)
    assert [kept.count(text) for text in ("a", "\ud800", "zzzz", "a", "zzzz")] == [2, 4, 5, 2, 5]
    assert asked == ["a", "\ud800", "zzzz"]
    assert "zzzz" not in repr(vars(kept))
    assert [kept.count(text) for text in ("bb", "a")] == [3, 2]  # room was made
    assert asked[3:] == ["bb", "a"]
