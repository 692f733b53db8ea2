"""Parse pytest output: failure blocks, the short summary and the final counts."""

import re
from collections import deque
from typing import Final

from phronesis.experience.sources.log.findings import Finding, LogParse, foreign, short_type

_PLATFORM: Final = re.compile(r"platform (\S{1,40}) -- Python ([\w.+]{1,20}), pytest-([\w.+]{1,20})")
_COUNTS: Final = re.compile(r"(?:\d{1,9} [a-z]{4,12}(?:, )?){1,12} in (\d{1,9}\.\d{1,3})s(?: \([\d:]{1,20}\))?")
_COUNT: Final = re.compile(r"(\d{1,9}) ([a-z]{4,12})")
_NAMES: Final = {
    "failed": "failed",
    "passed": "passed",
    "skipped": "skipped",
    "error": "errors",
    "errors": "errors",
    "xfailed": "xfailed",
    "xpassed": "xpassed",
}
_PLACE: Final = re.compile(r"(\S[^:\n]{0,300}):(\d{1,9}): ?((?:[A-Za-z_]\w{0,80}\.){0,8}[A-Za-z_]\w{0,80})?\Z")
_IN: Final = re.compile(r"(\S[^:\n]{0,300}):(\d{1,9}): in \S")
_SAID: Final = re.compile(
    r"((?:[A-Za-z_]\w{0,80}\.){0,8}[A-Z_a-z]\w{0,80}(?:Error|Exception|Warning|Exit|Interrupt|Failed"
    r"|Timeout|Group)?)(?::(?: (.*))?)?\Z"
)
_ERROR_NAME: Final = re.compile(r"(?:Error|Exception|Warning|Exit|Interrupt|Failed|Timeout|Group|Iteration)\Z")
_VERBOSE: Final = re.compile(
    r"(?:\[gw\d{1,4}\] \[ {0,2}\d{1,3}%\] (?:FAILED|ERROR) )?(\S{1,400}\.py::.{1,300}?)(?: (?:FAILED"
    r"|ERROR))?(?:\s{1,200}\[ {0,2}\d{1,3}%\])?\Z"
)
_SETUP: Final = re.compile(r"ERROR (?:at (?:setup|teardown) of|collecting) (.{1,400})\Z")


def read_pytest(reading: LogParse) -> None:
    """Find the failures and counts that pytest reports."""
    blocks: dict[str, deque[Finding]] = {}
    loose: list[Finding] = []
    n, in_blocks = 0, False
    while n < len(reading.lines):
        text = reading.text(n)
        title = _title(text)
        if title is not None:
            in_blocks = title in {"FAILURES", "ERRORS"}
            _read_title(reading, n, title)
        elif in_blocks and text.startswith("__") and text.endswith("__") and text.strip("_ "):
            name, last = text.strip("_").strip(), _end_of_block(reading, n)
            found = _block(reading, n, last, name)
            match = _SETUP.match(name)
            blocks.setdefault(match[1] if match else name, deque()).append(found)
            reading.take(n, last)
            n = last
        elif text.startswith("platform "):
            match = _PLATFORM.match(text)
            if match:
                reading.facts += [(n, f"pytest {match[3]}"), (n, f"Python {match[2]}"), (n, match[1])]
        elif text.startswith(("FAILED ", "ERROR ")) and _is_node(text):
            loose.append(_parse_summary(n, text))
            reading.take(n, n)
        elif text[:1].isdigit():
            _read_title(reading, n, text)
        n += 1
    reading.findings += _join_findings(reading, blocks, loose)


def block_error(texts: list[str]) -> tuple[str | None, str, str | None]:
    """Return (error type, message, file) of the lines of one failure."""
    said: list[str] = []
    file: str | None = None
    named: str | None = None
    for n, text in enumerate(texts):
        if text.startswith("E   ") and not (n and f"{texts[n - 1]} ".startswith("E ")):
            said.append(text[4:].strip())
        match = _PLACE.match(text) or _IN.match(text)
        if match and not foreign(match[1]):
            file = match[1]
        if match and match.re is _PLACE and match[3]:
            named = short_type(match[3])
    kind, message = split_error(said[-1]) if said else (None, "")
    return kind or named, message, file


