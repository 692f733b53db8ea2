"""Which texts say the same: the same words in two documents, or a section quoted in a message."""

from dataclasses import dataclass, field
from typing import Final

from phronesis.core.shingles import Shown

MAX_COMPARED: Final = 4_000
"""Characters of a text that are compared: a chunk and a half."""

PROBE: Final = 12
PROBES: Final = 5
"""Pieces of a text, and their characters, of which one must stand in another before both are taken apart word by word:
looking for a piece is a thousand times as fast, and who repeats most of a text repeats one of five pieces of it."""

LITERAL: Final = 40
"""Characters from which a text that stands in another as it is repeats it, whatever its words are."""

_SELF: Final = ""


@dataclass(slots=True)
class Text:
    """A text that is compared with others; what that takes is made when it is first needed."""

    words: str
    _flat: str = field(init=False)
    _shown: Shown | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Fold it: blanks and capitals say nothing."""
        self.words = self.words[:MAX_COMPARED]
        self._flat = " ".join(self.words.split()).casefold()

    def repeats(self, other: "Text") -> bool:
        """Tell whether this text is mostly made of the other's words, and says nothing that the other does not."""
        if not self._flat or not other.holds_any(self.probes()):
            return False
        if len(self._flat) >= LITERAL and other.holds_any([self._flat]):
            return True
        return bool(other.shown().repeated_by(self.words))

    def probes(self) -> list[str]:
        """Give pieces of the text, evenly spread."""
        room = max(0, len(self._flat) - PROBE)
        return [self._flat[(start := room * n // (PROBES - 1)) : start + PROBE] for n in range(PROBES)]

    def holds_any(self, pieces: list[str]) -> bool:
        """Tell whether one of the pieces stands in the text."""
        return any(piece in self._flat for piece in pieces)

    def shown(self) -> Shown:
        """Give the text as others are compared with it."""
        if self._shown is None:
            self._shown = Shown.of({_SELF: self.words})
        return self._shown
