"""How near memories are by an encoder's cosines: as deviations, from what is usual with the user."""

from collections.abc import Sequence
from math import log2
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.derive.reflecting.by_rules.reading import Reading

Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]

SHARED: Final = 3
OWN: Final = 0.3
SHARING: Final = 1.0
SHARED_BY_CHANCE: Final = 0.2
"""Nearest memories of each, what it counts itself beside them, and by how many deviations two that share them all are
more alike, less what two share by chance (Jarvis & Patrick 1973, shared near neighbours): what an encoder takes for
neighbours by mistake it takes for common neighbours too. On the readable labelled users recall rose by
.10 with precision as it was, in a wide range of all four (docs/benchmarks.md); .8 and 1.3 are as good as 1."""

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


def centred(cosines: Floats, readings: Sequence[Reading], ground: Mask) -> Floats:
    """Give the cosines that are left when the mean of each language's vectors is taken away, NaN where there is none.

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


def apart(left: Floats, ground: Mask) -> Floats:
    """Give centred cosines less what each memory has of them with its nearest in ``ground`` anyway.

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
    """Give cosines as deviations from their mean in ``ground``, less `RISE` for each doubling of the memories there.

    So levels hold whatever the encoder and however alike all that a user says is. Of few memories it is less, too
    (`EARLY`).
    """
    there = ground & ~np.isnan(np.diagonal(left))
    size = int(there.sum())
    among = left[np.ix_(there, there)][~np.eye(size, dtype=np.bool_)]
    spread = max(float(among.std()), 1e-6)
    rise = RISE * max(0.0, log2(size / ROOM)) + EARLY * max(0.0, log2(FEW / size))
    return np.asarray((left - among.mean()) / spread - rise, np.float32)


def sharing(deviations: Floats) -> Floats:
    """Give deviations with what memories share of their nearest ones; NaN stays NaN.

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
