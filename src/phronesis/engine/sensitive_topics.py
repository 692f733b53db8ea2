"""The guard that keeps traits on sensitive matters from being inferred (requirement NM-15).

A classifier over the reader's token states tells which topics a text speaks of (``sensitive_topics.npz``, fitted by
``phronesis bench sensitive``). Where no encoder is installed, only the plain words of ``sensitive_words.toml`` are known. What a
team forbids or allows (``also``, ``allow``) holds in both cases.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Final

from phronesis.config import SensitiveRules
from phronesis.core.lazy_loading import load_once
from phronesis.core.text import UNSPACED
from phronesis.models.reader.reader import TextClassifier, load_reader, load_text_classifier
from phronesis.models.text_features import MAX_SCANNED, has_han, normalise_text, sentences

GUARD_VERSION: Final = "sensitive/5"

TEAM: Final = "team"
"""The topic of what a team's own words forbid (``also``)."""

STATED: Final = 0.5
"""The least likelihood at which a text speaks of a topic."""

HINTED: Final = 0.35
"""The same for the sentence of a trait, and for the mean of its evidence: what each text hints at, all say together."""

SUPPORTING: Final = 0.1
"""The same where the text holds a plain word of the topic; of a trait the word is enough."""

REMEMBERED: Final = 4096
"""Texts whose topics are remembered: reflections ask of the same memories again."""

_GONE: Final = "\u25a1"
_EDGES: Final = re.compile(r"[^\w'-]+")

Chances = Mapping[str, float]
"""How likely a text speaks of each topic."""

Clears = Callable[[str, str], bool]
"""Returns whether a text does not speak of a topic after all: by a model, where the classifier is unsure."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The topic that a text speaks of, and the words that show it, where it was found by its words."""

    topic: str
    words: Sequence[str] = ()


