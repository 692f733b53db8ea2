"""mem0 as a peer: without its language model, its network and its telemetry."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final, cast

from phronesis.errors import InputError
from phronesis_benchmarks.cached_embedder import CachedEmbedder
from phronesis_benchmarks.datasets import Turn
from phronesis_benchmarks.optional import import_optional


class Mem0System:
    """mem0's open-source Memory with its default local store (Qdrant in a folder), ``infer=False``.

    Its keyword and entity scores need spaCy and fastembed with models that are downloaded, so they are off: this is
    what a machine without network gets.
    """

    _USER: Final = "bench"

    def __init__(self, folder: Path, embedder: CachedEmbedder) -> None:
        mem0 = _import_mem0(folder)
        local = {"api_key": "none", "openai_base_url": "http://127.0.0.1:9/v1"}  # both are built, neither is called
        self._memory = mem0.Memory.from_config(
            {
                "vector_store": {
                    "provider": "qdrant",
                    "config": {
                        "collection_name": "turns",
                        "path": str(folder / "qdrant"),
                        "embedding_model_dims": embedder.dimension,
                        "on_disk": True,
                    },
                },
                "embedder": {"provider": "openai", "config": {**local, "embedding_dims": embedder.dimension}},
                "llm": {"provider": "openai", "config": local},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._memory.embedding_model = _Mem0Embedder(embedder)
        self._memory.vector_store._bm25_encoder = False  # noqa: SLF001  # else fastembed downloads its word lists
        self._turn_ids: dict[str, str] = {}

    def add(self, turns: Sequence[Turn]) -> None:
        """Add turns by one call; a call has one metadata, so the ids of many turns are noted from what it returns."""
        messages = [{"role": turn.role, "name": turn.speaker, "content": turn.line()} for turn in turns]
        added = self._memory.add(
            messages, user_id=self._USER, metadata={"session_id": turns[0].session_id}, infer=False
        )
        self._turn_ids |= {row["id"]: turn.id for row, turn in zip(added["results"], turns, strict=True)}

    def settle(self) -> None:
        """Nothing is pending."""

    def search(self, query: str, limit: int) -> Sequence[str]:
        """Return the best memories, none cut off by a threshold."""
        found = self._memory.search(query, top_k=limit, filters={"user_id": self._USER}, threshold=0.0)
        return [self._turn_ids[row["id"]] for row in found["results"]]

    def close(self) -> None:
        """Close the history and the vector store."""
        self._memory.close()
        self._memory.vector_store.client.close()


class _Mem0Embedder:
    """The run's embedder in the form of mem0's ``EmbeddingBase``."""

    def __init__(self, embedder: CachedEmbedder) -> None:
        self._embedder = embedder

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Return one vector; the action "search" means that the text is a query."""
        is_query = memory_action == "search"
        vector = self._embedder.embed_query(text) if is_query else self._embedder.embed_documents([text])[0]
        return cast("list[float]", vector.tolist())

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = "add") -> list[list[float]]:
        """Return a vector for each text."""
        return [self.embed(text, memory_action) for text in texts]


def _import_mem0(folder: Path) -> ModuleType:
    """Return mem0, imported so that it sends nothing, downloads nothing and leaves the user's own settings alone.

    It reads these variables once, while it is imported, and writes a file of its own into MEM0_DIR.
    """
    with _environment(MEM0_TELEMETRY="False", MEM0_DIR=str(folder / "mem0")):
        mem0 = import_optional("mem0", "mem0ai")
    if import_module("mem0.memory.telemetry").MEM0_TELEMETRY:
        raise InputError(
            "peers: mem0 was imported before with telemetry on; set MEM0_TELEMETRY=False in the environment",
            field="peers",
        )
    models: Any = import_module("mem0.utils.spacy_models")  # would download a model on its first use
    models._load_failed_full = models._load_failed_lemma = True  # noqa: SLF001
    return mem0


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    """Set environment variables for the time of a block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
