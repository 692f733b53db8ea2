"""Guards on content: on text that is not the user's own, and on sensitive matters.

Text is checked for prompt injection, repetition and unknown languages (laws 7 and 8). The check runs after the
extractors, keeps all their outcomes, and adds outcomes of its own:

- ``suspected``: messages that contain orders to a model. ``apply`` quarantines their items, and nothing is learned from
  them.
- ``echoes``: sentences, or words behind a proposal, that repeat a context shown to the session: ``{"echoes": [{n, of,
  start, end}]}``. Unless the user wrote them, they are no new evidence.
- ``unjudged``: tool messages in a language that the rules do not cover. Nothing is learned from them.

Messages of assistants and tools are checked, and the results of tool calls, which are numbered after the messages. The
user's messages are exempt: users may give orders, and their repetition counts as confirmation.

A `Guard` keeps traits on sensitive matters from being inferred (requirement NM-15). A classifier over the reader's
token states tells which topics a text speaks of (``sensitive_topics.npz``, fitted by ``phronesis bench sensitive``).
Where no encoder is installed, only the plain words of ``sensitive_words.toml`` are known. What a team forbids or allows
(``also``, ``allow``) holds in both cases.
"""

import dataclasses
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

from phronesis.config import SensitiveRules
from phronesis.core.entries import Entry, Outcome, TurnPayload, is_erased, payload_of
from phronesis.core.ids import LaneName
from phronesis.core.items import SUSPECT_WORDS, Item
from phronesis.core.lazy_loading import load_once
from phronesis.core.proposals import ECHOES, GATED, PROPOSALS, Refusal
from phronesis.core.shingles import ComparedTexts, echoes
from phronesis.core.text import UNSPACED
from phronesis.engine.handler import Outcomes, Prepare, PrepareContext
from phronesis.engine.prompt_injection import MAX_QUOTE, find_order, is_judged, load_rules
from phronesis.log.payloads import texts_of
from phronesis.models.reader import TextClassifier, load_reader, load_text_classifier
from phronesis.models.text_features import MAX_SCANNED, has_han, normalise_text, sentences
from phronesis.store.impressions import shown_before, texts_of_items

SUSPECTED: Final = "suspected"
"""The role of the outcome that names suspected prompt injections: ``{"suspected": [{n, rule, quote}]}``."""

SPOKEN_FOR: Final = frozenset({"assistant", "tool"})
"""Roles whose text is trusted less than the user's: a model repeats what it read, and a tool reads what anybody wrote.
"""

UNJUDGED: Final = "unjudged"
"""The role of the outcome that names messages in languages that the rules do not cover: ``{"unjudged": [n]}``."""

LANGUAGE_VERSION: Final = "judged-languages/1"
LANGUAGE: Final = "language"
"""The rule of the refusal of a message in such a language."""

_FOREIGN: Final = "a tool says it in a language in which no order to a model would be recognised; nothing is learned"

ECHO_VERSION: Final = "shingles/1"

QUARANTINED: Final = "quarantine"
"""The rule of the refusal of a quarantined message."""

_WHY: Final = "it reads like an order to a model ({rule}); it is in quarantine until somebody releases or rejects it"


@dataclass(frozen=True, slots=True)
class Suspects:
    """The suspected texts of an entry, by number."""

    by_n: Mapping[int, Mapping[str, Any]]

    def quarantined_if_suspected(self, n: int, item: Item) -> Item:
        """Return the item made of text ``n``: quarantined when the text is suspected."""
        found = self.by_n.get(n)
        if found is None:
            return item
        return dataclasses.replace(item, quarantine=found["rule"], data={**item.data, SUSPECT_WORDS: found["quote"]})


def suspected_texts(outcomes: Outcomes) -> Suspects:
    """Return the suspected texts of an entry."""
    return Suspects({row["n"]: row for outcome in outcomes.get(SUSPECTED, ()) for row in outcome.body["suspected"]})


