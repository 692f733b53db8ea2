"""Parse plain text, reStructuredText and Python package metadata into sections by their headings.

Numbered headings are recognised in English and Chinese: 第一章, 一、, （一）, 1.2, Chapter 3, IV. A candidate is a
short line that begins with a number and does not end like a sentence. A *run* is a series of candidates of one form
with consecutive numbers. Only runs of two and more are headings, and only if text follows most of them, which excludes
lists and tables of contents. Several runs may be open at once, since each chapter begins at 1 again.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from phronesis.core.calendar_spans import parse_number
from phronesis.core.entries import ReadDocument
from phronesis.resources.laws import MAX_TITLE, Heading, first_headings, has_words, plain_title, sections_of
from phronesis.resources.readers.markup import first_title, markdown_headings
from phronesis.resources.readers.port import RawDocument, stem, text_of

MAX_LINE: Final = 80
"""Characters of a heading's line, as editors wrap them: a longer line is a paragraph."""

MAX_CANDIDATES: Final = 50_000
"""Lines that are examined: five times the headings that start sections."""

MAX_OPEN: Final = 8
"""Runs of one form that may be open at once: chapters, sections, and nested lists."""

_GAP: Final = 2
"""Maximum step to the next number: one heading of a run may have been taken for a sentence."""

_LEAST_NUMBERED: Final = 2
_MOST_WITH_WORDS: Final = 0.5
"""Minimum number of headings in a run, and the share of them that text must follow."""

_HAN: Final = r"[〇零○一二三四五六七八九十百千两\d]{1,7}"
_LINE: Final = re.compile(
    r"^[ \t\u3000]{0,12}(?=第|[（(]?[一二三四五六七八九十]|\d|[IVX]+[.、]|Part|PART|Chapter|CHAPTER|Section"
    rf"|SECTION|Appendix|APPENDIX)([^\n]{{2,{MAX_LINE}}})$",
    re.MULTILINE,
)
_ENGLISH: Final = r"[ \t]+([IVXLC]{1,7}|\d{1,3}|[A-Z])\b[.:]?[ \t–—-]{0,4}"
_FORMS: Final = (
    ("part", 1, re.compile(rf"第({_HAN})(?:[編编篇卷]|部分?)(?![，。的中里和与至到及以])[ \t\u3000:：、]{{0,4}}")),
    ("part", 1, re.compile(rf"(?:Part|PART){_ENGLISH}")),
    ("chapter", 2, re.compile(rf"第({_HAN})[章回](?![，。的中里和与至到及以])[ \t\u3000:：、]{{0,4}}")),
    ("chapter", 2, re.compile(rf"(?:Chapter|CHAPTER){_ENGLISH}")),
    ("appendix", 2, re.compile(rf"(?:Appendix|APPENDIX){_ENGLISH}")),
    ("section", 3, re.compile(rf"第({_HAN})[节節](?![，。的中里和与至到及以])[ \t\u3000:：、]{{0,4}}")),
    ("section", 3, re.compile(rf"(?:Section|SECTION){_ENGLISH}")),
    ("roman", 4, re.compile(r"([IVX]{1,7})[.、][ \t]{1,4}")),
    ("han", 4, re.compile(r"([一二三四五六七八九十]{1,3})[、.．][ \t]{0,4}")),
    ("bracketed", 5, re.compile(r"[（(]([一二三四五六七八九十]{1,3})[)）][、]?[ \t]{0,4}")),
    ("decimal", 6, re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,5})(?:[.、．][ \t]{0,4}|[ \t\u3000]{1,4})")),
)
"""Forms by name and level. The level of a decimal rises by one for each dot."""

_WORDED: Final = frozenset({"part", "chapter", "appendix", "section"})
_SENTENCE: Final = re.compile(r"[。！；，、,;:：.!…]$")
_CONTENTS: Final = re.compile(r"(?:(?<![.·…])[.·…]{2,}|\t|(?<! ) {4,})[ \t.·…]{0,80}\d{1,4}$")
_BLANK: Final = re.compile(r"[ \t\r]{0,80}(?:\n[ \t\r]{0,80}(?:\n|\Z)|\Z)")
_ROMAN: Final = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}


@dataclass(frozen=True, slots=True)
class _Candidate:
    form: str
    level: int
    number: tuple[int, ...]
    start: int
    end: int
    title: str


def numbered_headings(text: str, *, paged: bool = False) -> list[Heading]:
    """Return the headings of a text that are recognised by their numbers, in order.

    ``paged``: the text was taken from pages, where no blank lines separate headings; then decimals count in a run that
    has some with dots, since lists have none.
    """
    found = list(_candidates(text, paged=paged))
    followed = _with_text_below(text, found)
    chosen: set[int] = set()
    for run in _runs(found):
        deep = any(len(found[n].number) > 1 for n in run)
        if len(run) < _LEAST_NUMBERED or (paged and found[run[0]].form == "decimal" and not deep):
            continue
        if sum(n in followed for n in run) >= _MOST_WITH_WORDS * len(run):
            chosen.update(run)
    return [Heading(one.level, one.title, one.start, one.end) for n, one in enumerate(found) if n in chosen]


