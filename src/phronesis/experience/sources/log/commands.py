"""Parse shell commands, exit codes, PowerShell's error records, and one-line errors of make, npm, pip and others."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from phronesis.experience.sources.log.findings import Finding, Line, LogParse, short_type

_PROMPT: Final = re.compile(
    r"(?:\([\w.-]{1,60}\) )?(?:\[?[\w.-]{1,40}@[\w.-]{1,60}[: ]\S{0,100}?\]?[$#]|\$|❯|➜) (\S.{0,400})\Z"
)
_WINDOWS_PROMPT: Final = re.compile(
    r"(?:\([\w.-]{1,60}\) )?PS(?: [^>\n]{1,200})?> {0,4}(?!TerminatingError\()(\S.{0,400})\Z"
)
_TRACED: Final = re.compile(r"\+{1,4} (?!~+\Z)([\w./~-]{1,200}(?: .{0,400})?)\Z")
_STEP: Final = re.compile(r"(?:##\[group\]|::group::)Run (\S.{0,400})\Z")
_SCRIPT: Final = re.compile(r"> (@?[\w./-]{1,100}@\d[\w.+-]{0,30}) (\S{1,60})\Z")
_DIFF: Final = ("- ", "? ", "@@", "---")

_EXIT: Final = re.compile(
    r"\b(?:exit(?:ed)? (?:with )?(?:exit )?(?:code|status)|exit[_ ]?code|exited with|return(?:ed)? (?:code"
    r"|non-zero exit status)|退出码|退出代码)(?: is)?\s?[:=：]?\s?(-?\d{1,10})\b",
    re.IGNORECASE,
)
_PLAIN_EXIT: Final = re.compile(r"exit (\d{1,3})\Z", re.IGNORECASE)
_MAKE: Final = re.compile(
    r"(?:g?make"
    r"|mingw32-make)(?:\[\d{1,4}\])?: \*\*\* \[(?:[^\]:\n]{1,200}:\d{1,9}: )?([^\]\n]{1,300})\] Error (\d{1,5})"
)
_MAKE_STOP: Final = re.compile(r"(?:g?make)(?:\[\d{1,4}\])?: \*\*\* (.{1,300}?)\s{0,4}Stop\.\Z")
_NPM: Final = re.compile(r"npm (?:ERR!|error) ?(.*)\Z")
_NPM_STATUS: Final = re.compile(r"(?:Exit status|errno|code) (\d{1,5})\Z")
_SHELL: Final = ("command not found", "No such file or directory", "Permission denied", "not found")
_SHELL_LINE: Final = re.compile(
    rf"(?:[\w./-]{{1,100}}: )?(?:line \d{{1,9}}: |\d{{1,9}}: )?(\S[^:\n]{{0,200}}): ({'|'.join(_SHELL)})\Z"
)
_CRASHED: Final = ("fault", "illed", "Aborted", "emory", "Bus error")
_CRASH: Final = re.compile(
    r"(?:.{0,100}: )?(?:line \d{1,9}: )?(?:\s{0,8}\d{1,9} )?(Segmentation fault|Killed|Aborted|Bus error"
    r"|OOMKilled|Out of memory)\b(?: \(core dumped\))?.{0,100}\Z"
)
_SANITIZER: Final = re.compile(r"==\d{1,9}==\s?ERROR: (\w{1,30}Sanitizer): (\S{1,60}) ?(.{0,200})")
_SANITIZED: Final = re.compile(r"\s{1,8}#\d{1,3} 0x[0-9a-f]{1,16} in (\S{1,200}) ([^\s:()]{1,300}):\d{1,9}")
_MAVEN: Final = re.compile(
    r"\[(?:INFO|ERROR)\] (?:Scanning for projects|COMPILATION ERROR|Failed to execute goal"
    r"|BUILD (?:SUCCESS|FAILURE)|--- .{1,80}plugin:)"
)
_RUN: Final = re.compile(r"Run (\S.{0,400})\Z")
_LEVEL: Final = re.compile(
    r"(?:[\[(]?(?:ERROR|CRITICAL|FATAL|SEVERE)[\])]?[:\s]|.{1,80} - (?:ERROR|CRITICAL"
    r"|FATAL) - )\s{0,8}(?:- )?(\S.*)\Z"
)
_PLAIN_ERROR: Final = re.compile(r"(?:fatal|error|Error|E|FATAL): (\S.*)\Z")
_ERROR_IN_FRONT: Final = re.compile(r"((?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception)): (\S.*)\Z")
_WELL: Final = re.compile(
    r"(?:\[INFO\] )?(?:BUILD SUCCESS(?:FUL)?\b|Build succeeded|Finished [`\w].{0,80} target"
    r"|Successfully (?:installed|built|tagged|uninstalled)|"
    r"Compiled successfully|webpack .{0,40}compiled successfully|Success: no issues found"
    r"|All checks passed!|added \d{1,9} packages|"
    r"✓ built in|Build (?:complete|successful)\b|Requirement already satisfied)",
    re.IGNORECASE,
)
_BADLY: Final = re.compile(
    r"(?:\[ERROR\] |\[INFO\] )?(?:BUILD FAIL(?:ED|URE)\b|Build failed|error: could not compile"
    r"|error: test failed|error: aborting due to|"
    r"ninja: build stopped|collect2: error|Failed to compile|FAILURE: Build failed|clang: error: linker"
    r"|ERROR: Job failed)",
    re.IGNORECASE,
)
_MADE: Final = re.compile(r"error: could not compile `([^`\n]{1,100})`")
_COMPILING: Final = re.compile(r"\s{1,8}Compiling (\S{1,100}) (v\d\S{0,30})")
_VERSION: Final = re.compile(
    r"(Node\.js v\d[\w.]{0,20}|Python \d[\w.+]{0,20}|(?:gcc|clang|rustc|cargo|go version|java"
    r"|openjdk)(?: version)? \S{0,3}\d\S{0,20})\b"
)


def read_commands(reading: LogParse) -> None:
    """Find the shell commands; each begins a part of the log."""
    for n in filter(reading.is_unread, range(len(reading.lines))):
        text = reading.text(n)
        if text.startswith("+"):
            match = None if reading.text(n - 1).startswith(_DIFF) else _TRACED.match(text)
        elif text.startswith("> "):
            command = reading.text(n + 1)
            if (match := _SCRIPT.match(text)) and command.startswith("> "):
                _drop_caller(reading, n)
                reading.commands[n] = command[2:].strip()
                reading.facts += [(n, match[1]), (n, f"script {match[2]}")]
                reading.note_tool(n, "npm")
                reading.take(n, n + 1)
            continue
        else:
            match = _STEP.match(text) or _PROMPT.match(text) or _WINDOWS_PROMPT.match(text)
            if match is None and text.startswith("Run "):  # as shown on a page: the command is repeated below
                match = _RUN.match(text) if text.removeprefix("Run ").strip() == reading.text(n + 1).strip() else None
        if match:
            reading.commands[n] = match[1].strip()
            reading.take(n, n)


def _drop_caller(reading: LogParse, n: int) -> None:
    """Remove the ``npm test`` right above the command of the script that it calls: they are one attempt."""
    before = next((k for k in range(n - 1, n - 5, -1) if k in reading.commands), None)
    if before is not None and reading.commands[before].startswith(("npm ", "pnpm ", "yarn ")):
        del reading.commands[before]


def read_endings(reading: LogParse) -> None:
    """Find the ends of commands on lines not parsed yet, and exit codes anywhere."""
    for n, text in reading.free_lines():
        if not text.strip():
            continue
        if text.startswith("[") and _MAVEN.match(text):
            reading.note_tool(n, "maven")
        if "Sanitizer: " in text:
            _sanitizer(reading, n)
        elif "make" in text[:20] and "***" in text:
            _make(reading, n)
        elif text.startswith("npm "):
            _npm(reading, n)
            continue
        elif _exit(reading, n) or _parse_end(reading, n):
            continue
        elif text.endswith(_SHELL) and ": " in text:
            if match := _SHELL_LINE.match(text):
                reading.add_finding(Finding("shell", n, n, error_type=match[2], message=f"{match[1]}: {match[2]}"))
        elif any(word in text for word in _CRASHED) and (match := _CRASH.match(text)):
            reading.add_finding(Finding("shell", n, n, error_type=match[1]))
        if reading.is_unread(n):
            _facts(reading, n)
            _parse_printed_error(reading, n)


def _sanitizer(reading: LogParse, n: int) -> None:
    """Parse a report of AddressSanitizer and similar tools: the kind of fault, and the innermost own frame."""
    if (match := _SANITIZER.match(reading.text(n))) is None:
        return
    last, frames = n, list[re.Match[str]]()
    for k in range(n + 1, n + 40):
        if frame := _SANITIZED.match(reading.text(k)):
            frames.append(frame)
            last = k
        elif frames:
            break
    own = next((frame[2] for frame in frames if "/sysdeps/" not in frame[2]), None)
    told = [f"{frame[1]} {frame[2]}" for frame in frames]
    found = Finding("sanitizer", n, last, error_type=match[2], message=match[3], file=own, frames=told)
    reading.add_finding(found)


def _make(reading: LogParse, n: int) -> None:
    text = reading.text(n)
    if match := _MAKE.match(text):
        reading.ended(n, text, exit_code=int(match[2]), tool="make")
        reading.targets.append((n, match[1]))
    elif stop := _MAKE_STOP.match(text):
        reading.add_finding(Finding("make", n, n, message=f"error: {stop[1].rstrip('.')}"))


def _npm(reading: LogParse, start: int) -> None:
    """Parse lines with npm's prefix: one error, or details of the one before."""
    reading.note_tool(start, "npm")
    if (first := _NPM.match(reading.text(start))) is None:
        return
    said = [first[1].strip()]
    while reading.is_unread(start + len(said)) and (match := _NPM.match(reading.text(start + len(said)))):
        said.append(match[1].strip())
    last = start + len(said) - 1
    code = next((line.removeprefix("code ") for line in said if line.startswith("code ")), None)
    words = [line for line in said if line and not line.startswith(("code ", "errno ", "A complete log", "path "))]
    if status := next((match[1] for line in said if (match := _NPM_STATUS.match(line))), None):
        reading.ended(last, exit_code=int(status), tool="npm")
    kind = code if code and not code.isdigit() else None
    reading.add_finding(Finding("npm", start, last, error_type=kind, message=next(iter(words), ""), follows=True))


