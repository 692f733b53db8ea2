"""The encoders that this process has loaded, and which of them a tenant's searches use."""

import threading

from phronesis.errors import InputError
from phronesis.models.embedder import Embedder
from phronesis.models.hashing_embedder import HashingEmbedder
from phronesis.models.local_embedders import load_local_embedder


def load_embedder(choice: str) -> Embedder | None:
    """Give the encoder of a policy's name: ``hashing``, a local one, ``auto``, or None for ``none``."""
    return HashingEmbedder() if choice == "hashing" else load_local_embedder(choice)


class Embedders:
    """Shared by the searcher and the vectorizer, so that a ``reembed`` moves both. Thread-safe.

    The database says which model is active for a tenant; this says with which object to encode for it. A tenant
    whose model is not loaded here is searched by words alone until it is, or until ``reembed``.
    """

    def __init__(self, default: Embedder | None) -> None:
        self.default = default
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

    def moved(self, tenant: str, active: str) -> bool:
        """Note which model the database calls active; True when queries must be encoded with another one now."""
        serving = self.serving(tenant)
        if active not in self._loaded or (serving is not None and serving.name == active):
            return False
        with self._lock:
            self._serving[tenant] = active
        return True
