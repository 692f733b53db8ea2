"""Fusing what the channels say into one score, by strength of evidence and not by rank.

The formula and its weights were fitted on real conversations by those who tried it (z-scores, neighbours, speaker):
``z(BM25) + .3 · (previous + next) + .2 · (two before + two after) + speaker + .7 · z(cosine)``. ``docs/benchmarks.md``
holds what each part brings on our own runs.
"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Weights:
    """What each channel counts, in standard deviations over the scope."""

    lexical: float = 1.0
    dense: float = 0.7
    neighbour: float = 0.3
    second_neighbour: float = 0.2
    speaker: float = 1.0
    mention: float = 0.5


DEFAULT_WEIGHTS: Final = Weights()


@dataclass(frozen=True, slots=True)
class Channels:
    """What the channels say of one lane's rows: arrays of one length; None where a channel is silent.

    ``before`` and ``after`` are the rows beside a message in its session, -1 for none.
    """

    lexical: Floats
    alive: npt.NDArray[np.bool_]
    before: Rows
    after: Rows
    dense: Floats | None = None
    embedded: npt.NDArray[np.bool_] | None = None
    speaker: Floats | None = None
    mention: Floats | None = None


@dataclass(frozen=True, slots=True)
class Fused:
    """A lane's scores and each channel's share in them."""

    score: Floats
    shares: dict[str, Floats] = field(default_factory=dict)


def z_scores(arrays: list[Floats], masks: list[npt.NDArray[np.bool_]]) -> list[Floats]:
    """Standardise arrays together, over the rows that ``masks`` name; other rows give 0, and so does no spread."""
    values = np.concatenate([array[mask] for array, mask in zip(arrays, masks, strict=True)])
    spread = float(values.std()) if len(values) else 0.0
    if spread < 1e-9:  # noqa: PLR2004 - nothing but rounding: all rows are alike
        return [np.zeros_like(array) for array in arrays]
    mean = float(values.mean())
    return [
        np.where(mask, (array - mean) / spread, 0.0).astype(np.float32)
        for array, mask in zip(arrays, masks, strict=True)
    ]


def fuse(lanes: list[Channels], weights: Weights = DEFAULT_WEIGHTS) -> list[Fused]:
    """Give one score per row and lane; statistics are those of all lanes together."""
    lexical = z_scores([lane.lexical for lane in lanes], [lane.alive for lane in lanes])
    dense = _dense(lanes)
    out: list[Fused] = []
    for n, lane in enumerate(lanes):
        near = _shifted(lexical[n], lane.before) + _shifted(lexical[n], lane.after)
        far = _shifted(lexical[n], _twice(lane.before)) + _shifted(lexical[n], _twice(lane.after))
        shares = {
            "lexical": weights.lexical * lexical[n],
            "neighbours": weights.neighbour * near + weights.second_neighbour * far,
        }
        if dense is not None:
            shares["dense"] = weights.dense * dense[n]
        if lane.speaker is not None:
            shares["speaker"] = weights.speaker * lane.speaker
        if lane.mention is not None:
            shares["mention"] = weights.mention * lane.mention
        total = np.sum(list(shares.values()), axis=0, dtype=np.float32)
        out.append(Fused(np.where(lane.alive, total, -np.inf).astype(np.float32), shares))
    return out


def _dense(lanes: list[Channels]) -> list[Floats] | None:
    if all(lane.dense is None for lane in lanes):
        return None
    nothing = [np.zeros(len(lane.lexical), dtype=np.float32) for lane in lanes]
    cosines = [empty if lane.dense is None else lane.dense for lane, empty in zip(lanes, nothing, strict=True)]
    masks = [
        lane.alive & (np.zeros(len(lane.lexical), dtype=np.bool_) if lane.embedded is None else lane.embedded)
        for lane in lanes
    ]
    return z_scores(cosines, masks)


def _shifted(scores: Floats, rows: Rows) -> Floats:
    """Each row's neighbour's score; 0, the mean, where there is none."""
    return np.where(rows >= 0, scores[rows], 0.0).astype(np.float32) if len(scores) else scores


def _twice(rows: Rows) -> Rows:
    """The neighbour of the neighbour."""
    return np.where(rows >= 0, rows[rows], -1) if len(rows) else rows
