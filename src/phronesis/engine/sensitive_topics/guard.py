"""The guard that keeps traits on sensitive matters from being inferred (requirement NM-15).

What a text speaks of is scored a sentence at a time: the weights of the cues of a topic that it meets, less
`CONTEXT_WEIGHT` where other words of the sentence say that software, physics, a game or a book is meant. The weights
are chosen by hand: 1 is a hint (two make a finding), 2 a word of the matter, 3 a word with its owner ("my salary"),
4 a phrase so telling that no surrounding takes it away. The method is a weighted dictionary with valence shifters.

Beside the tables, a model that learned from labelled texts knows what is told without a word of the matter (`learned`).
It is asked where traits are inferred, which must not speak of such matters even in hints; what somebody says of
themselves is kept or not by the tables alone, since a text that is wrongly taken for sensitive is lost there.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from phronesis.config import SensitiveRules
from phronesis.core.text import UNSPACED
from phronesis.engine.sensitive_topics.tables import Cue, Model, Odds, Table, load_model, load_tables, sentences
from phronesis.models.text_features import language_of, normalise_text

GUARD_VERSION: Final = "sensitive/4"

TEAM: Final = "team"
"""The topic of what a team's own words forbid (``also``)."""

THRESHOLD: Final = 2
"""The least score of a finding: one word of the matter, or two hints."""

CONTEXT_WEIGHT: Final = 2
"""What a surrounding takes off: as much as one word weighs."""

POOLED: Final = 3
"""What different signs of one topic must weigh together where no text of the evidence would do alone."""

ALONE: Final = 0.5
"""Log odds, by the model, from which one text shows a topic."""

TOGETHER: Final = 0.0
"""Log odds, the mean of two texts or more, from which they do: what each hints at, they say together."""

MAX_WORDS: Final = 8
"""Pieces that a finding quotes."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The topic that a text speaks of, and the words that show it: in small, narrow, simplified letters."""

    topic: str
    words: Sequence[str]


Models = Mapping[str, Model]
"""The models of the languages that have one."""

_Met = tuple[Cue, re.Match[str]]


@dataclass(frozen=True, slots=True)
class _Reading:
    """What one sentence says of a topic: its score, and the cues that it met."""

    score: int
    met: Sequence[_Met]

    def joined(self, other: "_Reading") -> "_Reading":
        """Return what both languages of a mixed sentence say."""
        return _Reading(self.score + other.score, (*self.met, *other.met))

    def words(self) -> list[str]:
        return [match[0].strip() for _, match in self.met]


