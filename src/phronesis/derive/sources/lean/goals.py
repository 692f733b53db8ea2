"""Goals as Lean prints them: a case, hypotheses, and what is to be proved behind a turnstile."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

TURNSTILES: Final = ("⊢", "|-")
MAX_GOALS: Final = 200
"""Goals read of one message: a thousand say no more than two hundred."""

# `a b : ℕ`, `inst✝ : Group G`, `f : ℕ → ℕ := fun n => n`. Names are parted by single blanks; prose has no " : ".
_HYPOTHESIS: Final = re.compile(r"(?P<names>[^\s:|⊢]{1,60}(?: [^\s:|⊢]{1,60}){0,40}) (?::|:=) ?(?P<type>.*)")


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal: its case, its hypotheses (a line each, several names may share one), how many names, and the target."""

    case: str
    hypotheses: tuple[str, ...]
    names: int
    target: str

    @property
    def size(self) -> tuple[int, int]:
        """Characters of the expression behind the turnstile, and the number of hypotheses."""
        return len(self.target), self.names

    @property
    def text(self) -> str:
        """The goal on lines of its own, as Lean shows it, without the case."""
        return "\n".join([*self.hypotheses, f"⊢ {self.target}"])


def is_hypothesis(line: str) -> bool:
    """Tell whether a line looks like hypotheses of a goal."""
    return _HYPOTHESIS.match(line) is not None


def read_goals(text: str) -> list[Goal]:
    """Give the goals that a text shows, in order. Words around them are passed over."""
    goals: list[Goal] = []
    hypotheses: list[str] = []
    target: list[str] = []
    case, names = "", 0
    depth = 0  # blanks before the turnstile: aesop shows its goals indented

    def close() -> None:
        nonlocal case, hypotheses, names, target
        if target:
            goals.append(Goal(case, tuple(hypotheses), names, " ".join(" ".join(target).split())))
        case, hypotheses, names, target = "", [], 0, []

    for line in text.split("\n"):
        said = line.strip()
        indent = len(line) - len(line.lstrip(" "))
        if said.startswith(TURNSTILES):
            if target:
                close()
            depth = indent
            target = [said[1 if said[0] == "⊢" else 2 :]]
        elif target and said and indent > depth:
            target.append(said)
        elif target:
            close()
            if len(goals) >= MAX_GOALS:
                return goals
        if target:
            continue
        if said.startswith("case "):
            case, hypotheses, names = said[5:], [], 0
        elif (found := _HYPOTHESIS.match(said)) is not None:
            hypotheses.append(said)
            names += found["names"].count(" ") + 1
        elif hypotheses and indent > depth and said:
            hypotheses[-1] += f" {said}"
        else:
            hypotheses, names = [], 0
    close()
    return goals


def distinct(goals: Iterable[Goal]) -> Sequence[Goal]:
    """Give each goal once: two messages of one place often show the same ones."""
    return list(dict.fromkeys(goals))
