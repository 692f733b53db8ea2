"""Lines of a log with their position and time, without colours, prefixes, and the frames of PowerShell's errors."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from phronesis.core.timestamps import FUTURE_TOLERANCE, parse_moment
from phronesis.errors import InputError
from phronesis.experience.sources.port import RawText

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
    bare = _unquote_lines([_without_colour(raw.text[start:end]) for start, end in _bounds(raw.text)])
    times = [match for text in bare if (match := _TIME.match(text)) and match[1] and match.end() < len(text)]
    gap = min((len(match[1]) for match in times), default=1)  # two blanks in a Jenkins console, else one
    for n, (start, end) in enumerate(_bounds(raw.text)):
        text, told = _without_stamp(bare[n], gap)
        if told is not None:
            at = told if told - raw.recorded_at <= FUTURE_TOLERANCE else None
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


def _bounds(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield start, end
        start = end + 1


def _without_stamp(text: str, gap: int) -> tuple[str, datetime | None]:
    """Return a line without its service name and time stamp, and the time."""
    service = _BUILDKIT.match(text) or _SERVICE.match(text) or _TEAMCITY.match(text)
    if service:
        text = text[service.end() :]
    stamp = _STAMP.match(text)
    if stamp:
        return text[stamp.end() :], moment(stamp[1])
    time = _TIME.match(text)
    return (text[time.start(1) + gap :] if time else text), None


# The frame that PowerShell prints around a command's errors is removed, keeping the command and the message.

PROMPT: Final = "PS> "
"""Prefix of a command in the returned lines."""

_TYPED: Final = re.compile(r"(?:\([\w.-]{1,60}\) )?PS(?: [^>\n]{1,200})?> {0,4}(.{0,1900})")
_CATEGORY: Final = re.compile(r"\s{0,12}\+ CategoryInfo {1,20}: (.{0,600})\Z")
_IDENTITY: Final = re.compile(r"\s{0,12}\+ FullyQualifiedErrorId {1,20}: (\S.{0,300})")
_COMPUTER: Final = re.compile(r"\s{0,12}\+ PSComputerName {1,20}: ")
_EXCEPTION: Final = re.compile(r"\], ?(\w{1,80}(?:Exception|Error))\Z")
_PLACE: Final = re.compile(r".{1,400}[:：] ?\d{1,9} \S{1,20}[:：] ?\d{1,6}\Z")
_HEAD: Final = re.compile(r"[^\s:][^:\n]{0,120}? :(?: (.{0,1900}))?\Z")
_REDIRECTED: Final = re.compile(
    r" {0,8}(?:\d?>>? {0,4}(?:&\d|[\w.\\/:$-]{1,200})|\| {0,4}(?:Out-File|Tee-Object)\b.{0,200})"
)
_SHORT: Final = re.compile(r"(\S.{0,80}?):(?: (?:[A-Za-z]:)?[^:\n]{1,200}:\d{1,9}(?::\d{1,9})?)?\Z")
_SHORT_LINE: Final = re.compile(r"\s{0,8}(\d{1,6})? {0,8}\|(?: (.{0,600}))?\Z")
_BACK: Final = 14
_WITHIN: Final = 8
_WRAPPED: Final = 60
"""Length from which a line may have been wrapped at the window's width."""

_WIDTHS: Final = frozenset((79, 80, 119, 120))
"""Lengths at which a console wraps within a word; other lines were wrapped at a blank."""


@dataclass(frozen=True, slots=True)
class _Record:
    """An error record on the lines ``first`` to ``last``: the command and the message."""

    first: int
    last: int
    command: str
    said: str


def without_records(lines: list[Line]) -> list[Line]:
    """Return the lines with each error record replaced by its command, after `PROMPT`, and its message."""
    out: list[Line] = []
    done, typed = 0, ""
    for n, line in enumerate(lines):
        if n < done:
            continue
        prompt = _TYPED.match(line.text) if line.text.startswith(("PS", "(")) else None
        if prompt:
            typed = prompt[1].strip()
        short = line.text.strip() == "Line |"
        if not short and "+ CategoryInfo" not in line.text:
            continue
        record = _short(lines, done, n) if short else _record(lines, done, n)
        if record is None:
            continue
        out += lines[done : record.first]
        if record.command and not typed.startswith(record.command):
            typed = record.command
            out.append(replace(lines[record.first], text=PROMPT + record.command))
        if record.said.strip():
            out.append(replace(lines[record.first], text=record.said))
        done = record.last + 1
        if done < len(lines) and not lines[done].text.strip():
            done += 1
    return out + lines[done:] if done else lines


