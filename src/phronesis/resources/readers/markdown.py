"""Parse Markdown (CommonMark 0.31 and GitHub's extensions) and Jupyter notebooks into sections.

Headings are ATX, setext, or HTML's h1 to h6. Fenced code, comments and front matter contain no headings; tables and
lists are kept as they are. Only lines that may be headings are examined, so time grows with their number.
"""

import json
import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any, Final

from phronesis.core.documents import ReadDocument
from phronesis.errors import InputError
from phronesis.resources.laws.outline import MAX_TITLE, Heading, first_headings, plain_title, sections_of
from phronesis.resources.readers.port import RawDocument, stem, text_of

# Plain text of a heading, without markup.

_LONGEST: Final = 8 * MAX_TITLE
"""Characters of a heading's source that are examined, including link addresses."""

_PLAIN: Final = re.compile(r"[^\\`*_\[\]<>&{}!:~]*")
_TAG: Final = re.compile(r"</?[A-Za-z][^<>]{0,500}>|<!--[^>]{0,500}-->")
_IMAGE: Final = re.compile(r"!\[([^\[\]]{0,300})\]\([^()\s]{0,600}\)")
_LINK: Final = re.compile(r"\[([^\[\]]{1,300})\](?:\([^()]{0,600}\)|\[[^\[\]]{0,300}\])")
_ANCHOR: Final = re.compile(r"[ \t]\{[#.:][^{}]{0,200}\}[ \t]*$")
_ROLE: Final = re.compile(r":[a-z][a-z0-9:+-]{0,40}:`")
_TARGET: Final = re.compile(r"`([^`<>]{1,300}) <[^`<>]{1,600}>`_{0,2}")
_STARS: Final = re.compile(r"\*{1,3}(?=\S)|(?<=\S)\*{1,3}|(?<!\w)_{1,2}(?=\w)|(?<=\w)_{1,2}(?!\w)")
_NEEDLESS: Final = re.compile(r"\\([_*~])")
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")


def markdown_title(written: str) -> str:
    """Return a Markdown heading without links, pictures, emphasis, code marks, tags and anchors."""
    if _PLAIN.fullmatch(written):
        return plain_title(written)
    text = _ANCHOR.sub("", written[:_LONGEST])
    text = _LINK.sub(r"\1", _IMAGE.sub(r"\1", _TAG.sub("", text)))
    text = "".join(
        part if n % 2 else _STARS.sub("", part) for n, part in enumerate(_ESCAPE.sub(r"\1", text).split("`"))
    )
    return plain_title(unescape(text))


def without_escapes(markdown: str) -> str:
    """Return generated Markdown without the escapes that a person would not write."""
    return _NEEDLESS.sub(r"\1", markdown)


def rst_title(written: str) -> str:
    """Return a reStructuredText heading without roles, references and emphasis."""
    if _PLAIN.fullmatch(written):
        return plain_title(written)
    text = _TARGET.sub(r"\1", _ROLE.sub("`", written[:_LONGEST]))
    text = "".join(part if n % 2 else _STARS.sub("", part) for n, part in enumerate(text.split("`")))
    return plain_title(_ESCAPE.sub(r"\1", text))


_MARK: Final = re.compile(
    r"^\ufeff? {0,3}(?:(?P<atx>\#{1,6})(?=[ \t\r\n]|\Z)|(?P<fence>`{3,}(?![^\n`]*`)|~{3,})|(?P<under>=+|-+)"
    r"(?=[ \t\r]*$)|(?P<comment><!--)|(?P<html><[hH][1-6](?=[ \t\n>]))|(?P<raw><(?:pre|script|style)(?=[ \t\n>])))",
    re.MULTILINE,
)
_CLOSING: Final = re.compile(r"(?:^|[ \t])#+[ \t]*$")
_BORDER: Final = re.compile(
    r"[ ]{0,3}(?:\#{1,6}[ \t]|`{3}|~{3}|(?<!=)=++[ \t\r]*+$|(?<!-)-++[ \t\r]*+$|</(?:h[1-6]|pre|p|div)>|-->)"
)
"""A line that ends the paragraph above it."""

