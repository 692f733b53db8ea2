"""Parse stack traces of Python (also chained), JavaScript, Java, .NET, panics of Rust and Go, and pytest's output."""

import re
from collections import deque
from dataclasses import replace
from typing import Final

from phronesis.experience.sources.log.findings import MAX_FRAMES, Finding, LogParse, is_library_frame, short_type

_HEAD: Final = "Traceback (most recent call last):"
_CHAINED: Final = ("During handling of the above exception", "The above exception was the direct cause")
_FRAME: Final = re.compile(r'File "([^"\n]{1,400})", line (\d{1,9})(?:, in (.{1,200}))?')
_RAISED: Final = re.compile(r"((?:[A-Za-z_]\w{0,80}\.){0,10}[A-Za-z_]\w{0,80})(?:: (.*))?\Z")
_LEVEL: Final = re.compile(
    r"[\[(]?(?:ERROR|CRITICAL|FATAL|SEVERE|WARN|WARNING|EXCEPTION)\b|.{0,80}[ \[](?:ERROR|CRITICAL|FATAL)[\] ]"
)

_AT: Final = re.compile(r"\s{1,40}at (?:async )?(\S.{0,400})\Z")
_THROWN: Final = re.compile(
    r'(?:Exception in thread "[^"\n]{0,100}" |Uncaught |Unhandled exception\. |\[ERROR\] )?'
    r"((?:[A-Za-z_$][\w$]{0,80}\.){0,12}[A-Za-z_$][\w$]{0,80})(?: \[\w{1,60}\])?(?:: ?(.*))?\Z"
)
_THROWABLE: Final = re.compile(r"(?:Error|Exception|Throwable|Failure|Failed|Rejection)\Z")
_CAUSE: Final = re.compile(r"\s{0,40}(?:Caused by|Suppressed|\[cause\]): (\S{1,300}?):? ?(?:\s.*)?\Z")
_JAVA_AT: Final = re.compile(r"\((\w{1,100}\.(?:java|kt|scala|groovy)):\d{1,9}\)")
_SCRIPT_AT: Final = re.compile(r"\(?(?:file://)?((?:[A-Za-z]:)?[^\s():]{1,300}):\d{1,9}:\d{1,9}\)?\Z")
_NET_AT: Final = re.compile(r" in (\S{1,300}):line \d{1,9}\Z")
_LOOK_BACK: Final = 12

_PANIC: Final = re.compile(
    r"thread '[^'\n]{0,200}' (?:\(\d{1,20}\) )?panicked at (?:'(.{0,500})', )?([^\s:]{1,300}):\d{1,9}:\d{1,9}:?\Z"
)
_GO_AT: Final = re.compile(r"\t(\S{1,300}\.go):\d{1,9}")


def read_traces(reading: LogParse) -> None:
    """Find the stack traces on lines not parsed yet."""
    for n, text in reading.free_lines():
        found: Finding | None = None
        if text.endswith(_HEAD):
            found = _python(reading, n)
        elif text.startswith('  File "') and ", in " not in text:
            found = _syntax_error(reading, n)
        elif _AT.match(text):
            found = _stack(reading, n)
        elif "panicked at " in text:
            found = _rust_panic(reading, n)
        elif text.startswith(("panic: ", "fatal error: ")):
            found = go_panic(reading, n)
        if found is not None:
            reading.add_finding(found)


def _python(reading: LogParse, start: int) -> Finding:
    """Parse a traceback and those chained to it; the last exception is the one raised in the end."""
    raised: list[tuple[str, str]] = []
    frames: list[tuple[str, str]] = []
    n = last = start
    while reading.text(n).endswith(_HEAD):
        frames, n = _python_frames(reading, n + 1)
        match = _RAISED.match(reading.text(n).lstrip(" |+").rstrip())
        if match is None or not reading.is_unread(n):
            last = n - 1
            raised.append(("", ""))
            break
        raised.append((short_type(match[1]), match[2] or ""))
        last = n
        n = _next_in_chain(reading, n + 1)
    if "|" in reading.text(last):  # the parts of a group of exceptions
        while reading.is_unread(last + 1) and reading.text(last + 1).lstrip().startswith(("|", "+-", "+ ")):
            last += 1
    name, message = raised[-1]
    own = [frame for frame in frames if not is_library_frame(frame[0])] or frames
    before = start - 1 if reading.is_unread(start - 1) and _LEVEL.match(reading.text(start - 1)) else start
    return Finding(
        "python",
        before,
        max(last, start),
        error_type=name or None,
        message=message if name else "a traceback that is cut off",
        file=own[-1][0] if own and not own[-1][0].startswith("<") else None,
        frames=[f"{file}:{where}" for file, where in frames[-MAX_FRAMES:]],
        causes=tuple(dict.fromkeys(one for one, _ in raised[:-1] if one)),
        ran=next((file for file, _ in frames if not is_library_frame(file)), None),
    )


