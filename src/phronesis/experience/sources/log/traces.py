"""Parse stack traces of Python (also chained), JavaScript, Java and .NET, and panics of Rust and Go."""

import re
from typing import Final

from phronesis.experience.sources.log.findings import MAX_FRAMES, Finding, LogParse, foreign, short_type

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
    n = 0
    while n < len(reading.lines):
        text = reading.text(n)
        found: Finding | None = None
        if reading.free(n):
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
            reading.found(found)
            n = max(n, found.last)
        n += 1


def _python(reading: LogParse, start: int) -> Finding:
    """Parse a traceback and those chained to it; the last exception is the one raised in the end."""
    raised: list[tuple[str, str]] = []
    frames: list[tuple[str, str]] = []
    n = last = start
    while reading.text(n).endswith(_HEAD):
        frames, n = _python_frames(reading, n + 1)
        match = _RAISED.match(_strip_frame_marks(reading.text(n)))
        if match is None or not reading.free(n):
            last = n - 1
            raised.append(("", ""))
            break
        raised.append((short_type(match[1]), match[2] or ""))
        last = n
        n = _next_in_chain(reading, n + 1)
    if "|" in reading.text(last):  # the parts of a group of exceptions
        while reading.free(last + 1) and reading.text(last + 1).lstrip().startswith(("|", "+-", "+ ")):
            last += 1
    name, message = raised[-1]
    own = [frame for frame in frames if not foreign(frame[0])] or frames
    before = start - 1 if reading.free(start - 1) and _LEVEL.match(reading.text(start - 1)) else start
    return Finding(
        "python",
        before,
        max(last, start),
        error_type=name or None,
        message=message if name else "a traceback that is cut off",
        file=own[-1][0] if own and not own[-1][0].startswith("<") else None,
        frames=[f"{file}:{where}" for file, where in frames[-MAX_FRAMES:]],
        causes=tuple(dict.fromkeys(one for one, _ in raised[:-1] if one)),
        ran=next((file for file, _ in frames if not foreign(file)), None),
    )


def _python_frames(reading: LogParse, n: int) -> tuple[list[tuple[str, str]], int]:
    """Return the frames from line ``n`` on, and the line after them."""
    frames: list[tuple[str, str]] = []
    indent = len(reading.text(n)) - len(reading.text(n).lstrip(" |+"))
    while reading.free(n):
        text = reading.text(n)
        rest = text.lstrip(" |+")
        if not rest or len(text) - len(rest) < indent:
            break
        match = _FRAME.match(rest)
        if match:
            frames.append((match[1], f"{match[2]} in {match[3]}" if match[3] else match[2]))
        n += 1
    return frames, n


def _next_in_chain(reading: LogParse, n: int) -> int:
    """Return the line of the traceback chained to the one before line ``n``; -1 if there is none."""
    for there in range(n, min(n + 2, len(reading.lines))):
        if _strip_frame_marks(reading.text(there)).startswith(_CHAINED):
            return next((k for k in range(there + 1, there + 3) if reading.text(k).endswith(_HEAD)), -1)
    return -1


def _strip_frame_marks(text: str) -> str:
    return text.lstrip(" |+").rstrip()


def _syntax_error(reading: LogParse, start: int) -> Finding | None:
    """Parse the report of a syntax error: a file, the line, a caret, the error."""
    frame = _FRAME.match(reading.text(start).strip())
    for n in range(start + 1, start + 5):
        match = _RAISED.match(reading.text(n)) if reading.free(n) else None
        if frame and match and match[1].endswith("Error"):
            return Finding(
                "python",
                start,
                n,
                error_type=match[1],
                message=match[2] or "",
                file=frame[1],
                frames=[f"{frame[1]}:{frame[2]}"],
                ran=frame[1],
            )
    return None


def _stack(reading: LogParse, start: int) -> Finding | None:
    """Parse frames that begin with ``at``, and the error above them."""
    head = _find_error(reading, start)
    if head is None:
        return None
    first, name, message = head
    frames: list[str] = []
    causes: list[str] = []
    n = start
    while reading.free(n):
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
    own = [file for frame, file in places if file and not foreign(frame)]
    files = own or [file for _, file in places if file and not foreign(file)]
    java = any(_JAVA_AT.search(frame) or frame.endswith(("(Native Method)", "(Unknown Source)")) for frame in frames)
    net = any(_NET_AT.search(frame) for frame in frames)
    return Finding(
        "java" if java else "dotnet" if net else "node",
        first,
        n - 1,
        error_type=name,
        message=message,
        file=files[0] if files else None,
        frames=frames[:MAX_FRAMES],
        causes=tuple(dict.fromkeys(causes)),
        ran=_started_program(frames, own, java=java),
    )


def _find_error(reading: LogParse, start: int) -> tuple[int, str, str] | None:
    """Return the line, type and message of the error above a stack."""
    for n in range(start - 1, max(-1, start - 1 - _LOOK_BACK), -1):
        if not reading.free(n) or _AT.match(reading.text(n)):
            return None
        said = thrown(reading.text(n).strip())
        if said:
            return n, *said
    return None


def thrown(text: str) -> tuple[str, str] | None:
    """Return the type and the message of ``TypeError: x is not a function``; None for other lines."""
    match = _THROWN.match(text)
    return (short_type(match[1]), match[2] or "") if match and _THROWABLE.search(match[1]) else None


def _place(frame: str) -> str | None:
    for form in (_JAVA_AT, _NET_AT, _SCRIPT_AT):
        match = form.search(frame[-400:]) if form is not _SCRIPT_AT else form.search(frame.rpartition(" ")[2])
        if match:
            return match[1]
    return None


def _started_program(frames: list[str], own: list[str], *, java: bool) -> str | None:
    """Return what was run, by the outermost own frame."""
    if not java:
        return own[-1] if own else None
    mine = [frame.partition("(")[0] for frame in frames if not foreign(frame)]
    return mine[-1] if mine else None


def _rust_panic(reading: LogParse, start: int) -> Finding | None:
    match = _PANIC.match(reading.text(start).strip())
    if match is None:
        return None
    last = start
    while reading.free(last + 1) and reading.text(last + 1).strip():
        last += 1
    message = match[1] if match[1] is not None else reading.text(start + 1).strip() if last > start else ""
    return Finding("rust", start, last, error_type="panic", message=message, file=match[2])


def go_panic(reading: LogParse, start: int) -> Finding | None:
    """Parse a Go panic with its stacks; None without a stack."""
    if not any(reading.text(n).startswith(("goroutine ", "[signal ")) for n in range(start + 1, start + 5)):
        return None
    files: list[str] = []
    last = n = start
    while reading.free(n):
        match = _GO_AT.match(reading.text(n))
        if match:
            files.append(match[1])
            last = n
        elif n > start and not reading.text(n).strip() and n - last > 1 and files:
            break
        n += 1
        if n - last > _LOOK_BACK:
            break
    own = [file for file in files if not foreign(file)]
    kind, _, message = reading.text(start).partition(": ")
    program = any(reading.text(k).startswith("main.main(") for k in range(start, last + 1))
    return Finding(
        "go",
        start,
        max(last, start),
        error_type=kind,
        message=message,
        file=own[0] if own else None,
        frames=files[:MAX_FRAMES],
        ran="main" if program else None,
    )
