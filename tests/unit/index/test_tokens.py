"""The tokenizer's decisions, script by script, and its promises on any text."""

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import assert_linear, repeated
from phronesis.core.lexical_index import TERM_RECORD, unpack_terms
from phronesis.errors import InputError
from phronesis.index.tokens import pack_terms, question_terms, term_hash, tokenize, wholes

ANY_TEXT = st.text(st.characters(), max_size=60)  # lone surrogates and NUL too


def test_decisions() -> None:
    cases: list[tuple[str, list[str]]] = [
        ("The running shoes were his", ["run", "shoe"]),
        ("don't stop: it's snake_case v2.0!", ["stop", "snake", "case", "v2", "0"]),
        ("Ålice visited Łódź, Straße, œuvre", ["alic", "visit", "lodz", "strass", "oeuvr"]),
        ("１２３ＡＢＣ ﬁne", ["123abc", "fine"]),
        ("हिन्दी में। लिखा", ["हिन्दी", "में", "लिखा"]),
        ("用Python写代码", ["用", "python", "写代", "代码"]),
        ("ガギ ｶﾞｷﾞ", ["ガギ", "ガギ"]),
        ("한국어 문", ["한국", "국어", "문"]),
        ("party 🎉👩‍👩‍👧 1️⃣", ["parti", "1"]),
        ("a\ud800cat\x00dog", ["cat", "dog"]),
        ("the and of 的 了", []),
    ]
    for text, expected in cases:
        assert tokenize(text) == expected


def test_identifiers_and_emoji_are_terms_as_wholes() -> None:
    cases: list[tuple[str, list[str]]] = [
        ("Feature/Login-Fix.", ["feature/login-fix", "login-fix"]),
        ("v1.2.3 and/or C++, C#", ["v1.2.3", "c++", "c#"]),
        ("src\\app\\x.py std::sort", ["src/app/x.py", "x.py", "std::sort"]),
        ("bob.lee@corp.example.com", ["bob.lee@corp.example.com", "bob.lee", "corp.example.com"]),
        ("最后确认的是8套，用python-dev写v2.0版", ["8套", "python-dev", "v2.0"]),
        ("I love 🍣, 🇫🇷!", ["🍣", "🇫🇷"]),
        ("wait - what: no", []),
    ]
    for text, expected in cases:
        assert wholes(text) == expected


@given(text=ANY_TEXT)
def test_no_text_raises_and_no_token_is_glued(text: str) -> None:
    for token in tokenize(text):
        assert token
        assert not re.search(r"[\s_\x00]", token)
        assert not re.search(r"[a-z][\u4e00-\u9fff]|[\u4e00-\u9fff][a-z]", token)
        assert 0 <= term_hash(token) < 2**64


@given(text=ANY_TEXT | st.text("a1-./:@#+\\ 套🍣", max_size=40))
def test_no_whole_holds_a_space(text: str) -> None:
    for whole in wholes(text):
        assert whole
        assert not re.search(r"\s", whole)


@given(text=st.text(st.characters(max_codepoint=0x2FFF, categories=["L", "N", "Z", "P"]), max_size=40))
def test_case_and_a_neighbour_in_another_script_change_nothing(text: str) -> None:
    assert tokenize(f"{text} 猫") == [*tokenize(text), "猫"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("begin", "piece"),
    [("", "plain english words, "), ("", "今天天气很好我们去公园散步吧"), ("a", "\u0315\u0300"), ("", "a/b-")],
    ids=["english", "chinese", "marks", "levels"],
)
def test_the_time_goes_with_the_length(begin: str, piece: str) -> None:
    assert_linear(lambda text: question_terms(begin + text), repeated(piece), 400_000)


def test_hashes_are_the_same_on_every_machine() -> None:
    assert term_hash("memory") == 0xE8A0B2FC89DDFBBA
    assert term_hash("\ud800") != term_hash("\ud801")


@given(words=st.lists(st.sampled_from(["cat", "dog", "猫狗", "é"]), max_size=30))
def test_packing_keeps_every_frequency_sorted_by_hash(words: list[str]) -> None:
    blob = pack_terms(words)
    records = unpack_terms(blob)
    assert len(blob) == 10 * len(set(words))
    assert records.dtype == TERM_RECORD
    assert records["term"].tolist() == sorted(records["term"].tolist())
    assert int(records["tf"].sum()) == len(words)
    assert dict(records.tolist()) == {term_hash(word): count for word, count in Counter(words).items()}


def test_a_frequency_saturates() -> None:
    assert unpack_terms(pack_terms(["cat"] * 70_000))["tf"].tolist() == [65_535]
    assert unpack_terms(b"").shape == (0,)
    assert np.dtype(TERM_RECORD).itemsize == 10


def test_a_torn_blob_is_refused() -> None:
    with pytest.raises(InputError, match="rebuild"):
        unpack_terms(b"\x00" * 11)
