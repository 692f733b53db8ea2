"""Find the seeds of a query by words, by embeddings, by exact task name, and by the artifacts it names."""

from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

import numpy as np

from phronesis.core.items import Item
from phronesis.core.text import MAX_ID_LENGTH
from phronesis.experience.event_embeddings import view_part
from phronesis.experience.laws.event_draft import artifacts_in
from phronesis.experience.laws.ranking import standardise_cosines, usual, word_shares
from phronesis.experience.laws.records import ABOUT, L1, PATTERN, PRINCIPLE
from phronesis.experience.query_graph import MOST_HOLDERS, ExperienceQuestion, days_of
from phronesis.index.tokens import term_hash, tokenize
from phronesis.recall.scope_index import LaneIndex
from phronesis.recall.scoring.lane_arrays import Floats, Mask, Spread, best_of
from phronesis.store.database import Unit
from phronesis.store.documents import read_vectors, stack_embeddings
from phronesis.store.eligible import ReadConditions, eligible_ids
from phronesis.store.experience import changed_views, holders, of_episode
from phronesis.store.lanes import ActiveModel, Lane

# Exact names: a task's situation or goal finds the attempts made at it.

NAMING: Final = ("situation", "goal")
"""The views that may be a task's name."""

MOST: Final = 256
"""Events of one name that are examined, the latest: a name with thousands identifies no task."""

_PARTS: Final = tuple(map(view_part, NAMING))
_EDGES: Final = " \t.,;:!?。，；：！？"


def normal_title(text: str) -> str:
    """Return a text normalised for comparison as a name: lower case, single spaces, no final stop."""
    return " ".join(text.casefold().split()).strip(_EDGES)


def is_called(item: Item, name: str) -> bool:
    """Return whether an event's situation, goal or episode has this name."""
    return name in (
        normal_title(item.data.get("situation", "")),
        normal_title(item.data.get("goal", "")),
        normal_title(item.run_id or ""),
    )


def _number(name: str) -> int:
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


@dataclass(slots=True)
class _Names:
    """The names of a lane's events, by their hash."""

    epoch: int
    seen_seq: int = 0
    ids: defaultdict[int, list[str]] = field(default_factory=lambda: defaultdict(list))


@dataclass(slots=True)
class TaskNames:
    """The names in the last few lanes. Not thread-safe: used under the lock of the lanes' indexes."""

    limit: int = 8
    _kept: "OrderedDict[tuple[str, int], _Names]" = field(default_factory=OrderedDict)

    def events(self, unit: Unit, lane: Lane, name: str) -> list[str]:
        """Return the ids of events that may have the name, newest first; `is_called` decides."""
        known = self._names_of(unit, lane).ids.get(_number(name), ())
        episode = of_episode(unit, lane.lane_id, L1, name, limit=MOST) if len(name) <= MAX_ID_LENGTH else []
        return sorted({*known, *episode}, reverse=True)[:MOST]

    def _names_of(self, unit: Unit, lane: Lane) -> _Names:
        key = (unit.tenant, lane.lane_id)
        names = self._kept.pop(key, None)
        if names is None or names.epoch != lane.epoch:
            names = _Names(lane.epoch)
        if names.seen_seq < lane.documents_seq:
            for item_id, text in changed_views(unit, lane.lane_id, L1, _PARTS, after=names.seen_seq):
                names.ids[_number(normal_title(text))].append(item_id)
            names.seen_seq = lane.documents_seq
        self._kept[key] = names
        while len(self._kept) > self.limit:
            self._kept.popitem(last=False)
        return names


FEWEST: Final = 10
"""Minimum of the limit for which candidates are collected, so that smaller limits give the same first answers."""

EVENTS_EACH: Final = 5
"""Candidate events per lane for each listed one, since equal texts are listed once."""

SPARE: Final = 8
"""Additional patterns and principles that are followed to their evidence: counter-evidence lowers a score
(`ranking.COUNTER`), and a member not read yet may raise one. A question matches a hundred by chance."""

UNFILTERED: Final = 4
"""Factor for items of another time, whose filters are applied only after they are read."""

RESCORED: Final = 50
"""Nearest documents of each lane whose cosine is recomputed from the stored half-precision vectors."""

KINDS: Final = (L1, PATTERN, PRINCIPLE)


@dataclass(slots=True)
class QueryLane:
    """One lane during a query: its index, the rows of experience, and the visible ones."""

    lane: Lane
    index: LaneIndex
    rows: Mask
    shown: Mask
    words: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    meaning: Floats | None = None

    def best(self, counts: Mapping[str, int]) -> list[str]:
        """Return the items of the best matching rows, kind by kind, each once, best first."""
        scores = self.words if self.meaning is None else self.words + self.meaning
        found: list[int] = []
        for kind, count in counts.items():
            rows = np.flatnonzero(self._rows_of(kind) & (scores > 0))
            best = rows[best_of(scores[rows], count)].tolist()
            found += sorted(best, key=lambda row: (-float(scores[row]), -row))
        return list(dict.fromkeys(self.index.item_ids[row] for row in found))

    def newest(self, counts: Mapping[str, int]) -> list[str]:
        """Return the items of the latest rows, kind by kind, for a question of slots without words."""
        found: list[int] = []
        for kind, count in counts.items():
            found += np.flatnonzero(self._rows_of(kind))[::-1][:count].tolist()
        return list(dict.fromkeys(self.index.item_ids[row] for row in found))

    def _rows_of(self, kind: str) -> Mask:
        return self.shown & self.index.rows_of_kinds((kind,))

    def met(self, item_ids: Sequence[str]) -> dict[str, tuple[float, float | None]]:
        """Return the match of items by words and by embeddings, each by its best row."""
        rows = self.index.rows_of_items(item_ids)
        words = self.words[rows].tolist()
        meaning = [None] * len(words) if self.meaning is None else self.meaning[rows].tolist()
        out: dict[str, tuple[float, float | None]] = {}
        for row, told, meant in zip(rows.tolist(), words, meaning, strict=True):
            one = self.index.item_ids[row]
            before = out.get(one, (0.0, 0.0))
            out[one] = (max(told, before[0]), None if meant is None else max(meant, before[1] or 0.0))
        return out


