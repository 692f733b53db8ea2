"""Which memories show the user doing something: how likely each does, by a classifier over the reader's token states.

What is known of people besides (a birthday, a new floor of the office, what a sister does) is most of what is told, and
near to what they do in words and meaning: grouped with it, it makes traits that are none. The classifier
(``showing.npz``) was fitted by ``phronesis bench showing`` on labelled users. Where no reader is installed, every
memory may show a behaviour but those that the plain words of ``apart`` tell from it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from typing import Final

from phronesis.core.lazy_loading import load_once
from phronesis.models.reader.reader import TextClassifier, load_reader, load_text_classifier
from phronesis.models.text_features import normalise_text
from phronesis.traits.by_rules.reading import MemoryFeatures
from phronesis.traits.by_rules.tables import MAX_READ

CLASSES: Final = ("shown", "apart", "private")
"""It shows a behaviour; it tells what others do, what is only thought of, or a joke; it is nobody's business."""

SHOWN: Final = -0.5
"""Log odds above which a memory may show a behaviour: what is as likely as not does, if others show the same."""

KNOWN: Final = 1.0
"""By how much the odds may be lower where a plain word names an everyday behaviour."""

MANY: Final = 16
USUAL: Final = -0.45
RELATIVE_TO_USER: Final = 0.75
"""The mean of the odds of labelled users' memories, and the share by which another mean of a user's is taken away,
short plain sentences ("Went for a swim.") all have lower odds than long ones. Of fewer than `MANY` memories the mean
says nothing: there every memory may show a behaviour that says nothing against it."""

SURELY: Final = 0.5
HINTED: Final = 0.3
"""The least chances at which a memory is taken to be apart, and private."""

_LEAST: Final = 1e-4
_REMEMBERED: Final = 1 << 14

Chances = Mapping[str, float]
"""How likely a text is of each class."""

Judge = Callable[[str], Chances | None]


def shows(one: MemoryFeatures) -> bool:
    """Return whether a memory may show a behaviour of the user's."""
    named = bool(one.behaviours) and not one.apart and "ended" not in one.marks
    return not one.barred and one.odds > SHOWN - KNOWN * named


def with_odds(readings: Sequence[MemoryFeatures], judge: Judge | None = None) -> list[MemoryFeatures]:
    """Return the readings of a user's memories with their odds. ``judge`` stands in for the installed classifier."""
    told = [_told(one, (judge or chances_of)(one.text)) for one in readings]
    if len(told) < MANY:
        return [replace(one, odds=2 * SHOWN if one.apart or "ended" in one.marks else 0.0) for one in told]
    own = RELATIVE_TO_USER * (sum(one.odds for one in told) / len(told) - USUAL)
    return [replace(one, odds=round(one.odds - own, 4)) for one in told]


def _told(one: MemoryFeatures, chances: Chances | None) -> MemoryFeatures:
    if chances is None:
        apart = "apart" in one.marks
        return replace(one, odds=2 * SHOWN if apart or "ended" in one.marks else 0.0, apart=apart)
    chance = min(max(chances["shown"], _LEAST), 1 - _LEAST)
    return replace(
        one,
        odds=math.log(chance / (1 - chance)),
        apart=chances["apart"] >= SURELY,
        private=chances["private"] >= HINTED,
    )


@lru_cache(maxsize=_REMEMBERED)
def chances_of(text: str) -> Chances | None:
    """Return how likely a memory is of each class; None where no reader is installed."""
    reader = load_reader()
    seen = normalise_text(text[:MAX_READ])
    states = reader.states(seen) if reader is not None else []
    if not states:
        return None
    return load_showing()(states[0])


@load_once
def load_showing() -> TextClassifier:
    """Return the classifier that is installed with the package."""
    return load_text_classifier((files(__package__) / "showing.npz").read_bytes())