def _candidates(text: str, *, paged: bool) -> Iterator[_Candidate]:
    count = 0
    for match in _LINE.finditer(text):
        line = match[1].rstrip()
        for form, level, pattern in _FORMS:
            numbered = pattern.match(line)
            if numbered is None:
                continue
            rest = line[numbered.end() :]
            number = _number(numbered[1], form)
            if number and _is_heading(form, rest) and (paged or form != "decimal" or _is_set_off(text, match, rest)):
                deeper = len(number) - 1
                yield _Candidate(form, level + deeper, number, match.start(), match.end(), plain_title(line))
                count += 1
            break
        if count >= MAX_CANDIDATES:
            return


def _number(written: str, form: str) -> tuple[int, ...]:
    if form == "decimal":
        return tuple(int(part) for part in written.split("."))
    if written[0] in _ROMAN and (form == "roman" or len(written) > 1 or written in "IVX"):
        return (_roman(written),)
    if written.isascii() and written.isalpha():
        return (ord(written) - ord("A") + 1,)
    told = parse_number(written)
    return () if told is None else (int(told),)


def _roman(written: str) -> int:
    values = [_ROMAN[letter] for letter in written]
    return sum(-one if one < after else one for one, after in zip(values, [*values[1:], 0], strict=True))


def _is_heading(form: str, rest: str) -> bool:
    """Return whether what follows a number looks like a heading, not a sentence or a line of a table of contents."""
    if not rest:
        return form in _WORDED
    if not rest[0].isalnum() or rest[0].islower() or (form not in _WORDED and rest[0].isdigit()):
        return False
    return _SENTENCE.search(rest) is None and _CONTENTS.search(rest) is None


def _is_set_off(text: str, match: re.Match[str], rest: str) -> bool:
    """Return whether a line is set off: by a blank line or sentence before it, in Latin script a blank one after."""
    above = text[max(0, match.start() - 3) : match.start()].replace("\r", "")
    before = not above.strip("\n") or above.endswith(("\n\n", "。\n", "！\n", "？\n", "；\n", "：\n"))
    return before and (not rest[0].isascii() or _BLANK.match(text, match.end()) is not None)


def _with_text_below(text: str, found: Sequence[_Candidate]) -> set[int]:
    """Return the candidates with text before the next one of their level or above, not counting other candidates."""
    starts = [*(one.start for one in found[1:]), len(text)]
    words = [has_words(text, one.end, start) for one, start in zip(found, starts, strict=False)]
    out: set[int] = set()
    waiting: list[int] = []
    for n, one in enumerate(found):
        while waiting and found[waiting[-1]].level >= one.level:
            waiting.pop()
        waiting.append(n)
        if words[n]:
            out.update(waiting)
            waiting.clear()
    return out


def _runs(found: Sequence[_Candidate]) -> Iterator[list[int]]:
    """Yield the runs of consecutive numbers, by their places in ``found``."""
    opened: dict[str, list[list[int]]] = {}
    for n, one in enumerate(found):
        runs = opened.setdefault(one.form, [])
        for run in reversed(runs):
            if _follows(found[run[-1]].number, one.number):
                run.append(n)
                runs.remove(run)
                runs.append(run)  # what grew last is asked first
                break
        else:
            if one.form in _WORDED or max(one.number) <= 1:
                runs.append([n])
                if len(runs) > MAX_OPEN:
                    yield runs.pop(0)
    for runs in opened.values():
        yield from runs


def _follows(last: tuple[int, ...], number: tuple[int, ...]) -> bool:
    """Return whether a number may come next: 1.2 after 1.1, 2 after 1.3, 1.1 after 1."""
    if number[:-1] == last:
        return number[-1] <= 1
    depth = len(number)
    return depth <= len(last) and number[:-1] == last[: depth - 1] and 0 < number[-1] - last[depth - 1] <= _GAP


# reStructuredText: titles by their adornments, in levels by the order in which the adornments first appear.

_ADORNMENT: Final = re.compile(r"^([!-/:-@\[-`{-~])\1+[ \t\r]*$", re.MULTILINE)
_LEAST: Final = 3
"""Marks of an adornment that is shorter than its title; docutils requires four, and warns."""

_LONGEST: Final = 8 * MAX_TITLE
"""Characters of a title's source that are examined, including addresses."""

_ROLE: Final = re.compile(r":[a-z][a-z0-9:+-]{0,40}:`")
_TARGET: Final = re.compile(r"`([^`<>]{1,300}) <[^`<>]{1,600}>`_{0,2}")
_STARS: Final = re.compile(r"\*{1,3}(?=\S)|(?<=\S)\*{1,3}|(?<!\w)_{1,2}(?=\w)|(?<=\w)_{1,2}(?!\w)")
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_SHORTER: Final = 0.5
"""Share of its title's width that an underline must have. Counting Chinese characters as one column gives a half."""


class RstReader:
    """Reads reStructuredText; the text is unchanged."""

    version = "rst/1"

    def read(self, raw: RawDocument) -> ReadDocument:
        """Return the sections; the title is the document's own, else the only outermost one."""
        text = text_of(raw)
        headings = first_headings(rst_headings(text))
        title = first_title(headings, raw.name)
        return ReadDocument(title, raw.media_type or "text/x-rst", text, sections_of(text, headings), self.version)


