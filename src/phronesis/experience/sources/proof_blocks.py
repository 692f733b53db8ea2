"""Split a mathematical text into statements, proofs and attempts, by headings or LaTeX environments."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any, Final, Literal

from phronesis.core.lazy_loading import load_once
from phronesis.core.pattern_tables import parse_folded

# Compiled patterns of ``proof_words.toml``: strategies, and reports of success or failure.

_BEFORE: Final = 48  # characters before a sign in which a denial of it may stand


@load_once
def load_table() -> Mapping[str, Any]:
    """Return the parsed ``proof_words.toml``."""
    return parse_folded(
        "proof_words.toml", resources.files(__package__).joinpath("proof_words.toml").read_text("utf-8")
    )


@load_once
def load_pattern(section: str, name: str = "") -> re.Pattern[str]:
    """Return a section's patterns, or one of them, compiled as one expression that ignores case."""
    found = load_table()[section][name] if name else [one for row in load_table()[section].values() for one in row]
    return re.compile(found if isinstance(found, str) else "|".join(f"(?:{one})" for one in found), re.IGNORECASE)


def strategies_in(text: str) -> list[str]:
    """Return the strategies of a proof, in the order in which it first names them."""
    table = load_table()
    avoided = load_pattern("fails", "avoided")
    places: dict[str, int] = {}
    for name in table["strategies"]:
        for found in load_pattern("strategies", name).finditer(text):
            if avoided.search(text[max(0, found.start() - _BEFORE) : found.start()]) is None:
                places[name] = found.start()
                break
    for special, general in table["instead"].items():
        if special in places:
            places.pop(general, None)
    return sorted(places, key=lambda name: places[name])


