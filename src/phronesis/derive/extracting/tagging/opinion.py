"""The second opinion: a network refuses what it finds unlikely of what the rules propose.

Rules and network err apart. What rules propose of words that nobody used so when the network learned is wrong more
often than right. The network proposes nothing: it looks at no negation, tense or question, and what it added was wrong
too often (decision 65).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from phronesis.core.loading import once
from phronesis.core.proposals import Proposal
from phronesis.derive.extracting.cast import PEOPLE
from phronesis.derive.extracting.clauses import is_chinese
from phronesis.derive.extracting.tagging.decoding import FAMILIES
from phronesis.derive.extracting.tagging.network import Chances, Network, load_network
from phronesis.derive.extracting.tagging.tokens import MAX_READ, UNKNOWN, Encoded

UNLIKELY: Final = {"en": 0.01, "zh": 0.005}
"""A proposal of the rules none of whose tokens is at least so likely to tell what it says is refused, by language."""

PLAIN: Final = {"en": 6, "zh": 0}
"""Words of a whole sentence that is never refused: a network learns of "I'm a waiter" mostly from what others say."""

KNOWN: Final = 0.5
"""The share of a message's tokens that the network was shown, at the least, for it to judge the message."""

_ENDS: Final = ("", ".", "!", "?", ";", "\n")

NAMES: Final = PEOPLE | {"name", "alias"}
"""Keys whose values are names: the network was shown few of them, and a name says nothing of its key."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What is left of the rules' proposals, and what is refused."""

    kept: list[Proposal]
    unlikely: list[Proposal]


@dataclass(frozen=True, slots=True)
class SecondOpinion:
    """Reads messages beside the rules. ``load`` gives the network of a language, when the first message in it comes."""

    load: Callable[[str], Network]
    unlikely: Mapping[str, float] = field(default_factory=lambda: UNLIKELY)

    def reads(self, text: str) -> bool:
        """Tell whether a message is one that a network can judge: not long, and with a letter or a figure."""
        return len(text) <= MAX_READ[language_of(text)] and any(map(str.isalnum, text))

    def __call__(self, ruled: Sequence[Proposal], text: str) -> Opinion:
        """Give the opinion of a message; ``ruled`` are the rules' proposals of it."""
        judged = [one for one in ruled if one.key not in NAMES]
        if not judged:
            return Opinion(list(ruled), [])
        code = language_of(text)
        network = self.load(code)
        seen = network.vocabulary.encode(text)
        if np.mean(seen.words != UNKNOWN) < KNOWN:
            return Opinion(list(ruled), [])  # another language
        chances = network.chances(seen)
        unlikely = [
            one for one in judged
            if _chance(one, text, seen, chances, network.tags) < self.unlikely[code] and not _is_plain(one, text, code)
        ]  # fmt: skip
        return Opinion([one for one in ruled if one not in unlikely], unlikely)


def language_of(text: str) -> str:
    """Give the language whose network reads a message."""
    return "zh" if is_chinese(text) else "en"


@once
def second_opinion() -> SecondOpinion:
    """Give the one of the networks that are installed with the package."""
    return SecondOpinion(load_network)


def _chance(one: Proposal, text: str, seen: Encoded, chances: Chances, tags: Sequence[str]) -> float:
    """Give how likely the likeliest letter of a proposal's value tells it; 1 of what the network knows nothing."""
    family, _, _ = one.key.partition(".")
    name = f"{one.kind}/{family if family in FAMILIES else one.key}"
    columns = [n for n, tag in enumerate(tags) if tag[2:] == name]
    span = seen.span(*_place(one, text))
    if not columns or not span:
        return 1.0
    return float(np.exp(chances.tags[span.start : span.stop, columns]).sum(axis=1).max())


def _is_plain(one: Proposal, text: str, code: str) -> bool:
    """Tell whether what a proposal stands in is a sentence so short that nothing in it speaks against the rules."""
    before, after = text[: one.start].rstrip(" "), text[one.end :].lstrip(" ")
    whole = before[-1:] in _ENDS and after[:1] in _ENDS
    return whole and len(one.quote.split()) <= PLAIN[code]


def _place(one: Proposal, text: str) -> tuple[int, int]:
    """Give where a proposal's value stands; its whole quotation where the value is in other words."""
    start = -1 if one.value is None else text.find(one.value, one.start, one.end)
    return (one.start, one.end) if start < 0 else (start, start + len(one.value or ""))
