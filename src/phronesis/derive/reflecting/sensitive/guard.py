"""The guard that keeps traits on sensitive matters from being inferred (requirement NM-15).

What a text speaks of is scored a sentence at a time: the weights of the cues of a topic that it meets, less
`CONTEXT_WEIGHT` where other words of the sentence say that software, physics, a game or a book is meant. The weights
are chosen by hand: 1 is a hint (two make a finding), 2 a word of the matter, 3 a word with its owner ("my salary"),
4 a phrase so telling that no surrounding takes it away. The method is a weighted dictionary with valence shifters.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from phronesis.core.text import UNSPACED
from phronesis.derive.reflecting.sensitive.tables import Table, folded, load_tables, sentences

GUARD_VERSION: Final = "sensitive/1"

TEAM: Final = "team"
"""The topic of what a team's own words forbid (``also``)."""

THRESHOLD: Final = 2
"""The least score of a finding: one word of the matter, or two hints."""

CONTEXT_WEIGHT: Final = 2
"""What a surrounding takes off: as much as one word weighs."""

MAX_WORDS: Final = 8
"""Pieces that a finding quotes."""


class SensitivePolicy(Protocol):
    """What a team decides: the topics that are guarded, phrases that are forbidden besides, and phrases that pass."""

    @property
    def topics(self) -> Collection[str]:
        """Names of guarded topics."""
        ...

    @property
    def also(self) -> Sequence[str]:
        """Words and phrases that are forbidden whatever the topics."""
        ...

    @property
    def allow(self) -> Sequence[str]:
        """Words and phrases that are no sign of any topic."""
        ...


@dataclass(frozen=True, slots=True)
class Finding:
    """The topic that a text speaks of, and the words that show it: in small, narrow, simplified letters."""

    topic: str
    words: Sequence[str]


class Guard:
    """Tells which texts speak of sensitive matters. It keeps nothing between calls: any thread may ask it."""

    version: Final = GUARD_VERSION
    """What its findings are said to be made by."""

    def __init__(self, policy: SensitivePolicy) -> None:
        self._topics = frozenset(policy.topics)
        self._also = _phrases(policy.also)
        self._allow = _phrases(policy.allow)

    def topic(self, text: str) -> Finding | None:
        """Give what a text speaks of, the team's words before the tables' topics; None: nothing sensitive.

        Of several topics it is the one with the highest score in one sentence, the first of equal ones. The first
        20,000 characters are looked at.
        """
        seen = folded(text)
        if self._also is not None and (found := self._also.search(seen)) is not None:
            return Finding(TEAM, (found[0],))
        if self._allow is not None:
            seen = self._allow.sub("\u25a1", seen)
        best: tuple[int, Finding] | None = None
        for sentence in sentences(seen):
            for score, finding in self._scored(sentence):
                if score >= THRESHOLD and (best is None or score > best[0]):
                    best = score, finding
        return None if best is None else best[1]

    def of_trait(self, content: str, evidence: Sequence[str]) -> Finding | None:
        """Give why a trait must not be inferred; None: it may.

        ``content`` is its sentence, ``evidence`` the texts it stands on. It is refused when the sentence speaks of a
        topic, or when half or more of the evidence does, of whatever topics; most of that names the finding.
        """
        said = self.topic(content)
        if said is not None:
            return said
        found = [finding for text in evidence if (finding := self.topic(text)) is not None]
        if not found or 2 * len(found) < len(evidence):
            return None
        ((most, _),) = Counter(finding.topic for finding in found).most_common(1)
        words = dict.fromkeys(word for finding in found if finding.topic == most for word in finding.words)
        return Finding(most, tuple(words)[:MAX_WORDS])

    def _scored(self, sentence: str) -> list[tuple[int, Finding]]:
        """Give the score of each topic that a sentence has cues of, with the words."""
        scores: Counter[str] = Counter()
        words: dict[str, list[str]] = {}
        for table in load_tables():
            if table.letters.search(sentence) is None:
                continue
            plain = table.harmless.sub("\u25a1", sentence)
            for cue in table.cues:
                if cue.topic not in self._topics or (match := cue.pattern.search(plain)) is None:
                    continue
                if cue.unless is None or cue.unless.search(plain) is None:
                    scores[cue.topic] += cue.weight
                    words.setdefault(cue.topic, []).append(match[0].strip())
            if scores:
                _set_off(scores, table, plain)
        return [(score, Finding(topic, tuple(words[topic][:MAX_WORDS]))) for topic, score in scores.items()]


def _set_off(scores: Counter[str], table: Table, sentence: str) -> None:
    """Take off what the surrounding speaks against, once for each topic."""
    met = [context for context in table.contexts if context.pattern.search(sentence) is not None]
    for topic in scores:
        if any(context.topics is None or topic in context.topics for context in met):
            scores[topic] -= CONTEXT_WEIGHT


def _phrases(given: Sequence[str]) -> re.Pattern[str] | None:
    """Find any of a team's phrases, as they stand: whole words in spaced scripts, anywhere in unspaced ones."""
    letter = rf"[^\W{UNSPACED}]"
    patterns = []
    for phrase in filter(None, (folded(one).strip() for one in given)):
        first = rf"(?<!{letter})" if re.match(letter, phrase) else ""
        last = rf"(?!{letter})" if re.match(letter, phrase[-1]) else ""
        patterns.append(f"{first}{re.escape(phrase)}{last}")
    return re.compile("|".join(patterns)) if patterns else None
