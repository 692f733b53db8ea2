"""The encoders loaded in this process, which of them each tenant uses, and metering of encoders on servers."""

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, Protocol

import numpy as np

from phronesis.errors import InputError, ModelUnavailable
from phronesis.models.call_policy import CallPolicy, Limits, SpendingLimit, run_metered
from phronesis.models.embedder import (
    Embedder,
    Floats,
    HashingEmbedder,
    load_beside,
    load_local_embedder,
    may_be_the_text,
)
from phronesis.models.token_counter import TokenCounter

PAUSE_SECONDS: Final = 10.0
"""Seconds for which an unreachable encoder is skipped: searches use words alone meanwhile."""


def load_embedder(choice: str) -> Embedder | None:
    """Return the encoder of a policy's name: ``hashing``, a local one, ``auto``, or None for ``none``."""
    return HashingEmbedder() if choice == "hashing" else load_local_embedder(choice)


def load_embedders(choice: str) -> "Embedders":
    """Return the encoders of a policy's name.

    The search encoder, and those that compare experience.
    """
    return Embedders(load_embedder(choice), beside=load_beside(choice))


class Embedders:
    """The loaded encoders, shared by the searcher and the vectorizer so that a ``reembed`` switches both. Thread-safe.

    The database says which model is active for a tenant; this maps it to the object that encodes. If a tenant's model
    is not loaded here, its searches use words alone until it is loaded or until ``reembed``.
    """

    def __init__(
        self, default: Embedder | None, *, beside: Embedder | None = None, seconds: Callable[[], float] = time.monotonic
    ) -> None:
        self.default = default
        self._beside = beside
        self._seconds = seconds
        self._away_until: dict[str, float] = {}
        self._loaded = {} if default is None else {default.name: default}
        self._serving: dict[str, str] = {}
        self._lock = threading.Lock()

    def add(self, embedder: Embedder) -> None:
        """Register one more encoder; raises if it is not a valid one."""
        if embedder.dimension < 1:
            raise InputError(f"the embedder {embedder.name} has no dimension", field="model")
        with self._lock:
            self._loaded[embedder.name] = embedder

    def named(self, name: str) -> Embedder | None:
        """Return the encoder of a model, if it is loaded."""
        return self._loaded.get(name)

    def serving(self, tenant: str) -> Embedder | None:
        """Return the encoder of a tenant's queries, as far as this process knows."""
        return self._loaded.get(self._serving.get(tenant, ""), self.default)

    def beside(self, encoder: Embedder) -> Embedder | None:
        """Return the additional encoder that compares experience.

        None if there is none, or the tenant's own includes it.
        """
        return None if self._beside is None or self._beside.name in encoder.name else self._beside

    def all_beside(self, encoder: Embedder) -> list[Embedder]:
        """Return all encoders that are used in addition to a tenant's own."""
        beside = self.beside(encoder)
        return [] if beside is None else [beside]

    def question(self, encoder: Embedder, text: str) -> Floats:
        """Return the vector of a question, or raise its ModelError.

        An encoder that was unreachable a moment ago is not called: ModelUnavailable at once.
        """
        if self._seconds() < self._away_until.get(encoder.name, float("-inf")):
            raise ModelUnavailable(f"the encoder {encoder.name} was not reached a moment ago; it is asked again soon")
        try:
            return encoder.embed_query(text)
        except ModelUnavailable as error:
            if not may_be_the_text(error):
                self._away_until[encoder.name] = self._seconds() + PAUSE_SECONDS
            raise

    def reached(self, encoder: Embedder) -> None:
        """Note that an encoder has responded: searches use it again."""
        self._away_until.pop(encoder.name, None)

    def moved(self, tenant: str, active: str) -> bool:
        """Note the model that the database calls active; return True if queries now need another encoder."""
        serving = self.serving(tenant)
        if active not in self._loaded or (serving is not None and serving.name == active):
            return False
        with self._lock:
            self._serving[tenant] = active
        return True


# Encoders on servers: budgeted, under the server's call policy, every attempt recorded.

ROLE: Final = "embed"
"""The role's name in the policy and the ledger."""

BATCH: Final = 64
"""Texts per call, each with its own time limit and ledger row: as many as one request takes."""


class BoundedEmbedder(Embedder, Protocol):
    """An `Embedder` that stops a call when its limits are reached."""

    def embed_documents(self, texts: Sequence[str], *, limits: Limits | None = None) -> Floats:
        """Return a float32 matrix (n, dimension)."""
        ...

    def embed_query(self, text: str, *, limits: Limits | None = None) -> Floats:
        """Return a float32 vector (dimension,)."""
        ...


class MeteredEmbedder:
    """An `Embedder` whose calls are recorded, under ``model``, the name that has a price.

    Calls are bounded by the server's call policy, retries and the query for the vector length included. They are
    charged to the tenant that opened the Memory, since the port has no tenant.
    """

    def __init__(
        self,
        inner: BoundedEmbedder,
        *,
        model: str,
        conduct: CallPolicy,
        purse: SpendingLimit,
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
        """Numbers per vector. ModelError if it is unknown and the server does not report it."""
        return self._inner.dimension

    @property
    def prefix_scheme(self) -> str:
        """The prefix scheme of queries and documents."""
        return self._inner.prefix_scheme

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return a float32 matrix (n, dimension), rows of L2 length 1 or 0. ModelError if the server fails."""
        rows = [
            self._measured(batch, partial(self._inner.embed_documents, batch))
            for batch in (texts[start : start + BATCH] for start in range(0, max(len(texts), 1), BATCH))
        ]
        return rows[0] if len(rows) == 1 else np.concatenate(rows)

    def embed_query(self, text: str) -> Floats:
        """Return a float32 vector (dimension,) of L2 length 1 or 0. ModelError if the server fails."""
        return self._measured([text], partial(self._inner.embed_query, text))

    def _measured(self, texts: Sequence[str], encode: Callable[..., Floats]) -> Floats:
        counter = self._counter()
        tokens = sum(counter.count(text) for text in texts)
        return run_metered(
            encode, self._conduct, self._purse, tenant=self._tenant, role=ROLE, model=self._model, prompt_tokens=tokens
        )