def guard_prepare(prepare: Prepare) -> Prepare:
    """Return ``prepare`` followed by the checks on untrusted text."""

    def both(bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        outcomes = prepare(bench, entry)
        messages = payload_of(entry, TurnPayload).get("messages", ())
        spoken = {n for n, one in enumerate(messages) if not is_erased(one) and one["role"] in SPOKEN_FOR}
        texts = {n: text for n, text in texts_of(entry).items() if n in spoken} if spoken else {}
        answers = _answers(entry)
        if not texts and not answers:
            return outcomes
        outcomes = [*outcomes, *refuse_uncovered(entry, outcomes, texts)]
        return [
            *outcomes,
            *suspicion_outcomes(texts | answers, beside=outcomes),
            *repetition_outcome(bench, entry, outcomes, texts),
        ]

    return both


def suspicion_outcomes(texts: Mapping[int, str], *, beside: Iterable[Outcome] = ()) -> list[Outcome]:
    """Return the outcomes that name suspected ``texts`` and refuse to learn from them; None when there are none.

    ``beside`` are outcomes of the same entry, whose numbers are taken.
    """
    found = {n: order for n, text in texts.items() if (order := find_order(text)) is not None}
    if not found:
        return []
    made_by = load_rules().version
    rows = [{"n": n, "rule": order.rule, "quote": order.quote} for n, order in found.items()]
    refusals = [
        Refusal(n=n, text=order.quote, rule=QUARANTINED, reason=_WHY.format(rule=order.rule)).to_dict()
        for n, order in found.items()
    ]
    return [
        Outcome(role=SUSPECTED, made_by=made_by, body={"suspected": rows}),
        Outcome(role=GATED, n=_free(beside), made_by=made_by, body={"refusals": refusals}),
    ]


def refuse_uncovered(entry: Entry, outcomes: Sequence[Outcome], texts: Mapping[int, str]) -> list[Outcome]:
    """Return the outcomes that refuse to learn from tool messages in uncovered languages.

    Only messages from which something is proposed are checked.
    """
    proposed, messages = _proposal_spans(outcomes), payload_of(entry, TurnPayload).get("messages", ())
    found = [n for n, text in texts.items() if n in proposed and messages[n]["role"] == "tool" and not is_judged(text)]
    if not found:
        return []
    refusals = [Refusal(n=n, text=texts[n][:MAX_QUOTE], rule=LANGUAGE, reason=_FOREIGN).to_dict() for n in found]
    return [
        Outcome(role=UNJUDGED, made_by=LANGUAGE_VERSION, body={UNJUDGED: found}),
        Outcome(role=GATED, n=_free(outcomes), made_by=LANGUAGE_VERSION, body={"refusals": refusals}),
    ]


def unlearned_messages(outcomes: Outcomes) -> frozenset[int]:
    """Return the messages of an entry from which nothing is learned."""
    return frozenset(n for outcome in outcomes.get(UNJUDGED, ()) for n in outcome.body[UNJUDGED])


def _free(outcomes: Iterable[Outcome]) -> int:
    """Return a number that no refusals of these outcomes have."""
    return 1 + max((outcome.n for outcome in outcomes if outcome.role == GATED), default=-1)


def repetition_outcome(
    bench: PrepareContext, entry: Entry, outcomes: Sequence[Outcome], texts: Mapping[int, str]
) -> list[Outcome]:
    """Return the outcome that names the sentences and proposals of an entry that repeat what its session was shown.

    Nothing is looked up unless something is proposed from one of ``texts``, which are not the user's. The user's own
    repetitions are included.
    """
    payload = payload_of(entry, TurnPayload)
    session_id = payload.get("session_id")
    proposed = _proposal_spans(outcomes)
    if session_id is None or not proposed.keys() & texts.keys():
        return []
    with bench.view() as view:
        live, lane = view.log or view.unit, view.lane
        if lane.name is None:
            return []
        name = LaneName(lane.kind, lane.name)
        ids = shown_before(live, name, session_id, seq=entry.seq, context_id=payload.get("context_id"))
        shown = ComparedTexts.of(texts_of_items(live, ids)) if ids else None
    if shown is None:
        return []
    rows = [
        {"n": n, "of": list(echo.of), "start": echo.start, "end": echo.end}
        for n, text in texts_of(entry).items()
        for echo in echoes(text, shown, parts=proposed.get(n, ()))
    ]
    return [Outcome(role=ECHOES, made_by=ECHO_VERSION, body={"echoes": rows})] if rows else []


def _proposal_spans(outcomes: Iterable[Outcome]) -> dict[int, list[tuple[int, int]]]:
    """Return the positions of the words behind each proposal, by message."""
    out: dict[int, list[tuple[int, int]]] = {}
    for outcome in outcomes:
        for row in outcome.body["proposals"] if outcome.role == PROPOSALS else ():
            out.setdefault(row["n"], []).append((row["start"], row["end"]))
    return out


def _answers(entry: Entry) -> dict[int, str]:
    """Return the texts of tool results, numbered after the messages."""
    payload = payload_of(entry, TurnPayload)
    calls = payload.get("tool_calls", ())
    first = len(payload.get("messages", ()))
    found = {first + n: "\n".join(words_in(call.get("result"))) for n, call in enumerate(calls) if not is_erased(call)}
    return {n: text for n, text in found.items() if text}


def words_in(value: Any) -> Iterator[str]:
    """Return the texts in a JSON value, in order, including member names."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield name
            yield from words_in(inner)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from words_in(inner)


# The guard on sensitive matters.

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
        self.topics = frozenset(policy.topics)
        self._also = _phrases(policy.also)
        self._allow = _phrases(policy.allow)
        self._clears = None if clears is None else lru_cache(maxsize=REMEMBERED)(clears)

    def with_cleared(self, clears: Clears) -> "Guard":
        """Return this guard with another ``clears``."""
        return Guard(self._policy, judge=self._judge, clears=clears)

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
        if not self.topics or not any(map(str.isalpha, text)):
            return {}
        seen = normalise_text(text)
        chances = self._judge(seen if self._allow is None else self._allow.sub(_GONE, seen))
        if chances is None:
            return None
        chances = {name: one for name, one in chances.items() if name in self.topics}
        topic, chance = max(chances.items(), key=lambda one: one[1], default=("", 0.0))
        if self._clears is None or not HINTED <= chance < STATED or self._known_word(text) is not None:
            return chances
        return {} if self._clears(text, topic) else chances

    def _known_word(self, text: str) -> Finding | None:
        seen = normalise_text(text)
        seen = seen if self._allow is None else self._allow.sub(_GONE, seen)
        spaced = f" {_EDGES.sub(' ', seen)} "
        for topic, words in _load_words().items():
            if topic in self.topics:
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
    for states in reader.states(*(text[start:end] for start, end in sentences(text[:MAX_SCANNED]))):
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
