"""Delimiters of text: of untrusted text, which cannot close them, of composed blocks in messages, of private spans.

Blocks that no participant of the conversation wrote are recognised by their form alone:

- a *context* by its delimiters (``<memory-123456789>`` … ``</memory-123456789>``, ``<turn-…>``), by lines that cite a
  memory (``[mem:<uuid>]``, ``[m1]`` at the start of a line) and, around either, by the titles of its sections;
- a *block of a host* by an element whose tags stand at the edges of lines (``<system-reminder>`` …
  ``</system-reminder>``).

Nothing is learned from them. Time is linear in the text.
"""

import hashlib
import hmac
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

# Delimiters that the enclosed text cannot close: each tag has a number that occurs in none of the texts (law 8).

DIGITS: Final = 9
"""Digits of a boundary: three tokens in o200k, and a chance of 1 in 10⁹ to guess it. A number that occurs in a text is
not used."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """The number in every tag of a context: the session's, unless a text contains it."""

    number: str

    def memory(self, text: str) -> str:
        """Return remembered text as data."""
        return f"<memory-{self.number}>\n{text}\n</memory-{self.number}>"

    def turn(self, speaker: str, text: str) -> str:
        """Return an earlier turn as data; ``speaker`` is made of attributes that are already safe."""
        return f"<turn-{self.number} {speaker}>\n{text}\n</turn-{self.number}>"


SAMPLE: Final = Boundary("0" * DIGITS)
"""A boundary of the usual length, to estimate the cost of delimiters before the texts are known."""


