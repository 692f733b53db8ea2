"""Readers of PDF and Office files, on documents that the tests write; and what is refused."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pypdf
import pytest

from phronesis.core.entries import ReadDocument
from phronesis.errors import InputError
from phronesis.resources.readers import office, pdf
from phronesis.resources.readers.port import RawDocument, read_document
from written_documents import docx, pptx, xlsx
from written_documents import pdf as written_pdf
from written_documents import zipped as zip_of

Sections = list[tuple[str, str]]


def read(data: bytes, name: str = "", media_type: str | None = None) -> ReadDocument:
    return read_document(RawDocument(name=name, data=data, media_type=media_type))


def sections(found: ReadDocument) -> Sections:
    return [("/".join(one.path), found.text[one.start : one.end]) for one in found.sections]


PAGES = [
    ["The manual", "1", "Introduction", "What it is for."],
    ["The manual", "2", "2.1 Install", "Download it.", "Unpack", "it all", "On a disk."],
    ["The manual", "3", "2.2 Run", "Start it."],
    ["The manual", "4", "Words at the end."],
]
OUTLINE = [(1, "1 Introduction", 0), (1, "Use", 1), (2, "Install", 1), (3, "Unpack it all", 1), (2, "2.2 Run", 2)]


def test_pdf_by_its_outline() -> None:
    found = read(written_pdf(PAGES, outline=OUTLINE, title="The manual"), "m.pdf")
    assert found.title == "The manual"
    assert found.made_by.startswith("pdf/2 pypdf ")
    assert sections(found) == [
        ("1 Introduction", "What it is for."),
        ("Use/Install", "Download it."),
        ("Use/Install/Unpack it all", "On a disk."),
        ("Use/2.2 Run", "Start it.\n\nWords at the end."),
    ]


def test_pdf_by_numbers_and_by_pages() -> None:
    numbered = [["1 Begin", "Some words.", "1.1 More", "Others."], ["2 End", "Last words."]]
    assert sections(read(written_pdf(numbered, folded=True))) == [
        ("1 Begin", "Some words."),
        ("1 Begin/1.1 More", "Others."),
        ("2 End", "Last words."),
    ]
    listed = [["What to do", "1. Download"], ["2. Unpack it", "And wait"]]
    assert sections(read(written_pdf(listed, title="report.docx"), "x/r.pdf")) == [
        ("p. 1", "What to do\n1. Download"),
        ("p. 2", "2. Unpack it\nAnd wait"),
    ]
    for title in ("report.docx", "(anonymous)", "(unspecified)", "Untitled document", "PowerPoint Presentation"):
        assert read(written_pdf(listed, title=title), "x/r.pdf").title == "r"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"%PDF-1.7 and nothing else", "cannot be read as PDF"),
        (written_pdf([[]]), "no word"),
        (
            written_pdf([["x"]]).replace(b"/Type /Pages", b"/Type /Pigs ").replace(b"/Kids", b"/Cats"),
            "cannot be read|no word",
        ),
    ],
)
def test_pdf_that_cannot_be_read(data: bytes, told: str) -> None:
    with pytest.raises(InputError, match=told) as refused:
        read(data, "x.pdf")
    assert refused.value.field == "document"


def test_an_encrypted_pdf_is_refused_and_one_without_a_password_is_read() -> None:
    for password, told in (("secret", "encrypted"), ("", None)):
        writer = pypdf.PdfWriter(clone_from=io.BytesIO(written_pdf([["Some words."]])))
        writer.encrypt(password, "owner", algorithm="RC4-128")
        out = io.BytesIO()
        writer.write(out)
        if told is None:
            assert read(out.getvalue()).text == "Some words."
        else:
            with pytest.raises(InputError, match=told):
                read(out.getvalue())


def test_pdf_keeps_to_its_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    data = written_pdf([["Some words."], ["Others, and a good deal more of them than there were on the first page."]])
    monkeypatch.setattr(pdf, "MAX_PAGE", 90)
    assert read(data).text.strip() == "Some words."  # what unfolds to so much is a drawing
    monkeypatch.setattr(pdf, "MAX_CHARACTERS", 10)
    with pytest.raises(InputError, match="10 characters"):
        read(data)
    monkeypatch.setattr(pdf, "MAX_DRAWN", 10)
    with pytest.raises(InputError, match="unfold"):
        read(data)
    monkeypatch.setattr(pdf, "MAX_PAGES", 1)
    with pytest.raises(InputError, match="2 pages"):
        read(data)


WORD = [
    (1, "Guide"),
    (0, "What it_is for."),
    (2, "Install"),
    (0, "Download it."),
    (0, "Name|Size"),
    (2, "安装"),
    (0, "先下载。"),
]


def test_word() -> None:
    found = read(docx(WORD), "g.docx")
    assert found.title == "Guide"
    assert found.made_by.startswith("office/2 markitdown ")
    assert [path for path, _ in sections(found)] == ["Guide", "Guide/Install", "Guide/安装"]
    assert sections(found)[0][1] == "What it_is for."
    assert "| Name | Size |" in sections(found)[1][1]
    assert sections(found)[2][1] == "先下载。"


def test_powerpoint() -> None:
    found = read(pptx([("Why", "Because."), ("", "A picture"), ("怎么做", "这样做。"), ("Empty", "")]), "talk.pptx")
    assert found.title == "Why"
    assert sections(found) == [("Why", "Because."), ("p. 2", "A picture"), ("怎么做", "这样做。")]


def test_excel() -> None:
    rows: Mapping[str, Sequence[Sequence[Any]]] = {
        "Prices": [["name", None, "price"], [], ["tea | green", None, 2.5], ["咖啡", None, 3]],
        "空": [],
        "Days": [[datetime(2026, 5, 1), datetime(2026, 5, 1, 8, 30), True, None]],  # noqa: DTZ001 - Excel knows no zones
    }
    found = read(xlsx(rows), "p.xlsx")
    assert found.title == "p"
    assert sections(found) == [
        ("Prices", "| name | price |\n| --- | --- |\n| tea \\| green | 2.5 |\n| 咖啡 | 3 |"),
        ("Days", "| 2026-05-01 | 2026-05-01T08:30:00 | True |\n| --- | --- | --- |"),
    ]


def test_excel_with_a_cell_far_away_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office, "MAX_CELLS", 20_000)
    data = xlsx({"A": [["x"]]})
    far = b'<row r="1"><c r="XFD1" t="n"><v>1</v></c></row><row r="2"><c r="XFD2" t="n"><v>1</v></c></row>'
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"]
    start, end = sheet.index(b"<sheetData>") + 11, sheet.index(b"</sheetData>")
    with pytest.raises(InputError, match="over 20,000 cells"):
        read(zip_of(parts | {"xl/worksheets/sheet1.xml": sheet[:start] + far + sheet[end:]}))


BOMB = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>'


def test_office_files_that_cannot_be_read() -> None:
    cases: list[tuple[bytes, str]] = [
        (zip_of({"xl/a.xml": BOMB.decode().encode("utf-16")}), "document type"),
        (zip_of({"word/document.xml": "<x>" * 5}), "cannot be read as"),
        (zip_of({"xl/workbook.xml": "<x/>"}), "cannot be read as"),
        (docx([(0, "")]), "no word"),
        (docx(WORD)[:900] + b"\0" * 200 + docx(WORD)[1100:], "damaged|cannot be read as"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 500, "password"),
    ]
    for data, told in cases:
        with pytest.raises(InputError, match=told) as refused:
            read(data)
        assert refused.value.field == "document", data


def test_office_files_keep_to_their_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = docx(WORD, more={"word/more.xml": b" " * (office.MAX_XML + 1)})
    assert len(bomb) < 100_000
    with pytest.raises(InputError, match="unfolds to over"):
        read(bomb)
    monkeypatch.setattr(office, "MAX_UNFOLDED", 1000)
    with pytest.raises(InputError, match="unfolds to over"):
        read(docx(WORD))
    monkeypatch.setattr(office, "MAX_PARTS", 3)
    with pytest.raises(InputError, match="5 parts"):
        read(docx(WORD))


def test_a_sheet_nested_too_deeply_is_refused() -> None:
    deep = "<w:p>" * 20_000 + "</w:p>" * 20_000
    with pytest.raises(InputError):
        read(docx([(0, "x")], more={"word/document.xml": deep}))