class Guard:
    """Tells which texts speak of sensitive matters. It keeps nothing between calls: any thread may ask it."""

    version: Final = GUARD_VERSION

    def __init__(self, policy: SensitiveRules, *, models: Models | None = None) -> None:
        """Guard the topics of a policy. ``models`` stand in for those that are installed."""
        self._models = models
        self._topics = frozenset(policy.topics)
        self._also = _phrases(policy.also)
        self._allow = _phrases(policy.allow)

    @property
    def topics(self) -> frozenset[str]:
        """The topics that are guarded."""
        return self._topics

    def topic(self, text: str) -> Finding | None:
        """Return what a text speaks of, the team's words before the tables' topics; None: nothing sensitive.

        Of several topics it is the one with the highest score in one sentence, the first of equal ones. The first
        20,000 characters are looked at.
        """
        seen = normalise_text(text)
        return self._forbidden(seen) or _found(self._read(seen))

    def of_trait(self, content: str, evidence: Sequence[str]) -> Finding | None:
        """Return why a trait must not be inferred; None: it may.

        ``content`` is its sentence, ``evidence`` the texts it stands on. It is refused when the sentence speaks of a
        topic, or when half or more of the evidence does, of whatever topics; most of that names the finding. So it is
        when two thirds of the evidence or more, and two texts at least, have a sign of one topic, and the different
        signs weigh `POOLED` together: what is told in hints is told by them all. Then the model is asked: of the
        sentence (`ALONE`), and of the evidence (`TOGETHER`).
        """
        said = self.topic(content) or self._learned([normalise_text(content)], ALONE)
        if said is not None:
            return said
        seen = [normalise_text(text) for text in evidence]
        readings = [self._read(text) for text in seen]
        found = [
            finding
            for text, reading in zip(seen, readings, strict=True)
            if (finding := self._forbidden(text) or _found(reading)) is not None
        ]
        if found and 2 * len(found) >= len(evidence):
            ((most, _),) = Counter(finding.topic for finding in found).most_common(1)
            return Finding(most, _quoted(word for finding in found if finding.topic == most for word in finding.words))
        return _pooled(readings) or (self._learned(seen, TOGETHER) if len(seen) > 1 else None)

    def _learned(self, seen: Sequence[str], least: float) -> Finding | None:
        """Return what folded texts speak of by the model, where the mean of their log odds is enough."""
        odds = [one for text in seen if (one := self._odds(text)) is not None]
        if not odds or sum(one.log for one in odds) < least * len(odds):
            return None
        likeliest = max(odds, key=lambda one: one.log)
        return Finding(likeliest.topic, _quoted(word for one in odds for word in one.words))

    def _odds(self, seen: str) -> Odds | None:
        text = seen if self._allow is None else self._allow.sub("\u25a1", seen)
        language = language_of(text)
        model = load_model(language) if self._models is None else self._models.get(language)
        return None if model is None else model.odds(text, self._topics)

    def _forbidden(self, seen: str) -> Finding | None:
        if self._also is None or (match := self._also.search(seen)) is None:
            return None
        return Finding(TEAM, (match[0],))

    def _read(self, seen: str) -> Mapping[str, _Reading]:
        """Return the sentence of a text that says most of each topic that it has signs of."""
        text = seen if self._allow is None else self._allow.sub("\u25a1", seen)
        best: dict[str, _Reading] = {}
        for sentence in sentences(text):
            said: dict[str, _Reading] = {}
            for table in load_tables():
                if table.letters.search(sentence) is not None:
                    for topic, reading in self._scored(table, table.harmless.sub("\u25a1", sentence)).items():
                        said[topic] = said[topic].joined(reading) if topic in said else reading
            for topic, reading in said.items():
                if topic not in best or reading.score > best[topic].score:
                    best[topic] = reading
        return best

    def _scored(self, table: Table, sentence: str) -> Mapping[str, _Reading]:
        """Score a sentence; of words that overlap, the weightiest alone counts."""
        met: dict[str, list[_Met]] = {}
        for cue in table.cues:
            if cue.topic not in self._topics or (match := cue.pattern.search(sentence)) is None:
                continue
            if cue.unless is None or cue.unless.search(sentence) is None:
                met.setdefault(cue.topic, []).append((cue, match))
        scored: dict[str, _Reading] = {}
        for topic, cues in met.items():
            apart = _apart(sorted(cues, key=lambda one: -one[0].weight))
            against = any(context.speaks_against(topic, sentence) for context in table.contexts)
            scored[topic] = _Reading(sum(cue.weight for cue, _ in apart) - CONTEXT_WEIGHT * against, apart)
        return scored


def _found(readings: Mapping[str, _Reading]) -> Finding | None:
    """Return the topic with the highest score, where that is enough."""
    if not readings:
        return None
    topic, reading = max(readings.items(), key=lambda one: one[1].score)
    return Finding(topic, _quoted(reading.words())) if reading.score >= THRESHOLD else None


def _pooled(readings: Sequence[Mapping[str, _Reading]]) -> Finding | None:
    """Return the topic of which the texts together say what none of them says alone."""
    signs: dict[str, list[_Reading]] = {}
    for one in readings:
        for topic, reading in one.items():
            if reading.score > 0:
                signs.setdefault(topic, []).append(reading)
    for topic, told in signs.items():
        cues = {id(cue): cue.weight for reading in told for cue, _ in reading.met}
        if len(told) > 1 and 3 * len(told) >= 2 * len(readings) and sum(cues.values()) >= POOLED:
            return Finding(topic, _quoted(word for reading in told for word in reading.words()))
    return None


def _apart(met: Sequence[_Met]) -> list[_Met]:
    kept: list[_Met] = []
    for cue, match in met:
        if all(match.end() <= other.start() or other.end() <= match.start() for _, other in kept):
            kept.append((cue, match))
    return kept


def _quoted(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))[:MAX_WORDS]


def _phrases(given: Sequence[str]) -> re.Pattern[str] | None:
    """Find any of a team's phrases, as they stand: whole words in spaced scripts, anywhere in unspaced ones."""
    letter = rf"[^\W{UNSPACED}]"
    patterns = []
    for phrase in filter(None, (normalise_text(one).strip() for one in given)):
        first = rf"(?<!{letter})" if re.match(letter, phrase) else ""
        last = rf"(?!{letter})" if re.match(letter, phrase[-1]) else ""
        patterns.append(f"{first}{re.escape(phrase)}{last}")
    return re.compile("|".join(patterns)) if patterns else None
