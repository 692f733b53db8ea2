r"""The source ``math_proof``: proofs in prose or LaTeX, English and Chinese, parsed into attempts.

A statement applies until the next one, and each argument for it is an attempt. An attempt that reports a failure and
starts again gives two.
"""

import hashlib
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from phronesis.core.relations import Origin
from phronesis.experience.laws.event_draft import Artifact, Draft, Label
from phronesis.experience.sources.port import RawText, Source
from phronesis.experience.sources.proof_blocks import (
    Block,
    blocks_of,
    done_in,
    failures_in,
    load_pattern,
    strategies_in,
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
        starts = [0]
        while (at := raw.text.find("\n", starts[-1])) >= 0:
            starts.append(at + 1)
        counted: Counter[str] = Counter()
        drafts = []
        for attempt in _attempts(raw.text):
            draft = _draft(raw.text, attempt, starts)
            if not draft.attempt:  # a heading with nothing behind it
                continue
            if draft.episode_id is not None:
                counted[draft.episode_id] += 1
                draft = replace(draft, seq=counted[draft.episode_id])
            drafts.append(draft)
        return drafts


def _attempts(text: str) -> Iterator[_Attempt]:
    statement: Block | None = None
    done = True  # whether what is stated was argued for: a wish ("show that …") then states something new
    for block in blocks_of(text):
        if block.role == "other":
            statement = None
        elif block.role == "statement" or (block.role == "wish" and done):
            statement, done = _stated(text, block), False
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


def _stated(text: str, block: Block) -> Block:
    """Return a statement's block without later paragraphs."""
    if block.latex:
        return replace(block, end=max(block.body, text.rfind("\\end", block.body, block.end)))
    found = _PARAGRAPH_END.search(text, block.body, block.end)
    return block if found is None else replace(block, end=found.start())


def _pieces(
    text: str, start: int, body: int, end: int, statement: Block | None, *, closed: bool = False
) -> Iterator[_Attempt]:
    """Yield the attempts in an argument, split where it gives up and starts again, and after its end mark."""
    failures = list(failures_in(text, body, end))
    done = done_in(text, body, end)
    if done is None and closed and not failures:
        done = (end, end)
    last = len(failures) if done is None else bisect_left(failures, done)
    at = 0
    while True:
        start = _skip(text, start, end)
        body = max(start, body)
        while at < len(failures) and failures[at][0] < body:
            at += 1
        cut = _again(text, failures, (at, last), end, ends_well=done is not None)
        if cut is None:
            break
        yield _Attempt(start, body, _trimmed(text, start, cut), statement, failures[at], None)
        start = body = cut
    failed = failures[at] if at < len(failures) else None
    if done is not None and failed is None:
        end = done[1]
    yield _Attempt(start, body, _trimmed(text, start, end), statement, failed, done)


def _again(
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


def _trimmed(text: str, start: int, end: int) -> int:
    while end > start and text[end - 1].isspace():
        end -= 1
    return end


def _draft(text: str, attempt: _Attempt, starts: Sequence[int]) -> Draft:
    stated, argued = attempt.statement, _ENDED.sub("", text[attempt.body : attempt.end])
    goal = " ".join(text[stated.body : stated.end].strip(" \n\t*_").split()) if stated is not None else ""
    strategy = strategies_in(argued)
    label, signal, result, origin = _said(text, attempt)
    then = _THEN.search(goal)
    assumed = goal[: then.start()].strip() if then is not None else ""
    heading = stated.heading if stated is not None else ""
    situation = assumed or (f"Proving {heading}." if heading else "")
    texts: dict[str, tuple[str, Origin]] = {
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
    confidence = {
        "success": 0.75 if attempt.done is not None and attempt.done[0] < attempt.done[1] else 0.6,
        "failure": 0.8,
    }
    return Draft(
        attempt=texts["attempt"][0],
        situation=texts["situation"][0],
        goal=texts["goal"][0],
        result=texts["result"][0],
        label=label,
        signals=(signal,) if signal else (),
        confidence=confidence.get(label, 0.5),
        field_origin={name: who for name, (said, who) in texts.items() if said},
        observations={name: value for name, value in observed.items() if value or name == "strategy"},
        artifacts=(*title, *(Artifact("concept", name) for name in strategy)),
        lines=(bisect_right(starts, attempt.start), bisect_right(starts, max(attempt.start, attempt.end - 1))),
        span=(attempt.start, attempt.end),
        episode_id=f"proof:{hashlib.sha256(goal.encode(errors='replace')).hexdigest()[:16]}" if goal else None,
    )


def _said(text: str, attempt: _Attempt) -> tuple[Label, str, str, Origin]:
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
