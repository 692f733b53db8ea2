"""What the readers of a log find in it, before it is told as drafts."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from phronesis.derive.sources.log.lines import Line

MAX_FRAMES: Final = 20
"""Frames of a stack that are kept: the innermost tell where it happened."""

_FOREIGN: Final = (
    "site-packages", "dist-packages", "/lib/python", "<frozen", "<string>", "<stdin>", "node_modules", "node:",
    "(internal/", "internal/", "java.", "javax.", "jdk.", "sun.", "kotlin.", "org.junit", "org.opentest4j",
    "org.gradle", "org.apache.maven", "scala.", "org.scalatest.", "sbt.",
    "/rustc/", "/usr/local/go/", "<anonymous>", "System.", "Microsoft.",
)  # fmt: skip
_INSIDE: Final = (
    "site-packages", "dist-packages", "/lib/python", "node_modules", "/rustc/", "/usr/local/go/", "/go/src/testing/",
    "/go/src/runtime/", "/src/runtime/panic.go",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that went wrong, on the lines ``first`` to ``last`` (counted from 0, both in).

    ``test`` is the id of the test that failed, ``status`` what the tool says of it, ``suite`` what it belongs to (a
    package of Go). ``place`` is the line of ``file``. ``follows``: it only says that something before it went wrong
    (``make: *** … Error 1``), and counts alone where nothing else was found.
    """

    tool: str
    first: int
    last: int
    message: str = ""
    error_type: str | None = None
    file: str | None = None
    test: str | None = None
    status: str = "error"
    frames: Sequence[str] = ()
    causes: Sequence[str] = ()
    seconds: float | None = None
    follows: bool = False
    ran: str | None = None
    suite: str | None = None
    place: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a tool counts of a suite, on a line: passed, failed, errors, skipped, seconds."""

    tool: str
    line: int
    counts: Mapping[str, int | float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a command ended, on a line: its exit code, or whether it went well; ``target`` is what was to be built."""

    line: int
    exit_code: int | None = None
    well: bool | None = None
    text: str = ""
    tool: str | None = None
    target: str | None = None


@dataclass(slots=True)
class Reading:
    """The lines of a log, which of them were understood, and what was found. Each reader adds to it."""

    lines: Sequence[Line]
    taken: bytearray = field(init=False)
    findings: list[Finding] = field(default_factory=list)
    summaries: list[Summary] = field(default_factory=list)
    endings: list[Ending] = field(default_factory=list)
    commands: dict[int, str] = field(default_factory=dict)
    facts: list[tuple[int, str]] = field(default_factory=list)
    tools: list[tuple[int, str]] = field(default_factory=list)
    targets: list[tuple[int, str]] = field(default_factory=list)
    warnings: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    known: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.taken = bytearray(len(self.lines))

    def text(self, n: int) -> str:
        """Give the words of a line; nothing past the end."""
        return self.lines[n].text if 0 <= n < len(self.lines) else ""

    def take(self, first: int, last: int) -> None:
        """Mark lines as understood: no other reader reads them."""
        self.taken[first : last + 1] = b"\1" * (last + 1 - first)

    def free(self, n: int) -> bool:
        """Tell whether a line is there and nobody has read it."""
        return 0 <= n < len(self.lines) and not self.taken[n]

    def called(self, n: int, tool: str) -> None:
        """Note that a line shows a tool at work."""
        self.tools.append((n, tool))
        self.known.add(tool)

    def found(self, finding: Finding) -> None:
        """Add a finding and mark its lines."""
        self.findings.append(finding)
        self.take(finding.first, finding.last)


def short_type(name: str) -> str:
    """Give an error's name without its module or package."""
    return name.rpartition(".")[2] or name


def foreign(frame: str) -> bool:
    """Tell whether a frame lies in a library or in the language itself."""
    words = frame.removeprefix("at ").removeprefix("async ")
    return (
        words.startswith(_FOREIGN)
        or any(mark in words for mark in _INSIDE)
        or "(node:" in words
        or "(internal/" in words
    )


_PARAMETERS: Final = re.compile(r"\[.{0,300}\]\Z", re.DOTALL)
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def bare_test(name: str) -> str:
    """Give a test's own name: without the file, class and module before it, and without its parameters."""
    name = _PARAMETERS.sub("", name[:600])
    if is_file(name):
        return name
    for mark in ("::", "."):
        if " " not in name and mark in name:
            own = name.rpartition(mark)[2]
            name = own if own and not own[0].isdigit() else name
    return name


def is_file(name: str) -> bool:
    """Tell whether what failed is a whole file of tests, which could not be read."""
    return name.endswith((".py", ".js", ".ts")) and "::" not in name


def test_in_words(name: str) -> str:
    """Say what a test is to show, from its name: ``test_total_adds_prices`` is "total adds prices"."""
    if is_file(name):
        return ""
    name = bare_test(name)
    for before in ("DISABLED_", "test_", "Test", "test"):
        if name.startswith(before) and len(name) > len(before):
            name = name[len(before) :]
            break
    return " ".join(_CAMEL.sub(" ", name.replace("_", " ").replace("/", " ")).lower().split())
