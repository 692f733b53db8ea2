"""An encoder behind a server: within the budget, with the manners of its server, and every try written down."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, Protocol

import numpy as np

from phronesis.models.calls import Limits
from phronesis.models.conduct import Conduct
from phronesis.models.embedder import Embedder, Floats
from phronesis.models.purse import Purse
from phronesis.models.token_counter import TokenCounter

ROLE: Final = "embed"
"""The role's name in the policy and the ledger."""

BATCH: Final = 64
"""Texts of one call, with its own time and its own row of the ledger: as many as one request takes."""


class BoundedEmbedder(Embedder, Protocol):
    """An `Embedder` that ends a call when its limits say so."""

    def embed_documents(self, texts: Sequence[str], *, limits: Limits | None = None) -> Floats:
        """Give a float32 matrix (n, dimension)."""
        ...

    def embed_query(self, text: str, *, limits: Limits | None = None) -> Floats:
        """Give a float32 vector (dimension,)."""
        ...


class MeteredEmbedder:
    """An `Embedder` whose calls are counted, under ``model``, the name that has a price.

    Each takes as long as the server's conduct allows, its tries and the question how long vectors are included.
    They are charged to the tenant that opened the Memory: the port knows none.
    """

    def __init__(
        self,
        inner: BoundedEmbedder,
        *,
        model: str,
        conduct: Conduct,
        purse: Purse,
        counter: Callable[[], TokenCounter],
        tenant: str,
    ) -> None:
        self._inner = inner
        self._model = model
        self._conduct = conduct
        self._purse = purse
        self._counter = counter
        self._tenant = tenant

    @property
    def name(self) -> str:
        """The encoder's identity."""
        return self._inner.name

    @property
    def dimension(self) -> int:
        """Numbers per vector. ModelError when it is not known and the server does not say."""
        return self._inner.dimension

    @property
    def prefix_scheme(self) -> str:
        """How queries and documents are told apart."""
        return self._inner.prefix_scheme

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Give a float32 matrix (n, dimension), rows of L2 length 1 or 0. ModelError when the server gives none."""
        rows = [
            self._measured(batch, partial(self._inner.embed_documents, batch))
            for batch in (texts[start : start + BATCH] for start in range(0, max(len(texts), 1), BATCH))
        ]
        return rows[0] if len(rows) == 1 else np.concatenate(rows)

    def embed_query(self, text: str) -> Floats:
        """Give a float32 vector (dimension,) of L2 length 1 or 0. ModelError when the server gives none."""
        return self._measured([text], partial(self._inner.embed_query, text))

    def _measured(self, texts: Sequence[str], encode: Callable[..., Floats]) -> Floats:
        counter = self._counter()
        tokens = sum(counter.count(text) for text in texts)
        self._purse.allow(self._tenant, model=self._model, prompt_tokens=tokens, max_tokens=0)

        def once(limits: Limits) -> Floats:
            with self._purse.recorded(self._tenant, role=ROLE, model=self._model, prompt_tokens=tokens):
                return encode(limits=limits)

        return self._conduct.run(once, self._conduct.limits())
