"""How alike memories are: by behaviours and telling words that they share, and by an encoder's cosines."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import log, log2
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.core.vectors import Floats
from phronesis.index.tokens import ENGLISH_STOP_WORDS
from phronesis.models.text_features import bucket, normalise_text, pieces
from phronesis.traits.memory_features import MAX_READ, STATED, MemoryFeatures

# How near memories are where no encoder looks: by the pieces of their words, the rarer the more.

LEAST: Final = 16
"""Memories from which on pieces are compared; of fewer, shared words and behaviours say more."""

COLUMNS: Final = 1 << 13
"""Different shared pieces that are kept apart; of more, several share a column with a sign each (Weinberger et al.
2009), so that 5,000 memories take 160 MB. The cosines of 1,000 memories move by .01 for it."""


def by_pieces(readings: Sequence[MemoryFeatures]) -> Callable[[Sequence[str]], Floats] | None:
    """Return what compares memories by their ids, as an encoder does; None of so few that it says nothing."""
    if len(readings) < LEAST:
        return None
    words = {one.id: normalise_text(one.text[:MAX_READ]).split(" ") for one in readings}
    # English words that say little of what a text is about are left out: "out of the".
    texts = {one: " ".join(word for word in said if word not in ENGLISH_STOP_WORDS) for one, said in words.items()}
    return lambda ids: cosines_of_pieces([texts[one] for one in ids])


def cosines_of_pieces(texts: Sequence[str]) -> Floats:
    """Return the matrix of cosines of folded texts; zeros beside the diagonal for one that shares nothing."""
    held = [pieces(text) for text in texts]
    counts = Counter(piece for one in held for piece in one)
    weight = {piece: log((len(texts) + 1.0) / count) for piece, count in counts.items()}
    shared = sorted(piece for piece, count in counts.items() if count > 1)
    columns = {piece: (n, 1.0) for n, piece in enumerate(shared)}
    if len(shared) > COLUMNS:
        hashed = ((piece, bucket(piece)) for piece in shared)
        columns = {piece: (row % COLUMNS, 1.0 if row & COLUMNS else -1.0) for piece, row in hashed}
    rows = np.zeros((len(texts), min(max(1, len(shared)), COLUMNS)), np.float32)
    for row, one in zip(rows, held, strict=True):
        length = sum(weight[piece] ** 2 for piece in one) ** 0.5 or 1.0
        for piece in one:
            if (known := columns.get(piece)) is not None:
                row[known[0]] += known[1] * weight[piece] / length
    out: Floats = rows @ rows.T
    np.fill_diagonal(out, 1.0)
    return out


# How near memories are by an encoder's cosines: as deviations, from what is usual with the user.

Mask = npt.NDArray[np.bool_]

SHARED: Final = 3
OWN: Final = 0.3
SHARING: Final = 1.0
SHARED_BY_CHANCE: Final = 0.2
"""Nearest memories of each, what it counts itself beside them, and by how many deviations two that share them all are
more alike, less what two share by chance (Jarvis & Patrick 1973, shared near neighbours): what an encoder takes for
neighbours by mistake it takes for common neighbours too. On the readable labelled users recall rose by
.10 with precision as it was, in a wide range of all four; .8 and 1.3 are as good as 1."""

ROOM: Final = 40
RISE: Final = 0.5
"""Memories that the levels were fitted on, and the deviations by which each doubling makes two of them less alike: the
more there are to choose from, the nearer are some that have nothing to do with one another. Fitted on users of 30 to
220 memories, the larger ones made by putting labelled ones together."""

FEW: Final = 32
EARLY: Final = 1.0
"""Memories below which a spread is little known, and by how many deviations each halving below makes two of them less
alike. A trait that begins among few is often half another's, and stays. On the readable labelled users, 32 and a lower
level for groups gave precision .918 and recall .692 where 16 and a higher one gave .888 and .664; 48 the same."""

SURROUNDINGS: Final = 1.4
NEAREST: Final = 8
"""How much of a memory's likeness to so many nearest is taken away."""

LEAST_CENTRED: Final = 8
"""Vectors of one language that make a mean worth subtracting."""


