"""Split source code into one section per top-level declaration.

Python is parsed by ``ast``. Other languages are matched by simple patterns: a declaration is recognised by its first
words (class, func, struct, public void …), in C-like languages by a name with parentheses at the beginning of a line,
in TeX by its commands. What the patterns miss stays in the section before.
"""

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from phronesis.core.entries import ReadDocument
from phronesis.resources.laws import Heading, first_headings, plain_title, sections_of
from phronesis.resources.readers.port import RawDocument, stem, text_of

_MODIFIERS: Final = (
    r"(?:(?:export|default|declare|public|private|protected|internal|static|final|sealed|open|abstract|async|override"
    r"|virtual|partial|data|inline|unsafe|noncomputable|pub(?:\([a-z]{1,10}\))?)[ \t]{1,4}){0,5}"
)
_KINDS: Final = (
    r"class|interface|struct|enum|union|trait|impl|fn|fun|func|function|def|defp|module|defmodule|namespace|type|object"
    r"|record|protocol|extension|sub|macro|mixin|theorem|lemma|instance|structure|inductive|abbrev"
)
_DECLARED: Final = re.compile(
    rf"^{_MODIFIERS}(?:{_KINDS})\b[ \t]{{0,4}}(?:\([^()\n]{{0,100}}\)|<[^<>\n]{{0,100}}>)?[ \t]{{0,4}}"
    r"(?P<name>[A-Za-z_$][^\s(){}:;=<>,]{0,120})"
    r"|^(?:export[ \t]{1,4})?(?:const|let|var|val)[ \t]{1,4}(?P<value>[A-Za-z_$][\w$]{0,120})[ \t]{0,4}=[ \t]{0,4}"
    r"(?:async[ \t]{1,4})?(?:function\b|\([^\n]{0,200}=>|\w{1,60}[ \t]{0,4}=>)"
    r"|^(?P<shell>[\w.-]{1,80})[ \t]{0,4}\(\)[ \t]{0,4}\{?[ \t\r]{0,4}$"
    r"|^(?i:create)[ \t]{1,4}(?i:or[ \t]{1,4}replace[ \t]{1,4})?(?i:table|view|function|procedure|trigger|type)"
    r"[ \t]{1,4}(?i:if[ \t]{1,4}not[ \t]{1,4}exists[ \t]{1,4})?(?P<sql>[^\s(;]{1,120})",
    re.MULTILINE,
)
_METHOD: Final = re.compile(
    r"^(?:\t| {2,4})(?! )(?:(?:public|private|protected|internal|static|final|async|override|abstract|virtual|suspend"
    r"|open|pub(?:\([a-z]{1,10}\))?|fn|fun|func|function|def)[ \t]{1,4}){1,5}[\w<>\[\],.?*& \t]{0,100}?"
    r"(?P<name>[A-Za-z_$][\w$]{0,100})[ \t]{0,2}(?:<[^<>\n]{0,60}>)?\(",
    re.MULTILINE,
)
_C_FUNCTION: Final = re.compile(
    r"^[A-Za-z_][\w \t*&:<>,~]{0,150}?\b(?P<name>[A-Za-z_~][\w:~]{0,100})[ \t]{0,2}\([^;\n]{0,300}$", re.MULTILINE
)
_FORWARD: Final = re.compile(r"[^\n{]{0,300};[ \t\r]*$", re.MULTILINE)
_NOT_C: Final = re.compile(r"(?:if|for|while|switch|return|else|do|case|typedef|using|static_assert)\b")
_TEX: Final = re.compile(
    r"^[ \t]{0,8}\\(?P<level>part|chapter|section|subsection|subsubsection|paragraph)\*?(?:\[[^\[\]\n]{0,200}\])?"
    r"\{(?P<name>[^\n]{1,300}?)\}[ \t\r]*(?:\\label\{[^{}\n]{0,100}\}[ \t\r]*)?$",
    re.MULTILINE,
)
_TEX_LEVELS: Final = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph")
_ABOVE: Final = re.compile(
    r"(?<![ \t])[ \t]*+(?://|/\*|\*|#(?!include|define|if|endif|else|pragma)|--|;;|@|\[[A-Za-z])"
)
"""Beginnings of lines that belong to the declaration below: a comment, a decorator, an attribute."""

_C_LIKE: Final = frozenset({"text/x-c", "text/x-c++"})
_MAX_ABOVE: Final = 200
"""Lines of comments that are examined above one declaration."""


