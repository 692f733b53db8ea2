r"""The source ``math_proof``: proofs in prose or LaTeX, English and Chinese, parsed into attempts.

The text is cut into blocks at its headings and LaTeX environments. A statement applies until the next one, and each
argument for it is an attempt; one that reports a failure and starts again gives two.
"""

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any, Final, Literal

from phronesis.core.lazy_loading import load_once
from phronesis.core.relations import Origin
from phronesis.core.serialization import parse_folded
from phronesis.experience.laws.event_draft import Artifact, Draft, Label
from phronesis.experience.sources.port import LineIndex, RawText, Source, number_episodes, placed_lines

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


Role = Literal["statement", "proof", "attempt", "wish", "other"]

_LEAD: Final = r"[ \t>#*_~]{0,12}"
_NUMBER: Final = r"(?:[ ~]?(?:\d{1,4}(?:\.\d{1,4}){0,4}|[A-Z]\b|[IVX]{1,5}\b))"
_NUMBER_ZH: Final = r"(?: ?(?:\d{1,4}(?:\.\d{1,4}){0,4}|[一二三四五六七八九十]{1,3}))"
_NAME: Final = r"(?:[ ~]?[(（][^()（）\n]{1,80}[)）])"
_NEAR: Final = 40  # characters between a heading and what it states
_MARKS: Final = r"[*_ ]{0,4}"
_LATEX: Final = re.compile(r"\\(?P<what>begin|end)\{(?P<name>[a-z]{1,30})\*?\}")
_INLINE: Final = re.compile(r"(?<=[.。!！?？;；])[ \t]{0,4}(?:\*{0,2}Proof\*{0,2}[.:]|证明?[:：])")
"""A proof's heading after its statement on one line."""

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


def blocks_of(text: str) -> list[Block]:
    """Return the blocks of a text in order; text before the first heading belongs to none."""
    found: list[Block] = []
    unclosed: set[str] = set()
    latex = 0  # where the environment ends that we are in
    for at, end, _ in placed_lines(text):
        if at >= latex:
            block = _environment(text, at, end, unclosed) or _heading(text, at, end)
            if block is not None and not _is_stated(text, found, block):
                found.append(block)
                latex = block.end if block.latex else 0
                inline = _INLINE.search(text, block.body, end)
                if block.role == "statement" and not block.latex and inline is not None:
                    found.append(Block("proof", inline.start(), inline.end(), 0, "Proof"))
    ends = [block.start for block in found[1:]] + [len(text)] * bool(found)
    return [  # a block without an end of its own extends to the next one
        replace(block, end=block.end if block.latex else max(block.body, stop), until=max(block.end, stop))
        for block, stop in zip(found, ends, strict=True)
    ]


def _is_stated(text: str, found: list[Block], block: Block) -> bool:
    """Return whether a block states the heading before it: "Problem 3" and, on the next line, "Show that …"."""
    if not found or found[-1].role != "statement" or found[-1].latex or block.latex:
        return False
    wished = block.role == "wish" or (block.role == "proof" and text[block.start : block.body].endswith((" ", "\t")))
    between = text[found[-1].body : block.start]
    return wished and len(between) <= _NEAR and not between.strip(" \t\n*_:：.")


def _heading(text: str, start: int, end: int) -> Block | None:
    for role, pattern in _heads():
        if (head := pattern.match(text, start, min(end, start + 400))) is not None:
            said = head[0].strip(" \t*_#>.:：、，,")
            title = re.search(r"[(（]([^()（）]{1,80})[)）]", said)
            return Block(role, start, head.end(), 0, said, title[1] if title is not None else "")
    return None


def _environment(text: str, start: int, end: int, unclosed: set[str]) -> Block | None:
    head = _LATEX.search(text, start, min(end, start + 400))
    if head is None or head["what"] != "begin":
        return None
    name = head["name"]
    heads = load_table()["heads"]
    roles: dict[Role, Sequence[str]] = {"proof": ("proof", "solution"), "statement": heads["environment"].split("|")}
    roles["other"] = heads["not_proved"].split("|")
    if (role := next((role for role, names in roles.items() if name in names), None)) is None:
        return None
    option = _OPTION.match(text, head.end())
    body, title = (option.end(), option["title"] or "") if option else (head.end(), "")
    close = -1 if name in unclosed else text.find("\\end{" + name, body)
    if close < 0:
        unclosed.add(name)  # nor is any behind it: it need not be sought again
        return Block(role, head.start(), body, 0, name.capitalize(), title)
    behind = text.find("}", close)
    return Block(
        role, head.start(), body, len(text) if behind < 0 else behind + 1, name.capitalize(), title, latex=True
    )