def centre_cosines(cosines: Floats, readings: Sequence[MemoryFeatures], ground: Mask) -> Floats:
    """Return the cosines that are left when the mean of each language's vectors is taken away, NaN where there is none.

    Encoders put all texts of one language and manner near each other; what is left says what they are about. The Gram
    matrix is enough for it: H K H with H = I - 1/n (Schölkopf, Smola & Müller 1998, kernel principal components). The
    mean is that of the memories in ``ground``.
    """
    known = ~np.isnan(np.diagonal(cosines))
    gram = np.where(known[:, None] & known[None, :], cosines, 0.0).astype(np.float32)
    codes = np.array([one.code for one in readings])
    share = np.zeros((len(readings), 2), np.float32)
    for n, code in enumerate(("en", "zh")):
        mine = known & (codes == code)
        if (mine & ground).sum() >= LEAST_CENTRED:
            share[mine, n] = 1.0
        else:
            known &= ~mine
    part = share * ground[:, None]
    part /= np.maximum(part.sum(axis=0), 1.0)
    means = gram @ part  # of each vector with the mean of each language
    between = part.T @ means
    left = gram - share @ means.T - means @ share.T + share @ between @ share.T
    length = np.sqrt(np.maximum(np.diagonal(left), 1e-6))
    left /= length[:, None] * length[None, :]
    return np.where(known[:, None] & known[None, :], left, np.nan).astype(np.float32)


def subtract_neighbours(left: Floats, ground: Mask) -> Floats:
    """Return centred cosines less what each memory has of them with its nearest in ``ground`` anyway.

    Some vectors are near to many others; what counts is how much nearer two are than their surroundings. It is
    cross-domain similarity local scaling (Conneau et al. 2018, CSLS) about its own mean, so that the level stays.
    """
    known = ~np.isnan(np.diagonal(left))
    if int((known & ground).sum()) <= NEAREST:
        return left
    others = np.where(known[:, None] & (known & ground)[None, :], left, -1.0)
    np.fill_diagonal(others, -1.0)
    nearest = np.partition(others, -NEAREST, axis=1)[:, -NEAREST:].mean(axis=1)
    excess = np.where(known, nearest - nearest[known & ground].mean(), 0.0) * (SURROUNDINGS / 2)
    return (left - excess[:, None] - excess[None, :]).astype(np.float32)


def standard(left: Floats, ground: Mask) -> Floats:
    """Return cosines as deviations from their mean in ``ground``, less `RISE` for each doubling of the memories there.

    So levels hold whatever the encoder and however alike all that a user says is. Of few memories it is less, too
    (`EARLY`).
    """
    there = ground & ~np.isnan(np.diagonal(left))
    size = int(there.sum())
    among = left[np.ix_(there, there)][~np.eye(size, dtype=np.bool_)]
    spread = max(float(among.std()), 1e-6)
    rise = RISE * max(0.0, log2(size / ROOM)) + EARLY * max(0.0, log2(FEW / size))
    return np.asarray((left - among.mean()) / spread - rise, np.float32)


def share_deviations(deviations: Floats) -> Floats:
    """Return deviations with what memories share of their nearest ones; NaN stays NaN.

    It is the cosine of two lists of nearest memories, each weighed by its likeness and the memory itself among them.
    """
    size = len(deviations)
    if size <= SHARED:
        return deviations
    known = np.where(np.isnan(deviations), -np.inf, deviations)
    np.fill_diagonal(known, -np.inf)
    nearest = np.argpartition(-known, SHARED - 1, axis=1)[:, :SHARED]
    weights = np.maximum(np.take_along_axis(known, nearest, axis=1), 0.0)
    weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-6)
    named = np.concatenate((nearest, np.arange(size)[:, None]), axis=1)
    weights = np.concatenate((weights, np.full((size, 1), OWN)), axis=1)
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    out = np.asarray(deviations - SHARING * SHARED_BY_CHANCE, np.float32)
    # Few name the same one: what all of these share by it is added at once, and the rest is never looked at.
    order = np.argsort(named, axis=None, kind="stable")
    ends = np.searchsorted(named.ravel()[order], np.arange(1, size))
    for places in np.split(order, ends):
        rows, held = places // (SHARED + 1), weights.ravel()[places]
        out[np.ix_(rows, rows)] += SHARING * np.outer(held, held)
    return out


Cosine = Callable[[Sequence[str]], Floats]
"""Gives the matrix of cosines of the vectors of ids; NaN in rows and columns of those that have none."""

SAME_BEHAVIOUR: Final = 0.95
BEHAVIOUR_HELPED: Final = 0.5
SAME_WORD: Final = 0.6
"""What two memories share, and how alike it makes them. A word's share is that of the rarest there could be (idf of
one in all, Sparck Jones 1972). With an encoder a behaviour counts less and words count nothing beside what it says."""

DEVIATION: Final = 0.45
"""Weight of a standard deviation of the user's cosines. What two memories share counts in full from one deviation
above their mean, and not at all below it: they are of different things whatever they share."""

SPELT: Final = 0.8
"""What the same behaviour counts where pieces of words are compared: in full, whatever the pieces say."""

