"""Parse diagnostics of compilers, type checkers, linters and linkers, and the test output of sbt.

A diagnostic is a file, a line and a message. sbt runs ScalaTest, MUnit, specs2 and JUnit.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from phronesis.experience.sources.log.findings import Finding, LogParse, is_library_frame
from phronesis.experience.sources.log.traces import parse_exception_line

_FILE: Final = r"(?P<file>(?:/?[A-Za-z]:[\\/])?[^\s:()\[\]{}\"'<>|][^:\n()\"<>|{}]{0,300})"
_SEVERITY: Final = r"(?P<severity>fatal error|error|warning|note|info)"
_PLACE: Final = r"(?P<place>\d{1,9})"
_KOTLIN: Final = re.compile(
    rf"(?P<severity>[ew]): (?:file://)?{_FILE}:(?: \()?{_PLACE}(?::|, ?)\d{{1,9}}\)?:? (?P<message>.*)\Z"
)
_COLON: Final = re.compile(
    rf"{_FILE}:{_PLACE}(?::\d{{1,9}})?(?:-\d{{1,9}}(?::\d{{1,9}})?)?:? (?:- )?{_SEVERITY}(?![\w.-])(?!\Z)"
    r"(?:\[(?P<rule>[\w-]{1,60})\])?:? ?(?P<code>[A-Z]{1,6}\d{2,6}(?=:))?:? ?(?P<message>.*)\Z"
)
_PAREN: Final = re.compile(
    rf"{_FILE} ?\({_PLACE}(?:,\d{{1,9}})?(?:,\d{{1,9}},\d{{1,9}})?\) ?: {{1,2}}{_SEVERITY}"
    r"(?: (?P<code>[A-Z]{1,8}\d{0,6}))? ?: ?(?P<message>.*)\Z"
)
_UNPLACED: Final = re.compile(
    rf"(?:[^\s:][^:\n]{{0,200}}?|[A-Za-z]:[^:\n]{{1,200}}?) ?: (?:Command line )?{_SEVERITY} "
    r"(?P<code>[A-Z]{1,8}\d{2,6}) ?: (?P<message>.*)\Z"
)
"""Microsoft's linker, compiler and MSBuild: ``LINK : fatal error LNK1104: cannot open file 'foo.lib'``."""

_GO: Final = re.compile(rf"(?:vet: )?(?:\./)?(?P<file>[^\s:\"{{}}]{{1,300}}\.go):{_PLACE}:(?:\d+:)? (?P<message>.*)\Z")
_LINT: Final = re.compile(
    rf"(?P<file>[^\s:\"{{}}]{{1,300}}\.\w{{1,10}}):{_PLACE}:\d+: (?P<code>[A-Z]{{1,6}}\d{{2,6}}) (?P<message>.*)\Z"
)
_FORMS: Final = ((None, _KOTLIN), (None, _COLON), (None, _PAREN), (None, _UNPLACED), ("go", _GO), ("linter", _LINT))
"""Diagnostics on a line of their own, with the tool if the form tells it."""

_LEVEL: Final = re.compile(r"\s{0,12}(?:\[(error|ERROR|warn|WARNING)\]|\[(?:info|INFO|exec|javac)\])\s{1,8}(\S.*)\Z")
_LEVELED: Final = re.compile(
    rf"{_FILE}:(?:\[| ?\()?{_PLACE}(?:, ?\d{{1,9}}[\])]|:(?:\d{{1,9}}:)?) (?:(?:error|warning): )?(?P<message>.*)\Z"
)
"""Behind ``[ERROR]``: Maven's ``File.java:[3,14]``, Kotlin's ``File.kt: (3, 14)``, sbt's ``File.scala:3:14:``."""

