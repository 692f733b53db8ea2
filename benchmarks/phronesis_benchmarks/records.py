"""Labelled rows as files hold them, and the tables that reports print."""

import json
import lzma
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from phronesis.errors import InputError

Row = TypeVar("Row")


def read_text(path: Path) -> str:
    """Return the text of a file, which may be compressed (``.xz``)."""
    data = path.read_bytes()
    return (lzma.decompress(data) if path.suffix == ".xz" else data).decode("utf-8")


def read_rows(path: Path, read: Callable[[Any], Row], *, what: str, field: str = "data") -> list[Row]:
    """Return what ``read`` makes of each line of JSON; InputError names the line that is no ``what``."""
    rows = []
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            rows.append(read(json.loads(line)))
        except (ValueError, TypeError, KeyError, InputError) as error:
            raise InputError(f"{path.name}, line {number}: this is no {what}: {error!r:.120}", field=field) from error
    return rows


def render_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(f"| {' | '.join(map(str, cells))} |" for cells in (head, ["---"] * len(head), *rows))


def render_share(value: float | None) -> str:
    """Return a share with three digits; a dash where there was nothing to share."""
    return "–" if value is None else f"{value:.3f}"
