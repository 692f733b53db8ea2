"""The shelf: forms are known, bytes decoded, and what nobody can read refused; any text gives lawful sections."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import assert_linear, repeated
from phronesis.errors import InputError
from phronesis.resources.readers import port
from phronesis.resources.readers.decoding import decoded
from phronesis.resources.readers.port import DOCX, RawDocument, guessed_type, read_document
from written_documents import zipped

CHINESE = (
    "退火温度定为二百五十摄氏度，保持两个小时，然后自然冷却到室温。这一批样品表面没有裂纹，下次可以把温度再提高一些。"
)
TRADITIONAL = (
    "退火溫度定為二百五十攝氏度，保持兩個小時，然後自然冷卻到室溫。這一批樣品表面沒有裂紋，下次可以把溫度再提高一些。"
)
GERMAN = "Die Temperatur wurde auf zweihundertfünfzig Grad erhöht; dafür müssen die Öfen länger heizen."


def test_bytes_are_decoded_without_being_told_how() -> None:
    cases: list[tuple[str, str]] = [
        (CHINESE, "gbk"),
        (CHINESE, "utf-8-sig"),
        (TRADITIONAL, "big5"),
        (GERMAN, "latin-1"),
        (GERMAN, "utf-16-le"),
        ("ASCII", "ascii"),
    ]
    for text, encoding in cases:
        assert decoded(text.encode(encoding)) == text, text


def test_what_a_document_says_of_itself_decides_between_encodings() -> None:
    russian = "Температура была повышена."
    assert decoded(russian.encode("koi8-r"), "koi8-r") == russian
    assert decoded(f'<meta charset="windows-1251">{russian}'.encode("cp1251")).endswith(russian)
    assert decoded(GERMAN.encode("latin-1"), "nonsense") == GERMAN
    assert decoded(GERMAN.encode("latin-1"), "hex") == GERMAN
    assert decoded("é".encode("latin-1"), "utf-8") == "é"
    assert decoded(f"encoding: gbk\n{GERMAN}".encode()).endswith(GERMAN)  # UTF-8 goes before what it says


JAPANESE = "名前,年齢,住所\n山田太郎,34,東京都港区\n佐藤花子,28,大阪市北区でひらがなを書く\n"
KOREAN = "오늘은 날씨가 매우 좋아서 공원에 산책을 가려고 합니다. 내일은 비가 온다고 합니다."
RUSSIAN = "Сегодня очень хорошая погода, и мы идём гулять в парк."


def test_bytes_whose_encoding_cannot_be_told_are_refused() -> None:
    cases: list[tuple[str, str]] = [
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        (KOREAN, "euc_kr"),
        (RUSSIAN, "koi8-r"),
        ("Σήμερα ο καιρός είναι πολύ καλός", "cp1253"),
    ]
    for text, encoding in cases:
        with pytest.raises(InputError, match="charset"):
            decoded(text.encode(encoding))
        assert decoded(text.encode(encoding), encoding) == text, text


@pytest.mark.parametrize("data", [bytes(range(256)) * 20, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0\1\2\3" * 40])
def test_bytes_that_are_no_text_are_refused(data: bytes) -> None:
    with pytest.raises(InputError, match="no text") as refused:
        read_document(RawDocument(name="x.txt", data=data))
    assert refused.value.field == "document"


def test_forms_by_type_name_and_beginning() -> None:
    cases: list[tuple[RawDocument, str]] = [
        (RawDocument(name="a/b.MD", media_type="text/plain; charset=utf-8", text="x"), "text/markdown"),
        (RawDocument(name="x.bin", media_type="text/x-markdown", text="x"), "text/markdown"),
        (RawDocument(media_type="application/octet-stream", data=b"%PDF-1.4"), "application/pdf"),
        (RawDocument(name="x.docx", data=zipped({"a": "b"})), DOCX),
        (RawDocument(name="x", data=b"PK\x03\x04 broken"), ""),
    ]
    for raw, form in cases:
        assert guessed_type(raw) == form, raw
    texts = {
        "<!doctype html>x": "text/html",
        "\n<html lang=en>x": "text/html",
        "# A\n\nx": "text/markdown",
        ".. note::\n\n   x": "text/x-rst",
        "x < y": "text/plain",
        "Metadata-Version: 2.1\nName: x": "text/x-python-metadata",
    }
    for text, form in texts.items():
        assert read_document(RawDocument(text=text)).media_type == form, text


def test_documents_that_are_refused() -> None:
    cases: list[tuple[RawDocument, str, str]] = [
        (RawDocument(), "document", "either"),
        (RawDocument(text="---"), "document", "no word"),
        (RawDocument(text="a\0b"), "document", "NUL"),
        (RawDocument(name="x.png", media_type="image/png", text="x"), "media_type", "nothing here reads image/png"),
        (RawDocument(name="x.ipynb", text="[1]"), "document", "no word"),
    ]
    for raw, field, told in cases:
        with pytest.raises(InputError, match=told) as refused:
            read_document(raw)
        assert refused.value.field == field, raw


def test_documents_that_are_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port, "MAX_CHARACTERS", 10)
    with pytest.raises(InputError, match="11 characters; at most 10"):
        read_document(RawDocument(text="a" * 11))
    monkeypatch.setattr(port, "MAX_BYTES", 10)
    with pytest.raises(InputError, match="11 bytes; at most 10"):
        read_document(RawDocument(data=b"a" * 11))


NAMES = ["a.md", "a.rst", "a.txt", "METADATA", "a.html", "a.py", "a.js", "a.c", "a.java", "a.sql", "a.tex", "a.json"]
PIECES = st.sampled_from(
    [
        *("# ", "\n", "\n\n", "===\n", "---\n", "====", "```\n", "~~~", "<h1>", "</h1>", "<main>", "<nav>", "</nav>"),
        *("<!--", "-->", "第一章 开始\n", "第二章 结束\n", "一、", "1.1 A\n", "1. B\n", "2. C\n", "def f():\n"),
        *("class A:\n", "    x = 1\n", "word ", "字", "Chapter 1\n", "Chapter 2\n", "function f() {\n"),
        *("\\section{x}\n", "\r\n", "|", "<pre>", "<td>", "<li>", "\ufeff", "..", "::\n", "&amp;", "@a\n"),
        *("// c\n", "\x0c", "\u2028"),
    ]
)


@given(st.sampled_from(NAMES), st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=40).map("".join)))
def test_any_text_gives_sections_in_order(name: str, text: str) -> None:
    try:
        found = read_document(RawDocument(name=name, text=text))
    except InputError:
        assert "\0" in text or name == "a.html" or not any(char.isalnum() for char in text)
        return
    if name != "a.html":
        assert found.text == text
    end = 0
    for section in found.sections:
        assert end <= section.start < section.end <= len(found.text)
        assert any(char.isalnum() for char in found.text[section.start : section.end])
        assert all(title.strip() == title != "" for title in section.path)
        end = section.end
    assert found.title
    assert found.sections


HOSTILE = {
    "a.md": ["# a\n", "```", "[", "<!--", "[a]("],
    "a.rst": ["==\n", ":a:`"],
    "a.html": ["<a ", "<!--", "<nav>", "<td>", '<a b="'],
    "a.txt": ["1.1 ", "第一章\n", "1. A\n\n"],
    "a.py": ["(", "@", "class A:\n pass\n"],
    "a.js": ["function f", "  static "],
    "a.cpp": ["int f(", "a::"],
    "a.tex": ["\\section{", "{"],
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "piece"), [(name, piece) for name, pieces in HOSTILE.items() for piece in pieces])
def test_time_goes_with_the_length_of_hostile_texts(name: str, piece: str) -> None:
    assert_linear(
        lambda text: read_document(RawDocument(name=name, text=f"word\n{text}\nend")), repeated(piece), 200_000
    )