def session_seed(secret: bytes, *names: str) -> str:
    """Return the seed of a session's boundary: deterministic, and not predictable without the secret."""
    return hmac.new(secret, "\n".join(names).encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def choose_boundary(seed: str, texts: Iterable[str]) -> Boundary:
    """Return the first number derived from ``seed`` that occurs in none of ``texts``.

    Always terminates: a text of n characters holds at most n of the 10⁹ numbers.
    """
    known = tuple(texts)
    for attempt in count():
        hashed = hashlib.sha256(f"{seed}\n{attempt}".encode("utf-8", "surrogatepass")).digest()
        number = str(int.from_bytes(hashed) % 10**DIGITS).zfill(DIGITS)
        if not any(number in text for text in known):
            return Boundary(number)
    raise AssertionError  # pragma: no cover - count() does not end


TITLES: Final = ("# System", "# Summary", "# Recent turns", "# Memory", "# Due")
"""Titles of the sections of a rendered context, except the last."""
MESSAGE_TITLE: Final = "# User message"
"""The title of the last section, which holds the user's message."""
_FENCE: Final = re.compile(r"<(memory|turn)-([0-9]{6,12})\b[^<>\n]{0,200}>")
_EXPLAINS: Final = re.compile(r"\b(memory|turn)-[0-9]{6,12}\b")
_EXPLANATION: Final = 1_000
"""Maximum length of the paragraph that explains both delimiters, in characters."""
_CITATION: Final = re.compile(r"\[(?:quoted )?mem:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\]", re.IGNORECASE)
_CITES: Final = re.compile(r"(?:\[(?:[mp][0-9]{1,4}|policy:[0-9]{1,4})\][ ,]*)+")
"""The beginning of a line that cites by an alias."""
_QUOTING: Final = " \t>*-•·|"
"""What may precede a quoted or listed line."""
_TAG: Final = re.compile(r"<(?P<closes>/?)(?P<name>[^\W\d_][\w.:-]{0,60})(?:\s[^<>]{0,400})?(?<!/)>")
_INDENT: Final = 80
"""Maximum number of blanks between a tag and its line's edge."""
_TITLES: Final = frozenset(TITLES)
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class StrippedText:
    """The rest of a text after removal: its pieces, each on lines of its own, with their original positions."""

    text: str
    _begun: Sequence[int] = ()
    _moved: Sequence[int] = ()

    def place(self, at: int) -> int:
        """Return the original position of the character at ``at``."""
        return at + self._moved[bisect_right(self._begun, at) - 1] if self._begun else at


def strip_contexts(text: str, *, hosts: bool = True) -> StrippedText:
    """Return ``text`` without contexts, and with ``hosts`` without the blocks of hosts."""
    spans = context_spans(text)
    if hosts and "</" in text:
        spans = _merge_spans([*spans, *_elements(text)])
    if not spans:
        return StrippedText(text)
    pieces: list[str] = []
    begun, moved, at, length = [], [], 0, 0
    for start, end in [*spans, (len(text), len(text))]:
        if text[at:start].strip():
            begun.append(length)
            moved.append(at - length)
            pieces.append(text[at:start])
            length += start - at + 1
        at = end
    return StrippedText("\n".join(pieces), begun, moved)


def has_context(text: str) -> bool:
    """Return whether a text holds a composed context, or a part of one."""
    return bool(context_spans(text))


def context_spans(text: str) -> list[Span]:
    """Return the (start, end) of composed contexts, or lines of them, in a text, in order."""
    if "[" not in text and "<" not in text:
        return []
    fences = _fences(text)
    lines = _lines(text)
    cited = [line for line in lines if _cites(text[slice(*line)])]
    if not fences and not cited:
        return []
    spans = _merge_spans([*fences, *cited, *(line for line in lines if _explains(text[slice(*line)]))])
    titles = [line for line in lines if text[slice(*line)].strip(_QUOTING) in _TITLES]
    return _merge_spans([*spans, *_sections(text, lines, spans, titles)])


def _sections(text: str, lines: Sequence[Span], spans: Sequence[Span], titles: Sequence[Span]) -> list[Span]:
    """Return the range from the first title to the last of ``spans``, including the message after it."""
    if not titles:
        return []
    start, end = min(titles[0][0], spans[0][0]), max(titles[-1][1], spans[-1][1])
    asked = next(
        (
            n
            for n, line in enumerate(lines)
            if line[0] >= titles[0][1] and text[slice(*line)].strip(_QUOTING) == MESSAGE_TITLE
        ),
        None,
    )
    if asked is None:
        return [(start, end)]
    # What was asked is told to end with its line: what follows is said now.
    return [(start, lines[min(asked + 1, len(lines) - 1)][1])]


def _fences(text: str) -> list[Span]:
    """Return the delimited ranges with their tags; an unclosed one extends to the end."""
    out, at = [], 0
    while (opened := _FENCE.search(text, at)) is not None:
        closing = f"</{opened[1]}-{opened[2]}>"
        found = text.find(closing, opened.end())
        at = len(text) if found < 0 else found + len(closing)
        out.append((opened.start(), at))
    return out


def _cites(line: str) -> bool:
    return _CITATION.search(line) is not None or _CITES.match(line.lstrip(_QUOTING)) is not None


def _explains(line: str) -> bool:
    return len(line) <= _EXPLANATION and len({found[1] for found in _EXPLAINS.finditer(line)}) > 1


def _elements(text: str) -> list[Span]:
    """Return the elements both of whose tags begin or end a line."""
    opened: dict[str, list[re.Match[str]]] = defaultdict(list)
    out = []
    for tag in _TAG.finditer(text):
        name = tag["name"].lower()
        if not tag["closes"]:
            opened[name].append(tag)
        elif opened[name]:
            first = opened[name].pop()
            if _is_at_edge(text, first) and _is_at_edge(text, tag):
                out.append((first.start(), tag.end()))
    return out


def _is_at_edge(text: str, tag: re.Match[str]) -> bool:
    """Return whether a tag is at the beginning or the end of its line."""
    before, after = text[max(0, tag.start() - _INDENT) : tag.start()], text[tag.end() : tag.end() + _INDENT]
    begins = before.rstrip(" \t")[-1:] == "\n" or (not before.strip(" \t") and tag.start() <= _INDENT)
    ends = after.lstrip(" \t\r")[:1] == "\n" or (not after.strip(" \t\r") and len(text) - tag.end() <= _INDENT)
    return begins or ends


def _lines(text: str) -> list[Span]:
    out, at = [], 0
    for line in text.splitlines(keepends=True):
        out.append((at, at + len(line.rstrip("\r\n"))))
        at += len(line)
    return out


def _merge_spans(spans: Iterable[Span]) -> list[Span]:
    out: list[Span] = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


# What agents' hooks and importers do not store: private spans, and turns that are off the record.

HIDDEN: Final = "[private]"
"""What stands in the place of a private span."""
OFF_RECORD: Final = frozenset(
    {"don't remember this", "do not remember this", "don't save this", "do not save this"}
    | {"off the record", "this is off the record"}
    | {"别记住这个", "不要记住这个", "别记这个", "不要记这个", "别记下来", "不要记下来"}
)
"""Commands by which a prompt is not kept: one of its clauses is such a phrase. No other wording is understood."""
_CLAUSE_END: Final = re.compile(r"[.!?;:,\n。！？；：，、()（）]+")
_POLITE: Final = ("please ", "请")
_PRIVATE_TAG: Final = re.compile(r"[<＜]\s{0,8}([/／]?)\s{0,8}private\s{0,8}[>＞]", re.IGNORECASE)


def strip_private_spans(text: str) -> str:
    """Return a text without its private spans, which may be nested; one that is not closed ends with the text."""
    out, depth, end = "", 0, 0
    for tag in _PRIVATE_TAG.finditer(text):
        if tag[1]:
            if depth == 1:
                end = tag.end()
            depth = max(0, depth - 1)
        else:
            out += f"{text[end : tag.start()]}{HIDDEN}" if depth == 0 else ""
            depth += 1
    return out if depth else out + text[end:]


def is_off_record(text: str) -> bool:
    """Return whether a prompt says, by a phrase of ``OFF_RECORD``, that it is not to be kept."""
    clauses = (clause.strip().casefold().replace("’", "'") for clause in _CLAUSE_END.split(text))
    return any(_impolite(clause) in OFF_RECORD for clause in clauses)


def _impolite(clause: str) -> str:
    for word in _POLITE:
        clause = clause.removeprefix(word)
    return clause


def storable_messages(messages: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """Return the messages of a turn, of (role, text), as they may be kept; none of a turn that is off the record."""
    said = [(role, strip_private_spans(text)) for role, text in messages if text.strip()]
    if any(role == "user" and is_off_record(text) for role, text in said):
        return []
    return [{"role": role, "content": text} for role, text in said if text.strip()]


def strip_private_values(value: Any) -> Any:
    """Return JSON data without the private spans of its texts."""
    if isinstance(value, str):
        return strip_private_spans(value)
    if isinstance(value, Mapping):
        return {strip_private_spans(name): strip_private_values(one) for name, one in value.items()}
    return [strip_private_values(one) for one in value] if isinstance(value, list) else value
