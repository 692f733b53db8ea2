"""The encoders loaded in this process, and which of them each tenant uses."""

import threading
import time
from collections.abc import Callable
from typing import Final

from phronesis.errors import InputError, ModelUnavailable
from phronesis.models.embedder import Embedder, Floats, load_beside, load_embedder, may_be_the_text

ROLE: Final = "embed"
"""The role's name in the policy and the ledger."""
PAUSE_SECONDS: Final = 10.0
"""Seconds for which an unreachable encoder is skipped: searches use words alone meanwhile."""


def load_embedders(choice: str) -> "Embedders":
    """Return the encoders of a policy's name: that of searches, and the one that compares experience beside it."""
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

    def comparison_encoder(self, encoder: Embedder) -> Embedder | None:
        """Return the additional encoder that compares experience.

        None if there is none, or the tenant's own includes it.
        """
        return None if self._beside is None or self._beside.name in encoder.name else self._beside

    def comparison_encoders(self, encoder: Embedder) -> list[Embedder]:
        """Return all encoders that are used in addition to a tenant's own."""
        beside = self.comparison_encoder(encoder)
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

    def mark_available(self, encoder: Embedder) -> None:
        """Note that an encoder has responded: searches use it again."""
        self._away_until.pop(encoder.name, None)

    def note_active_model(self, tenant: str, active: str) -> bool:
        """Note the model that the database calls active; return True if queries now need another encoder."""
        serving = self.serving(tenant)
        if active not in self._loaded or (serving is not None and serving.name == active):
            return False
        with self._lock:
            self._serving[tenant] = active
        return True
