"""docs/http.md tells the truth: its Python runs, its table of errors is that of the code, its commands are there."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from phronesis import errors
from phronesis.interfaces.cli import commands
from phronesis.interfaces.http.problems import status_of

PAGE = (Path(__file__).parents[2] / "docs" / "http.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_its_python_runs_in_order() -> None:
    assert len(BLOCKS) >= 5
    names: dict[str, Any] = {}
    for block in BLOCKS:
        exec(compile(block, "http.md", "exec"), names)  # noqa: S102 - our own words
    names["memory"].close()


def test_the_table_has_every_error_under_its_status() -> None:
    told: dict[int, set[str]] = defaultdict(set)
    for status, codes in re.findall(r"^\| (\d{3}) \| (.+) \|$", PAGE, re.MULTILINE):
        told[int(status)] |= {code for code in re.findall(r"`([a-z_.]+)`", codes) if "." in code or code in CODES}
    ours: dict[int, set[str]] = defaultdict(set)
    for kind in set(kinds()) - {errors.ServerUnavailable}:  # raised by a client alone
        ours[int(status_of(kind("x")))].add(kind.code)
    assert {status: codes <= told[status] for status, codes in ours.items()} == dict.fromkeys(ours, True)
    known = {kind.code for kind in kinds()} | {"details.mistakes"}
    assert {code for codes in told.values() for code in codes if not code.startswith("http.")} <= known


def test_every_command_is_there() -> None:
    told = set(re.findall(r"^phronesis (\w+)", PAGE, re.MULTILINE))
    assert told == {"serve", "keys"}
    assert told <= commands.cli.commands.keys()


def kinds(kind: type[errors.PhronesisError] = errors.PhronesisError) -> Iterator[type[errors.PhronesisError]]:
    yield kind
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from kinds(below)


CODES = {kind.code for kind in kinds()}