def failures_in(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans in which a text reports a failure, unless the words before negate it."""
    denied = load_pattern("fails", "denied")
    found = [one for name in ("english", "chinese") for one in load_pattern("fails", name).finditer(text, start, end)]
    for one in sorted(found, key=lambda match: match.start()):
        if denied.search(text[max(start, one.start() - _BEFORE) : one.start()]) is None:
            yield one.span()


def done_in(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the first span in which a text says that its proof is complete."""
    found = load_pattern("done", "marks").search(text, start, end)
    return None if found is None else found.span()


Role = Literal["statement", "proof", "attempt", "wish", "other"]

_LEAD: Final = r"[ \t>#*_~]{0,12}"
_NUMBER: Final = r"(?:[ ~]?(?:\d{1,4}(?:\.\d{1,4}){0,4}|[A-Z]\b|[IVX]{1,5}\b))"
_NUMBER_ZH: Final = r"(?: ?(?:\d{1,4}(?:\.\d{1,4}){0,4}|[一二三四五六七八九十]{1,3}))"
_NAME: Final = r"(?:[ ~]?[(（][^()（）\n]{1,80}[)）])"
_NEAR: Final = 40  # characters between a heading and what it states
_MARKS: Final = r"[*_ ]{0,4}"
_LATEX: Final = re.compile(r"\\(?P<what>begin|end)\{(?P<name>[a-z]{1,30})\*?\}")
_OPTION: Final = re.compile(r"\s{0,8}(?:\[(?P<title>[^\]\n]{1,120})\])?\s{0,8}(?:\\label\{[^}\n]{1,80}\})?\s{0,8}")


@dataclass(frozen=True, slots=True)
class Block:
    """A block: its role, its start, the span of its text, and its heading (``Lemma 2``)."""

    role: Role
    start: int
    body: int
    end: int
    heading: str = ""
    title: str = ""
    latex: bool = False
    until: int = 0
    """The start of the next block; the text before it belongs to this one."""


@load_once
def _heads() -> list[tuple[Role, re.Pattern[str]]]:
    heads = load_table()["heads"]
    end = rf"{_MARKS}[.:：]{_MARKS}"
    rows: list[tuple[Role, str]] = [
        ("other", rf"(?:{heads['not_proved']}){_NUMBER}?{_NAME}?{_MARKS}[.:：]"),
        ("attempt", rf"(?:{heads['attempt']}){_NAME}?(?:{end}|{_MARKS},|{_MARKS}$)"),
        ("attempt", rf"(?:{heads['attempt_zh']}){_NAME}?(?:{end}|[，, ]|$)"),
        ("proof", rf"(?:{heads['proof']})(?: of [^.:\n]{{1,80}})?{_NUMBER}?{_NAME}?(?:{end}|{_MARKS}$)"),
        ("proof", rf"(?:{heads['proof_zh']}){_NAME}?(?:{end}|[ \t]|$)"),
        ("statement", rf"(?:{heads['statement']})(?:{_NUMBER}{_MARKS}{_NAME}?|{_MARKS}{_NAME})(?:{end}|[ \t]|$)"),
        ("statement", rf"(?:{heads['statement']}){end}"),
        ("statement", rf"(?:{heads['statement_zh']}){_NUMBER_ZH}{_NAME}?[.:：、]?"),
        ("statement", rf"(?:{heads['statement_zh']}){_NAME}?(?:{end}|[ \t　])"),
        ("wish", rf"(?:{heads['wish']})[:：]? ?(?:that )?"),
    ]
    return [(role, re.compile(_LEAD + pattern, re.IGNORECASE)) for role, pattern in rows]


@load_once
def _inline() -> re.Pattern[str]:
    """Return the pattern of a proof's heading after its statement on one line."""
    return re.compile(r"(?<=[.。!！?？;；])[ \t]{0,4}(?:\*{0,2}Proof\*{0,2}[.:]|证明?[:：])")


def blocks_of(text: str) -> list[Block]:
    """Return the blocks of a text in order; text before the first heading belongs to none."""
    found: list[Block] = []
    unclosed: set[str] = set()
    at = 0
    latex = 0  # where the environment ends that we are in
    while at <= len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        if at >= latex:
            block = _environment(text, at, end, unclosed) or _heading(text, at, end)
            if block is not None and not _is_stated(text, found, block):
                found.append(block)
                latex = block.end if block.latex else 0
                if block.role == "statement" and not block.latex:
                    found.extend(_behind(text, block.body, end))
        at = end + 1
    return _ended(found, len(text))


def _is_stated(text: str, found: list[Block], block: Block) -> bool:
    """Return whether a block states the heading before it: "Problem 3" and, on the next line, "Show that …"."""
    if not found or found[-1].role != "statement" or found[-1].latex or block.latex:
        return False
    wished = block.role == "wish" or (block.role == "proof" and text[block.start : block.body].endswith((" ", "\t")))
    return (
        wished and block.start - found[-1].body <= _NEAR and not text[found[-1].body : block.start].strip(" \t\n*_:：.")
    )


def _heading(text: str, start: int, end: int) -> Block | None:
    for role, pattern in _heads():
        head = pattern.match(text, start, min(end, start + 400))
        if head is not None:
            said = head[0].strip(" \t*_#>.:：、，,")
            title = re.search(r"[(（]([^()（）]{1,80})[)）]", said)
            return Block(role, start, head.end(), 0, said, title[1] if title is not None else "")
    return None


def _behind(text: str, start: int, end: int) -> list[Block]:
    head = _inline().search(text, start, end)
    return [] if head is None else [Block("proof", head.start(), head.end(), 0, "Proof")]


def _environment(text: str, start: int, end: int, unclosed: set[str]) -> Block | None:
    head = _LATEX.search(text, start, min(end, start + 400))
    if head is None or head["what"] != "begin":
        return None
    name = head["name"]
    heads = load_table()["heads"]
    if name in {"proof", "solution"}:
        role: Role = "proof"
    elif name in heads["environment"].split("|"):
        role = "statement"
    elif name in heads["not_proved"].split("|"):
        role = "other"
    else:
        return None
    option = _OPTION.match(text, head.end())
    body = option.end() if option is not None else head.end()
    title = (option["title"] if option is not None else None) or ""
    close = -1 if name in unclosed else text.find("\\end{" + name, body)
    if close < 0:
        unclosed.add(name)  # nor is any behind it: it need not be sought again
        return Block(role, head.start(), body, 0, name.capitalize(), title)
    behind = text.find("}", close)
    return Block(
        role, head.start(), body, len(text) if behind < 0 else behind + 1, name.capitalize(), title, latex=True
    )


def _ended(found: list[Block], end: int) -> list[Block]:
    """Extend each block without an end of its own to the next one."""
    ends = [block.start for block in found[1:]] + [end] * bool(found)
    return [
        replace(block, end=block.end if block.latex else max(block.body, stop), until=max(block.end, stop))
        for block, stop in zip(found, ends, strict=True)
    ]
