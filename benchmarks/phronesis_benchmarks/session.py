"""What the contexts of one conversation are worth (``phronesis bench session``), through the public API alone.

A scripted session is told turn by turn; before each turn its context is composed, as an agent would. Then labelled
questions are asked in a new session. A line of evidence bears on a question when it holds one of the question's marks;
a question without marks has no answer in the session.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any, Final, Self

from phronesis import Memory
from phronesis.errors import InputError

_USER: Final = "session-bench"
_CHANGING: Final = ("# Recent turns\n", "# Due\n", "# Memory\n", "# User message\n")
"""Titles behind which a rendering changes from call to call."""

Progress = Callable[[str, int, int], object]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and marks of which a line that bears on it holds one; none: nothing does."""

    text: str
    bears: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompts:
    """The renderings of consecutive calls."""

    texts: list[str] = field(default_factory=list)
    systems: list[str] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)

    def take(self, package: Any) -> None:
        """Add those of a package."""
        self.texts.append(package.render("text"))
        messages = package.render("messages")
        self.systems.append(messages[0]["content"] if messages[0]["role"] == "system" else "")
        self.tokens.append(package.token_count)

    def to_dict(self) -> dict[str, float]:
        """Return the shares of the stable parts that two calls have in common, and what a call costs."""
        return {
            "shared_text": _shared(self.texts),
            "shared_messages": _shared(self.systems),
            "stable_characters": fmean(len(_stable(text)) for text in self.texts),
            "tokens": fmean(self.tokens),
        }


@dataclass(frozen=True, slots=True)
class SessionReport:
    """The figures of one run: prompts of turn after turn, and of question after question; evidence of the questions."""

    turns: dict[str, float]
    questions: dict[str, float]
    evidence: dict[str, float]
    embedder: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {name: getattr(self, name) for name in ("embedder", "turns", "questions", "evidence")}

    def to_markdown(self) -> str:
        """Return two tables."""
        head = (
            f"Encoder: {self.embedder}\n\n| prompts | stable part shared, text | stable part shared, messages "
            "| stable characters | tokens per call |\n|---|---|---|---|---|\n"
        )
        rows = "".join(
            f"| {name} | {of['shared_text']:.3f} | {of['shared_messages']:.3f} | {of['stable_characters']:.0f} "
            f"| {of['tokens']:.0f} |\n"
            for name, of in (("turn after turn", self.turns), ("question after question", self.questions))
        )
        told = self.evidence
        return (
            f"{head}{rows}\n| evidence | |\n|---|---|\n"
            f"| lines that bear on their question, of all for questions with an answer | {told['bearing']:.3f} |\n"
            f"| lines per question with an answer | {told['lines']:.2f} |\n"
            f"| questions with an answer whose context holds a mark | {told['answered']:.3f} |\n"
            f"| lines per question without an answer | {told['needless']:.2f} |\n"
            f"| questions without an answer that show no evidence | {told['silent']:.3f} |\n"
        )


@dataclass(slots=True)
class _Clock:
    now: datetime

    @classmethod
    def at(cls, text: str) -> Self:
        return cls(datetime.fromisoformat(text))

    def __call__(self) -> datetime:
        return self.now


def run_session(
    turns: Path, questions: Path, *, embedder: str = "none", on_progress: Progress | None = None
) -> SessionReport:
    """Measure the contexts of a session. InputError: a file cannot be read, or holds nothing."""
    told, asked = _rows(turns), [Question(one["text"], tuple(one["bears"])) for one in _rows(questions)]
    step = on_progress or (lambda *_: None)
    clock = _Clock.at(told[0]["at"])
    with Memory.open("sqlite://", policy={"embedder": embedder}, clock=clock) as memory:
        said, found = Prompts(), Prompts()
        for n, turn in enumerate(told):
            clock.now = datetime.fromisoformat(turn["at"])
            said.take(memory.compose_context("told", turn["user"], user_id=_USER))
            memory.commit_turn("told", _events(turn), user_id=_USER)
            step("turns", n + 1, len(told))
        memory.flush()
        clock.now += timedelta(days=1)
        lines: list[tuple[Question, list[bool], bool]] = []
        for n, question in enumerate(asked):
            package = memory.compose_context("asked", question.text, user_id=_USER)
            found.take(package)
            before = package.render("text").rpartition("# User message\n")[0]
            bearing = [any(mark in one.item.content for mark in question.bears) for one in package.evidence]
            lines.append((question, bearing, any(mark in before for mark in question.bears)))
            step("questions", n + 1, len(asked))
    return SessionReport(said.to_dict(), found.to_dict(), _evidence(lines), embedder)


def _evidence(lines: Sequence[tuple[Question, list[bool], bool]]) -> dict[str, float]:
    answerable = [(bearing, holds) for question, bearing, holds in lines if question.bears]
    others = [bearing for question, bearing, _ in lines if not question.bears]
    shown = [one for bearing, _ in answerable for one in bearing]
    return {
        "bearing": fmean(shown) if shown else 1.0,
        "lines": len(shown) / max(1, len(answerable)),
        "answered": fmean(holds for _, holds in answerable) if answerable else 1.0,
        "needless": fmean(map(len, others)) if others else 0.0,
        "silent": fmean(not bearing for bearing in others) if others else 1.0,
    }


def _events(turn: dict[str, Any]) -> dict[str, Any]:
    messages = [{"role": "user", "content": turn["user"], "created_at": turn["at"]}]
    calls = []
    if "tool" in turn:
        calls.append(turn["tool"])
        messages.append({"role": "tool", "name": turn["tool"]["name"], "content": turn["tool"]["result"]})
    messages.append({"role": "assistant", "content": turn["assistant"]})
    return {"messages": messages, "tool_calls": calls} if calls else {"messages": messages}


def _shared(prompts: Sequence[str]) -> float:
    """Return the mean share of a prompt's stable part that is also what the prompt before it begins with."""
    shares = [
        min(1.0, _common(before, after) / len(_stable(after))) for before, after in pairwise(prompts) if _stable(after)
    ]
    return fmean(shares) if shares else 1.0


def _common(one: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))


def _stable(prompt: str) -> str:
    """Return what stands before the first part that changes with every call."""
    places = [place for title in _CHANGING if (place := f"\n{prompt}".find(f"\n{title}")) >= 0]
    return prompt[: min(places)] if places else prompt


def _rows(path: Path) -> list[dict[str, Any]]:
    try:
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise InputError(f"{path.name} cannot be read as JSON lines: {error!r:.120}", field="data") from error
    if not rows:
        raise InputError(f"{path.name} holds nothing", field="data")
    return rows
