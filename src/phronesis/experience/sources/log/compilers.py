"""Parse diagnostics of compilers, type checkers, linters and linkers: a file, a line and a message."""

import re
from typing import Final

from phronesis.experience.sources.log.findings import Finding, LogParse

_FILE: Final = r"((?:/?[A-Za-z]:[\\/])?[^\s:()\[\]{}\"'<>|][^:\n()\"<>|{}]{0,300})"
_SEVERITY: Final = r"(fatal error|error|warning|note|info)"
_COLON: Final = re.compile(
    _FILE
    + r":(\d{1,9})(?::(\d{1,9}))?(?:-\d{1,9}(?::\d{1,9})?)?:? (?:- )?"
    + _SEVERITY
    + r"(?![\w.-])(?!\Z)(?:\[([\w-]{1,60})\])?:? ?([A-Z]{1,6}\d{2,6}(?=:))?:? ?(.*)\Z"
)
_PAREN: Final = re.compile(
    _FILE
    + r" ?\((\d{1,9})(?:,(\d{1,9}))?(?:,\d{1,9},\d{1,9})?\) ?: {1,2}"
    + _SEVERITY
    + r"(?: ([A-Z]{1,8}\d{0,6}))? ?: ?(.*)\Z"
)
_LEVEL: Final = re.compile(r"\s{0,12}(?:\[(error|ERROR|warn|WARNING)\]|\[(?:info|INFO|exec|javac)\])\s{1,8}(\S.*)\Z")
_LEVELED: Final = re.compile(
    _FILE + r":(?:\[(\d{1,9}),\d{1,9}\]| ?\((\d{1,9}), ?\d{1,9}\)|(\d{1,9}):(?:\d{1,9}:)?) (.*)\Z"
)
"""Behind ``[ERROR]``: Maven's ``File.java:[3,14]``, Kotlin's ``File.kt: (3, 14)``, sbt's ``File.scala:3:14:``."""

_DOTTY: Final = re.compile(
    r"-- (?:\[(E\d{3,4})\] )?(?:[\w ]{1,60} )?Error: " + _FILE + r":(\d{1,9}):\d{1,9}[ -]{0,200}\Z"
)
_DOTTY_SAID: Final = re.compile(r"\s{0,12}\|\s{0,12}([^\s^|].*)\Z")
_KOTLIN: Final = re.compile(
    r"(e|w): (?:file://)?" + _FILE + r":(?:(\d{1,9}):\d{1,9}:?| \((\d{1,9}), ?\d{1,9}\):) (.*)\Z"
)
_GO: Final = re.compile(r"(?:vet: )?([^\s:\"{}]{1,300}\.go):(\d{1,9}):(?:\d{1,9}:)? (.*)\Z")
_LINT: Final = re.compile(r"([^\s:\"{}]{1,300}\.\w{1,10}):(\d{1,9}):(\d{1,9}): ([A-Z]{1,6}\d{2,6}) (.*)\Z")
_RUSTC: Final = re.compile(r"error(?:\[(E\d{4})\])?: (.*)\Z")
_ARROW: Final = re.compile(r"\s{0,20}--> ([^\s:]{1,300}):(\d{1,9}):(\d{1,9})\Z")
_PROJECT: Final = re.compile(r" \[[^\[\]\n]{1,300}proj(?:::[^\[\]\n]{0,100})?\]\Z")
_NODE: Final = re.compile(r"\s{0,12}\d{1,4}>")
"""The number of a project that MSBuild builds beside others."""

_UNPLACED: Final = re.compile(
    r"([^\s:][^:\n]{0,200}?|[A-Za-z]:[^:\n]{1,200}?) ?: (?:Command line )?"
    + _SEVERITY
    + r" ([A-Z]{1,8}\d{2,6}) ?: (.*)\Z"
)
"""Microsoft's linker, compiler and MSBuild: ``LINK : fatal error LNK1104: cannot open file 'foo.lib'``."""

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
    for n in range(len(reading.lines)):
        text = reading.text(n)
        if not reading.free(n) or not text:
            continue
        if text.startswith("error"):
            _rustc(reading, n)
        elif text.startswith("warning") and _ARROW.match(reading.text(n + 1)):
            reading.warnings.append(n)
        elif text.startswith("CMake Error at "):
            _cmake(reading, n)
        elif text.startswith(("e: ", "w: ")):
            _kotlin(reading, n, text)
        else:
            _line(reading, n, text)


def _line(reading: LogParse, n: int, text: str) -> None:
    """Parse a line with a file or tool and a message."""
    level = _LEVEL.match(text) if text.lstrip().startswith("[") else None
    if level:
        text = level[2]
        if level[1] and _parse_levelled(reading, n, text, "error" if level[1].lower() == "error" else "warning"):
            return
    if ">" in text[:16]:
        text = _NODE.sub("", text, count=1).strip()
    if "error" in text or "warning" in text or "note" in text or "info" in text:
        _parse_named(reading, n, text)
    if reading.free(n) and ":" in text:
        _parse_unnamed(reading, n, text)


