"""Small documents of forms that are no text, written by the tests themselves."""

import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

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
    """Give a PDF of pages of lines; ``outline`` is (level, title, page from 0), ``folded`` compresses the drawing.

    Its font has no shapes: every character is its own number, and a table says so, which is what a reader of text asks.
    """
    objects: list[bytes] = []

    def add(body: bytes | str) -> int:
        objects.append(body if isinstance(body, bytes) else body.encode())
        return len(objects)

    def stream(content: bytes, more: str = "") -> int:
        data = zlib.compress(content) if folded else content
        code = "/Filter /FlateDecode " if folded else ""
        return add(f"<< {code}{more}/Length {len(data)} >>\nstream\n".encode() + data + b"\nendstream")

    catalog, tree = add(""), add("")
    used = sorted({ord(char) >> 8 for lines in pages for line in lines for char in line})
    ranges = [f"<{high:02x}00> <{high:02x}ff> <{high:02x}00>" for high in used]
    blocks = [ranges[n : n + 100] for n in range(0, len(ranges), 100)]
    table = "\n".join(f"{len(block)} beginbfrange\n" + "\n".join(block) + "\nendbfrange" for block in blocks)
    unicode = stream(
        b"/CIDInit /ProcSet findresource begin begincmap\n1 begincodespacerange <0000> <ffff> endcodespacerange\n"
        + table.encode()
        + b"\nendcmap end"
    )
    under = add(
        "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /None /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity)"
        " /Supplement 0 >> /DW 1000 >>"
    )
    font = add(
        f"<< /Type /Font /Subtype /Type0 /BaseFont /None /Encoding /Identity-H /DescendantFonts [{under} 0 R]"
        f" /ToUnicode {unicode} 0 R >>"
    )
    numbers = []
    for lines in pages:
        drawn = "".join(f"<{line.encode('utf-16-be').hex()}> Tj 0 -14 Td\n" for line in lines)
        contents = stream(f"BT /F1 12 Tf 50 780 Td\n{drawn}ET".encode())
        numbers.append(
            add(
                f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 595 842] /Contents {contents} 0 R"
                f" /Resources << /Font << /F1 {font} 0 R >> >> >>"
            )
        )
    objects[tree - 1] = (
        f"<< /Type /Pages /Kids [{' '.join(f'{n} 0 R' for n in numbers)}] /Count {len(numbers)} >>".encode()
    )
    told = "" if not title else f"<feff{title.encode('utf-16-be').hex()}>"
    info = add(f"<< /Title {told} >>" if told else "<< >>")
    entries = _outlined(objects, outline, numbers)
    objects[catalog - 1] = f"<< /Type /Catalog /Pages {tree} 0 R {entries} >>".encode()
    return _file(objects, info)


def _outlined(objects: list[bytes], outline: Sequence[tuple[int, str, int]], pages: Sequence[int]) -> str:
    if not outline:
        return ""
    root = len(objects) + 1
    numbers = [root + 1 + n for n in range(len(outline))]
    links: list[dict[str, int]] = [{} for _ in range(len(outline) + 1)]
    above: list[int] = [0]
    for n, (level, _, _) in enumerate(outline, start=1):
        del above[level:]
        parent = above[-1]
        links[n]["Parent"] = parent
        last = links[parent].get("Last")
        if last is None:
            links[parent]["First"] = n
        else:
            links[n]["Prev"], links[last]["Next"] = last, n
        links[parent]["Last"] = n
        above.append(n)
    objects.append(f"<< /Type /Outlines {_references(links[0], root)} /Count {len(outline)} >>".encode())
    for n, (_, title, page) in enumerate(outline, start=1):
        objects.append(
            f"<< /Title <feff{title.encode('utf-16-be').hex()}> /Dest [{pages[page]} 0 R /Fit]"
            f" {_references(links[n], root)} >>".encode()
        )
    assert len(objects) == numbers[-1]
    return f"/Outlines {root} 0 R"


def _references(links: Mapping[str, int], root: int) -> str:
    return " ".join(f"/{name} {root + n} 0 R" for name, n in links.items())


def _file(objects: Sequence[bytes], info: int) -> bytes:
    out = io.BytesIO()
    out.write(b"%PDF-1.7\n")
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(out.tell())
        out.write(f"{number} 0 obj\n".encode() + body + b"\nendobj\n")
    start = out.tell()
    out.write(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode())
    for place in places:
        out.write(f"{place:010d} 00000 n \n".encode())
    out.write(
        f"trailer << /Size {len(objects) + 1} /Root 1 0 R /Info {info} 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    )
    return out.getvalue()


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