def split_error(said: str) -> tuple[str | None, str]:
    """Return an error's type and message; a bare ``assert`` is an AssertionError."""
    if said.startswith("assert "):
        return "AssertionError", said
    match = _SAID.match(said)
    if match and (_ERROR_NAME.search(match[1]) or (match[2] is not None and "." in match[1])):
        return short_type(match[1]), match[2] or ""
    return None, said


def _title(text: str) -> str | None:
    """Return the words of a line such as ``=== FAILURES ===``."""
    if not text.startswith("===") or not text.endswith("="):
        return None
    return text.strip("=").strip() or None


def _read_title(reading: LogParse, n: int, title: str) -> None:
    match = _COUNTS.fullmatch(title)
    if title == "test session starts":
        reading.called(n, "pytest")
        reading.starts.append(n)
    elif match:
        counts: dict[str, int | float] = {}
        for count, noun in _COUNT.findall(title[: match.start(1)]):
            if noun in _NAMES:
                counts[_NAMES[noun]] = counts.get(_NAMES[noun], 0) + int(count)
        if counts:
            reading.count("pytest", n, {**counts, "seconds": float(match[1])})
            reading.take(n, n)


def _end_of_block(reading: LogParse, start: int) -> int:
    """Return the last non-empty line of a block."""
    last = start
    for n in range(start + 1, len(reading.lines)):
        text = reading.text(n)
        if (text.startswith("__") and text.endswith("__")) or _title(text) is not None:
            break
        if text.strip():
            if text.startswith("--- generated xml file"):
                break
            last = n
    return last


def _block(reading: LogParse, first: int, last: int, name: str) -> Finding:
    kind, message, file = block_error([reading.text(n) for n in range(first, last + 1)])
    status = "error" if name.startswith("ERROR ") else "failed"
    return Finding("pytest", first, last, message=message, error_type=kind, file=file, test=name, status=status)


def _is_node(text: str) -> bool:
    """Return whether a line of the short summary names a test or a test file."""
    words = text.partition(" ")[2].partition(" - ")[0]
    return ".py" in words and (words.endswith(".py") or ".py::" in words)


def _parse_summary(n: int, text: str) -> Finding:
    status, _, rest = text.partition(" ")
    node, _, said = rest.partition(" - ")
    kind, message = split_error(said) if said else (None, "")
    return Finding(
        "pytest",
        n,
        n,
        message=message,
        error_type=kind,
        file=node.partition("::")[0],
        test=node.strip(),
        status="error" if status == "ERROR" else "failed",
    )


def _join_findings(reading: LogParse, blocks: dict[str, deque[Finding]], loose: list[Finding]) -> list[Finding]:
    """Return the blocks joined with their lines of the short summary, and lines without a block."""
    out: list[Finding] = []
    for line in loose:
        node = line.test or ""
        waiting = blocks.get(node.partition("::")[2].replace("::", ".")) or blocks.get(node)
        if waiting:
            block = waiting.popleft()
            out.append(
                Finding(
                    "pytest",
                    block.first,
                    block.last,
                    test=node,
                    status=line.status,
                    message=block.message or line.message,
                    error_type=block.error_type or line.error_type,
                    file=block.file or line.file,
                )
            )
        else:
            out.append(line)
    out += [block for waiting in blocks.values() for block in waiting]
    if not out and not reading.summaries:
        out = _verbose(reading)
    return sorted(out, key=lambda found: found.first)


def _verbose(reading: LogParse) -> list[Finding]:
    """Parse the lines of ``-v`` if nothing else shows failures, as in a truncated run."""
    out: list[Finding] = []
    for n, line in enumerate(reading.lines):
        if (" FAILED" in line.text or " ERROR" in line.text) and ".py::" in line.text:
            match = _VERBOSE.match(line.text)
            if match:
                file = match[1].partition("::")[0]
                out.append(Finding("pytest", n, n, file=file, test=match[1], status="failed"))
                reading.take(n, n)
    return out