def _parse_levelled(reading: LogParse, n: int, text: str, severity: str) -> bool:
    """Parse the text after ``[ERROR]`` or ``[error]`` if it is a place in a file."""
    dotty = _DOTTY.match(text) if text.startswith("-- ") else None
    if dotty:
        told = (_DOTTY_SAID.match(level[2]) for k in range(n + 1, n + 12) if (level := _LEVEL.match(reading.text(k))))
        message = next((match[1] for match in told if match), "")
        _add(reading, n, file=dotty[2], severity=severity, message=message, place=dotty[3], code=dotty[1])
        return True
    match = _LEVELED.match(text)
    if match is None:
        return False
    message = re.sub(r"\A(?:error|warning): ", "", match[5])
    symbol = next((found[1] for k in range(n + 1, n + 4) if (found := _SYMBOL.match(reading.text(k)))), "")
    if symbol and message == "cannot find symbol":
        message = f"{message}: {' '.join(symbol.split())}"
    _add(reading, n, file=match[1], severity=severity, message=message, place=match[2] or match[3] or match[4])
    return True


def _kotlin(reading: LogParse, n: int, text: str) -> None:
    match = _KOTLIN.match(text)
    if match:
        severity = "error" if match[1] == "e" else "warning"
        _add(reading, n, file=match[2], severity=severity, message=match[5], place=match[3] or match[4])


def _parse_named(reading: LogParse, n: int, text: str) -> None:
    """Parse a line that names itself an error, a warning or a note."""
    match = _COLON.match(text)
    if match:
        code = match[6] or (match[5] if match[5] and match[5][0].isupper() else None)
        _add(reading, n, file=match[1], severity=match[4], message=match[7], place=match[2], code=code)
        return
    match = _PAREN.match(text)
    if match:
        message = _PROJECT.sub("", match[6])
        _add(reading, n, file=match[1], severity=match[4], message=message, place=match[2], code=match[5])
        return
    match = _UNPLACED.match(text)
    if match:
        if match[2] == "warning":
            reading.warnings.append(n)
        elif "error" in match[2]:
            tool = "linker" if match[3].startswith("LNK") else "compiler"
            reading.found(Finding(tool, n, n, message=_PROJECT.sub("", match[4]), error_type=match[3]))
        reading.take(n, n)


def _add(
    reading: LogParse,
    n: int,
    *,
    file: str,
    severity: str,
    message: str,
    place: str | None = None,
    code: str | None = None,
) -> None:
    if severity == "warning":
        reading.warnings.append(n)
    if "error" in severity:
        tool = tool_of(file, code)
        coded = _CODE.match(message) if tool == "mypy" else None
        if coded:
            message, code = coded[1], coded[2]
        if code is None:
            message = f"{severity}: {message}"
        reading.found(
            Finding(tool, n, n, message=message, error_type=code, file=file, place=int(place) if place else None)
        )
    else:
        reading.take(n, n)


def tool_of(file: str, code: str | None = None) -> str:
    """Return the compiler by file and code; ``cl`` for codes of Microsoft's C compiler."""
    if code and re.match(r"(?:C|LNK)\d{4}\Z", code):
        return "cl"
    return _TOOLS.get(file.rpartition(".")[2].lower(), "compiler")


def _rustc(reading: LogParse, n: int) -> None:
    match = _RUSTC.match(reading.text(n))
    if match is None:
        return
    for k in range(n + 1, n + 4):
        arrow = _ARROW.match(reading.text(k))
        if arrow:
            message = match[2] if match[1] else f"error: {match[2]}"
            reading.found(Finding("rustc", n, k, message=message, error_type=match[1], file=arrow[1]))
            return


def _cmake(reading: LogParse, n: int) -> None:
    match = _CMAKE.match(reading.text(n))
    if match:
        last = n + 1 if reading.free(n + 1) else n
        said = reading.text(last).strip() if last > n else ""
        reading.found(Finding("cmake", n, last, message=f"error: {said}", file=match[1]))


def _parse_unnamed(reading: LogParse, n: int, text: str) -> None:
    """Parse a line that is an error by its form alone: Go's compiler, a linter, a linker."""
    match = _GO.match(text)
    if match:
        reading.found(Finding("go", n, n, message=match[3], file=match[1].removeprefix("./"), place=int(match[2])))
        return
    match = _LINT.match(text)
    if match:
        reading.found(
            Finding("linter", n, n, message=match[5], error_type=match[4], file=match[1], place=int(match[2]))
        )
        return
    linker = _LINKER.match(text)
    said = _UNLINKED.search(text[:600]) if linker is None or linker[1] is None else None
    if linker and linker[1] == "warning":
        reading.warnings.append(n)
        reading.take(n, n)
    elif linker and linker[1] == "error":
        reading.found(Finding("linker", n, n, message=linker[2]))
    elif said and (linker or not said[0].startswith("cannot open ")):
        reading.found(Finding("linker", n, n, message=said[0]))
