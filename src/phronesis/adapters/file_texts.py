"""The texts of the memory tool: how it shows files and directories, and how it edits a text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from phronesis.errors import InputError

MAX_LINES: Final = 999_999
"""Lines of a file that can be viewed: the tool's own limit."""

_WIDTH: Final = len(str(MAX_LINES))
_AROUND: Final = 2
"""Lines shown before and after an edit."""

_DEPTH: Final = 2


def numbered(path: str, text: str, view_range: Sequence[int] | None = None) -> str:
    """Give the lines of a text with their numbers: all, or from the first to the last of ``view_range``, -1 the end."""
    lines = text.split("\n")
    if len(lines) > MAX_LINES:
        raise InputError(f"File {path} exceeds maximum line limit of {MAX_LINES:,} lines.", field="path")
    first, last = 1, len(lines)
    if view_range and len(view_range) == 2:  # noqa: PLR2004 - a range
        first = max(1, view_range[0])
        last = last if view_range[1] == -1 else view_range[1]
    return _shown(lines[first - 1 : last], first)


def edited(text: str, line: int) -> str:
    """Give the lines around a line, counted from 0, with their numbers."""
    first = max(0, line - _AROUND)
    return _shown(text.split("\n")[first : line + _AROUND + 1], first + 1)


def replaced(path: str, text: str, old: str, new: str) -> tuple[str, int]:
    """Give the text with its one ``old`` replaced, and the line, from 0, in which that is; InputError if not one."""
    places = list(_places(text, old))
    if not places:
        raise InputError(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.", field="old_str"
        )
    if text.count(old) > 1:
        lines = ", ".join(str(text.count("\n", 0, place) + 1) for place in places)
        raise InputError(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}."
            " Please ensure it is unique",
            field="old_str",
        )
    return text.replace(old, new), text.count("\n", 0, places[0])


def placed(text: str, line: int, words: str) -> str:
    """Give the text with ``words`` after a line, 0 for its beginning; the last line ends with a line feed."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if not 0 <= line <= len(lines):
        raise InputError(
            f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}].",
            field="insert_line",
        )
    lines.insert(line, words.rstrip("\n"))
    whole = "\n".join(lines)
    return whole if whole.endswith("\n") else f"{whole}\n"


def listing(given: str, path: str, sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield a directory, with the size of all in it, and what is in it, two levels deep; ``sizes`` are in bytes."""
    yield f"{human(sum(sizes.values()))}\t{given}"
    tree: dict[str, Any] = {}
    for name, size in sizes.items():
        *folders, file = name.removeprefix(f"{path}/").split("/")
        inner = tree
        for folder in folders:
            inner = inner.setdefault(folder, {})
        inner[file] = size
    yield from _branches(tree, given, 1)


def human(size: int) -> str:
    """Give a number of bytes with the largest unit that it fills once: 512B, 1.5K, 2M."""
    amount, unit = float(size), "B"
    for larger in "KMG":
        if amount < 1024:  # noqa: PLR2004 - bytes
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.0f}{unit}" if amount == int(amount) else f"{amount:.1f}{unit}"


def _branches(tree: Mapping[str, Any], path: str, depth: int) -> Iterator[str]:
    for name in sorted(tree):
        if name.startswith("."):
            continue
        inner = tree[name]
        if isinstance(inner, int):
            yield f"{human(inner)}\t{path}/{name}"
        else:
            yield f"{human(_total(inner))}\t{path}/{name}/"
            if depth < _DEPTH:
                yield from _branches(inner, f"{path}/{name}", depth + 1)


def _total(tree: Mapping[str, Any]) -> int:
    return sum(inner if isinstance(inner, int) else _total(inner) for inner in tree.values())


def _places(text: str, old: str) -> Iterator[int]:
    place = text.find(old)
    while place >= 0:
        yield place
        place = text.find(old, place + 1)


def _shown(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines, first))
