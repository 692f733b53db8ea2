"""Patterns and events of a lane as abstraction compares them: topics, counterexamples, and repeated actions.

Patterns of different outcomes are grouped into one topic more readily than those of the same outcome, which would have
formed one pattern. Whether two attempts are the same action is decided by their words alone, so that no other matter
counts against it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from phronesis.core.entries import Entry
from phronesis.core.items import Item
from phronesis.core.lazy_loading import load_once
from phronesis.core.lexical_index import unpack_terms
from phronesis.core.relations import EvidenceRow
from phronesis.core.vectors import similar_pairs
from phronesis.errors import ModelError
from phronesis.experience.event_embeddings import TEXTS, UnrelatedVectors, vectors_of
from phronesis.experience.laws.lexical_similarity import TermBags, TermCosine
from phronesis.experience.laws.ranking import Centre
from phronesis.experience.laws.records import ABSTRACT, AGGREGATE, CROSSED, L1, PATTERN, PRINCIPLE, L1Event, event_of
from phronesis.experience.laws.similarity import Cosine, Floats, Rows
from phronesis.experience.laws.topics import KNOWN, UNCLEAR, PatternInput, group_topics, is_denial
from phronesis.index.projections import ALIKE
from phronesis.index.tokens import term_hash, tokenize
from phronesis.models.embedder import Embedder
from phronesis.store.experience import ComparedDocument, changed_parts, labelled_ids
from phronesis.store.lane_view import LaneView
from phronesis.store.log import entries_of_verb

TYPICAL: Final = 8
"""Most typical events of a pattern, by which it is compared."""

MAX_ATTEMPT: Final = 2_000
"""Characters of an attempt that are compared."""

SAME_MATTER: Final = 0.35
"""Similarity of an event's words to a pattern's (root of the cosine) from which its attempt is compared."""

MAX_LOOKED_AT: Final = 20
"""Events outside of patterns that are compared with one pattern, the most similar first."""

COHESION: Final = 0.8
"""Share of a pattern's own similarity that a repetition of its action must reach: where all its attempts have similar
wording, an attempt that shares half of the words is another action."""


def _add_loose_events(
    view: LaneView, patterns: Sequence[PatternInput], documents: Mapping[str, ComparedDocument]
) -> list[PatternInput]:
    """Return patterns with the events outside of patterns that contradict them added as counterexamples."""
    members = {event.id for one in patterns for event in one.events}
    labels = {one: label for label in KNOWN for one in labelled_ids(view.unit, view.lane_id, L1, label)}
    loose = [one for one in documents if one in labels and one not in members]
    if not loose:
        return list(patterns)
    counted = [
        *(_sum_terms(one, documents) for one in patterns),
        *(_count_terms([documents[one].terms]) for one in loose),
    ]
    metric = _compare_words(counted)
    others = np.arange(len(loose), dtype=np.int64) + len(patterns)
    alike = metric.matrix(np.arange(len(patterns), dtype=np.int64), others)
    found: list[list[str]] = []
    for one, row in zip(patterns, alike, strict=True):
        near = [loose[n] for n in np.argsort(-row, kind="stable").tolist() if row[n] >= SAME_MATTER]
        other = [event for event in near if one.outcome in KNOWN and labels[event] != one.outcome]
        found.append(other[:MAX_LOOKED_AT])
    items = view.items(event for near in found for event in near)
    out = []
    for one, near in zip(patterns, found, strict=True):
        counter = (*one.counter, *(event_of(items[event]) for event in near if items[event].live))
        out.append(replace(one, counter=tuple({event.id: event for event in counter}.values())))
    return out


def repeats(topic: Sequence[PatternInput]) -> dict[tuple[str, str], float]:
    """Return which events repeat the action of a pattern of the other outcome, by the words of the attempts."""
    events = {event.id: event for one in topic for event in (*one.events, *one.counter)}
    if len({event.label for event in events.values()}) < len(KNOWN):
        return {}
    place = {one: n for n, one in enumerate(events)}
    metric = _compare_words([_tokens(event.attempt[:MAX_ATTEMPT]) for event in events.values()])
    out: dict[tuple[str, str], float] = {}
    for one in topic:
        own = [event for event in one.events if event.label == one.outcome][: 2 * TYPICAL]
        others = [event for event in events.values() if event.label in KNOWN and event.label != one.outcome]
        if one.outcome not in KNOWN or not own or not others:
            continue
        least = max(UNCLEAR, COHESION * _cohesion(metric.matrix(_rows(place, own), _rows(place, own))))
        alike = metric.matrix(_rows(place, others), _rows(place, own))
        senses = [is_denial(event.attempt) for event in own]
        for event, row in zip(others, alike.tolist(), strict=True):
            sense = is_denial(event.attempt)
            best = max((score for score, other in zip(row, senses, strict=True) if other == sense), default=0.0)
            if best >= least:
                out[event.id, one.id] = best
    return out


def _cohesion(alike: Floats) -> float:
    """Return the mean similarity of a pattern's attempts, each to its most similar one."""
    apart = alike - 2.0 * np.eye(len(alike), dtype=np.float32)
    return float(np.maximum(apart.max(axis=1), 0.0).mean())


