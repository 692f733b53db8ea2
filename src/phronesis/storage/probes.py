"""Probes: strings that give an erased text away, and finding many thousands of them in bytes at once."""

import json
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.core.text import storable

SHINGLE_BYTES: Final = 32
"""A longer text is sought in pieces of so many bytes: about five English words, or ten Chinese characters. Shorter
pieces are common phrases, which say nothing about where they come from."""

STRIDE_BYTES: Final = SHINGLE_BYTES // 2
"""A piece begins at every so many bytes: any remnant of SHINGLE_BYTES + STRIDE_BYTES - 1 bytes holds a whole one."""

MIN_ASCII_BYTES: Final = 12
MIN_BYTES: Final = 8
"""Shorter texts are not sought: "ok" or "Paris" stands in too many places to be a trace of one. Three Chinese
characters (nine bytes) are a name already."""

MAX_PIECES: Final = 4096
"""Pieces of one text that are sought, evenly spread: enough to cover 64 KB without a gap."""

_WINDOW: Final = 8
_TABLE_BITS: Final = 22
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio: Knuth's multiplicative hash
_SHIFT: Final = np.uint64(64 - _TABLE_BITS)


@dataclass(frozen=True, slots=True)
class _Sought:
    """The pieces of one text: as it is, and in the other forms in which it may stand."""

    plain: frozenset[bytes]
    others: frozenset[bytes]


class Probes:
    """A set of byte strings to be sought, and the texts they were made from.

    ``too_short`` is how many texts are not sought.
    """

    def __init__(self, sought: Sequence[_Sought], *, too_short: int = 0, but: AbstractSet[bytes] = frozenset()) -> None:
        self._sought = sought
        self.too_short = too_short
        self._pieces = set[bytes]().union(*(text.plain | text.others for text in sought)) - but
        self._by_anchor: dict[int, list[bytes]] = {}
        for piece in sorted(self._pieces):
            self._by_anchor.setdefault(_anchor(piece), []).append(piece)
        self._anchors = np.array(sorted(self._by_anchor), dtype=np.uint64)
        self._table = np.zeros(1 << _TABLE_BITS, dtype=np.bool_)
        self._table[(self._anchors * _MIX) >> _SHIFT] = True

    @classmethod
    def of(cls, texts: Iterable[str], raw: Iterable[bytes] = ()) -> "Probes":
        """Make the probes of some texts, in every form in which they are stored; ``raw`` are bytes to seek as such."""
        sought: list[_Sought] = []
        too_short = 0
        for text in dict.fromkeys(texts):
            plain, *others = _forms(text)
            if _distinctive(plain):
                sought.append(_Sought(_cut(plain), frozenset[bytes]().union(*map(_cut, others))))
            else:
                too_short += 1
        sought += [_Sought(_cut(body), frozenset()) for body in raw if len(body) >= MIN_ASCII_BYTES]
        return cls(sought, too_short=too_short)

    def __len__(self) -> int:
        return len(self._pieces)

    @property
    def texts(self) -> int:
        """How many texts are sought."""
        return len(self._sought)

    def without(self, found: AbstractSet[bytes]) -> "Probes":
        """Give the probes but those, which stand where they may; a text all of which stands there is sought no more."""
        return Probes([text for text in self._sought if not text.plain <= found], too_short=self.too_short, but=found)

    def only(self, found: AbstractSet[bytes]) -> "Probes":
        """Give those of the probes."""
        return Probes([_Sought(text.plain & found, text.others & found) for text in self._sought])

    def find(self, haystack: bytes) -> Iterator[tuple[int, bytes]]:
        """Give (offset, probe) of each occurrence.

        Every probe has an anchor, eight of its bytes; one look at each position's eight bytes finds the few places
        that are worth comparing, whatever the number of probes.
        """
        if not self._pieces:
            return
        for shift in range(_WINDOW):
            count = (len(haystack) - shift) // _WINDOW
            if count <= 0:
                return
            words: npt.NDArray[np.uint64] = np.frombuffer(haystack, "<u8", count, shift)
            places = np.flatnonzero(self._table[(words * _MIX) >> _SHIFT])
            found = words[places]
            near = np.minimum(np.searchsorted(self._anchors, found), len(self._anchors) - 1)
            for place in places[self._anchors[near] == found].tolist():
                yield from self._compare(haystack, place * _WINDOW + shift, int(words[place]))

    def _compare(self, haystack: bytes, at: int, anchor: int) -> Iterator[tuple[int, bytes]]:
        for piece in self._by_anchor[anchor]:
            start = at - _anchor_offset(piece)
            if start >= 0 and haystack.startswith(piece, start):
                yield start, piece


def _forms(text: str) -> dict[bytes, None]:
    """Give the bytes in which a text may stand: as it is, as derived text keeps it, and within JSON, both ways."""
    said = (text, storable(text))
    escaped = [json.dumps(form, ensure_ascii=ascii_only)[1:-1] for form in said for ascii_only in (False, True)]
    return dict.fromkeys(form.encode("utf-8", "surrogatepass") for form in (*said, *escaped))


def _distinctive(form: bytes) -> bool:
    return len(form) >= (MIN_ASCII_BYTES if form.isascii() else MIN_BYTES)


def _cut(form: bytes) -> frozenset[bytes]:
    if len(form) <= SHINGLE_BYTES:
        return frozenset([form])
    starts = list(range(0, len(form) - SHINGLE_BYTES, STRIDE_BYTES))
    starts = starts[:: -(-len(starts) // MAX_PIECES)]
    return frozenset(form[start : start + SHINGLE_BYTES] for start in (*starts, len(form) - SHINGLE_BYTES))


def _anchor_offset(piece: bytes) -> int:
    return (len(piece) - _WINDOW) // 2


def _anchor(piece: bytes) -> int:
    start = _anchor_offset(piece)
    return int.from_bytes(piece[start : start + _WINDOW], "little")