def _python_frames(reading: LogParse, n: int) -> tuple[list[tuple[str, str]], int]:
    """Return the frames from line ``n`` on, and the line after them."""
    frames: list[tuple[str, str]] = []
    indent = len(reading.text(n)) - len(reading.text(n).lstrip(" |+"))
    while reading.is_unread(n):
        text = reading.text(n)
        rest = text.lstrip(" |+")
        if not rest or len(text) - len(rest) < indent:
            break
        if match := _FRAME.match(rest):
            frames.append((match[1], f"{match[2]} in {match[3]}" if match[3] else match[2]))
        n += 1
    return frames, n


def _next_in_chain(reading: LogParse, n: int) -> int:
    """Return the line of the traceback chained to the one before line ``n``; -1 if there is none."""
    for there in range(n, min(n + 2, len(reading.lines))):
        if reading.text(there).lstrip(" |+").startswith(_CHAINED):
            return next((k for k in range(there + 1, there + 3) if reading.text(k).endswith(_HEAD)), -1)
    return -1


def _syntax_error(reading: LogParse, start: int) -> Finding | None:
    """Parse the report of a syntax error: a file, the line, a caret, the error."""
    frame = _FRAME.match(reading.text(start).strip())
    for n in range(start + 1, start + 5):
        match = _RAISED.match(reading.text(n)) if reading.is_unread(n) else None
        if frame and match and match[1].endswith("Error"):
            file, places = frame[1], [f"{frame[1]}:{frame[2]}"]
            error = Finding("python", start, n, error_type=match[1], message=match[2] or "", file=file, frames=places)
            return replace(error, ran=file)
    return None


def _stack(reading: LogParse, start: int) -> Finding | None:
    """Parse frames that begin with ``at``, and the error above them."""
    if (head := _find_error(reading, start)) is None:
        return None
    first, name, message = head
    frames: list[str] = []
    causes: list[str] = []
    n = start
    while reading.is_unread(n):
        text = reading.text(n)
        at, cause = _AT.match(text), _CAUSE.match(text)
        if at:
            if not causes:
                frames.append(at[1])
        elif cause:
            causes.append(short_type(cause[1].rstrip(":")))
        elif not text.lstrip().startswith("... "):
            break
        n += 1
    places = [(frame, _place(frame)) for frame in frames]
    own = [file for frame, file in places if file and not is_library_frame(frame)]
    files = own or [file for _, file in places if file and not is_library_frame(file)]
    java = any(_JAVA_AT.search(frame) or frame.endswith(("(Native Method)", "(Unknown Source)")) for frame in frames)
    net = any(_NET_AT.search(frame) for frame in frames)
    outer = [frame.partition("(")[0] for frame in frames if not is_library_frame(frame)] if java else own
    return Finding(
        "java" if java else "dotnet" if net else "node",
        first,
        n - 1,
        error_type=name,
        message=message,
        file=files[0] if files else None,
        frames=frames[:MAX_FRAMES],
        causes=tuple(dict.fromkeys(causes)),
        ran=outer[-1] if outer else None,
    )


def _find_error(reading: LogParse, start: int) -> tuple[int, str, str] | None:
    """Return the line, type and message of the error above a stack."""
    for n in range(start - 1, max(-1, start - 1 - _LOOK_BACK), -1):
        if not reading.is_unread(n) or _AT.match(reading.text(n)):
            return None
        if said := parse_exception_line(reading.text(n).strip()):
            return n, *said
    return None


def parse_exception_line(text: str) -> tuple[str, str] | None:
    """Return the type and the message of ``TypeError: x is not a function``; None for other lines."""
    match = _THROWN.match(text)
    return (short_type(match[1]), match[2] or "") if match and _THROWABLE.search(match[1]) else None


def _place(frame: str) -> str | None:
    end = frame[-400:]
    match = _JAVA_AT.search(end) or _NET_AT.search(end) or _SCRIPT_AT.search(frame.rpartition(" ")[2])
    return match[1] if match else None


def _rust_panic(reading: LogParse, start: int) -> Finding | None:
    if (match := _PANIC.match(reading.text(start).strip())) is None:
        return None
    last = start
    while reading.is_unread(last + 1) and reading.text(last + 1).strip():
        last += 1
    message = match[1] if match[1] is not None else reading.text(start + 1).strip() if last > start else ""
    return Finding("rust", start, last, error_type="panic", message=message, file=match[2])


def go_panic(reading: LogParse, start: int) -> Finding | None:
    """Parse a Go panic with its stacks; None without a stack."""
    if not any(reading.text(n).startswith(("goroutine ", "[signal ")) for n in range(start + 1, start + 5)):
        return None
    files: list[str] = []
    last = n = start
    while reading.is_unread(n):
        if match := _GO_AT.match(reading.text(n)):
            files.append(match[1])
            last = n
        elif n > start and not reading.text(n).strip() and n - last > 1 and files:
            break
        n += 1
        if n - last > _LOOK_BACK:
            break
    own = [file for file in files if not is_library_frame(file)]
    kind, _, message = reading.text(start).partition(": ")
    program = any(reading.text(k).startswith("main.main(") for k in range(start, last + 1))
    ran = "main" if program else None
    found = Finding("go", start, max(last, start), error_type=kind, message=message, frames=files[:MAX_FRAMES], ran=ran)
    return replace(found, file=own[0]) if own else found