class CodeReader:
    """Reads source code; the text is unchanged."""

    version = "code/1"

    def read(self, raw: RawDocument) -> ReadDocument:
        """Return the declarations as sections, with their comments; the path is their names."""
        text = text_of(raw)
        form = raw.media_type or "text/plain"
        headings = first_headings(_tex(text) if form == "text/x-tex" else _declarations(text, form))
        return ReadDocument(plain_title(stem(raw.name)), form, text, sections_of(text, headings), self.version)


def _tex(text: str) -> Iterator[Heading]:
    for match in _TEX.finditer(text):
        yield Heading(_TEX_LEVELS.index(match["level"]) + 1, plain_title(match["name"]), match.start(), match.end())


def _declarations(text: str, form: str) -> Iterator[Heading]:
    found = [
        (match.start(), 1, match[match.lastgroup or 0])
        for match in _DECLARED.finditer(text)
        if form not in _C_LIKE or not _FORWARD.match(text, match.end())
    ]
    found += [(match.start(), 2, match["name"]) for match in _METHOD.finditer(text)]
    if form in _C_LIKE:
        found += [
            (match.start(), 1, match["name"]) for match in _C_FUNCTION.finditer(text) if not _NOT_C.match(match[0])
        ]
    done = -1
    for start, level, name in sorted(found):
        begin = _with_comments(text, start, max(0, done))
        if begin > done:
            yield Heading(level, name, begin, begin)
            done = start


def _with_comments(text: str, start: int, done: int) -> int:
    """Return the start of the comments right above a declaration, or of the declaration."""
    for _ in range(_MAX_ABOVE):
        above = text.rfind("\n", done, max(done, start - 1)) + 1
        if not done < above < start or not _ABOVE.match(text, above, start):
            if above == 0 == done and start and _ABOVE.match(text, 0, start):
                return 0
            return start
        start = above
    return start


# Python: a section per class and function, with its decorators, preceding comments and docstring.

MAX_PARSED: Final = 2_000_000
"""Characters that are given to the parser (our choice). Longer files are split by ``CodeReader``."""

_COMMENT: Final = re.compile(r"(?<![ \t])[ \t]*+#")
_Defined = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class PythonReader:
    """Reads Python; the text is unchanged."""

    version = "python/1"

    def read(self, raw: RawDocument) -> ReadDocument:
        """Return module, classes, functions and methods; the path is their names.

        A file with a syntax error is split by ``CodeReader``.
        """
        text = text_of(raw)
        tree = _parse_module(text)
        if tree is None:
            return CodeReader().read(raw)
        headings = list(_Outline(text).of(tree.body, 1))
        docstring = ast.get_docstring(tree) or ""
        title = stem(raw.name) or plain_title(docstring.partition("\n")[0])
        return ReadDocument(title, raw.media_type or "text/x-python", text, sections_of(text, headings), self.version)


def _parse_module(text: str) -> ast.Module | None:
    if len(text) > MAX_PARSED:
        return None
    with warnings.catch_warnings():  # the document's odd escapes are not this process's concern
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text.removeprefix("\ufeff"))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


class _Outline:
    """Locates definitions in a text: the parser counts lines, headings count characters."""

    def __init__(self, text: str) -> None:
        self._lines = _LINES.findall(text)
        self._starts = [0, *accumulate(map(len, self._lines))]

    def of(self, body: Sequence[ast.stmt], level: int, title: str = "") -> Iterator[Heading]:
        """Yield the headings of the definitions in ``body``, and of the text between and after them.

        The text after a definition belongs to the enclosing block, under its ``title``.
        """
        behind = None
        for node in body:
            if not isinstance(node, _Defined):
                if behind is not None:
                    yield Heading(level - 1, title, behind, behind)
                    behind = None
                continue
            start = self._start(node)
            close = self._starts[min(node.end_lineno or node.lineno, len(self._starts) - 1)]
            yield Heading(level, node.name, start, start)
            if isinstance(node, ast.ClassDef):
                yield from self.of(node.body, level + 1, node.name)
            behind = close

    def _start(self, node: _Defined) -> int:
        line = min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1
        while line > 0 and _COMMENT.match(self._lines[line - 1]):
            line -= 1
        return self._starts[line]


_LINES: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
"""Lines as Python's parser counts them; a form feed ends none."""
