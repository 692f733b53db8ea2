"""Where an answer starts: what meets the question by words, by meaning, by name, or by the artifacts it names."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

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

TAKEN: Final = 128
"""Documents of each lane that a question takes up: beyond them next to nothing that answers it was found."""

RESCORED: Final = 50
"""Of these, those whose cosine is computed again from the stored halves."""

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

    def both(self) -> Floats:
        """Give words and meaning together, by row."""
        return self.words if self.meaning is None else self.words + self.meaning

    def best(self) -> list[str]:
        """Give the items of the best rows that anything speaks for, each once, best first."""
        scores = np.where(self.shown, self.both(), np.float32(-1.0))
        rows = [row for row in best_of(scores, TAKEN).tolist() if scores[row] > 0]
        rows.sort(key=lambda row: (-float(scores[row]), -row))
        return list(dict.fromkeys(self.index.item_ids[row] for row in rows))

    def newest(self) -> list[str]:
        """Give the items of the rows that came last: where no words are asked, only slots."""
        rows = np.flatnonzero(self.shown)[::-1][:TAKEN].tolist()
        return list(dict.fromkeys(self.index.item_ids[row] for row in rows))

    def met(self, item_ids: Sequence[str]) -> dict[str, tuple[float, float | None]]:
        """Give how far items meet the question by words and by meaning, each by its best row."""
        out: dict[str, tuple[float, float | None]] = {}
        for row in self.index.rows_of_items(item_ids).tolist():
            words, before = float(self.words[row]), out.get(self.index.item_ids[row])
            meaning = None if self.meaning is None else float(self.meaning[row])
            if before is None:
                out[self.index.item_ids[row]] = (words, meaning)
            else:
                told = None if meaning is None else max(meaning, before[1] or 0.0)
                out[self.index.item_ids[row]] = (max(words, before[0]), told)
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
    """Narrow the rows of events; what was so at another time is decided item by item (`Asked.fits`)."""
    narrowed = np.ones(len(rows), np.bool_)
    question: tuple[Any, ...]
    days = days_of(asked)
    if days is not None:
        narrowed &= index.rows_of_days(*days)
    if asked.attributes and not asked.wanted.past:
        wanted = Wanted(kinds=(L1,), attributes=asked.attributes)
        question = ("experience", tuple(sorted(asked.attributes.items())))
        narrowed &= index.remembered_rows(question, lane.applied_seq, lambda: eligible_ids(unit, lane, wanted))
    if asked.artifacts:
        question = ("about", asked.artifacts)
        narrowed &= index.remembered_rows(question, lane.applied_seq, lambda: [
            end.far for one in asked.artifacts for end in holders(unit, lane.lane_id, one, ABOUT, most=None)
        ])  # fmt: skip
    return rows & (narrowed | ~index.rows_of_kinds((L1,)))


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


def named_artifacts(asked: Asked) -> tuple[str, ...]:
    """Give the ids of the artifacts that a question's words name."""
    return tuple(one.id for one in artifacts_in([asked.situation, asked.goal]))


def about(unit: Unit, lanes: Sequence[Corner], artifacts: Sequence[str]) -> list[str]:
    """Give the events that are about any of some artifacts, where these are not about everything."""
    return [end.far for one in lanes for artifact in artifacts
            for end in holders(unit, one.lane.lane_id, artifact, ABOUT, most=MOST_HOLDERS)]  # fmt: skip