def _exit(reading: LogParse, n: int) -> bool:
    text = reading.text(n)
    spoken = "xit" in text or "eturn" in text or "退出" in text
    match = _PLAIN_EXIT.match(text) or (_EXIT.search(text[:400]) if spoken else None)
    if match is None:
        return False
    reading.ended(n, text, exit_code=int(match[1]))
    return True


def _parse_end(reading: LogParse, n: int) -> bool:
    text = reading.text(n).strip()
    well, badly = _WELL.match(text), _BADLY.match(text)
    if not well and not badly:
        return False
    reading.ended(n, text, well=bool(well))
    if made := _MADE.match(text):
        reading.targets.append((n, made[1]))
    return True


def _facts(reading: LogParse, n: int) -> None:
    text = reading.text(n)
    if compiling := _COMPILING.match(text):
        reading.facts.append((n, f"{compiling[1]} {compiling[2]}"))
        reading.note_tool(n, "cargo")
    elif version := _VERSION.match(text):
        reading.facts.append((n, version[1]))
    elif text.startswith("> Task :"):
        reading.note_tool(n, "gradle")


def _parse_printed_error(reading: LogParse, start: int) -> None:
    """Parse an error that a program printed as text; consecutive lines are one."""
    if (first := _words(reading.text(start))) is None:
        if reading.lines[start].marked:
            message = f"error: {reading.text(start).strip()}"
            reading.add_finding(Finding("ci", start, start, message=message, follows=True))
        return
    last = start
    while reading.is_unread(last + 1) and all(reading.text(k).startswith("ERROR: ") for k in (start, last + 1)):
        last += 1
    told = "maven" in reading.known and reading.text(start).startswith("[ERROR]")
    reading.add_finding(Finding("log", start, last, error_type=first[0], message=first[1], follows=told))


