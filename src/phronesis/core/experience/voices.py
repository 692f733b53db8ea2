"""What people and agents say of what was learned, and what it weighs (EMB-15).

Each row of evidence that somebody's judgement is says who (``source_key``) and what: useful or not, correct or not, or
which label an event has. On each of these matters an actor has one voice, the latest; a person's weighs more.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from phronesis.core.relations import EvidenceRow, Origin, Polarity

USEFUL: Final = "useful"
NOT_USEFUL: Final = "not_useful"
CORRECT: Final = "correct"
INCORRECT: Final = "incorrect"
LABEL: Final = "label"

MATTER_OF: Final[Mapping[str, str]] = {
    USEFUL: "use", NOT_USEFUL: "use", CORRECT: "truth", INCORRECT: "truth", LABEL: "label",
}  # fmt: skip
"""What a judgement is about: on one matter an actor's latest word stands in the place of the one before."""

HUMAN_WEIGHT: Final = 3.0
MACHINE_WEIGHT: Final = 1.0
"""Judgements that one counts for (this project's choice): one person outweighs two agents."""

PRIOR: Final = 2.0
"""Judgements that what was known before counts for: those of Laplace's rule of succession, one each way."""

_MACHINES: Final = frozenset({"agent", "assistant", "bot", "model", "system", "tool", "worker"})


def origin_of(actor: str) -> Origin:
    """Tell a person from a machine by the actor's first word: ``agent``, ``agent:planner``, ``worker`` are machines."""
    first = re.split(r"[^a-z0-9]", actor.lower(), maxsplit=1)[0]
    return "model" if first in _MACHINES else "human"


def matter_of(polarity: Polarity) -> str | None:
    """Give what a judgement is about; None of evidence that is no judgement."""
    return MATTER_OF.get(polarity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Voices:
    """What was said, added up by weight. ``label`` is the latest that somebody gave, ``by`` who did."""

    useful: float = 0.0
    not_useful: float = 0.0
    correct: float = 0.0
    incorrect: float = 0.0
    label: str | None = None
    by: str | None = None
    human: bool = False

    @property
    def doubted(self) -> bool:
        """Whether more speaks against its being correct than for it."""
        return self.incorrect > self.correct

    @property
    def credence(self) -> float:
        """How far it is believed, in [0, 1]: 1 while nobody says that it is incorrect."""
        return judged(1.0, self)

    def to_data(self) -> dict[str, float] | None:
        """Give what was added up, without what nobody said; None where nobody said anything."""
        given = {name: getattr(self, name) for name in (USEFUL, NOT_USEFUL, CORRECT, INCORRECT)}
        return {name: weight for name, weight in given.items() if weight} or None


def heard(rows: Iterable[EvidenceRow]) -> Voices:
    """Add up what rows say; of an actor's words on one matter only the latest counts."""
    latest: dict[tuple[str, str], EvidenceRow] = {}
    for row in sorted(rows, key=_when):
        matter = matter_of(row.polarity)
        if matter is not None:
            latest[matter, row.source_key] = row
    sums = dict.fromkeys((USEFUL, NOT_USEFUL, CORRECT, INCORRECT), 0.0)
    labels = [row for row in latest.values() if row.polarity == LABEL]
    for row in latest.values():
        if row.polarity in sums:
            sums[row.polarity] += HUMAN_WEIGHT if row.origin == "human" else MACHINE_WEIGHT
    last = max(labels, key=_when, default=None)
    voices = Voices(useful=sums[USEFUL], not_useful=sums[NOT_USEFUL], correct=sums[CORRECT], incorrect=sums[INCORRECT])
    if last is None:
        return voices
    return replace(voices, label=last.grade, by=last.source_key, human=last.origin == "human")


def judged(base: float, voices: Voices) -> float:
    """Give a confidence after what was said of it: the mean of a Beta distribution that begins at ``base`` in [0, 1].

    (2 base + correct) / (2 + correct + incorrect): in [0, 1], up with each ``correct``, down with each ``incorrect``.
    """
    return (PRIOR * base + voices.correct) / (PRIOR + voices.correct + voices.incorrect)


def usefulness(voices: Voices) -> float:
    """Give how useful something is, in [0, 1], .5 while nobody said: Laplace's rule of succession."""
    return (1.0 + voices.useful) / (PRIOR + voices.useful + voices.not_useful)


def echoes(row: EvidenceRow, pattern: str) -> list[EvidenceRow]:
    """Give what a pattern hears of what was said of one of its events: whether it is correct, and its label."""
    if row.part or matter_of(row.polarity) in (None, "use"):
        return []
    return [replace(row, item_id=pattern, part=row.item_id, source_item_id=row.item_id)]


def _when(row: EvidenceRow) -> tuple[datetime, tuple[str, str, str, str]]:
    return (row.recorded_at, row.identity)
