"""What messages and source hold of one attempt: goals, tactics, lemmas, and sentences made of them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from phronesis.derive.sources.lean.goals import Goal, distinct, read_goals
from phronesis.derive.sources.lean.kinds import MISSING, kind_of
from phronesis.derive.sources.lean.names import is_local, lemmas_in, missing_name
from phronesis.derive.sources.lean.program import Declaration
from phronesis.derive.sources.lean.tactics import (
    MAX_NAMES,
    lemmas_of,
    tactics_in,
    tactics_said,
    without_comments,
)
from phronesis.derive.sources.lean.units import Message, Position, Unit

MAX_TEXT: Final = 2000


class Found:
    """What the messages and the source at one place hold: goals, tactics, lemmas, and sentences made of them."""

    def __init__(self, unit: Unit, messages: Sequence[Message], declaration: Declaration | None, step: str) -> None:
        self.unit, self.messages, self.declaration = unit, messages, declaration
        shown = [read_goals(one.text) for one in messages] or [[]]
        met = [read_goals(goal) for goal in unit.before or []]
        left = [read_goals(goal) for goal in (unit.after or unit.sorries)]
        self.most = max([len(goals) for goals in shown] + [len(unit.after)])
        listed = [read_goals(str(one.get("goals", ""))) for one in unit.steps[:1]]
        self.goals: Sequence[Goal] = distinct(goal for goals in [*shown, *left] for goal in goals)
        self.open = max(len(self.goals), len(unit.after))
        if not self.goals:
            self.goals = distinct(goal for goals in [*met, *listed] for goal in goals)
        self.met = [goal for goals in met for goal in goals]
        proof = without_comments(declaration.proof if declaration is not None else step)
        told = [name for one in messages for name in tactics_said(one.text)]
        steps = [str(one.get("tactic", "")) for one in unit.steps]
        self.tactics = (tactics_in("\n".join(steps)) or tactics_in(proof) or list(dict.fromkeys(told)))[:MAX_NAMES]
        used = [str(name) for one in unit.steps for name in _constants(one) if not is_local(str(name))]
        missed = [
            missing_name(one.text, kind)
            for one in messages
            if (kind := kind_of(one.text)) in MISSING - {"unknown_namespace"}
        ]
        said = [name for one in messages for name in lemmas_in(_before_goals(one.text))]
        named = [name for name in missed if name and not is_local(name)]
        self.lemmas = list(dict.fromkeys([*named, *lemmas_of(proof), *lemmas_of("\n".join(steps)), *used, *said]))[
            :MAX_NAMES
        ]

    def situation(self, position: Position | None) -> str:
        """Give the goal that was met, else where it was."""
        goals = self.met or self.goals
        if goals:
            more = f"\n({len(goals) - 1} more goals)" if len(goals) > 1 else ""
            return goals[0].text[:MAX_TEXT] + more
        return f"Checking {self.place(position)}."

    def sentence(self, position: Position | None) -> str:
        """Give what was tried in words of ours, where the source does not show it."""
        tactics = ", ".join(self.tactics[:3])
        tried = f"Tactic {tactics}" if tactics else "Checking"
        lemmas = f" with {', '.join(self.lemmas[:3])}" if self.lemmas else ""
        return f"{tried}{lemmas} {'in ' if tactics or lemmas else ''}{self.place(position)}"

    def place(self, position: Position | None) -> str:
        """Give where it was: the declaration, the module or the file, and the position."""
        unit = self.unit
        where = unit.file or unit.module or ("a proof state" if unit.tactic else "a command")
        at = f" at line {position[0]}" if position is not None and position[0] else ""
        return f"{self.declaration.heading} in {where}{at}" if self.declaration is not None else f"{where}{at}"


def step_of(unit: Unit, errors: Sequence[Message]) -> str:
    """Give the source of the step at which the first of some errors stands, empty where the input does not show it."""
    if unit.program is None or not errors or errors[0].position is None:
        return ""
    return unit.program.step_at(errors[0].position, errors[0].end)


def _constants(step: Mapping[str, Any]) -> Sequence[Any]:
    found = step.get("usedConstants", ())
    return found if isinstance(found, list) else ()


def _before_goals(text: str) -> str:
    """Give the part of a message before its goals: names in hypotheses are nobody's choice."""
    cut = min(
        (at for at in (text.find("\n⊢"), text.find("\n\n"), text.find("unsolved goals")) if at >= 0), default=len(text)
    )
    return text[: min(cut, 500)]