def _words(text: str) -> tuple[str | None, str] | None:
    match = _LEVEL.match(text) or _PLAIN_ERROR.match(text)
    if named := _ERROR_IN_FRONT.match(match[1] if match else text):
        return short_type(named[1]), named[2]
    return (None, f"error: {match[1]}") if match else None


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


class _Record(NamedTuple):
    """An error record on the lines ``first`` to ``last``: the command and the message."""

    first: int
    last: int
    command: str
    said: str


def replace_error_records(lines: list[Line]) -> list[Line]:
    """Return the lines with each error record replaced by its command, after `PROMPT`, and its message."""
    out: list[Line] = []
    done, typed = 0, ""
    for n, line in enumerate(lines):
        if n < done:
            continue
        if line.text.startswith(("PS", "(")) and (prompt := _TYPED.match(line.text)):
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
    if (category := _CATEGORY.match(lines[at].text)) is None:
        return None
    identity = next((n for n in range(at + 1, min(at + 4, len(lines))) if _IDENTITY.match(lines[n].text)), at)
    category_words = "".join([category[1], *(line.text.strip() for line in lines[at + 1 : identity])])
    last = identity
    while last + 1 < len(lines) and (
        (lines[last + 1].text.startswith("   ") and not lines[last + 1].text.startswith("    "))
        or _COMPUTER.match(lines[last + 1].text)
    ):
        last += 1
    mark = next((n for n in range(at - 1, max(done, at - _WITHIN) - 1, -1) if _marks(lines[n].text)), None)
    if mark is None:
        (first, said), command = _message(lines, done, at), ""
    else:
        source = mark - 1
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
    """Return whether a line marks a position in the source line above."""
    return text.lstrip().startswith("+") and "~" in text and not text.strip("+ ~")


def _command(source: str) -> str:
    words = source.strip().removeprefix("+").strip()
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
        if head := _HEAD.match(text):
            return n, _join_wrapped([head[1] or "", *(line.text for line in lines[n + 1 : end])], len(text))
        if n == end - 1 or (first == n + 1 and len(text) >= _WRAPPED):
            first = n
    return first, _join_wrapped([line.text for line in lines[first:end]])


def _join_wrapped(texts: Sequence[str], width: int = 0) -> str:
    """Return lines joined that were wrapped; ``width`` is the length of the whole first line."""
    out = ""
    for n, text in enumerate(texts):
        length = width if n == 1 and width else len(texts[n - 1])  # not asked of the first line
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
        if (match := _SHORT_LINE.match(lines[n].text)) is None:
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