_NO_PARAGRAPH: Final = re.compile(r"[ ]{4}|\t|[ ]{0,3}[-+*>|<]")
"""Beginnings of lines that an underline does not make a heading: code, list, quotation, table, HTML."""

_NUMBERED: Final = re.compile(r"[ ]{0,3}\d{1,9}[.)][ \t]")
_MAX_PARAGRAPH: Final = 3
"""Lines of a heading underlined with =. One underlined with - has one line; below more, it is a rule."""

_FRONT: Final = re.compile(r"\ufeff?---[ \t]*\r?\n")
_FRONT_END: Final = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?$", re.MULTILINE)
_FRONT_LONGEST: Final = 20_000
_FRONT_TITLE: Final = re.compile(r"^title:[ \t]+(\S[^\n]{0,400})$", re.MULTILINE | re.IGNORECASE)
_HTML_LONGEST: Final = 1_000
"""Characters from ``<h1`` to its end."""


class MarkdownReader:
    """Reads Markdown; the text is unchanged."""

    version = "markdown/1"

    def read(self, raw: RawDocument) -> ReadDocument:
        """Return the sections; the title is that of the front matter, else the first outermost heading."""
        text = text_of(raw)
        begin, told = front_matter(text)
        headings = first_headings(markdown_headings(text, begin))
        title = told or first_title(headings, raw.name)
        sections = sections_of(text, headings)
        return ReadDocument(title, raw.media_type or "text/markdown", text, sections, self.version)


def first_title(headings: list[Heading], name: str) -> str:
    """Return the title by headings: the first of level 1, the only outermost one, or the file's name."""
    named = [heading for heading in headings if heading.title]
    if not named:
        return stem(name)
    level = min(heading.level for heading in named)
    firsts = [heading.title for heading in named if heading.level == level]
    return firsts[0] if level == 1 or len(firsts) == 1 else stem(name) or firsts[0]


def front_matter(text: str) -> tuple[int, str]:
    """Return the end of the front matter and the title in it, or 0 and nothing."""
    opened = _FRONT.match(text)
    closed = _FRONT_END.search(text, opened.end(), opened.end() + _FRONT_LONGEST) if opened else None
    if opened is None or closed is None:
        return 0, ""
    told = _FRONT_TITLE.search(text, opened.end(), closed.start())
    title = told[1].strip() if told else ""
    if len(title) > 1 and title[0] == title[-1] and title[0] in "'\"":
        title = title[1:-1]
    return closed.end(), markdown_title(title)


def markdown_headings(text: str, begin: int = 0) -> Iterator[Heading]:
    """Yield the headings from ``begin`` on, in order."""
    place = begin
    while (mark := _MARK.search(text, place)) is not None:
        place = mark.end()
        if mark["fence"]:
            place = _behind_fence(text, mark)
        elif mark["comment"]:
            place = _found(text, "-->", place)
        elif mark["raw"]:
            place = _found(text, "</" + mark["raw"][1:], place)
        elif mark["atx"]:
            end = _line_end(text, place)
            title = _CLOSING.sub("", text[place:end].strip())
            yield Heading(len(mark["atx"]), markdown_title(title), mark.start(), end)
            place = end
        elif mark["html"]:
            tag = mark["html"].lower()
            closed = _closing(text, tag, place)
            if closed is not None:
                inner = text[text.find(">", place) + 1 : closed[0]]
                yield Heading(int(tag[2]), markdown_title(inner), mark.start(), closed[1])
                place = closed[1]
        elif (over := _underlined(text, begin, mark)) is not None:
            level = 1 if mark["under"][0] == "=" else 2
            yield Heading(level, markdown_title(text[over : mark.start()]), over, _line_end(text, place))


def _behind_fence(text: str, opened: re.Match[str]) -> int:
    """Return the end of fenced code: a fence of the same marks, at least as long, or the end of the text."""
    mark = opened["fence"]
    closing = re.compile(rf"^ {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t\r]*$", re.MULTILINE)
    closed = closing.search(text, _line_end(text, opened.end()))
    return len(text) if closed is None else closed.end()


