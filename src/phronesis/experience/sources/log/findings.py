"""The lines of a log without stamps and colours, and what its parsers find: failures, summaries, exit statuses."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from phronesis.core.timestamps import parse_moment
from phronesis.errors import InputError
from phronesis.experience.laws.event_draft import Artifact
from phronesis.experience.sources.port import RawText, placed_lines

MAX_LINE: Final = 2_000
"""Characters of a line that are examined, so that time is linear in the text."""

_COLOUR: Final = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]|\x1b[\]_][^\x07\x1b]{0,400}(?:\x07|\x1b\\)")
"""Colours, and other terminal or Buildkite control sequences."""

_JENKINS_NOTE: Final = re.compile(r"\x1b\[8mha:[^\x1b]*\x1b\[0m")
"""Encoded objects that Jenkins plugins hide in console output."""
_STAMP: Final = re.compile(
    r"(?:[^\t\n]{1,80}\t[^\t\n]{1,80}\t)?\ufeff?\[?"
    r"(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)\]?"
    r"(?: \d\d[OE]\+?)?(?:[ \t]|$)"
)
_TIME: Final = re.compile(r"\[?\d\d:\d\d(?::\d\d(?:[.,]\d{1,6})?|(?=[ \t]{1,2}\[))\]?([ \t]{1,2}|\Z)")
_TEAMCITY: Final = re.compile(r"\[\d\d:\d\d:\d\d\][ A-Za-z]{0,2}:(?:\s{1,8}|\Z)(?:\[[^\]\n]{1,80}\](?: |\Z))?")
_BUILDKIT: Final = re.compile(r"#\d{1,4}(?: \d{1,6}\.\d{1,4})?(?: |\Z)")
_SERVICE: Final = re.compile(
    r"(?!Line \|\Z)[A-Za-z][\w.-]{0,40} {1,30}\|(?: |\Z)|\[[^\]\n]{1,80} #\d{1,4}-\d{1,4}\](?: |\Z)"
)
_QUOTED: Final = 4


@dataclass(frozen=True, slots=True)
class Line:
    """One line: ``text`` is its content, [``start``, ``end``) its span, ``at`` the last time stamp.

    ``number`` counts the lines of the source from 0; several lines have one number if the source wraps a program's
    output (``go test -json``). ``marked``: the log itself marks this line as an error (``##[error]``).
    """

    text: str
    start: int
    end: int
    at: datetime | None = None
    marked: bool = False
    number: int = 0


def lines_of(raw: RawText) -> list[Line]:
    """Return the lines of a text; incomplete and future time stamps are ignored."""
    out: list[Line] = []
    at: datetime | None = None
    bare = _unquote_lines([_without_colour(line) for _, _, line in placed_lines(raw.text)])
    times = [match for text in bare if (match := _TIME.match(text)) and match[1] and match.end() < len(text)]
    gap = min((len(match[1]) for match in times), default=1)  # two blanks in a Jenkins console, else one
    for n, (start, end, _) in enumerate(placed_lines(raw.text)):
        text, told = _without_stamp(bare[n], gap)
        if told is not None:
            at = raw.past(told)
        marked = text.startswith("##[error]")
        out.append(Line(text.removeprefix("##[error]"), start, end, at, marked, n))
    return out


def _without_colour(text: str) -> str:
    """Return the first `MAX_LINE` characters of a line without colours, notes, and overwritten text."""
    if "\x1b[8mha:" in text:
        text = _JENKINS_NOTE.sub("", text)
    text = _COLOUR.sub("", text[:MAX_LINE]).removeprefix("\ufeff").rstrip()
    return text.rpartition("\r")[2] if "\r" in text else text  # a progress bar: its final state


def _unquote_lines(texts: list[str]) -> list[str]:
    """Return lines without the prefix of a quoted log: ``> ``, or at least four blanks."""
    written = [text for text in texts if text]
    if written and all(text.startswith(">") for text in written) and any(text.startswith("> ") for text in written):
        return [text.removeprefix(">").removeprefix(" ") for text in texts]
    indent = min((len(text) - len(text.lstrip(" ")) for text in written), default=0)
    return [text[indent:] for text in texts] if indent >= _QUOTED else texts


def moment(said: str) -> datetime | None:
    """Return a complete time; None if it is not one."""
    try:
        return parse_moment(said.strip().replace("/", "-").replace(" UTC", "Z").replace(" +", "+"), field="at")
    except InputError:
        return None


def _without_stamp(text: str, gap: int) -> tuple[str, datetime | None]:
    """Return a line without its service name and time stamp, and the time."""
    service = _BUILDKIT.match(text) or _SERVICE.match(text) or _TEAMCITY.match(text)
    if service:
        text = text[service.end() :]
    if stamp := _STAMP.match(text):
        return text[stamp.end() :], moment(stamp[1])
    time = _TIME.match(text)
    return (text[time.start(1) + gap :] if time else text), None


MAX_FRAMES: Final = 20
"""Stack frames that are kept, the innermost."""

_FOREIGN: Final = tuple(
    """
    site-packages dist-packages /lib/python <frozen <string> <stdin> node_modules node: (internal/ internal/ java.
    javax. jdk. sun. kotlin. org.junit org.opentest4j org.gradle org.apache.maven scala. org.scalatest. sbt. /rustc/
    /usr/local/go/ <anonymous> System. Microsoft.
    """.split()
)
_INSIDE: Final = tuple(
    """
    site-packages dist-packages /lib/python node_modules /rustc/ /usr/local/go/ /go/src/testing/ /go/src/runtime/
    /src/runtime/panic.go (node: (internal/
    """.split()
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One failure, on the lines ``first`` to ``last`` (from 0, inclusive).

    ``test`` is the id of the failed test, ``status`` the tool's word, ``suite`` its suite (a package of Go). ``place``
    is the line of ``file``. ``follows``: it only reports a consequence of an earlier failure (``make: *** … Error 1``),
    and counts only if nothing else was found.
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


@dataclass(frozen=True, slots=True)
class Summary:
    """The counts of a suite on a line: passed, failed, errors, skipped, seconds."""

    tool: str
    line: int
    counts: Mapping[str, int | float]


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """The end of a command on a line: its exit code, or whether it succeeded."""

    line: int
    exit_code: int | None = None
    well: bool | None = None
    text: str = ""
    tool: str | None = None


@dataclass(slots=True)
class LogParse:
    """The lines of a log, which of them were parsed, and the findings. Each parser adds to it."""

    lines: Sequence[Line]
    taken: bytearray = field(init=False)
    findings: list[Finding] = field(default_factory=list)
    summaries: list[Summary] = field(default_factory=list)
    endings: list[CommandEnd] = field(default_factory=list)
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
        """Return the content of a line; empty past the end."""
        return self.lines[n].text if 0 <= n < len(self.lines) else ""

    def take(self, first: int, last: int) -> None:
        """Mark lines as parsed: other parsers skip them."""
        self.taken[first : last + 1] = b"\1" * (last + 1 - first)

    def is_unread(self, n: int) -> bool:
        """Return whether a line exists and has not been parsed."""
        return 0 <= n < len(self.lines) and not self.taken[n]

    def free_lines(self) -> Iterator[tuple[int, str]]:
        """Yield the number and content of each line that has not been parsed when its turn comes."""
        for n, line in enumerate(self.lines):
            if not self.taken[n]:
                yield n, line.text

    def matches(self, pattern: re.Pattern[str]) -> Iterator[tuple[int, re.Match[str]]]:
        """Yield the lines not parsed yet that begin as a pattern says."""
        for n, text in self.free_lines():
            if match := pattern.match(text):
                yield n, match

    def until(self, start: int, ends: Callable[[str], bool]) -> int:
        """Return the last non-empty line after ``start`` before one that ends the block; rules do not count."""
        last = start
        for n in range(start + 1, len(self.lines)):
            text = self.text(n)
            if ends(text):
                break
            if text.strip("-=_ "):
                last = n
        return last

    def note_tool(self, n: int, tool: str) -> None:
        """Note that a line shows a tool at work."""
        self.tools.append((n, tool))
        self.known.add(tool)

    def ended(self, n: int, text: str = "", **fields: Any) -> None:
        """Add the end of a command on a line, and mark the line."""
        self.endings.append(CommandEnd(n, text=text.strip(), **fields))
        self.take(n, n)

    def count(self, tool: str, n: int, counts: Mapping[str, int | float]) -> None:
        """Add the counts of a suite on a line, and mark the line."""
        self.summaries.append(Summary(tool, n, counts))
        self.take(n, n)

    def add_finding(self, finding: Finding) -> None:
        """Add a finding and mark its lines."""
        self.findings.append(finding)
        self.take(finding.first, finding.last)


def artifacts_of(file: str | None, error_type: str | None, concepts: Iterable[str]) -> list[Artifact]:
    """Return the artifacts of a failure or a run, each once."""
    out = [Artifact("file", file)] if file else []
    out += [Artifact("error_type", error_type)] if error_type else []
    return list(dict.fromkeys([*out, *(Artifact("concept", name) for name in concepts if name)]))


def short_type(name: str) -> str:
    """Return an error's name without its module or package."""
    return name.rpartition(".")[2] or name


def is_library_frame(frame: str) -> bool:
    """Return whether a frame is in a library or the language runtime."""
    words = frame.removeprefix("at ").removeprefix("async ")
    return words.startswith(_FOREIGN) or any(mark in words for mark in _INSIDE)


_PARAMETERS: Final = re.compile(r"\[.{0,300}\]\Z", re.DOTALL)
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def bare_test(name: str) -> str:
    """Return a test's own name: without file, class, module and parameters."""
    name = _PARAMETERS.sub("", name[:600])
    if is_file(name):
        return name
    for mark in ("::", "."):
        if " " not in name and mark in name:
            own = name.rpartition(mark)[2]
            name = own if own and not own[0].isdigit() else name
    return name


def is_file(name: str) -> bool:
    """Return whether the failure is a whole test file that could not be loaded."""
    return name.endswith((".py", ".js", ".ts")) and "::" not in name


def test_in_words(name: str) -> str:
    """Return a test's name as words: ``test_total_adds_prices`` is "total adds prices"."""
    if is_file(name):
        return ""
    name = bare_test(name)
    for before in ("DISABLED_", "test_", "Test", "test"):
        if name.startswith(before) and len(name) > len(before):
            name = name[len(before) :]
            break
    return " ".join(_CAMEL.sub(" ", name.replace("_", " ").replace("/", " ")).lower().split())


# Parts of drafts that several formats share.

MAX_RESULT: Final = 300
"""Characters of a result: an error's type and the first line of its message."""


def in_short(error_type: str | None, message: str) -> str:
    """Return an error as ``Type: message``, in one line."""
    line = message.strip().partition("\n")[0].strip()
    words = f"{error_type}: {line}" if error_type and line else error_type or line
    return words[:MAX_RESULT]