PROOF_VERSION: Final = "math_proof/1"

MAX_TEXT: Final = 2000
MAX_SUMMARY: Final = 400
MAX_RESULT: Final = 300

_SENTENCE_END: Final = re.compile(r"[.!?](?=\s|$)|[。！？]|\n\s*\n")
_ENDED: Final = re.compile(r"\\end\{[a-z]{1,30}\*?\}$")
_SPACE: Final = re.compile(r"[\s*_]*")
_PARAGRAPH_END: Final = re.compile(r"\n[ \t]*\n")
_THEN: Final = re.compile(r",? then\b|[，,]?则|[，,]?求证|[.。;；] ?(?:show|prove) that", re.IGNORECASE)
_HUMAN: Final[Origin] = "human"
_RULE: Final[Origin] = "rule"


@dataclass(frozen=True, slots=True)
class _Attempt:
    """An argument for a statement or for none; ``failed`` and ``done`` are the spans that say so."""

    start: int
    body: int
    end: int
    statement: Block | None
    failed: tuple[int, int] | None
    done: tuple[int, int] | None


class ProofSource(Source):
    """Reads mathematical proofs. A label is the text's own claim, never a judgement of the mathematics."""

    source_type = "math_proof"
    version = PROOF_VERSION

    def read(self, raw: RawText) -> Sequence[Draft]:
        """Return the attempts of a text in order; none if it has no statement and no attempt under a heading."""
        index = LineIndex(raw.text)
        drafts = (_draft(raw.text, attempt, index) for attempt in _attempts(raw.text))
        return number_episodes(draft for draft in drafts if draft.attempt)  # else a heading with nothing behind it


def _attempts(text: str) -> Iterator[_Attempt]:
    statement: Block | None = None
    done = True  # whether what is stated was argued for: a wish ("show that …") then states something new
    for block in blocks_of(text):
        if block.role == "other":
            statement = None
        elif block.role == "statement" or (block.role == "wish" and done):
            statement, done = _statement_block(text, block), False
            behind = block.end if block.latex else statement.end
            if _skip(text, behind, block.until) < block.until:
                for piece in _pieces(text, behind, behind, block.until, statement):
                    if piece.failed or piece.done or strategies_in(text[piece.body : piece.end]):
                        done = True
                        yield piece
        else:
            pieces = list(_pieces(text, block.start, block.body, block.end, statement, closed=block.latex))
            done = done or any(piece.done for piece in pieces)
            yield from pieces


def _statement_block(text: str, block: Block) -> Block:
    """Return a statement's block without later paragraphs."""
    if block.latex:
        return replace(block, end=max(block.body, text.rfind("\\end", block.body, block.end)))
    found = _PARAGRAPH_END.search(text, block.body, block.end)
    return replace(block, end=found.start()) if found else block


def _pieces(
    text: str, start: int, body: int, end: int, statement: Block | None, *, closed: bool = False
) -> Iterator[_Attempt]:
    """Yield the attempts in an argument, split where it gives up and starts again, and after its end mark."""
    failures = list(failures_in(text, body, end))
    mark = load_pattern("done", "marks").search(text, body, end)
    done = mark.span() if mark else (end, end) if closed and not failures else None
    last = len(failures) if done is None else bisect_left(failures, done)
    at = 0
    while True:
        start = _skip(text, start, end)
        body = max(start, body)
        while at < len(failures) and failures[at][0] < body:
            at += 1
        if (cut := _find_restart(text, failures, (at, last), end, ends_well=done is not None)) is None:
            break
        yield _Attempt(start, body, _trim_end(text, start, cut), statement, failures[at], None)
        start = body = cut
    failed = failures[at] if at < len(failures) else None
    if done is not None and failed is None:
        end = done[1]
    yield _Attempt(start, body, _trim_end(text, start, end), statement, failed, done)


