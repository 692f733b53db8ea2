"""What PowerShell writes around a command's errors, taken away: the command and the plain message are left.

Windows PowerShell shows whatever a program writes to its error stream as an error record, also where nothing is wrong
(``NativeCommandError``): the record's message is the first line of that stream, and the next lines follow it. An error
of a cmdlet names an exception. The words around are in the language of the system; the two lines that begin with
``+ CategoryInfo`` and ``+ FullyQualifiedErrorId`` are not, nor is the marked source line.
"""

import re
from dataclasses import replace
from typing import Final

from phronesis.derive.sources.log.lines import Line

PROMPT: Final = "PS> "
"""What stands before a command in the lines that are given."""

_CATEGORY: Final = re.compile(r"\s{1,12}\+ CategoryInfo {1,20}: (?:\w{1,40}: )?(.{0,600})\Z")
_IDENTITY: Final = re.compile(r"\s{1,12}\+ FullyQualifiedErrorId {1,20}: (\S{1,300})")
_EXCEPTION: Final = re.compile(r"\[[^\[\]]{0,100}\], (\w{1,80})\Z")
_HEAD: Final = re.compile(r"[^\s:][^:\n]{0,120}? : (.{0,1900})\Z")
_REDIRECTED: Final = re.compile(
    r" {0,8}(?:\d?>>? {0,4}(?:&\d|[\w.\\/:$-]{1,200})|\| {0,4}(?:Out-File|Tee-Object)\b.{0,200})"
)
_SHORT: Final = re.compile(r"([A-Z][\w.-]{0,80}): (?:(?:[A-Za-z]:)?[^:\n]{1,200}:\d{1,9}(?::\d{1,9})?)?\s{0,4}\Z")
_SHORT_LINE: Final = re.compile(r"\s{0,8}(\d{1,6})? {0,8}\| (.{0,600})\Z")
_BACK: Final = 14
_WITHIN: Final = 8


def without_records(lines: list[Line]) -> list[Line]:
    """Give the lines with each error record replaced by its command, behind `PROMPT`, and its message."""
    ends = [n for n, line in enumerate(lines) if _IDENTITY.match(line.text) or line.text.strip() == "Line |"]
    if not ends:
        return lines
    commands = {line.text.partition("> ")[2].strip() for line in lines if line.text.startswith("PS ")}
    out: list[Line] = []
    done = 0
    for end in ends:
        record = _short(lines, done, end) if lines[end].text.strip() == "Line |" else _record(lines, done, end)
        if record is None:
            continue
        first, command, said, last = record
        out += lines[done:first]
        if command and command not in commands:
            out.append(replace(lines[first], text=PROMPT + command))
        out += [replace(lines[first], text=text) for text in said if text.strip()]
        done = last + 1
        if done < len(lines) and not lines[done].text.strip():
            done += 1
    return out + lines[done:]


def _record(lines: list[Line], done: int, end: int) -> tuple[int, str, list[str], int] | None:
    """Read a record of Windows PowerShell that ends on a line: its first line, command, message, and last line."""
    marked = next((n for n in range(end - 1, max(done, end - _WITHIN) - 1, -1)
                   if lines[n].text.startswith("+ ") and not lines[n].text.strip("+ ~")), None)  # fmt: skip
    category = next((match for n in range(end - 1, max(done, end - _WITHIN) - 1, -1)
                     if (match := _CATEGORY.match(lines[n].text))), None)  # fmt: skip
    if marked is None or category is None or marked - 2 < done:
        return None
    place = marked - 2
    first = next((n for n in range(place - 1, max(done, place - _BACK) - 1, -1) if _HEAD.match(lines[n].text)), None)
    head = None if first is None else _HEAD.match(lines[first].text)
    if first is None or head is None:
        first, said = place, ""
    else:
        said = "".join([head[1], *(line.text for line in lines[first + 1 : place])])  # it wraps at the window's width
    raised = _EXCEPTION.search(category[1])
    native = "NativeCommandError" in lines[end].text
    if raised and not native:
        said = f"{raised[1]}: {said}"
    source = lines[marked - 1].text.removeprefix("+ ").strip()
    command = _REDIRECTED.sub("", source).strip()
    return first, command.removeprefix("... ").removesuffix(" ...").strip(), [said], end


def _short(lines: list[Line], done: int, end: int) -> tuple[int, str, list[str], int] | None:
    """Read a record of PowerShell 7, whose ``Line |`` stands above the source line, the mark and the message."""
    head = _SHORT.match(lines[end - 1].text) if end - 1 >= done else None
    if head is None:
        return None
    command, said, last = "", list[str](), end
    for n in range(end + 1, min(end + 20, len(lines))):
        match = _SHORT_LINE.match(lines[n].text)
        if match is None:
            break
        last = n
        if match[1]:
            command = match[2].strip()
        elif match[2].strip(" ~"):
            said.append(match[2].strip())
    kind = head[1] if head[1].endswith(("Error", "Exception")) else "Error"
    return end - 1, command, [f"{kind}: {' '.join(said)}"] if said else [], last