SAME_SESSION: Final = 2.0
OTHER_KIND: Final = 0.5
"""By how many deviations memories of one session are less alike, and one of what is so and one of what was done. What
is said in one session is one occasion, and near for that alone: of 755 pairs of one session of the readable labelled
users, one was of one trait, of other pairs nine in a hundred. With both, and neighbours shared after them, the average
precision of pairs rose from .59 to .67, each author's by .04 or more; nearly the same with twice as much."""

HABIT: Final = 4
"""Memories of one trait, the latest, that are compared with as the rest are."""

COMMON: Final = 0.2
"""Share of the memories beyond which a word says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityLevels:
    """How alike the members of a new behaviour are on average, and new evidence is to what shows a trait.

    By meaning ``close`` is what a group must be worth (`clusters.worth`). ``bare`` is how alike the members are where
    no table knows what is done.
    """

    close: float
    fit: float
    bare: float = 0.0


BY_WORDS: Final = SimilarityLevels(close=0.62, bare=1.0, fit=0.6)
BY_PIECES: Final = SimilarityLevels(close=1.2, fit=1.2)
BY_MEANING: Final = SimilarityLevels(close=0.65, fit=1.2)
"""Of few memories, by the words that they share; by the pieces of words; and by an encoder. The last two were chosen on
readable labelled users (``phronesis bench traits``)."""


@dataclass(frozen=True, slots=True)
class MemorySimilarity:
    """How alike memories are, by their places in a sequence.

    ``alike`` is 0 where two share nothing and about 1 for the same behaviour.
    """

    alike: Floats
    levels: SimilarityLevels

    @property
    def by_words(self) -> bool:
        """Whether words and behaviours alone are compared."""
        return self.levels is BY_WORDS

    def mean(self, one: int, others: Sequence[int]) -> float:
        """Return how alike a memory is to several."""
        return float(self.alike[one, list(others)].mean())


def likeness_of(
    readings: Sequence[MemoryFeatures], cosine: Cosine | None, habits: Iterable[Sequence[int]] = ()
) -> MemorySimilarity:
    """Compare memories by an encoder, else by the pieces of their words, and where they are few by what they share.

    ``habits`` are the places of memories that show what is known already. Of each, `HABIT` are part of the ground that
    others are seen against: what somebody does every day is not what all their days are like.
    """
    levels = BY_PIECES if cosine is None else BY_MEANING
    cosine = cosine or by_pieces(readings)
    if cosine is not None and readings:
        ground = np.ones(len(readings), np.bool_)
        for habit in habits:
            ground[list(habit)[: max(0, len(habit) - HABIT)]] = False
        left = centre_cosines(np.asarray(cosine([one.id for one in readings]), np.float32), readings, ground)
        if not np.isnan(left).all():
            return MemorySimilarity(
                _together(standard(subtract_neighbours(left, ground), ground), readings, levels), levels
            )
    return MemorySimilarity(_shared(readings, behaviour=SAME_BEHAVIOUR, word=SAME_WORD), BY_WORDS)


def _shared(readings: Sequence[MemoryFeatures], *, behaviour: float, word: float = 0.0) -> Floats:
    """Return what memories share: so much for a behaviour, and for a word by its rarity, ``word`` for the rarest."""
    size = len(readings)
    out = np.zeros((size, size), np.float32)
    behaviours, stems = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
    for n, one in enumerate(readings):
        for name in one.behaviours:
            behaviours[name].append(n)
        for stem in one.stems:
            stems[stem].append(n)
    for places in behaviours.values():
        out[np.ix_(places, places)] += behaviour
    for places in stems.values() if word else ():
        if 1 < len(places) <= max(6.0, COMMON * size):
            out[np.ix_(places, places)] += word * log((1 + size) / len(places)) / log(1 + size)
    return out


def _together(deviations: Floats, readings: Sequence[MemoryFeatures], levels: SimilarityLevels) -> Floats:
    """Give how alike memories are by vectors, tables, sessions and kinds, and by the neighbours that they share so."""
    unknown = np.isnan(deviations)
    known = np.where(unknown, np.float32(0.0), deviations)
    spelt = levels is BY_PIECES
    shared = _shared(readings, behaviour=SPELT if spelt else BEHAVIOUR_HELPED)
    heard = np.float32(1.0) if spelt else np.where(unknown, np.float32(1.0), np.clip(known, 0.0, 1.0))
    out = known + shared * heard / np.float32(DEVIATION)
    stated = np.array([one.kind in STATED and not one.habit for one in readings])
    out -= np.float32(OTHER_KIND) * (stated[:, None] != stated[None, :])
    sessions = defaultdict[str, list[int]](list)
    for n, one in enumerate(readings):
        sessions[one.place].append(n)
    for held in sessions.values():
        out[np.ix_(held, held)] -= np.float32(SAME_SESSION)
    return np.asarray(DEVIATION * share_deviations(np.asarray(out, np.float32)), np.float32)
