"""Where an answer starts: what meets the question by words, by meaning, by name, or by the artifacts it names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from phronesis.core.experience.artifacts import artifacts_in
from phronesis.core.experience.meeting import outstanding, usual, word_shares
from phronesis.core.experience.records import ABOUT, L1, PATTERN, PRINCIPLE
from phronesis.core.scoring.arrays import Floats, Mask, Spread, best_of
from phronesis.index.tokens import term_hash, tokenize
from phronesis.recall.experience.asked import Asked, days_of
from phronesis.recall.experience.graph import MOST_HOLDERS
from phronesis.recall.scope_index import LaneIndex
from phronesis.storage.database import Unit
from phronesis.storage.documents import read_vectors, stacked
from phronesis.storage.eligible import Wanted, eligible_ids
from phronesis.storage.experience import holders
from phronesis.storage.lanes import ActiveModel, Lane

FEWEST: Final = 10
"""Answers for which a question takes up what it does at least: of fewer, the first are the same."""

EVENTS_EACH: Final = 5
"""Events of each lane that it takes up for each that may be shown: what is said again is shown once."""

SPARE: Final = 8
"""Patterns, and principles, that it takes up and follows down to their evidence beyond as many as may be shown: what
speaks against one takes it down (`ranking.COUNTER`), and a member that was not read yet may lift one. A question meets
a hundred by chance."""

UNFILTERED: Final = 4
"""Times as many as it takes up of what was so at another time, where what fits is found out only when it is read."""

RESCORED: Final = 50
"""Documents of each lane whose cosine is computed again from the stored halves, the nearest."""

KINDS: Final = (L1, PATTERN, PRINCIPLE)


@dataclass(slots=True)
class Corner:
    """One lane while a question runs: its index, the rows of experience, and those that may be shown."""

    lane: Lane
    index: LaneIndex
    rows: Mask
    shown: Mask
    words: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    meaning: Floats | None = None

    def best(self, counts: Mapping[str, int]) -> list[str]:
        """Give, kind by kind, the items of as many of the best rows that anything speaks for, each once, best first."""
        scores = self.words if self.meaning is None else self.words + self.meaning
        found: list[int] = []
        for kind, count in counts.items():
            rows = np.flatnonzero(self._rows_of(kind) & (scores > 0))
            best = rows[best_of(scores[rows], count)].tolist()
            found += sorted(best, key=lambda row: (-float(scores[row]), -row))
        return list(dict.fromkeys(self.index.item_ids[row] for row in found))

    def newest(self, counts: Mapping[str, int]) -> list[str]:
        """Give, kind by kind, the items of as many of the rows that came last: where no words are asked, only slots."""
        found: list[int] = []
        for kind, count in counts.items():
            found += np.flatnonzero(self._rows_of(kind))[::-1][:count].tolist()
        return list(dict.fromkeys(self.index.item_ids[row] for row in found))

    def _rows_of(self, kind: str) -> Mask:
        return self.shown & self.index.rows_of_kinds((kind,))

    def met(self, item_ids: Sequence[str]) -> dict[str, tuple[float, float | None]]:
        """Give how far items meet the question by words and by meaning, each by its best row."""
        rows = self.index.rows_of_items(item_ids)
        words = self.words[rows].tolist()
        meaning = [None] * len(words) if self.meaning is None else self.meaning[rows].tolist()
        out: dict[str, tuple[float, float | None]] = {}
        for row, told, meant in zip(rows.tolist(), words, meaning, strict=True):
            one = self.index.item_ids[row]
            before = out.get(one, (0.0, 0.0))
            out[one] = (max(told, before[0]), None if meant is None else max(meant, before[1] or 0.0))
        return out


def corners(unit: Unit, found: Sequence[tuple[Lane, LaneIndex]], asked: Asked) -> list[Corner]:
    """Give the lanes that hold experience, with what of it may be shown."""
    out = []
    for lane, index in found:
        rows = index.rows_of_kinds(KINDS, asked.wanted.as_of)
        if rows.any():
            out.append(Corner(lane, index, rows, _shown(unit, lane, index, rows, asked)))
    return out


def _shown(unit: Unit, lane: Lane, index: LaneIndex, rows: Mask, asked: Asked) -> Mask:
    """Narrow the rows of events and patterns; what was so at another time is decided item by item (`Asked.fits`)."""
    narrowed = np.ones(len(rows), np.bool_)
    days = days_of(asked)
    if days is not None:
        narrowed &= index.rows_of_days(*days)
    if asked.artifacts:
        question = ("about", asked.artifacts)
        narrowed &= index.remembered_rows(question, lane.applied_seq, lambda: [
            end.far for one in asked.artifacts for end in holders(unit, lane.lane_id, one, ABOUT, most=None)
        ])  # fmt: skip
    shown = rows & (narrowed | ~index.rows_of_kinds((L1,)))
    for kind, attributes in asked.attributes.items() if not asked.wanted.past else ():
        if attributes:
            shown &= _having(unit, lane, index, kind, attributes) | ~index.rows_of_kinds((kind,))
    return shown


def _having(unit: Unit, lane: Lane, index: LaneIndex, kind: str, attributes: Mapping[str, str]) -> Mask:
    """Give the rows of items of a kind that have some attributes."""
    wanted = Wanted(kinds=(kind,), attributes=attributes)
    question = (kind, tuple(sorted(attributes.items())))
    return index.remembered_rows(question, lane.applied_seq, lambda: eligible_ids(unit, lane, wanted))


def read_words(lanes: Sequence[Corner], text: str) -> None:
    """Score every row by the words of a question."""
    terms = list(map(term_hash, tokenize(text)))
    found = word_shares([(one.index.lexical, one.rows) for one in lanes], terms)
    for one, words in zip(lanes, found, strict=True):
        one.words = words


def read_meaning(unit: Unit, lanes: Sequence[Corner], vector: Floats, model: ActiveModel) -> Spread | None:
    """Score every row by the meaning of a question; gives the spread of events' cosines, None without vectors.

    Events are encoded as questions are and patterns as passages, whose cosines lie elsewhere: each has a spread of its
    own. What has no vector yet is taken to mean what its words say.
    """
    told: list[tuple[Corner, Floats, Mask]] = []
    for one in lanes:
        one.index.load_vectors(unit, *model)
        vectors = one.index.vectors
        if vectors is None or not vectors.row_count:
            continue
        scores, there = vectors.cosines(vector)
        missing = len(one.rows) - len(scores)
        told.append((one, np.pad(scores, (0, missing)), np.pad(there, (0, missing)) & one.rows))
    events = [(scores, there & one.index.rows_of_kinds((L1,))) for one, scores, there in told]
    learned = [(scores, there & ~own) for (_, own), (_, scores, there) in zip(events, told, strict=True)]
    spreads = [usual([scores[mask] for scores, mask in group]) for group in (events, learned)]
    if not any(mask.any() for group in (events, learned) for _, mask in group):
        return None
    for n, (one, scores, there) in enumerate(told):
        _rescore(unit, one, model.model_id, vector, (scores, there))
        meaning = one.words.copy()
        for group, spread in zip((events, learned), spreads, strict=True):
            mask = group[n][1]
            meaning[mask] = outstanding(scores[mask], spread)
        one.meaning = np.where(one.rows, meaning, np.float32(0.0))
    return spreads[0]


def _rescore(unit: Unit, one: Corner, model_id: str, vector: Floats, known: tuple[Floats, Mask]) -> None:
    scores, there = known
    top = [row for row in best_of(np.where(there & one.shown, scores, np.float32(-2)), RESCORED).tolist() if there[row]]
    ids = {one.index.document_ids[row]: row for row in top}
    found = read_vectors(unit, one.index.lane_id, model_id, list(ids))
    if found:
        exact = cosines(stacked(found), vector)
        scores[[ids[row.document_id] for row in found]] = exact


def cosines(rows: Floats, vector: Floats) -> Floats:
    """Give the cosines of some vectors with one; 0 where either is zero."""
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(vector)
    out: Floats = np.divide(rows @ vector, lengths, out=np.zeros(len(rows), np.float32), where=lengths > 0)
    return out


def taken_up(asked: Asked) -> dict[str, int]:
    """Give how many documents of each kind a question takes up of each lane."""
    most = max(FEWEST, asked.limit)
    if asked.wanted.past and any(asked.attributes.values()):
        most *= UNFILTERED
    return {L1: EVENTS_EACH * most, PATTERN: most + SPARE, PRINCIPLE: most + SPARE}


def named_artifacts(asked: Asked) -> tuple[str, ...]:
    """Give the ids of the artifacts that a question's words name."""
    return tuple(one.id for one in artifacts_in([asked.situation, asked.goal]))


def about(unit: Unit, lanes: Sequence[Corner], artifacts: Sequence[str]) -> list[str]:
    """Give the events that are about any of some artifacts, where these are not about everything."""
    return [end.far for one in lanes for artifact in artifacts
            for end in holders(unit, one.lane.lane_id, artifact, ABOUT, most=MOST_HOLDERS)]  # fmt: skip
