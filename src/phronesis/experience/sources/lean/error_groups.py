"""Collect the errors, goals, tactics and lemmas of one attempt, and classify known failure families."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from phronesis.experience.sources.lean.messages import LOOPING, MISSING, Message, Position, Unit, head, kind_of, normal
from phronesis.experience.sources.lean.syntax import (
    MAX_NAMES,
    SIMP,
    Declaration,
    Goal,
    Rewriting,
    distinct,
    is_lemma,
    is_local,
    lemmas_in,
    lemmas_of,
    missing_name,
    read_goals,
    rewritings,
    simp_in,
    tactics_in,
    tactics_said,
    without_comments,
)

# Failure families: groups of errors with a well-known cause, each recognised by rules.

EXPLODING: Final = "exploding_subgoals"
DIRECTION: Final = "simp_direction"
MISSING_LEMMA: Final = "missing_lemma"

MANY_GOALS: Final = 5
"""Open goals at one position that count as an explosion. A conjunction or case split gives two to four."""

NEW_GOALS: Final = 4
"""Goals added by a tactic step that count as an explosion, where the goals before it are known."""

REFLECTIONS: Final = {
    EXPLODING: "The step splits the goal into {count} goals: prove a general lemma first, or split later.",
    DIRECTION: "simp loops or does nothing with what it is given: turn the rewriting round, or use simp only or rw.",
    MISSING_LEMMA: "{name} is not known here: look for its name, its namespace (open) or the import.",
}


def is_missing(message: Message, kind: str) -> bool:
    """Return whether a message reports a missing lemma or namespace.

    An unknown identifier counts if it has the form of a declaration (``Nat.foo``, ``mul_foo``, ``Foo``).
    """
    if kind not in MISSING:
        return False
    name = missing_name(message.text, kind)
    if kind != "unknown_identifier":
        return bool(name)
    return is_lemma(name) or (len(name) > 2 and name[0].isupper())  # noqa: PLR2004 -- X and U₁ are variables


def is_direction(messages: Sequence[Message], kinds: Sequence[str], step: str) -> bool:
    """Return whether simp looped, or was used in the wrong direction.

    A timeout inside simp, or no progress, counts only if the step rewrites from right to left (``←``).
    """
    backwards = any(one.backwards for one in _given(step))
    inside = simp_in(step) in SIMP and bool(simp_in(step))
    for message, kind in zip(messages, kinds, strict=True):
        said = head(message.text)
        in_simp = inside or "simp" in said
        if LOOPING in normal(message.text[:400]):
            return True
        if kind == "max_recursion" and in_simp:
            return True
        if kind == "deterministic_timeout" and in_simp and backwards:
            return True
        if kind == "simp_no_progress" and backwards:
            return True
    return False


def is_explosion(open_goals: int, before: int | None) -> bool:
    """Return whether the number of open goals is an explosion, caused by a step if that is known."""
    return open_goals >= MANY_GOALS and (before is None or open_goals - before >= NEW_GOALS)


def _given(step: str) -> Sequence[Rewriting]:
    return rewritings(step) if simp_in(step) else []


MAX_TEXT: Final = 2000


class PositionFindings:
    """The messages and source at one position: goals, tactics, lemmas, and sentences made from them."""

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
        """Return the goal, else the position."""
        goals = self.met or self.goals
        if goals:
            more = f"\n({len(goals) - 1} more goals)" if len(goals) > 1 else ""
            return goals[0].text[:MAX_TEXT] + more
        return f"Checking {self.place(position)}."

    def sentence(self, position: Position | None) -> str:
        """Return a sentence on what was tried, if the source is not available."""
        tactics = ", ".join(self.tactics[:3])
        tried = f"Tactic {tactics}" if tactics else "Checking"
        lemmas = f" with {', '.join(self.lemmas[:3])}" if self.lemmas else ""
        return f"{tried}{lemmas} {'in ' if tactics or lemmas else ''}{self.place(position)}"

    def place(self, position: Position | None) -> str:
        """Return the declaration, module or file, and the position."""
        unit = self.unit
        where = unit.file or unit.module or ("a proof state" if unit.tactic else "a command")
        at = f" at line {position[0]}" if position is not None and position[0] else ""
        return f"{self.declaration.heading} in {where}{at}" if self.declaration is not None else f"{where}{at}"


def step_of(unit: Unit, errors: Sequence[Message]) -> str:
    """Return the source of the step at the first of some errors; empty if the input does not contain it."""
    if unit.program is None or not errors or errors[0].position is None:
        return ""
    return unit.program.step_at(errors[0].position, errors[0].end)


def _constants(step: Mapping[str, Any]) -> Sequence[Any]:
    found = step.get("usedConstants", ())
    return found if isinstance(found, list) else ()


def _before_goals(text: str) -> str:
    """Return the part of a message before its goals, without the names in hypotheses."""
    cut = min(
        (at for at in (text.find("\n⊢"), text.find("\n\n"), text.find("unsolved goals")) if at >= 0), default=len(text)
    )
    return text[: min(cut, 500)]
