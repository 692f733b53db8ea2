"""Summarise a document by quoting it: title, first words, headings, and the beginnings of sections.

The summary represents a document of which no copy is kept. It contains no generated text. English and Chinese; pure.
"""

import re
from collections.abc import Iterator
from typing import Final

from phronesis.core.documents import ReadDocument, Section

LIMIT: Final = 1_500
"""Characters of a summary: a page, so that several fit into a prompt (our choice)."""

_LEAD: Final = 400
_HEADINGS: Final = 500
_SENTENCE: Final = 200
"""Characters of the first words, of all headings together, and of one section's beginning."""

_FEWEST: Final = 40
"""Characters below which a section's beginning adds nothing to its heading."""

_LOOKED_AT: Final = 4_000
"""Characters of a section in which its first sentence is searched."""

_END: Final = re.compile(r"[。！？]+[”’」』）]*|[.!?]{1,4}[)\"'”’]{0,4}(?=\s|$)")
_NO_PROSE: Final = re.compile(
    r"(?<![ \t])[ \t]*+(?:[|+>#<:]|\.\. |!?\[!?\[|!\[|[-=*_~^\"]{3,}|[`~]{3}|\[[^\]\n]{1,80}\]:|<!--)"
    r"|[A-Z][A-Za-z-]{1,30}: \S"
)
_MARKS: Final = re.compile(r"[*`]{1,3}|!?\[([^\[\]\n]{0,200})\]\([^()\n]{0,400}\)")
_FENCE: Final = re.compile(r"(?<![ \t])[ \t]*+(?:`{3}|~{3})")


def summary_of(document: ReadDocument, *, limit: int = LIMIT) -> str:
    """Return a summary of at most ``limit`` characters: title, first words, headings, then section by section.

    Parts that do not fit are left out; only the title is cut.
    """
    lines = [document.title[:limit]] if document.title else []
    begun = list(_beginnings(document))
    if begun:
        lines.append(_first_words(begun[0][1], _LEAD))
    headings = _headings(document)
    if headings:
        lines.append(headings)
    for section, words in begun[1:]:
        sentence = _first_words(words, _SENTENCE)
        if section.path and len(sentence) >= _FEWEST:
            lines.append(f"{section.path[-1]}: {sentence}")
    out = ""
    for line in dict.fromkeys(lines):
        if len(out) + bool(out) + len(line) <= limit:
            out += ("\n" if out else "") + line
    return out


def _beginnings(document: ReadDocument) -> Iterator[tuple[Section, str]]:
    """Yield the sections that contain prose, with their first paragraph."""
    for section in document.sections:
        words = _prose(document.text[section.start : min(section.end, section.start + _LOOKED_AT)])
        if words:
            yield section, words


def _prose(text: str) -> str:
    """Return the first paragraph that is not code, table or picture, on one line."""
    paragraph: list[str] = []
    in_code = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            in_code = not in_code
        elif in_code or _NO_PROSE.match(line) or not line.strip():
            if paragraph:
                break
        else:
            paragraph.append(line.strip())
    return " ".join(_MARKS.sub(r"\1", " ".join(paragraph)).split())


def _first_words(words: str, most: int) -> str:
    """Return as many whole sentences as ``most`` characters hold, or the beginning of the first."""
    ends = [match.end() for match in _END.finditer(words, 0, most + 1) if match.end() <= most]
    if ends:
        return words[: ends[-1]]
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"


def _headings(document: ReadDocument) -> str:
    """Return the headings of the outermost two levels, in order, as many as fit."""
    paths = list(dict.fromkeys(section.path for section in document.sections if section.path))
    # A title above everything else adds nothing.
    shared = 1 if len(paths) > 1 and len({path[0] for path in paths}) == 1 else 0
    out = ""
    for title in dict.fromkeys(title for path in paths for title in path[shared : shared + 2]):
        if len(out) + 3 + len(title) > _HEADINGS:
            break
        out += (" · " if out else "") + title
    return out