def _rows(place: Mapping[str, int], events: Sequence[L1Event]) -> Rows:
    return np.array([place[event.id] for event in events], dtype=np.int64)


def _sum_terms(pattern: PatternInput, documents: Mapping[str, ComparedDocument]) -> Counter[int]:
    return _count_terms(documents[event.id].terms for event in pattern.events[:TYPICAL] if event.id in documents)


def _count_terms(blobs: Iterable[bytes]) -> Counter[int]:
    counts: Counter[int] = Counter()
    for blob in blobs:
        for term, count in unpack_terms(blob).tolist():
            counts[int(term)] += int(count)
    return counts


def _tokens(text: str) -> Counter[int]:
    return Counter(term_hash(token) for token in tokenize(text))


@load_once
def _unrelated() -> tuple[Counter[int], ...]:
    return tuple(_tokens(text) for text in TEXTS)


def _compare_words(counted: Sequence[Mapping[int, int]]) -> TermCosine:
    """Return the similarity of bags of terms, beside those of unrelated texts, so that what two share is rare."""
    numbers: dict[int, int] = {}
    bags = [
        (
            np.array([numbers.setdefault(term, len(numbers)) for term in one], np.int32),
            np.array(list(one.values()), np.float32),
        )
        for one in (*counted, *_unrelated())
    ]
    return TermCosine(TermBags.of(bags))


MEANT_UNIT: Final = 0.87
"""Share of the spread of unrelated texts' cosines that is one unit of similarity."""

WORDS_UNIT: Final = 0.12
WORDS_OFFSET: Final = 0.05
"""Offset of the root of the cosine of two patterns' words (that of unrelated ones), in units of .12 beside vectors."""

SAME: Final = (5.3, 0.375)
OPPOSITE: Final = (4.9, 0.335)
"""Thresholds of similarity for one topic, with vectors and by words alone, for the same outcome and for two, chosen on
labelled/experience/dev.jsonl so that no patterns of two domains are joined."""

OWN: Final = frozenset({"support", "contra"})
"""Polarities of the evidence that a principle is drawn from."""

NAMED: Final = 0.5
"""Added for shared artifacts, failure families and episodes, in thresholds: not enough to join two patterns alone."""

STAYS: Final = 0.15
"""Added for having been in one topic before, so that a small change does not split a topic."""


def topics_of(
    view: LaneView, seen: "LanePatterns", encoder: Embedder | None, unrelated: UnrelatedVectors
) -> list[list[int]]:
    """Return the topics of a lane's patterns, by their places."""
    return group_topics(_compare(view, seen, encoder, unrelated)) if seen.patterns else []


def _compare(view: LaneView, seen: "LanePatterns", encoder: Embedder | None, unrelated: UnrelatedVectors) -> Floats:
    """Return the similarity matrix of patterns, in units of the topic threshold."""
    patterns, rows = seen.patterns, np.arange(len(seen.patterns), dtype=np.int64)
    alike = _compare_words([_sum_terms(one, seen.documents) for one in patterns]).matrix(rows, rows)
    means = None if encoder is None else _cosines(view, seen, encoder, unrelated)
    by_words = means is None
    if means is not None:
        alike = means + (alike - WORDS_OFFSET) / WORDS_UNIT
    outcomes = np.array([one.outcome for one in patterns])
    same = outcomes[:, None] == outcomes[None, :]
    scaled = alike / np.where(same, SAME[by_words], OPPOSITE[by_words])
    place = {one.id: n for n, one in enumerate(patterns)}
    shared = similar_pairs({one.id: _names_of(one) for one in patterns}, threshold=1e-9)
    for (first, second), share in shared.items():
        scaled[place[first], place[second]] += NAMED * share
        scaled[place[second], place[first]] += NAMED * share
    for evidence in seen.evidence.values():  # patterns that were in one topic before
        held = [place[row.source_key] for row in evidence if row.polarity in OWN and row.source_key in place]
        scaled[np.ix_(held, held)] += STAYS
    out: Floats = scaled.astype(np.float32)
    return out


