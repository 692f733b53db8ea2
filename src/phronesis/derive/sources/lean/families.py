"""Failure families by name: a group of errors that has a well-known cause, by rules of which each can say no."""

from collections.abc import Sequence
from typing import Final

from phronesis.derive.sources.lean.kinds import LOOPING, MISSING, head, normal
from phronesis.derive.sources.lean.names import is_lemma, missing_name
from phronesis.derive.sources.lean.tactics import SIMP, Rewriting, rewritings, simp_in
from phronesis.derive.sources.lean.units import Message

EXPLODING: Final = "exploding_subgoals"
DIRECTION: Final = "simp_direction"
MISSING_LEMMA: Final = "missing_lemma"

MANY_GOALS: Final = 5
"""Open goals at one place from which on they exploded. A conjunction or a case split of a proof gives two to four."""

NEW_GOALS: Final = 4
"""How many more goals than before a tactic step leaves, where the goals before it are known."""

REFLECTIONS: Final = {
    EXPLODING: "The step splits the goal into {count} goals: prove a general lemma first, or split later.",
    DIRECTION: "simp loops or does nothing with what it is given: turn the rewriting round, or use simp only or rw.",
    MISSING_LEMMA: "{name} is not known here: look for its name, its namespace (open) or the import.",
}


def is_missing(message: Message, kind: str) -> bool:
    """Tell whether a message misses a lemma or namespace.

    An unknown identifier counts when its form is that of a declaration (``Nat.foo``, ``mul_foo``, ``Foo``): ``h``,
    ``ih``, ``x_pos`` or ``h.symm`` is a hypothesis that is not there, and a single small word may be a variable.
    """
    if kind not in MISSING:
        return False
    name = missing_name(message.text, kind)
    if kind != "unknown_identifier":
        return bool(name)
    return is_lemma(name) or (len(name) > 2 and name[0].isupper())  # noqa: PLR2004 -- X and U₁ are variables


def is_direction(messages: Sequence[Message], kinds: Sequence[str], step: str) -> bool:
    """Tell whether simp looped, or was used in the wrong direction.

    It looped when Lean says so, or runs into the depth limit inside simp. A timeout inside simp, or no progress, counts
    only where the step rewrites from right to left (``←``): both have other causes as well.
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
    """Tell whether so many goals are open that they exploded, and that a step made them where that is known."""
    return open_goals >= MANY_GOALS and (before is None or open_goals - before >= NEW_GOALS)


def _given(step: str) -> Sequence[Rewriting]:
    return rewritings(step) if simp_in(step) else []
