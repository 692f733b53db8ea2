"""Parse shell commands, their exit codes, and one-line errors of tools such as make, npm and pip."""

import re
from typing import Final

from phronesis.experience.sources.log.findings import CommandEnd, Finding, LogParse

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
    r"(?:[\w./-]{1,100}: )?(?:line \d{1,9}: |\d{1,9}: )?(\S[^:\n]{0,200}): (?:command not found"
    r"|No such file or directory|Permission denied|not found)\Z"
)
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
    for n in range(len(reading.lines)):
        text = reading.text(n)
        if not reading.free(n):
            continue
        if text.startswith("+"):
            match = None if reading.text(n - 1).startswith(_DIFF) else _TRACED.match(text)
        elif text.startswith("> "):
            match = _SCRIPT.match(text)
            command = reading.text(n + 1)
            if match and command.startswith("> "):
                _drop_caller(reading, n)
                reading.commands[n] = command[2:].strip()
                reading.facts += [(n, match[1]), (n, f"script {match[2]}")]
                reading.called(n, "npm")
                reading.take(n, n + 1)
            continue
        else:
            match = _STEP.match(text) or _PROMPT.match(text) or _WINDOWS_PROMPT.match(text)
            if match is None and text.startswith("Run "):  # as shown on a page: the command is repeated below
                match = _RUN.match(text)
                match = match if match and reading.text(n + 1).strip() == match[1].strip() else None
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
    n = 0
    while n < len(reading.lines):
        if reading.free(n):
            n = _read_line(reading, n)
        n += 1


def _read_line(reading: LogParse, n: int) -> int:
    """Parse a line; return the last line that was parsed with it."""
    text = reading.text(n)
    if not text.strip():
        return n
    if text.startswith("[") and _MAVEN.match(text):
        reading.called(n, "maven")
    if "Sanitizer: " in text:
        _sanitizer(reading, n)
    elif "make" in text[:20] and "***" in text:
        _make(reading, n)
    elif text.startswith("npm "):
        return _npm(reading, n)
    elif _exit(reading, n) or _parse_end(reading, n):
        pass
    elif text.endswith(_SHELL) and ": " in text:
        match = _SHELL_LINE.match(text)
        if match:
            kind = next(kind for kind in _SHELL if text.endswith(kind))
            reading.found(Finding("shell", n, n, error_type=kind, message=f"{match[1]}: {kind}"))
    elif "fault" in text or "illed" in text or "Aborted" in text or "emory" in text or "Bus error" in text:
        match = _CRASH.match(text)
        if match:
            reading.found(Finding("shell", n, n, error_type=match[1], message=""))
    if not reading.free(n):
        return n
    _facts(reading, n)
    return _parse_printed_error(reading, n)


def _sanitizer(reading: LogParse, n: int) -> None:
    """Parse a report of AddressSanitizer and similar tools: the kind of fault, and the innermost own frame."""
    match = _SANITIZER.match(reading.text(n))
    if match is None:
        return
    last, frames = n, list[re.Match[str]]()
    for k in range(n + 1, n + 40):
        frame = _SANITIZED.match(reading.text(k))
        if frame:
            frames.append(frame)
            last = k
        elif frames:
            break
    own = next((frame[2] for frame in frames if "/sysdeps/" not in frame[2]), None)
    reading.found(
        Finding(
            "sanitizer",
            n,
            last,
            error_type=match[2],
            message=match[3],
            file=own,
            frames=[f"{frame[1]} {frame[2]}" for frame in frames],
        )
    )


def _make(reading: LogParse, n: int) -> None:
    text = reading.text(n)
    match = _MAKE.match(text)
    if match:
        reading.endings.append(CommandEnd(n, exit_code=int(match[2]), tool="make", text=text.strip(), target=match[1]))
        reading.targets.append((n, match[1]))
        reading.take(n, n)
    elif stop := _MAKE_STOP.match(text):
        reading.found(Finding("make", n, n, message=f"error: {stop[1].rstrip('.')}"))


def _npm(reading: LogParse, start: int) -> int:
    """Parse lines with npm's prefix: one error, or details of the one before."""
    first = _NPM.match(reading.text(start))
    if first is None:
        reading.called(start, "npm")
        return start
    said: list[str] = []
    last = start
    while reading.free(last) and (match := _NPM.match(reading.text(last))):
        said.append(match[1].strip())
        last += 1
    last -= 1
    code = next((line.removeprefix("code ") for line in said if line.startswith("code ")), None)
    kind = code if code and not code.isdigit() else None
    words = [line for line in said if line and not line.startswith(("code ", "errno ", "A complete log", "path "))]
    status = next((match[1] for line in said if (match := _NPM_STATUS.match(line))), None)
    if status:
        reading.endings.append(CommandEnd(last, exit_code=int(status), tool="npm"))
    reading.called(start, "npm")
    reading.found(Finding("npm", start, last, error_type=kind, message=words[0] if words else "", follows=True))
    return last


def _exit(reading: LogParse, n: int) -> bool:
    text = reading.text(n)
    match = _PLAIN_EXIT.match(text)
    if match is None and ("xit" in text or "eturn" in text or "退出" in text):
        match = _EXIT.search(text[:400])
    if match is None:
        return False
    reading.endings.append(CommandEnd(n, exit_code=int(match[1]), text=text.strip()))
    reading.take(n, n)
    return True


def _parse_end(reading: LogParse, n: int) -> bool:
    text = reading.text(n).strip()
    well, badly = _WELL.match(text), _BADLY.match(text)
    if not well and not badly:
        return False
    reading.endings.append(CommandEnd(n, well=bool(well), text=text))
    made = _MADE.match(text)
    if made:
        reading.targets.append((n, made[1]))
    reading.take(n, n)
    return True


def _facts(reading: LogParse, n: int) -> None:
    text = reading.text(n)
    compiling = _COMPILING.match(text)
    version = _VERSION.match(text)
    if compiling:
        reading.facts.append((n, f"{compiling[1]} {compiling[2]}"))
        reading.called(n, "cargo")
    elif version:
        reading.facts.append((n, version[1]))
    elif text.startswith("> Task :"):
        reading.called(n, "gradle")


def _parse_printed_error(reading: LogParse, start: int) -> int:
    """Parse an error that a program printed as text; consecutive lines are one."""
    first = _words(reading.text(start))
    if first is None:
        if reading.lines[start].marked:
            said = reading.text(start).strip()
            reading.found(Finding("ci", start, start, message=f"error: {said}", follows=True))
        return start
    last = start
    upper = reading.text(start).startswith("ERROR: ")
    while upper and reading.free(last + 1) and reading.text(last + 1).startswith("ERROR: "):
        last += 1
    kind, message = first
    told = "maven" in reading.known and reading.text(start).startswith("[ERROR]")
    reading.found(Finding("log", start, last, error_type=kind, message=message, follows=told))
    return last


def _words(text: str) -> tuple[str | None, str] | None:
    match = _LEVEL.match(text)
    if match is None:
        match = _PLAIN_ERROR.match(text)
    if match:
        named = _ERROR_IN_FRONT.match(match[1])
        return (named[1].rpartition(".")[2], named[2]) if named else (None, f"error: {match[1]}")
    named = _ERROR_IN_FRONT.match(text)
    return (named[1].rpartition(".")[2], named[2]) if named else None
