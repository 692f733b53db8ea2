"""How a question is searched: other wordings of it, names, a window of time, and which ways to look."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.core.entities import normal_name
from phronesis.core.plan import MODES, Mode, SubQuery, TimeWindow
from phronesis.core.results import Degraded
from phronesis.core.scoring.dates import Stretch
from phronesis.core.scoring.further import Wording
from phronesis.errors import ModelError
from phronesis.index.tokens import search_terms, term_hash
from phronesis.models.embedder import Embedder
from phronesis.models.embedders import Embedders
from phronesis.recall.relational import names_in

Vector = npt.NDArray[np.float32]

Asking = tuple[Vector | None, tuple[str, int] | None]
"""A question's vector, and the model of the vectors that it is compared with: its name and dimension."""

_DAY: Final = 1


@dataclass(slots=True)
class Encodings:
    """What became of the questions of one call, by encoder and text.

    Two stores are searched, and one question is encoded, or not to be had: whoever asks in this call is told the same.
    """

    made: dict[tuple[str, str], tuple[Vector | None, tuple[Degraded, ...]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manner:
    """How a question is searched. The default is an ordinary search.

    ``wordings`` are searched by their words alone, each counting by its weight. ``names`` are looked up beside those
    that stand in the question. ``signals`` adds to ``why`` what relevance is made of (``core.fusion.relevance``).
    """

    wordings: Sequence[SubQuery] = ()
    modes: Sequence[Mode] = MODES
    names: Sequence[str] = ()
    window: TimeWindow | None = None
    signals: bool = False
    encodings: Encodings | None = None

    @property
    def by_name(self) -> bool:
        """Whether anything is looked up by name."""
        return "relational" in self.modes

    def names_of(self, text: str) -> set[str]:
        """Give the normal forms of what may be names: none when nothing is looked up by name."""
        if not self.by_name:
            return set()
        return names_in(text) | {normal_name(name) for name in self.names} - {""}

    def words_of(self, text: str) -> str:
        """Give the words that are searched: the question without the time that the window stands for."""
        if "exact" not in self.modes:
            return ""
        if self.window is None or not self.window.words:
            return text
        return text.replace(self.window.words, " ")

    def further(self) -> list[Wording]:
        """Give the other wordings as their terms; none of those that hold no word, or when words are not looked for."""
        if "exact" not in self.modes:
            return []
        found = [Wording([term_hash(term) for term in search_terms(one.text)], one.weight) for one in self.wordings]
        return [one for one in found if one.terms]

    def stretch(self) -> Stretch | None:
        """Give the first and the last day of the window."""
        if self.window is None:
            return None
        first, until = self.window.since.toordinal(), self.window.until
        midnight = not (until.hour or until.minute or until.second or until.microsecond)
        return Stretch(first, max(first, until.toordinal() - (_DAY if midnight else 0)))

    def encoded(
        self, embedders: Embedders, encoder: Embedder | None, text: str
    ) -> tuple[Vector | None, tuple[Degraded, ...]]:
        """Give the question's vector; without it, and said so, when the encoder's server is away."""
        if encoder is None or "semantic" not in self.modes:
            return None, ()
        known = self.encodings.made if self.encodings is not None else {}
        if (encoder.name, text) not in known:
            try:
                known[encoder.name, text] = embedders.question(encoder, text), ()
            except ModelError as error:
                known[encoder.name, text] = None, (Degraded("embed", error.code, "words", encoder.name),)
        return known[encoder.name, text]