class Guard:
    """Tells which texts speak of sensitive matters. Any thread may ask it."""

    version: Final = GUARD_VERSION

    def __init__(
        self,
        policy: SensitiveRules,
        *,
        judge: Callable[[str], Chances | None] | None = None,
        clears: Clears | None = None,
    ) -> None:
        """Guard the topics of a policy. ``judge`` stands in for the classifier that is installed.

        ``clears`` is asked about a text that hints at a topic without stating it, and holds no plain word of one; where
        it says so, the text counts for nothing.
        """
        self._policy = policy
        self._judge = lru_cache(maxsize=REMEMBERED)(judge or topic_chances)
        self._topics = frozenset(policy.topics)
        self._also = _phrases(policy.also)
        self._allow = _phrases(policy.allow)
        self._clears = None if clears is None else lru_cache(maxsize=REMEMBERED)(clears)

    def clearing(self, clears: Clears) -> "Guard":
        """Return this guard with another ``clears``."""
        return Guard(self._policy, judge=self._judge, clears=clears)

    @property
    def topics(self) -> frozenset[str]:
        """The topics that are guarded."""
        return self._topics

    def topic(self, text: str) -> Finding | None:
        """Return what a text speaks of, the team's words before the topics; None: nothing sensitive."""
        return self._forbidden(text) or self._find_topic(text, STATED)

    def of_trait(self, content: str, evidence: Sequence[str]) -> Finding | None:
        """Return why a trait must not be inferred; None: it may.

        ``content`` is its sentence, ``evidence`` the texts it stands on. It is refused when the sentence hints at a
        topic, when half or more of the evidence does, of whatever topics, of which the most frequent is named, and
        when the evidence together hints at one.
        """
        said = self._forbidden(content) or self._find_topic(content, HINTED)
        if said is not None:
            return said
        found = [
            one for text in evidence if (one := self._forbidden(text) or self._find_topic(text, HINTED)) is not None
        ]
        if found and 2 * len(found) >= len(evidence):
            ((topic, _),) = Counter(one.topic for one in found).most_common(1)
            return next(one for one in found if one.topic == topic)
        return self._find_hinted_topic(evidence) if len(evidence) > 1 else None

    def _find_hinted_topic(self, evidence: Sequence[str]) -> Finding | None:
        """Return the topic that texts hint at together."""
        total: Counter[str] = Counter()
        for text in evidence:
            total.update(self._chances(text) or {})
        topic, chance = max(total.items(), key=lambda one: one[1], default=("", 0.0))
        return Finding(topic) if chance >= HINTED * len(evidence) else None

    def _find_topic(self, text: str, least: float) -> Finding | None:
        chances = self._chances(text)
        if chances is None:
            return self._known_word(text)
        topic, chance = max(chances.items(), key=lambda one: one[1], default=("", 0.0))
        if chance >= least:
            return Finding(topic)
        known = self._known_word(text) if chance >= SUPPORTING or least < STATED else None
        return known if known and (least < STATED or chances.get(known.topic, 0.0) >= SUPPORTING) else None

    def _chances(self, text: str) -> Chances | None:
        if not self._topics or not any(map(str.isalpha, text)):
            return {}
        seen = normalise_text(text)
        chances = self._judge(seen if self._allow is None else self._allow.sub(_GONE, seen))
        if chances is None:
            return None
        chances = {name: one for name, one in chances.items() if name in self._topics}
        return {} if self._is_cleared(text, chances) else chances

    def _is_cleared(self, text: str, chances: Chances) -> bool:
        topic, chance = max(chances.items(), key=lambda one: one[1], default=("", 0.0))
        if self._clears is None or not HINTED <= chance < STATED or self._known_word(text) is not None:
            return False
        return self._clears(text, topic)

    def _known_word(self, text: str) -> Finding | None:
        seen = normalise_text(text)
        seen = seen if self._allow is None else self._allow.sub(_GONE, seen)
        spaced = f" {_EDGES.sub(' ', seen)} "
        for topic, words in _load_words().items():
            if topic in self._topics:
                for word in words:
                    if (word in seen) if has_han(word) else (f" {word} " in spaced):
                        return Finding(topic, (word,))
        return None

    def _forbidden(self, text: str) -> Finding | None:
        if self._also is None or (match := self._also.search(normalise_text(text))) is None:
            return None
        return Finding(TEAM, (match[0],))


def topic_chances(text: str) -> Chances | None:
    """Return how likely any sentence of a normalised text speaks of each topic; None where no encoder is installed."""
    reader = load_reader()
    if reader is None:
        return None
    classifier = load_topics()
    chances: dict[str, float] = {}
    for start, end in sentences(text[:MAX_SCANNED]):
        for states in reader.states(text[start:end]):
            for name, chance in classifier(states).items():
                chances[name] = max(chance, chances.get(name, 0.0))
    return chances


@load_once
def load_topics() -> TextClassifier:
    """Return the classifier of topics that is installed with the package."""
    return load_text_classifier((files(__package__) / "sensitive_topics.npz").read_bytes())


@load_once
def _load_words() -> Mapping[str, Sequence[str]]:
    given = tomllib.loads((files(__package__) / "sensitive_words.toml").read_text("utf-8"))
    return {
        topic: [word.strip() for part in rows.values() for word in part.split(",") if word.strip()]
        for topic, rows in given.items()
    }


def _phrases(given: Sequence[str]) -> re.Pattern[str] | None:
    """Find any of a team's phrases, as they stand: whole words in spaced scripts, anywhere in unspaced ones."""
    letter = rf"[^\W{UNSPACED}]"
    patterns = []
    for phrase in filter(None, (normalise_text(one).strip() for one in given)):
        first = rf"(?<!{letter})" if re.match(letter, phrase) else ""
        last = rf"(?!{letter})" if re.match(letter, phrase[-1]) else ""
        patterns.append(f"{first}{re.escape(phrase)}{last}")
    return re.compile("|".join(patterns)) if patterns else None