def _cosines(view: LaneView, seen: "LanePatterns", encoder: Embedder, unrelated: UnrelatedVectors) -> Floats | None:
    """Return the cosines of the patterns' mean vectors, in units; None while the encoder's server is unavailable."""
    typical = [[event.id for event in one.events[:TYPICAL]] for one in seen.patterns]
    owners = {seen.documents[one].id: one for events in typical for one in events if one in seen.documents}
    try:
        rows = vectors_of(view, encoder, owners)
        known = unrelated.of(encoder)
    except ModelError:
        return None
    found = dict(zip(owners.values(), rows.astype(np.float32), strict=True))
    blank = np.zeros(encoder.dimension, np.float32)
    means = np.stack([np.mean([found.get(one, blank) for one in events], axis=0) for events in typical])
    centre = Centre.of(means, known)
    out: Floats = Cosine(centre.centred(means)).matrix(np.arange(len(means))) / np.float32(MEANT_UNIT * centre.spread)
    return out


def _names_of(pattern: PatternInput) -> frozenset[str]:
    episodes = {f"episode:{event.episode_id}" for event in pattern.events if event.episode_id}
    return frozenset({*pattern.artifacts, *pattern.families, *episodes})


# Input of an abstraction: the patterns of a lane with their events, and the existing principles.


@dataclass(frozen=True, slots=True)
class LanePatterns:
    """The patterns of a lane, and its principles with their evidence.

    ``documents`` are those of all events, by id. ``stands_on`` are the last abstraction and the aggregations since: an
    erasure reaches all that is derived from one.
    """

    patterns: Sequence[PatternInput]
    documents: Mapping[str, ComparedDocument]
    principles: Mapping[str, Item]
    evidence: Mapping[str, Sequence[EvidenceRow]]
    stands_on: Sequence[str]


def build_abstraction_input(view: LaneView, entry: Entry) -> LanePatterns:
    """Return the input of an abstraction, without crossed patterns, whose events would count twice."""
    patterns = [one for one in view.find(kinds=(PATTERN,)) if not one.data.get("cluster_info", {}).get(CROSSED)]
    rows = view.evidence([one.id for one in patterns])
    held = view.items(row.source_key for of_pattern in rows.values() for row in of_pattern)
    events = {one: event_of(item) for one, item in held.items() if item.kind == L1 and item.live}
    found = [_pattern(one, rows.get(one.id, ()), events) for one in patterns]
    principles = {one.id: one for one in view.find(kinds=(PRINCIPLE,), live=False) if one.live or put_away(one)}
    log = view.log or view.unit
    last = entries_of_verb(log, view.lane_id, ABSTRACT, before=entry.seq)[-1:]
    since = entries_of_verb(log, view.lane_id, AGGREGATE, before=entry.seq, after=last[0].seq if last else 0)
    earlier = [row.entry_id for row in (*last, *since)]
    parts = changed_parts(view.unit, view.lane_id, L1, ALIKE, after=0)
    documents = {part.item_id: part for part in parts if part.current_to is None}
    known = _add_loose_events(view, [one for one in found if one.events], documents)
    return LanePatterns(known, documents, principles, view.evidence(principles), earlier)


def put_away(principle: Item) -> bool:
    """Return whether a person or forgetting archived a principle: it is neither recreated nor changed.

    A principle that a rollback took back is archived and retracted at once, and may be created again.
    """
    if principle.ended is None:
        return not principle.live
    return principle.ended == "retracted" and principle.status == "active"


def _pattern(item: Item, rows: Sequence[EvidenceRow], events: Mapping[str, L1Event]) -> PatternInput:
    typical = sorted(rows, key=lambda row: (-row.weight, row.source_key))
    held = {
        polarity: [events[row.source_key] for row in typical if row.polarity == polarity and row.source_key in events]
        for polarity in ("support", "contra")
    }
    signature = item.data.get("signature", {})
    return PatternInput(
        id=item.id,
        outcome=item.label or "unknown",
        summary=item.data.get("summary", ""),
        recommendation=item.data.get("recommendation", ""),
        terms=tuple(signature.get("terms", ())),
        artifacts=tuple(signature.get("artifacts", ())),
        families=tuple(signature.get("families", ())),
        situation=signature.get("situation", ""),
        goal=signature.get("goal", ""),
        events=tuple(held["support"]),
        counter=tuple(held["contra"]),
        trust=int(item.trust),
    )