_DOTTY: Final = re.compile(
    rf"-- (?:\[(?P<code>E\d{{3,4}})\] )?(?:[\w ]{{1,60}} )?Error: {_FILE}:{_PLACE}:\d{{1,9}}[ -]{{0,200}}\Z"
)
_DOTTY_SAID: Final = re.compile(r"\s{0,12}\|\s{0,12}([^\s^|].*)\Z")
_RUSTC: Final = re.compile(r"error(?:\[(E\d{4})\])?: (.*)\Z")
_ARROW: Final = re.compile(r"\s{0,20}--> ([^\s:]{1,300}):(\d{1,9}):(\d{1,9})\Z")
_PROJECT: Final = re.compile(r" \[[^\[\]\n]{1,300}proj(?:::[^\[\]\n]{0,100})?\]\Z")
_NODE: Final = re.compile(r"\s{0,12}\d{1,4}>")
"""The number of a project that MSBuild builds beside others."""

_LINKER: Final = re.compile(
    r"(?:[\w./\\+-]{0,200}[/\\-])?(?:ld(?:\.\w{1,8})?|ld64\.lld|lld|lld-link|wasm-ld|mold)(?:-\d{1,3})?(?:\.exe)?: "
    r"(?:(error|warning|note): )?(.*)\Z"
)
_UNLINKED: Final = re.compile(
    r"(?:undefined reference to |undefined symbol: |cannot find -l|library not found for -l|cannot open |"
    r"symbol\(s\) not found|multiple definition of ).{1,200}\Z"
)
_CODE: Final = re.compile(r"(.*) {1,4}\[([a-z][a-z-]{2,40})\]\Z")
_CMAKE: Final = re.compile(r"CMake Error at ([^\s:]{1,300}):(\d{1,9}) ?(?:\((\w{1,60})\))?:\Z")
_SYMBOL: Final = re.compile(r"(?:\[ERROR\])?\s{1,12}symbol {0,4}: {1,4}(\S.*)\Z")

_ENDINGS: Final = {
    "gcc": "c h cc cpp cxx hpp",
    "clang": "m",
    "javac": "java",
    "mypy": "py pyi",
    "tsc": "ts tsx",
    "go": "go",
    "rustc": "rs",
    "swiftc": "swift",
    "kotlinc": "kt",
    "scalac": "scala",
    "csc": "cs",
    "ghc": "hs",
    "lean": "lean",
    "latex": "tex",
    "coq": "v",
}
_TOOLS: Final = {ending: tool for tool, endings in _ENDINGS.items() for ending in endings.split()}


def read_compilers(reading: LogParse) -> None:
    """Find compiler errors on lines not parsed yet, and count warnings."""
    for n, text in reading.free_lines():
        if text.startswith("error"):
            _rustc(reading, n)
        elif text.startswith("warning") and _ARROW.match(reading.text(n + 1)):
            reading.warnings.append(n)
        elif text.startswith("CMake Error at "):
            _cmake(reading, n)
        elif ":" in text:
            _line(reading, n, text)


def _line(reading: LogParse, n: int, text: str) -> None:
    """Parse a line with a file or tool and a message."""
    level = _LEVEL.match(text) if text.lstrip().startswith("[") else None
    if level:
        text = level[2]
        if level[1] and (given := _read_levelled(reading, n, text)):
            severity = "error" if level[1].lower() == "error" else "warning"
            _add(reading, n, None, given | {"severity": severity})
            return
    if ">" in text[:16]:
        text = _NODE.sub("", text, count=1).strip()
    for tool, form in _FORMS:
        if match := form.match(text):
            _add(reading, n, tool, match.groupdict())
            return
    _parse_linker(reading, n, text)


def _read_levelled(reading: LogParse, n: int, text: str) -> dict[str, Any] | None:
    """Return the place and message in the text after ``[ERROR]`` or ``[error]``, if it is a place in a file."""
    if dotty := _DOTTY.match(text):
        told = (_DOTTY_SAID.match(level[2]) for k in range(n + 1, n + 12) if (level := _LEVEL.match(reading.text(k))))
        return dotty.groupdict() | {"message": next((match[1] for match in told if match), "")}
    if (match := _LEVELED.match(text)) is None:
        return None
    given = match.groupdict()
    symbol = next((found[1] for k in range(n + 1, n + 4) if (found := _SYMBOL.match(reading.text(k)))), "")
    if symbol and given["message"] == "cannot find symbol":
        given["message"] += f": {' '.join(symbol.split())}"
    return given


