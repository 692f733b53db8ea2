"""What compilers, type checkers, linters and linkers print: a file, a line, and what is wrong there."""

import re
from typing import Final

from phronesis.derive.sources.log.findings import Finding, Reading

_FILE: Final = r"((?:[A-Za-z]:[\\/])?[^\s:()][^:\n()]{0,300})"
_COLON: Final = re.compile(
    _FILE + r":(\d{1,9})(?::(\d{1,9}))?(?:-\d{1,9}(?::\d{1,9})?)?:? (?:- )?(fatal error|error|warning|note"
    r"|info)(?:\[([\w-]{1,60})\])?:? ?([A-Z]{1,6}\d{2,6}(?=:))?:? ?(.*)\Z"
)
_PAREN: Final = re.compile(
    _FILE + r"\((\d{1,9})(?:,(\d{1,9}))?\): (fatal error|error|warning|note|info)(?: ([A-Z]{1,6}\d{2,6}))?: (.*)\Z"
)
_MAVEN: Final = re.compile(r"\[(ERROR|WARNING)\] (\S{1,300}\.\w{1,10}):\[(\d{1,9}),(\d{1,9})\] (.*)\Z")
_GO: Final = re.compile(r"(?:vet: )?(\S{1,300}\.go):(\d{1,9}):(\d{1,9}): (.*)\Z")
_LINT: Final = re.compile(r"(\S{1,300}\.\w{1,10}):(\d{1,9}):(\d{1,9}): ([A-Z]{1,6}\d{2,6}) (.*)\Z")
_RUSTC: Final = re.compile(r"error(?:\[(E\d{4})\])?: (.*)\Z")
_ARROW: Final = re.compile(r"\s{0,20}--> ([^\s:]{1,300}):(\d{1,9}):(\d{1,9})\Z")
_LINKER: Final = re.compile(
    r".{0,400}?(undefined reference to .{1,200}|undefined symbol: .{1,200}|cannot find -l\S{1,100})\Z"
)
_CODE: Final = re.compile(r"(.*) {1,4}\[([a-z][a-z-]{2,40})\]\Z")
_CMAKE: Final = re.compile(r"CMake Error at ([^\s:]{1,300}):(\d{1,9}) ?(?:\((\w{1,60})\))?:\Z")

_TOOLS: Final = {
    "c": "gcc", "h": "gcc", "cc": "gcc", "cpp": "gcc", "cxx": "gcc", "hpp": "gcc", "m": "clang", "java": "javac",
    "py": "mypy", "pyi": "mypy", "ts": "tsc", "tsx": "tsc", "go": "go", "rs": "rustc", "swift": "swiftc",
    "kt": "kotlinc", "scala": "scalac", "cs": "csc", "hs": "ghc", "lean": "lean", "tex": "latex", "v": "coq",
}  # fmt: skip


def read_compilers(reading: Reading) -> None:
    """Find the errors of compilers on the lines that nobody has read yet, and count their warnings."""
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
        elif "error" in text or "warning" in text or "note" in text or "info" in text or "[ERROR] " in text:
            _named(reading, n)
        if reading.free(n) and ":" in text:
            _unnamed(reading, n)


def _named(reading: Reading, n: int) -> None:
    """Read a line that says itself that it is an error, a warning or a note."""
    text = reading.text(n)
    match = _MAVEN.match(text)
    if match:
        _add(reading, n, file=match[2], severity=match[1].lower(), message=match[5])
        return
    match = _COLON.match(text)
    if match:
        code = match[6] or (match[5] if match[5] and match[5][0].isupper() else None)
        _add(reading, n, file=match[1], severity=match[4], message=match[7], code=code)
        return
    match = _PAREN.match(text)
    if match:
        _add(reading, n, file=match[1], severity=match[4], message=match[6], code=match[5])


def _add(reading: Reading, n: int, *, file: str, severity: str, message: str, code: str | None = None) -> None:
    if severity == "warning":
        reading.warnings.append(n)
    if "error" in severity:
        tool = tool_of(file, code)
        coded = _CODE.match(message) if tool == "mypy" else None
        if coded:
            message, code = coded[1], coded[2]
        if code is None:
            message = f"{severity}: {message}"
        reading.found(Finding(tool=tool, first=n, last=n, message=message, error_type=code, file=file))
    else:
        reading.take(n, n)


def tool_of(file: str, code: str | None = None) -> str:
    """Name the compiler that speaks of a file; ``cl`` where the code is one of Microsoft's C compiler."""
    if code and re.match(r"(?:C|LNK)\d{4}\Z", code):
        return "cl"
    return _TOOLS.get(file.rpartition(".")[2].lower(), "compiler")


def _rustc(reading: Reading, n: int) -> None:
    match = _RUSTC.match(reading.text(n))
    if match is None:
        return
    for k in range(n + 1, n + 4):
        arrow = _ARROW.match(reading.text(k))
        if arrow:
            message = match[2] if match[1] else f"error: {match[2]}"
            reading.found(Finding(tool="rustc", first=n, last=k, message=message, error_type=match[1], file=arrow[1]))
            return


def _cmake(reading: Reading, n: int) -> None:
    match = _CMAKE.match(reading.text(n))
    if match:
        last = n + 1 if reading.free(n + 1) else n
        said = reading.text(last).strip() if last > n else ""
        reading.found(Finding(tool="cmake", first=n, last=last, message=f"error: {said}", file=match[1]))


def _unnamed(reading: Reading, n: int) -> None:
    """Read a line whose form alone says that it is an error: Go's compiler, a linter, a linker."""
    text = reading.text(n)
    match = _GO.match(text)
    if match:
        reading.found(Finding(tool="go", first=n, last=n, message=match[4], file=match[1].removeprefix("./")))
        return
    match = _LINT.match(text)
    if match:
        reading.found(Finding(tool="linter", first=n, last=n, message=match[5], error_type=match[4], file=match[1]))
        return
    match = _LINKER.match(text) if "undefined " in text or "cannot find -l" in text else None
    if match:
        reading.found(Finding(tool="linker", first=n, last=n, message=match[1]))
