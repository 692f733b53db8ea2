"""Other memories, measured on the same turns with the same vectors. None of them is a dependency.

Each is given a turn as "speaker: text" through its documented API and stores it verbatim: no language model is called,
nothing is downloaded, and telemetry is off.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, cast

from phronesis.errors import InputError
from phronesis_benchmarks.bm25 import Bm25System
from phronesis_benchmarks.cached_embedder import CachedEmbedder
from phronesis_benchmarks.datasets import Turn
from phronesis_benchmarks.mem0_peer import Mem0System
from phronesis_benchmarks.optional import import_optional, installed_version
from phronesis_benchmarks.runner import Contender


class ChromaSystem:
    """A collection in a chromadb folder, cosine distance, vectors given by us."""

    def __init__(self, folder: Path, embedder: CachedEmbedder) -> None:
        chromadb = import_optional("chromadb", "chromadb")
        settings = chromadb.Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(path=str(folder), settings=settings)
        self._collection = self._client.create_collection(
            "turns", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )
        self._embedder = embedder

    def add(self, turns: Sequence[Turn]) -> None:
        """Add all turns by one call of the collection."""
        lines = [turn.line() for turn in turns]
        self._collection.add(
            ids=[turn.id for turn in turns],
            documents=lines,
            embeddings=self._embedder.embed_documents(lines),
            metadatas=[{"session_id": turn.session_id, "speaker": turn.speaker} for turn in turns],
        )

    def settle(self) -> None:
        """Nothing is pending: add returns when the turns can be found."""

    def search(self, query: str, limit: int) -> Sequence[str]:
        """Return the nearest turns."""
        found = self._collection.query(query_embeddings=[self._embedder.embed_query(query)], n_results=limit)
        return list(found["ids"][0])

    def close(self) -> None:
        """Close the client, and with it the files of the folder."""
        self._client.close()


class LangGraphSystem:
    """LangGraph's InMemoryStore with an index; what it holds ends with the process."""

    def __init__(self, embedder: CachedEmbedder) -> None:
        memory = import_optional("langgraph.store.memory", "langgraph")
        self._put = import_optional("langgraph.store.base", "langgraph").PutOp

        # The store tells queries from documents only by calling an Embeddings object.
        embeddings = import_optional("langchain_core.embeddings", "langgraph").Embeddings

        class Lookup(embeddings):  # type: ignore[misc, valid-type]  # known at run time only
            """The run's embedder in LangChain's form."""

            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                """Return a vector for each text."""
                return cast("list[list[float]]", embedder.embed_documents(texts).tolist())

            def embed_query(self, text: str) -> list[float]:
                """Return one vector."""
                return cast("list[float]", embedder.embed_query(text).tolist())

        self._store = memory.InMemoryStore(index={"dims": embedder.dimension, "embed": Lookup(), "fields": ["text"]})

    def add(self, turns: Sequence[Turn]) -> None:
        """Put all turns by one batch; a text that repeats goes into a batch of its own, as one batch refuses it."""
        rest = list(turns)
        while rest:
            first = {turn.line(): turn for turn in reversed(rest)}
            batch = [turn for turn in rest if first[turn.line()] is turn]
            self._store.batch([self._put(("turns",), turn.id, {"text": turn.line()}) for turn in batch])
            rest = [turn for turn in rest if first[turn.line()] is not turn]

    def settle(self) -> None:
        """Nothing is pending."""

    def search(self, query: str, limit: int) -> Sequence[str]:
        """Return the nearest turns."""
        return [item.key for item in self._store.search(("turns",), query=query, limit=limit)]

    def close(self) -> None:
        """Nothing is held open."""


def peer_contender(name: str, embedder: CachedEmbedder) -> Contender:
    """Return the peer called ``name``, one of ``PEERS``.

    Raises:
        InputError: there is no such peer.
        MissingExtra: its package is not installed.
    """
    if name not in PEERS:
        raise InputError(f"peers: {name!r} is none of {', '.join(PEERS)}", field="peers")
    return PEERS[name](embedder)


def _bm25(_: CachedEmbedder) -> Contender:
    return Contender("bm25", "plain BM25, in memory, no vectors", durable=False, open=lambda _: Bm25System())


def _chromadb(embedder: CachedEmbedder) -> Contender:
    label = f"{installed_version('chromadb')}, PersistentClient, cosine"
    return Contender("chromadb", label, durable=True, open=lambda folder: ChromaSystem(folder, embedder))


def _mem0(embedder: CachedEmbedder) -> Contender:
    label = f"{installed_version('mem0ai')}, infer=False, Qdrant in a folder, vectors only"
    return Contender("mem0", label, durable=True, open=lambda folder: Mem0System(folder, embedder))


def _langgraph(embedder: CachedEmbedder) -> Contender:
    label = f"{installed_version('langgraph')}, InMemoryStore"
    return Contender("langgraph", label, durable=False, open=lambda _: LangGraphSystem(embedder))


PEERS: Final[Mapping[str, Callable[[CachedEmbedder], Contender]]] = MappingProxyType(
    {"bm25": _bm25, "chromadb": _chromadb, "mem0": _mem0, "langgraph": _langgraph}
)
"""Name of a peer, as the command line takes it → what gives it."""