def rst_headings(text: str) -> Iterator[Heading]:
    """Yield the titles, in order."""
    levels: dict[tuple[str, bool], int] = {}
    done = 0
    for mark in _ADORNMENT.finditer(text):
        above, line = _line_above(text, mark.start())
        if above < done or not _is_title(line, mark[0]):
            continue
        over, overline = _line_above(text, above)
        both = over >= done and over < above and overline.rstrip() == mark[0].rstrip()
        if not both and (line != line.lstrip() or not _is_border(overline, over, done)):
            continue  # only a title between two lines may be indented, or stand on a paragraph
        level = levels.setdefault((mark[1], both), len(levels) + 1)
        yield Heading(level, rst_title(line), over if both else above, mark.end())
        done = mark.end()


def rst_title(written: str) -> str:
    """Return a reStructuredText heading without roles, references and emphasis."""
    text = _TARGET.sub(r"\1", _ROLE.sub("`", written[:_LONGEST]))
    text = "".join(part if n % 2 else _STARS.sub("", part) for n, part in enumerate(text.split("`")))
    return plain_title(_ESCAPE.sub(r"\1", text))


def _line_above(text: str, start: int) -> tuple[int, str]:
    """Return the start and text of the line before the one that begins at ``start``."""
    begin = text.rfind("\n", 0, max(0, start - 1)) + 1
    return begin, text[begin : max(begin, start - 1)]


def _is_border(line: str, begin: int, done: int) -> bool:
    """Return whether a title may follow a line: a blank or processed one, a comment, target or field."""
    return begin < done or not line.strip() or line.startswith(("..", ":"))


def _is_title(line: str, adornment: str) -> bool:
    title = line.strip()
    if not title or len(title) > MAX_TITLE or _ADORNMENT.fullmatch(title):
        return False
    width = sum(1 + (unicodedata.east_asian_width(char) in "WF") for char in title)
    marks = len(adornment.rstrip())
    if adornment[0] in ":." and marks < _LEAST:  # "::" is the mark of code, ".." that of a comment
        return False
    return marks >= width or (marks >= _LEAST and marks >= _SHORTER * width)


# Plain text: headings that are underlined or numbered in a run.

_FEW: int = 2
"""Underlined lines from which they are headings; a single one may be a table's."""


class PlainReader:
    """Reads plain text; the text is unchanged."""

    version = "plain/1"

    def read(self, raw: RawDocument) -> ReadDocument:
        """Return the sections; the title is the only outermost heading, or the file's name."""
        text = text_of(raw)
        headings = plain_headings(text)
        underlined = bool(headings) and headings[0].level == 1
        title = first_title(headings, raw.name) if underlined else stem(raw.name)
        return ReadDocument(title, raw.media_type or "text/plain", text, sections_of(text, headings), self.version)


class TextReader:
    """Reads structured text without headings: data, settings, tables. It is unchanged."""

    version = "text/1"

    def read(self, raw: RawDocument) -> ReadDocument:
        """Return one section, or several if it is too long."""
        text = text_of(raw)
        return ReadDocument(stem(raw.name), raw.media_type or "text/plain", text, sections_of(text, ()), self.version)


def plain_headings(text: str) -> list[Heading]:
    """Return the underlined headings of a text; if there are none, the numbered ones."""
    underlined = first_headings(rst_headings(text))
    return underlined if len(underlined) >= _FEW else numbered_headings(text)


# METADATA and PKG-INFO of a Python package: fields, then a description in Markdown or reStructuredText.

_END: Final = re.compile(r"\r?\n(?=\r?\n)")
_FIELD: Final = re.compile(r"^(name|description-content-type):[ \t]*([^\n]{0,300})", re.MULTILINE | re.IGNORECASE)


class MetadataReader:
    """Reads a package's metadata; the text is unchanged."""

    version = "metadata/2"

    def read(self, raw: RawDocument) -> ReadDocument:
        """Return the fields as the section (), and those of the description; the title is the package's name."""
        text = text_of(raw)
        end = _END.search(text)
        begin = len(text) if end is None else end.end()
        fields = {match[1].lower(): match[2].strip() for match in _FIELD.finditer(text, 0, begin)}
        headings = [Heading(0, "", begin, begin), *_headings(text, begin, fields.get("description-content-type", ""))]
        title = plain_title(fields.get("name", "")) or stem(raw.name)
        return ReadDocument(title, raw.media_type or "", text, sections_of(text, headings), self.version)


def _headings(text: str, begin: int, form: str) -> list[Heading]:
    if "markdown" in form.lower():
        return first_headings(markdown_headings(text, begin))
    if "plain" in form.lower():
        return [heading for heading in plain_headings(text) if heading.start >= begin]
    found = [heading for heading in first_headings(rst_headings(text)) if heading.start >= begin]
    if form:
        return found
    # Nobody says what it is: what shows more headings is right.
    return max(found, first_headings(markdown_headings(text, begin)), key=len)