def _add(reading: LogParse, n: int, tool: str | None, given: Mapping[str, str | None]) -> None:
    """Add a diagnostic: an error is a finding, a warning counts, a note is passed over."""
    severity = {"e": "error", "w": "warning", None: "error"}.get(given.get("severity"), given.get("severity")) or ""
    if severity == "warning":
        reading.warnings.append(n)
    if "error" not in severity:
        reading.take(n, n)
        return
    file, code, rule, place = (given.get(name) for name in ("file", "code", "rule", "place"))
    code = code or (rule if rule and rule[0].isupper() else None)
    message = _PROJECT.sub("", given["message"] or "")
    if tool is None:
        tool = tool_of(file, code)
        if tool == "mypy" and (coded := _CODE.match(message)):
            message, code = coded[1], coded[2]
        message = message if code else f"{severity}: {message}"
    where = int(place) if place else None
    reading.add_finding(Finding(tool, n, n, message=message, error_type=code, file=file, place=where))


def tool_of(file: str | None, code: str | None = None) -> str:
    """Return the compiler by file and code; ``cl`` for codes of Microsoft's C compiler."""
    if file is None:
        return "linker" if code and code.startswith("LNK") else "compiler"
    if code and re.match(r"(?:C|LNK)\d{4}\Z", code):
        return "cl"
    return _TOOLS.get(file.rpartition(".")[2].lower(), "compiler")


def _rustc(reading: LogParse, n: int) -> None:
    match = _RUSTC.match(reading.text(n))
    for k in range(n + 1, n + 4):
        if match and (arrow := _ARROW.match(reading.text(k))):
            message = match[2] if match[1] else f"error: {match[2]}"
            reading.add_finding(Finding("rustc", n, k, message=message, error_type=match[1], file=arrow[1]))
            return


def _cmake(reading: LogParse, n: int) -> None:
    if match := _CMAKE.match(reading.text(n)):
        last = n + 1 if reading.is_unread(n + 1) else n
        said = reading.text(last).strip() if last > n else ""
        reading.add_finding(Finding("cmake", n, last, message=f"error: {said}", file=match[1]))


def _parse_linker(reading: LogParse, n: int, text: str) -> None:
    linker = _LINKER.match(text)
    said = _UNLINKED.search(text[:600]) if linker is None or linker[1] is None else None
    if linker and linker[1] == "warning":
        reading.warnings.append(n)
        reading.take(n, n)
    elif linker and linker[1] == "error":
        reading.add_finding(Finding("linker", n, n, message=linker[2]))
    elif said and (linker or not said[0].startswith("cannot open ")):
        reading.add_finding(Finding("linker", n, n, message=said[0]))


