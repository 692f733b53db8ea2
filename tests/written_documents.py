"""Small documents of forms that are no text, written by the tests themselves."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import pypdf
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_TYPES = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def zipped(parts: Mapping[str, str | bytes]) -> bytes:
    """Give a ZIP of these files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()


def docx(paragraphs: Sequence[tuple[int, str]], *, more: Mapping[str, str | bytes] | None = None) -> bytes:
    """Give a Word file of paragraphs: (level of the heading, 0 for none; text). "|" in a text makes a table's row."""
    body = ""
    for level, text in paragraphs:
        style = f'<w:pPr><w:pStyle w:val="H{level}"/></w:pPr>' if level else ""
        if "|" in text:
            cells = "".join(f"<w:tc><w:p><w:r><w:t>{cell}</w:t></w:r></w:p></w:tc>" for cell in text.split("|"))
            body += f"<w:tbl><w:tr>{cells}</w:tr></w:tbl>"
        else:
            body += f'<w:p>{style}<w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="H{level}"><w:name w:val="heading {level}"/></w:style>'
        for level in range(1, 7)
    )
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": f'<?xml version="1.0"?><Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{_TYPES}.document.main+xml"/>'
        f'<Override PartName="/word/styles.xml" ContentType="{_TYPES}.styles+xml"/></Types>',
        "_rels/.rels": f'<?xml version="1.0"?><Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{_RELATIONS}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/_rels/document.xml.rels": f'<?xml version="1.0"?><Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{_RELATIONS}/styles" Target="styles.xml"/></Relationships>',
        "word/styles.xml": f'<?xml version="1.0"?><w:styles {_W}>{styles}</w:styles>',
        "word/document.xml": f'<?xml version="1.0"?><w:document {_W}><w:body>{body}</w:body></w:document>',
    }
    return zipped(parts | dict(more or {}))


def pdf(
    pages: Sequence[Sequence[str]],
    *,
    outline: Sequence[tuple[int, str, int]] = (),
    title: str = "",
    folded: bool = False,
) -> bytes:
    """Give a PDF of pages of lines; ``outline`` is (level, title, page from 0), ``folded`` compresses the drawing."""
    writer = pypdf.PdfWriter()
    font = {"/Type": NameObject("/Font"), "/Subtype": NameObject("/Type1"), "/BaseFont": NameObject("/Helvetica")}
    fonts = _dictionary({"/Font": _dictionary({"/F1": _dictionary(font)})})
    for lines in pages:
        page = writer.add_blank_page(595, 842)
        drawn = "".join(f"({line}) Tj 0 -14 Td\n" for line in lines)
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 50 780 Td\n{drawn}ET".encode("ascii"))
        page[NameObject("/Contents")] = writer._add_object(stream.flate_encode() if folded else stream)
        page[NameObject("/Resources")] = fonts
    above: list[Any] = []
    for level, name, place in outline:
        del above[level - 1 :]
        above.append(writer.add_outline_item(title=name, page_number=place, parent=above[-1] if above else None))
    if title:
        writer.add_metadata({"/Title": title})
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def _dictionary(entries: Mapping[str, Any]) -> DictionaryObject:
    return DictionaryObject({NameObject(name): value for name, value in entries.items()})


def xlsx(sheets: Mapping[str, Sequence[Sequence[Any]]]) -> bytes:
    """Give an Excel file of these rows."""
    import openpyxl  # noqa: PLC0415 - comes with the extra

    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def pptx(slides: Sequence[tuple[str, str]]) -> bytes:
    """Give a PowerPoint file of slides: a title, "" for none, and text."""
    import pptx as library  # noqa: PLC0415 - comes with the extra

    presentation = library.Presentation()
    for title, text in slides:
        slide = presentation.slides.add_slide(presentation.slide_layouts[1 if title else 6])
        if title:
            slide.shapes.title.text = title
            slide.placeholders[1].text = text
        else:
            slide.shapes.add_textbox(0, 0, 100, 100).text_frame.text = text
    out = io.BytesIO()
    presentation.save(out)
    return out.getvalue()