_PLATFORM: Final = re.compile(r"platform (\S{1,40}) -- Python ([\w.+]{1,20}), pytest-([\w.+]{1,20})")
_COUNTS: Final = re.compile(r"(?:\d{1,9} [a-z]{4,12}(?:, )?){1,12} in (\d{1,9}\.\d{1,3})s(?: \([\d:]{1,20}\))?")
_COUNT: Final = re.compile(r"(\d{1,9}) ([a-z]{4,12})")
_NAMES: Final = {"error": "errors"} | {name: name for name in "failed passed skipped errors xfailed xpassed".split()}
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
_SUMMARY: Final = re.compile(r"(FAILED|ERROR) ((\S(?:(?! - ).){0,400}?\.py)(?:::(?:(?! - ).){1,2000})?)(?: - (.*))?\Z")
_SETUP: Final = re.compile(r"ERROR (?:at (?:setup|teardown) of|collecting) (.{1,400})\Z")


def read_pytest(reading: LogParse) -> None:
    """Find the failures and counts that pytest reports."""
    blocks: dict[str, deque[Finding]] = {}
    loose: list[Finding] = []
    in_blocks = False
    for n, text in reading.free_lines():
        if (title := _title(text)) is not None:
            in_blocks = title in {"FAILURES", "ERRORS"}
            _read_title(reading, n, title)
        elif in_blocks and text.startswith("__") and text.endswith("__") and text.strip("_ "):
            name, last = text.strip("_").strip(), reading.until(n, _ends_block)
            found = _block(reading, n, last, name)
            setup = _SETUP.match(name)
            blocks.setdefault(setup[1] if setup else name, deque()).append(found)
            reading.take(n, last)
        elif text.startswith("platform "):
            if match := _PLATFORM.match(text):
                reading.facts += [(n, f"pytest {match[3]}"), (n, f"Python {match[2]}"), (n, match[1])]
        elif match := _SUMMARY.match(text):
            kind, message = split_error(match[4]) if match[4] else (None, "")
            status, file, node = "error" if match[1] == "ERROR" else "failed", match[3], match[2].strip()
            loose.append(Finding("pytest", n, n, message=message, error_type=kind, file=file, test=node, status=status))
            reading.take(n, n)
        elif text[:1].isdigit():
            _read_title(reading, n, text)
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
        if match and not is_library_frame(match[1]):
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
    return text.strip("=").strip() or None if text.startswith("===") and text.endswith("=") else None


def _read_title(reading: LogParse, n: int, title: str) -> None:
    if title == "test session starts":
        reading.note_tool(n, "pytest")
        reading.starts.append(n)
    elif match := _COUNTS.fullmatch(title):
        counts: dict[str, int | float] = {}
        for count, noun in _COUNT.findall(title[: match.start(1)]):
            if noun in _NAMES:
                counts[_NAMES[noun]] = counts.get(_NAMES[noun], 0) + int(count)
        if counts:
            reading.count("pytest", n, {**counts, "seconds": float(match[1])})


def _ends_block(text: str) -> bool:
    rule = text.startswith("__") and text.endswith("__")
    return rule or _title(text) is not None or text.startswith("--- generated xml file")


def _block(reading: LogParse, first: int, last: int, name: str) -> Finding:
    kind, message, file = block_error([reading.text(n) for n in range(first, last + 1)])
    status = "error" if name.startswith("ERROR ") else "failed"
    return Finding("pytest", first, last, message=message, error_type=kind, file=file, test=name, status=status)


def _join_findings(reading: LogParse, blocks: dict[str, deque[Finding]], loose: list[Finding]) -> list[Finding]:
    """Return the blocks joined with their lines of the short summary, and lines without a block."""
    out: list[Finding] = []
    for line in loose:
        node = line.test or ""
        waiting = blocks.get(node.partition("::")[2].replace("::", ".")) or blocks.get(node)
        if waiting:
            block = waiting.popleft()
            told = {name: getattr(block, name) or getattr(line, name) for name in ("message", "error_type", "file")}
            line = replace(block, test=node, status=line.status, **told)  # noqa: PLW2901
        out.append(line)
    out += [block for waiting in blocks.values() for block in waiting]
    if not out and not reading.summaries:
        out = _verbose(reading)
    return out


def _verbose(reading: LogParse) -> list[Finding]:
    """Parse the lines of ``-v`` if nothing else shows failures, as in a truncated run."""
    out: list[Finding] = []
    for n, text in reading.free_lines():
        failed = (" FAILED" in text or " ERROR" in text) and ".py::" in text
        if failed and (match := _VERBOSE.match(text)):
            out.append(Finding("pytest", n, n, file=match[1].partition("::")[0], test=match[1], status="failed"))
            reading.take(n, n)
    return out