_SBT_LEVEL: Final = re.compile(
    r"(?:\[\d\d-\d\d \d\d:\d\d:\d\d\.\d{1,6}\] |\[\d\d:\d\d:\d\d\] )?(?:\[[\w.-]{1,60}\] )?"
    r"\[(info|error|success)\] ?(.*)\Z"
)
_SUITE: Final = re.compile(r"([A-Za-z]\w{0,200}(?:\.\w{1,200}){0,12}):\Z")
_FAILED: Final = re.compile(r"[ \t]{0,20}- (.{1,300}?) \*\*\* FAILED \*\*\*(?: \(.{1,60}\))?\Z")
_ABORTED: Final = re.compile(r"[ \t]{0,20}(\S{1,300}) \*\*\* ABORTED \*\*\*(?: \(.{1,60}\))?\Z")
_MARKED: Final = re.compile(r"[ \t]{0,20}[x!✘] (\S.{0,300})\Z")
_JUNIT: Final = re.compile(r"Test (\S.{0,300}?) failed: (\S.*?)(?:, took [\d.]{1,20} sec(?:onds)?)?\Z")
_MUNIT: Final = re.compile(r"==> X (\S.{0,300}?)(?: {1,4}\d{1,9}(?:\.\d{1,6})?s(?: (.*))?)?\Z")
_MUNIT_PLACE: Final = re.compile(r"(\S{1,300}\.scala):(\d{1,9})(?: (.*))?\Z")
_SOURCE_LINE: Final = re.compile(r"\d{1,9}:(?: |\Z)")
_MUNIT_WELL: Final = re.compile(r"\s{0,8}\+ \S.{0,300}? \d{1,9}(?:\.\d{1,6})?s\Z")
_SCALA_PLACE: Final = re.compile(r"\(([\w./-]{1,200}\.scala):(\d{1,9})\)\Z")
_SBT_COUNTS: Final = re.compile(
    r"(?:Passed|Failed|Error): (?:: )?Total \d{1,9}, Failed (\d{1,9}), Errors (\d{1,9}), Passed (\d{1,9})"
)
_LISTED: Final = re.compile(r"(?:Failed tests|Error during tests):\Z")
_NAME: Final = re.compile(r"[ \t]{1,20}([A-Za-z_][\w$-]{0,200}(?:[./][\w$-]{1,200}){0,20})\Z")
_ENDED: Final = re.compile(
    r"\([^()]{1,120}\) (?:sbt\.TestsFailedException: )?(?:Tests unsuccessful|Compilation failed)"
)
_TASK: Final = re.compile(r"[\w./-]{1,100}:test: Tests unsuccessful\Z")
_PROMPT: Final = re.compile(r"sbt:[\w.-]{1,80}> (\S.{0,400})\Z")
_BEHIND: Final = 8
"""Lines below the name of a test that may hold the reason of its failure."""


def read_sbt(reading: LogParse) -> None:
    """Find failed tests, their counts, and suites that failed without naming a test."""
    suite, told = "", 0
    for n, text in reading.free_lines():
        if prompt := _PROMPT.match(text):
            reading.commands[n] = f"sbt {prompt[1].strip()}"
            reading.take(n, n)
            told = len(reading.findings)
        elif "==> X " in text[:40] or (text.endswith("s") and "+ " in text[:12]):
            _munit(reading, n)
        elif level := _SBT_LEVEL.match(text):
            words = level[2]
            suite = named[1] if (named := _SUITE.match(words)) else suite
            if not _parse_sbt_end(reading, n, level[1], words):
                _sbt_test(reading, n, words, suite)
            if _LISTED.match(words):
                _parse_failed_suites(reading, n, told)
                told = len(reading.findings)


def _sbt_level(reading: LogParse, n: int) -> str | None:
    """Return the text after sbt's level on a line; None without one."""
    level = _SBT_LEVEL.match(reading.text(n)) if reading.text(n).startswith("[") else None
    return level[2] if level else None


def _parse_sbt_end(reading: LogParse, n: int, level: str, words: str) -> bool:
    """Parse the end of a task, or its counts over all frameworks."""
    if level == "success" and words.startswith("Total time: "):
        reading.ended(n, words, well=True, tool="sbt")
    elif level == "error" and (_ENDED.match(words) or _TASK.match(words)):
        reading.add_finding(Finding("sbt", n, n, message=f"error: {words}", follows=True))
    elif counts := _SBT_COUNTS.match(words):
        failures, errors, passed = map(int, counts.groups())
        if passed or failures or errors:
            reading.count("sbt", n, {"passed": passed, "failed": failures, "errors": errors})
        reading.note_tool(n, "sbt")
        reading.take(n, n)
    else:
        return False
    return True


