"""Who says what a reflection makes of what it sees: rules, or a model. Each only wishes; what is lawful is code's."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from phronesis.core.entries import Entry, Outcome
from phronesis.core.model_calls import Spent
from phronesis.core.relations import Origin
from phronesis.core.traits.operations import Reconsidered, Wishes
from phronesis.core.traits.records import RefusedWish
from phronesis.derive.handler import Bench
from phronesis.derive.reflecting.material import Material
from phronesis.derive.reflecting.round import Round

ANSWERS: Final = "answer"
"""The role of outcomes that hold what a model said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """What a mind came to. ``wishes`` is None where the round is to be skipped, for the reason in ``error``.

    ``said`` are outcomes of what a model said; ``seen`` the ids of all that it was shown, and ``stands_on`` the entries
    whose outcomes had a part in it: an erasure follows both.
    """

    wishes: Wishes | None = None
    made_by: str = ""
    said: Sequence[Outcome] = ()
    seen: Sequence[str] = ()
    stands_on: Sequence[str] = ()
    spent: Spent = field(default_factory=Spent)
    refused: Sequence[RefusedWish] = ()
    error: str | None = None

    def plus(self, other: "Thought") -> "Thought":
        """Give both together, for what was said and spent."""
        return replace(
            self, said=[*self.said, *other.said], seen=[*self.seen, *other.seen],
            stands_on=[*self.stands_on, *other.stands_on], spent=self.spent.plus(other.spent),
            refused=[*self.refused, *other.refused],
        )  # fmt: skip

    def refusing(self, wish: RefusedWish) -> "Thought":
        """Give it with one more refused wish."""
        return replace(self, refused=[*self.refused, wish])


class Mind(Protocol):
    """Rules or a model."""

    @property
    def name(self) -> str:
        """Its version, or gateway and model."""
        ...

    @property
    def origin(self) -> Origin:
        """Rule or model: how what comes of it is labelled."""
        ...

    def wishes(self, bench: Bench, entry: Entry, material: Material) -> Thought:
        """Say what new memories come to. It raises nothing that a model or server causes."""
        ...

    def reconsider(self, bench: Bench, entry: Entry, work: Round, trait_id: str) -> tuple[Reconsidered | None, Thought]:
        """Say what becomes of a trait that too much contradicts; None: it stays as it is."""
        ...
