"""What the pages of reference share: the line that says how they are made, and tables."""

import inspect
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

MADE: Final = (
    "<!-- Made from the code by `python -m phronesis.interfaces.reference docs`; edit the docstrings, not this. -->"
)
_ROLE: Final = re.compile(r"``([^`\n]+)``")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Give the lines of a table; what would end a cell is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in line) + " |" for line in lines]


def prose(docstring: str | None) -> str:
    """Give a docstring as Markdown: code in single backticks, sections as bold words and lists."""
    lines = []
    for line in _ROLE.sub(r"`\1`", inspect.cleandoc(docstring or "")).splitlines():
        section = re.fullmatch(r"(Args|Attributes|Raises|Returns|Yields):", line)
        named = re.fullmatch(r" {4}([\w.* ,]+): (.*)", line)
        if section:
            lines += [f"**{section[1]}**", ""]
        elif named:
            lines.append(f"- `{named[1]}`: {named[2]}")
        elif line.startswith("        "):
            lines.append(f"  {line.strip()}")
        else:
            lines.append(line)
    return "\n".join(lines).strip()


def first_line(value: Any) -> str:
    """Give the first paragraph of a thing's docstring, on one line."""
    return " ".join(prose(inspect.getdoc(value)).partition("\n\n")[0].split())
