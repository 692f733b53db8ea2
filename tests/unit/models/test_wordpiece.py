"""Texts are cut as uncased BERT cuts them."""

import pytest

from phronesis.models.bert import MAX_WORD, WordPiece
from tiny_minilm import PIECES

TOKENIZER = WordPiece(PIECES)


def pieces(text: str) -> list[str]:
    begin, *within, end = TOKENIZER.numbers(text, longest=64)
    assert (PIECES[begin], PIECES[end]) == ("[CLS]", "[SEP]")
    return [PIECES[one] for one in within]


def test_words_are_cut_into_the_longest_pieces() -> None:
    cases: list[tuple[str, list[str]]] = [
        ("disks", ["disk", "##s"]),
        ("The Disk", ["t", "##h", "##e", "disk"]),
        ("full, disk's", ["full", ",", "disk", "'", "s"]),
        ("d\u00edsk \u00c9", ["disk", "e"]),
        ("disk盘full", ["disk", "盘", "full"]),
        ("d\0i\u200bsk\ufffd", ["disk"]),
        ("disk§ disk€ b", ["disk", "[UNK]", "[UNK]", "b"]),
        ("満 " + "a" * (MAX_WORD + 1), ["[UNK]", "[UNK]"]),
    ]
    for text, expected in cases:
        assert pieces(text) == expected


def test_the_end_stands_behind_what_is_read_of_a_long_text() -> None:
    numbers = TOKENIZER.numbers("disk " * 20, longest=5)
    assert [PIECES[one] for one in numbers] == ["[CLS]", "disk", "disk", "disk", "[SEP]"]


def test_it_gives_the_numbers_of_the_library_of_its_kind() -> None:
    library = pytest.importorskip("tokenizers", reason="it comes with the optional extras that tests install")
    theirs = library.BertWordPieceTokenizer({piece: n for n, piece in enumerate(PIECES)}, lowercase=True)
    for text in ["Disk's fullfully! (ÀÉ) ß", "盘disk 満\u3400", "a-b_c…“d” 'e' ½ €", "d\u00ads k\u200d", "ΑΣ İ ﬁ"]:
        assert TOKENIZER.numbers(text, longest=64) == theirs.encode(text).ids, text