def _record(lines: list[Line], done: int, at: int) -> _Record | None:
    """Parse the Windows PowerShell record whose category is on line ``at``; its end may be missing."""
    category = _CATEGORY.match(lines[at].text)
    if category is None:
        return None
    there = (n for n in range(at + 1, min(at + 4, len(lines))) if _IDENTITY.match(lines[n].text))
    identity = next(there, at)
    category_words = "".join([category[1], *(line.text.strip() for line in lines[at + 1 : identity])])
    last = identity
    while last + 1 < len(lines) and (
        (lines[last + 1].text.startswith("   ") and not lines[last + 1].text.startswith("    "))
        or _COMPUTER.match(lines[last + 1].text)
    ):
        last += 1
    mark = next((n for n in range(at - 1, max(done, at - _WITHIN) - 1, -1) if _marks(lines[n].text)), None)
    if mark is None:
        first, said = _message(lines, done, at)
        command = ""
    else:
        source = mark if "<<<<" in lines[mark].text else mark - 1
        command = _command(lines[source].text) if source >= done else ""
        place = source - 1 if source > done and _PLACE.match(lines[source - 1].text) else max(source, done)
        behind = [line.text for line in lines[mark + 1 : at]]  # the parser's message stands below its mark
        first, said = (place, _join_wrapped(behind)) if any(map(str.strip, behind)) else _message(lines, done, place)
    if "NativeCommandError" not in lines[identity].text:
        raised = _EXCEPTION.search(category_words)
        named = _IDENTITY.match(lines[identity].text)
        said = f"{raised[1] if raised else 'Error'}: {said.strip() or (named[1] if named else category_words)}"
    return _Record(first, last, command, said)


def _marks(text: str) -> bool:
    """Return whether a line marks a position in the source line above, or in itself as in PowerShell 2."""
    text = text.strip()
    return text.startswith("+") and ("<<<<" in text or (not text.strip("+ ~") and "~" in text))


def _command(source: str) -> str:
    before, _, behind = source.strip().removeprefix("+").partition("<<<<")
    words = f"{before.strip()} {behind.strip()}".strip()
    return _REDIRECTED.sub("", words).removeprefix("... ").removesuffix(" ...").strip()


def _message(lines: list[Line], done: int, end: int) -> tuple[int, str]:
    """Return the first line and the text of the message that ends before line ``end``."""
    if end - 1 > done and not lines[end - 1].text.strip():
        end -= 1
    first = end
    for n in range(end - 1, max(done, end - _BACK) - 1, -1):
        text = lines[n].text
        if not text.strip() or _TYPED.match(text):
            break
        head = _HEAD.match(text)
        if head:
            return n, _join_wrapped([head[1] or "", *(line.text for line in lines[n + 1 : end])], len(text))
        if n == end - 1 or (first == n + 1 and len(text) >= _WRAPPED):
            first = n
    return first, _join_wrapped([line.text for line in lines[first:end]])


def _join_wrapped(texts: Sequence[str], width: int = 0) -> str:
    """Return lines joined that were wrapped; ``width`` is the length of the whole first line."""
    out = ""
    for n, text in enumerate(texts):
        before = texts[n - 1] if n else ""
        length = width if n == 1 and width else len(before)
        apart = out and length not in _WIDTHS and (out[-1].isascii() or text[:1].isascii())
        out += f" {text.strip()}" if apart else text.strip() if not out else text.rstrip()
    return out


def _short(lines: list[Line], done: int, at: int) -> _Record | None:
    """Parse a PowerShell 7 record, with ``Line |`` above the source line, the mark and the message."""
    head = _SHORT.match(lines[at - 1].text) if at - 1 >= done else None
    if head is None:
        return None
    command, said, last = "", list[str](), at
    for n in range(at + 1, min(at + 30, len(lines))):
        match = _SHORT_LINE.match(lines[n].text)
        if match is None:
            break
        last = n
        words = (match[2] or "").strip()
        if match[1]:
            command = words
        elif words.strip("~ "):
            said.append(words)
    named = head[1].endswith(("Error", "Exception")) and head[1] not in {"Error", "Exception"}
    message = f"{head[1] if named else 'Error'}: {' '.join(said)}" if said else ""
    return _Record(at - 1, last, command.removeprefix("… ").removesuffix(" …").strip(), message)