def _sbt_test(reading: LogParse, n: int, words: str, suite: str) -> None:
    """Parse a failed test and the reason on the lines below."""
    failed, aborted, marked = (form.match(words) for form in (_FAILED, _ABORTED, _MARKED))
    if junit := _JUNIT.match(words):
        kind, message = parse_exception_line(junit[2]) or (None, junit[2])
        reading.add_finding(
            Finding("junit", n, n, test=junit[1].rstrip(), status="failed", error_type=kind, message=message)
        )
    elif failed:
        name = f"{suite}: {failed[1]}" if suite else failed[1]
        _add_test(reading, n, Finding("scalatest", n, n, test=name, status="failed"))
    elif aborted:
        _add_test(reading, n, Finding("scalatest", n, n, test=aborted[1], status="error"))
    elif marked and reading.text(n).lstrip("0123456789-:.[] ").startswith("error]"):
        _add_test(reading, n, Finding("specs2", n, n, test=marked[1].rstrip(), status="failed"))


def _add_test(reading: LogParse, n: int, found: Finding) -> None:
    """Add a test with the first line below it, the place, and the stack frames."""
    below: list[str] = []
    while len(below) < _BEHIND and (words := _sbt_level(reading, n + 1 + len(below))) is not None:
        deeper = words.startswith((" ", "\t")) and words.strip()
        if not deeper or _FAILED.match(words) or _MARKED.match(words) or words.lstrip().startswith(("- ", "+ ")):
            break
        below.append(words.strip())
    if below:
        frames = [words.removeprefix("at ") for words in below if words.startswith("at ")]
        said = [words for words in below if not words.startswith(("at ", "..."))]
        where = [*said, *(frame for frame in frames if not is_library_frame(frame))]
        place = next((match for words in where if (match := _SCALA_PLACE.search(words))), None)
        kind, message = parse_exception_line(said[0]) or (None, said[0]) if said else (None, "")
        message = _SCALA_PLACE.sub("", message).rstrip()
        found = replace(found, last=n + len(below), error_type=kind, message=message, frames=frames)
        found = replace(found, file=place[1], place=int(place[2])) if place else found
    reading.add_finding(found)


def _munit(reading: LogParse, n: int) -> None:
    """Parse ``==> X suite.test 0.1s error``, or mark a passed test as read."""
    text = reading.text(n)
    match = _MUNIT.match(text[text.find("==> X ") :]) if "==> X " in text else None
    if match is None:
        if _MUNIT_WELL.match(text):
            reading.take(n, n)
        return
    kind, message = parse_exception_line(match[2] or "") or (None, match[2] or "")
    below: list[str] = []
    while len(below) < _BEHIND and (words := reading.text(n + 1 + len(below)).lstrip("# ")):
        if "==> X" in words or words.startswith("[") or _MUNIT_WELL.match(words):
            break
        below.append(words)
    last = n + len(below)
    if place := next((there for words in (message, *below) if (there := _MUNIT_PLACE.match(words))), None):
        rest = (words for words in below if not _SOURCE_LINE.match(words) and not _MUNIT_PLACE.match(words))
        message = place[3] or next(rest, "")
    found = Finding("munit", n, last, test=match[1].rstrip(), status="failed", error_type=kind, message=message)
    reading.add_finding(replace(found, file=place[1], place=int(place[2])) if place else found)


def _parse_failed_suites(reading: LogParse, n: int, told: int) -> None:
    """Parse sbt's list of failed suites, each a finding if no test of it was named."""
    tests = [one for one in reading.findings[told:] if one.test]
    reading.take(n, n)
    while (words := _sbt_level(reading, n + 1)) is not None and (match := _NAME.match(words)):
        n += 1
        suite = re.compile(rf"(?<![\w$]){re.escape(match[1].rpartition('.')[2])}(?![\w$])")
        if any(one.tool == "specs2" or suite.search(one.test or "") for one in tests):  # specs2 names no suite
            reading.take(n, n)
        else:
            reading.add_finding(Finding("sbt", n, n, test=match[1], status="failed"))
