"""Python: a section for each class and function, its decorators, comments above it and docstring with it."""

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from phronesis.core.resources.outlining import Heading, plain_title, sections_of
from phronesis.core.resources.records import ReadDocument
from phronesis.derive.resources.reading.code import CodeReader
from phronesis.derive.resources.reading.port import RawDocument, stem, text_of

MAX_PARSED: Final = 2_000_000
"""Characters that the parser is given (our choice). Longer files are read by their declarations."""

_COMMENT: Final = re.compile(r"(?<![ \t])[ \t]*+#")
_Defined = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class PythonReader:
    """Reads Python; the text stays as it is."""

    version = "python/1"

    def read(self, raw: RawDocument) -> ReadDocument:
        """Give module, classes, functions and methods; the path is their names. What does not parse is read as code."""
        text = text_of(raw)
        tree = _parsed(text)
        if tree is None:
            return CodeReader().read(raw)
        headings = list(_Outline(text).of(tree.body, 1))
        docstring = ast.get_docstring(tree) or ""
        title = stem(raw.name) or plain_title(docstring.partition("\n")[0])
        return ReadDocument(title, raw.media_type or "text/x-python", text, sections_of(text, headings), self.version)


def _parsed(text: str) -> ast.Module | None:
    if len(text) > MAX_PARSED:
        return None
    with warnings.catch_warnings():  # the document's odd escapes are not this process's concern
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text.removeprefix("\ufeff"))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


class _Outline:
    """Finds where definitions stand in a text: the parser counts lines, headings count characters."""

    def __init__(self, text: str) -> None:
        self._lines = _LINES.findall(text)
        self._starts = [0, *accumulate(map(len, self._lines))]

    def of(self, body: Sequence[ast.stmt], level: int, title: str = "") -> Iterator[Heading]:
        """Give the headings of the definitions in ``body``, and of what stands between and behind them.

        Behind a definition its surroundings go on, under their own ``title``.
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
"""Lines as the parser of Python counts them; a form feed ends none."""