def _closing(text: str, tag: str, place: int) -> tuple[int, int] | None:
    """Return the span of the end tag of the element that begins before ``place``."""
    near = text[place : place + _HTML_LONGEST].lower()
    at = near.find(f"</{tag[1:]}>")
    return None if at < 0 else (place + at, place + at + len(tag) + 2)


def _underlined(text: str, begin: int, mark: re.Match[str]) -> int | None:
    """Return the start of the heading above an underline; None if there is none."""
    dashes = mark["under"][0] == "-"
    start, lines = mark.start(), 0
    while begin < start and lines <= _MAX_PARAGRAPH:
        above = max(begin, text.rfind("\n", begin, start - 1) + 1)
        line = text[above : start - 1]
        if not line.strip() or _BORDER.match(line):
            break
        if _NO_PARAGRAPH.match(line) or (dashes and _is_entry(line, mark["under"])):
            return None
        start, lines = above, lines + 1
    return start if 0 < lines <= (1 if dashes else _MAX_PARAGRAPH) else None


def _is_entry(line: str, under: str) -> bool:
    """Return whether a line is a list entry above a rule instead of a numbered heading with an underline."""
    return _NUMBERED.match(line) is not None and 2 * len(under) < len(line.strip())


def _found(text: str, words: str, place: int) -> int:
    """Return the position of ``words`` from ``place`` on, or the end."""
    found = text.find(words, place)
    return len(text) if found < 0 else found


def _line_end(text: str, place: int) -> int:
    """Return the end of the line that contains ``place``, before its line break."""
    end = text.find("\n", place)
    return len(text) if end < 0 else end


# Jupyter notebooks (nbformat 3 and 4): the cells as Markdown, code fenced, with its output below it.

MAX_OUTPUT: Final = 2_000
"""Characters of the output of one cell; pictures and pages are left out."""


class NotebookReader:
    """Reads Jupyter notebooks."""

    version = "notebook/1"

    def read(self, raw: RawDocument) -> ReadDocument:
        """Return the cells in order, with the sections of their headings."""
        try:
            notebook = json.loads(text_of(raw))
        except (ValueError, RecursionError) as error:
            raise InputError("document: it is no notebook, which is JSON; save it again", field="document") from error
        text = "\n\n".join(
            part for cell in _cells(notebook) for part in _written(cell, _language(notebook)) if part.strip()
        )
        headings = first_headings(markdown_headings(text))
        title = first_title(headings, raw.name)
        return ReadDocument(title, raw.media_type or "", text, sections_of(text, headings), self.version)


def _cells(notebook: Any) -> Iterator[Mapping[str, Any]]:
    top = notebook if isinstance(notebook, dict) else {}
    sheets = top["worksheets"] if isinstance(top.get("worksheets"), list) else [top]
    for sheet in sheets:
        cells = sheet.get("cells") if isinstance(sheet, dict) else None
        yield from (cell for cell in (cells if isinstance(cells, list) else ()) if isinstance(cell, dict))


def _language(notebook: Any) -> str:
    metadata = notebook.get("metadata") if isinstance(notebook, dict) else None
    told = metadata.get("language_info") if isinstance(metadata, dict) else None
    name = told.get("name") if isinstance(told, dict) else None
    return name if isinstance(name, str) and name.isalnum() else "python"


def _written(cell: Mapping[str, Any], language: str) -> Iterator[str]:
    source = _joined(cell.get("source", cell.get("input")))
    if cell.get("cell_type") != "code":
        yield source
        return
    if source.strip():
        yield _fenced(source, language)
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        data = output.get("data") if isinstance(output, dict) else None
        told = _joined(output.get("text")) if isinstance(output, dict) else ""
        told = told or _joined(data.get("text/plain") if isinstance(data, dict) else None)
        if told.strip():
            yield _fenced(told[:MAX_OUTPUT], "text")


def _fenced(words: str, language: str) -> str:
    fence = "~~~~" if "```" in words else "```"
    return f"{fence}{language}\n{words.rstrip()}\n{fence}"


def _joined(lines: Any) -> str:
    if isinstance(lines, list):
        return "".join(line for line in lines if isinstance(line, str))
    return lines if isinstance(lines, str) else ""