def _find_restart(
    text: str, failures: Sequence[tuple[int, int]], which: tuple[int, int], end: int, *, ends_well: bool
) -> int | None:
    """Return where an argument starts again after a failure: where it says so, else at a sentence if it ends well."""
    for at in range(*which):
        start = failures[at][1]
        stop = failures[at + 1][0] if at + 1 < len(failures) else end
        first: int | None = None
        while (sentence := _SENTENCE_END.search(text, start, stop)) is not None:
            start = sentence.end()
            begin = _SPACE.match(text, start, stop).end()  # type: ignore[union-attr]
            if begin >= stop:
                break
            first = begin if first is None else first
            if load_pattern("heads", "again").match(text, begin, end) is not None:
                return begin
        if ends_well and at + 1 == which[1]:
            return first
    return None


def _skip(text: str, start: int, end: int) -> int:
    """Return the end of the white space from ``start`` on."""
    while start < end and text[start].isspace():
        start += 1
    return start


def _trim_end(text: str, start: int, end: int) -> int:
    return start + len(text[start:end].rstrip())


def _draft(text: str, attempt: _Attempt, index: LineIndex) -> Draft:
    stated, argued = attempt.statement, _ENDED.sub("", text[attempt.body : attempt.end])
    goal = " ".join(text[stated.body : stated.end].strip(" \n\t*_").split()) if stated is not None else ""
    strategy = strategies_in(argued)
    label, signal, result, origin = _outcome_of(text, attempt)
    then = _THEN.search(goal)
    assumed = goal[: then.start()].strip() if then is not None else ""
    heading = stated.heading if stated is not None else ""
    situation = assumed or (f"Proving {heading}." if heading else "")
    texts: dict[str, tuple[Any, Origin]] = {
        "situation": (situation[:MAX_TEXT], _HUMAN if assumed else _RULE),
        "goal": (goal[:MAX_TEXT], _HUMAN),
        "attempt": (_summary(strategy, argued), _RULE),
        "result": (result, origin),
    }
    observed = {
        "strategy": strategy,
        "statement": heading,
        "title": stated.title if stated is not None else "",
        "latex": stated.latex if stated is not None else False,
        "characters": len(argued.strip()),
    }
    title = [Artifact("lemma", stated.title)] if stated is not None and stated.title else []
    marked = attempt.done is not None and attempt.done[0] < attempt.done[1]
    confidence = {"success": 0.75 if marked else 0.6, "failure": 0.8}
    return Draft(
        **{name: said for name, (said, _) in texts.items()},
        label=label,
        signals=(signal,) if signal else (),
        confidence=confidence.get(label, 0.5),
        field_origin={name: who for name, (said, who) in texts.items() if said},
        observations={name: value for name, value in observed.items() if value or name == "strategy"},
        artifacts=(*title, *(Artifact("concept", name) for name in strategy)),
        lines=index.lines(attempt.start, attempt.end - 1),
        span=(attempt.start, attempt.end),
        episode_id=f"proof:{hashlib.sha256(goal.encode(errors='replace')).hexdigest()[:16]}" if goal else None,
    )


def _outcome_of(text: str, attempt: _Attempt) -> tuple[Label, str, str, Origin]:
    """Return the label, its signal, the result, and the origin of the result's text."""
    if attempt.failed is not None:
        words = text[attempt.failed[0] : attempt.failed[1]]
        return "failure", f"the text says: {words}", _sentence(text, attempt), _HUMAN
    if attempt.done is not None and attempt.statement is not None:
        mark = text[attempt.done[0] : attempt.done[1]] or "\\end{proof}"
        return "success", f"the proof ends with {mark}", f"The text ends its proof with {mark}", _RULE
    return "unknown", "", "", _RULE


def _sentence(text: str, attempt: _Attempt) -> str:
    """Return the sentence in which the attempt reports its failure."""
    failed = attempt.failed or (attempt.start, attempt.start)
    begin = attempt.start
    for stop in _SENTENCE_END.finditer(text, max(attempt.start, failed[0] - MAX_RESULT), failed[0]):
        begin = stop.end()
    begin = max(begin, failed[0] - MAX_RESULT)
    end = _SENTENCE_END.search(text, failed[1], attempt.end)
    return " ".join(text[begin : end.end() if end is not None else attempt.end].split())[:MAX_RESULT]


def _summary(strategy: Sequence[str], argued: str) -> str:
    """Return a sentence on the attempt: its strategies, and its beginning."""
    said = " ".join(argued[: 2 * MAX_SUMMARY].split())[:MAX_SUMMARY]
    named = ", then ".join(name.replace("_", " ") for name in strategy)
    return f"By {named}: {said}" if named else said
