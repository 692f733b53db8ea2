"""Lean source that stands in the input, beside what was said of it: its declarations, and the text at a position."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_DECLARATION: Final = re.compile(
    r"(?:@\[[^\]\n]{0,200}\] ?)?(?:(?:private|protected|noncomputable|nonrec|local|scoped|partial|unsafe) ){0,5}"
    r"(?P<keyword>theorem|lemma|def|example|instance|abbrev|structure|inductive|class)\b[ \t]{0,10}"
    r"(?P<name>[^\s(){}\[\]:⦃]{0,200})"
)
_MAX_STATEMENT: Final = 2000
_MAX_STEP: Final = 600
_MAX_LINES: Final = 20


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declaration: its name, empty for an example; what it states; its proof; its lines, from 1."""

    name: str
    keyword: str
    statement: str
    proof: str
    first: int
    last: int

    @property
    def heading(self) -> str:
        """What it is called where it has no name: ``example``."""
        return self.name or self.keyword


@dataclass(frozen=True, slots=True)
class Program:
    """Lean source: its lines, and its declarations in order."""

    lines: Sequence[str]
    declarations: Sequence[Declaration]

    def declaration_at(self, line: int) -> Declaration | None:
        """Give the declaration on whose lines ``line`` (from 1) stands."""
        at = bisect_right(self.declarations, line, key=lambda one: one.first) - 1
        return self.declarations[at] if at >= 0 and line <= self.declarations[at].last else None

    def step_at(self, position: tuple[int, int], end: tuple[int, int] | None) -> str:
        """Give the source of a tactic step: the whole lines that it stands on, without what leads to the proof."""
        first = position[0]
        last = min(max(end[0] if end is not None else first, first), first + _MAX_LINES, len(self.lines))
        if not 1 <= first <= len(self.lines):
            return ""
        text = "\n".join(self.lines[first - 1 : last])
        head = _DECLARATION.match(text)
        if head is not None:
            begin = text.find(":=")
            text = text[begin + 2 :] if begin >= 0 else text[head.end() :]
            if text.lstrip().startswith("by"):
                text = text.lstrip()[2:]
        return text.strip()[:_MAX_STEP]


def read_program(text: str) -> Program:
    """Read Lean source: a declaration begins at the line's start and ends before the next one."""
    lines = text.split("\n")
    heads = [(at, found) for at, line in enumerate(lines) if (found := _DECLARATION.match(line)) is not None]
    ends = [at for at, _ in heads[1:]] + [len(lines)] * bool(heads)
    return Program(
        lines, [_declaration(lines[at:end], at, found) for (at, found), end in zip(heads, ends, strict=True)]
    )


def _declaration(lines: Sequence[str], at: int, found: re.Match[str]) -> Declaration:
    last = len(lines)
    while last > 1 and not lines[last - 1].strip():
        last -= 1
    rest = "\n".join(lines[:last])[found.end() :]
    parted = rest.find(":=")
    statement, proof = (rest, "") if parted < 0 else (rest[:parted], rest[parted + 2 :])
    said = " ".join(statement.split())[:_MAX_STATEMENT]
    return Declaration(found["name"], found["keyword"], said, proof, at + 1, at + last)
