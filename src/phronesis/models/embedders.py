"""The encoders that this process has loaded, and which of them a tenant's searches use."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from phronesis.errors import InputError, ModelUnavailable
from phronesis.models.embedder import Embedder, Floats, may_be_the_text
from phronesis.models.hashing_embedder import HashingEmbedder
from phronesis.models.local_embedders import load_beside, load_local_embedder, load_of_lessons

PAUSE_SECONDS: Final = 10.0
"""How long an encoder that was not reached is left alone: searches go by words meanwhile, without waiting for it."""


def load_embedder(choice: str) -> Embedder | None:
    """Give the encoder of a policy's name: ``hashing``, a local one, ``auto``, or None for ``none``."""
    return HashingEmbedder() if choice == "hashing" else load_local_embedder(choice)


def load_embedders(choice: str) -> "Embedders":
    """Give the encoders of a policy's name: the one that searches use, and those that compare experience beside it."""
    return Embedders(load_embedder(choice), beside=load_beside(choice), of_lessons=load_of_lessons(choice))


class Embedders:
    """Shared by the searcher and the vectorizer, so that a ``reembed`` moves both. Thread-safe.

    The database says which model is active for a tenant; this says with which object to encode for it. A tenant
    whose model is not loaded here is searched by words alone until it is, or until ``reembed``.
    """

    def __init__(
        self,
        default: Embedder | None,
        *,
        beside: Embedder | None = None,
        of_lessons: Sequence[Embedder] = (),
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self.default = default
        self._beside = beside
        self._of_lessons = tuple(of_lessons)
        self._seconds = seconds
        self._away_until: dict[str, float] = {}
        self._loaded = {} if default is None else {default.name: default}
        self._serving: dict[str, str] = {}
        self._lock = threading.Lock()

    def add(self, embedder: Embedder) -> None:
        """Have one more encoder at hand; an error when it cannot be one."""
        if embedder.dimension < 1:
            raise InputError(f"the embedder {embedder.name} has no dimension", field="model")
        with self._lock:
            self._loaded[embedder.name] = embedder

    def named(self, name: str) -> Embedder | None:
        """Give the encoder of a model, when it is loaded."""
        return self._loaded.get(name)

    def serving(self, tenant: str) -> Embedder | None:
        """Give the encoder of a tenant's queries, as far as this process has seen."""
        return self._loaded.get(self._serving.get(tenant, ""), self.default)

    def beside(self, encoder: Embedder) -> Embedder | None:
        """Give the encoder that compares experience beside a tenant's own; None where there is none, or it is in it."""
        return None if self._beside is None or self._beside.name in encoder.name else self._beside

    def of_lessons(self, encoder: Embedder) -> tuple[Embedder, ...]:
        """Give the encoders that were taught what a lesson is, where they stand beside a tenant's own."""
        same = self.default is not None and self.default.name == encoder.name
        return self._of_lessons if same else ()

    def all_beside(self, encoder: Embedder) -> list[Embedder]:
        """Give all encoders beside a tenant's own."""
        beside = self.beside(encoder)
        return [*([] if beside is None else [beside]), *self.of_lessons(encoder)]

    def question(self, encoder: Embedder, text: str) -> Floats:
        """Give the vector of a question that somebody waits with, or its ModelError.

        An encoder that was not reached a moment ago, nor since, is not asked: ModelUnavailable at once.
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
        """Note that an encoder has answered: searches ask it again."""
        self._away_until.pop(encoder.name, None)

    def moved(self, tenant: str, active: str) -> bool:
        """Note which model the database calls active; True when queries must be encoded with another one now."""
        serving = self.serving(tenant)
        if active not in self._loaded or (serving is not None and serving.name == active):
            return False
        with self._lock:
            self._serving[tenant] = active
        return True