def corners(unit: Unit, found: Sequence[tuple[Lane, LaneIndex]], asked: ExperienceQuestion) -> list[QueryLane]:
    """Return the lanes that contain experience, with their visible rows."""
    out = []
    for lane, index in found:
        rows = index.rows_of_kinds(KINDS, asked.wanted.as_of)
        if rows.any():
            out.append(QueryLane(lane, index, rows, _visible_rows(unit, lane, index, rows, asked)))
    return out


def _visible_rows(unit: Unit, lane: Lane, index: LaneIndex, rows: Mask, asked: ExperienceQuestion) -> Mask:
    """Filter the rows of events and patterns; past states are filtered item by item (`Asked.fits`)."""
    narrowed = np.ones(len(rows), np.bool_)
    days = days_of(asked)
    if days is not None:
        narrowed &= index.rows_of_days(*days)
    if asked.artifacts:
        question = ("about", asked.artifacts)
        narrowed &= index.remembered_rows(
            question,
            lane.applied_seq,
            lambda: [end.far for one in asked.artifacts for end in holders(unit, lane.lane_id, one, ABOUT, most=None)],
        )
    shown = rows & (narrowed | ~index.rows_of_kinds((L1,)))
    for kind, attributes in asked.attributes.items() if not asked.wanted.past else ():
        if attributes:
            shown &= _having(unit, lane, index, kind, attributes) | ~index.rows_of_kinds((kind,))
    return shown


def _having(unit: Unit, lane: Lane, index: LaneIndex, kind: str, attributes: Mapping[str, str]) -> Mask:
    """Return the rows of items of a kind that have some attributes."""
    wanted = ReadConditions(kinds=(kind,), attributes=attributes)
    question = (kind, tuple(sorted(attributes.items())))
    return index.remembered_rows(question, lane.applied_seq, lambda: eligible_ids(unit, lane, wanted))


def read_words(lanes: Sequence[QueryLane], text: str) -> None:
    """Score every row by the words of a question."""
    terms = list(map(term_hash, tokenize(text)))
    found = word_shares([(one.index.lexical, one.rows) for one in lanes], terms)
    for one, words in zip(lanes, found, strict=True):
        one.words = words


def read_meaning(unit: Unit, lanes: Sequence[QueryLane], vector: Floats, model: ActiveModel) -> Spread | None:
    """Score every row by the embedding of a question; return the spread of events' cosines, None without vectors.

    Events are encoded as queries and patterns as passages: each has its own spread of cosines. A document without a
    vector yet is scored by its words.
    """
    told: list[tuple[QueryLane, Floats, Mask]] = []
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
            meaning[mask] = standardise_cosines(scores[mask], spread)
        one.meaning = np.where(one.rows, meaning, np.float32(0.0))
    return spreads[0]


def _rescore(unit: Unit, one: QueryLane, model_id: str, vector: Floats, known: tuple[Floats, Mask]) -> None:
    scores, there = known
    top = [row for row in best_of(np.where(there & one.shown, scores, np.float32(-2)), RESCORED).tolist() if there[row]]
    ids = {one.index.document_ids[row]: row for row in top}
    found = read_vectors(unit, one.index.lane_id, model_id, list(ids))
    if found:
        exact = cosines(stack_embeddings(found), vector)
        scores[[ids[row.document_id] for row in found]] = exact


def cosines(rows: Floats, vector: Floats) -> Floats:
    """Return the cosines of some vectors with one; 0 if either is zero."""
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(vector)
    out: Floats = np.divide(rows @ vector, lengths, out=np.zeros(len(rows), np.float32), where=lengths > 0)
    return out


def taken_up(asked: ExperienceQuestion) -> dict[str, int]:
    """Return the number of candidates of each kind that a question collects from each lane."""
    most = max(FEWEST, asked.limit)
    if asked.wanted.past and any(asked.attributes.values()):
        most *= UNFILTERED
    return {L1: EVENTS_EACH * most, PATTERN: most + SPARE, PRINCIPLE: most + SPARE}


def named_artifacts(asked: ExperienceQuestion) -> tuple[str, ...]:
    """Return the ids of the artifacts that a question names."""
    return tuple(one.id for one in artifacts_in([asked.situation, asked.goal]))


def about(unit: Unit, lanes: Sequence[QueryLane], artifacts: Sequence[str]) -> list[str]:
    """Return the events that are about any of some artifacts, without artifacts that are too common."""
    return [
        end.far
        for one in lanes
        for artifact in artifacts
        for end in holders(unit, one.lane.lane_id, artifact, ABOUT, most=MOST_HOLDERS)
    ]
