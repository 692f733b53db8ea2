"""Phronesis as it is measured: through its public API, on SQLite in a file."""

import math
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Final, Literal, cast

from phronesis import Memory
from phronesis.errors import InputError
from phronesis.index.tokens import tokenize
from phronesis_benchmarks.cached_embedder import CachedEmbedder
from phronesis_benchmarks.datasets import Turn
from phronesis_benchmarks.metrics import distinct
from phronesis_benchmarks.optional import import_optional, installed_version
from phronesis_benchmarks.runner import Contender

Verb = Literal["add", "commit_turn"]
"""The two verbs for conversations."""

_TENANT: Final = "bench"
BENCH_SCOPE: Final[Mapping[str, Any]] = {"user_id": "bench"}
"""The one user that everything is written and searched as."""


def fill(memory: Memory, turns: Sequence[Turn]) -> None:
    """Commit turns of one session as one turn."""
    messages = [_message(turn) for turn in turns]
    memory.commit_turn(turns[0].session_id, {"messages": messages}, **BENCH_SCOPE)


class PhronesisSystem:
    """One user's lane, written by either of the two verbs for conversations."""

    def __init__(self, folder: Path, embedder: CachedEmbedder, *, verb: Verb, wait: bool = True) -> None:
        self._memory = Memory.open(f"sqlite:///{folder / 'memory.db'}", tenant=_TENANT, embedder=embedder)
        self._verb = verb
        self._wait = wait

    def add(self, turns: Sequence[Turn]) -> None:
        """Take in turns of one session by one call of the verb."""
        session_id = turns[0].session_id
        messages = [_message(turn) for turn in turns]
        if self._verb == "add":
            self._memory.add(messages, **BENCH_SCOPE, session_id=session_id, infer=False, wait=self._wait)
        else:
            self._memory.commit_turn(session_id, {"messages": messages}, **BENCH_SCOPE, wait=self._wait)

    def settle(self) -> None:
        """Wait for pending entries and vectors."""
        self._memory.flush()

    def search(self, query: str, limit: int) -> Sequence[str]:
        """Return the messages that the evidence comes from, each at its best rank."""
        found = self._memory.search(query, **BENCH_SCOPE, limit=limit)
        cited = (evidence.sources[0].message_id for evidence in found if evidence.sources)
        return distinct(message_id for message_id in cited if message_id)

    def close(self) -> None:
        """Close the memory."""
        self._memory.close()


def phronesis_contender(embedder: CachedEmbedder, *, verb: Verb, wait: bool = True) -> Contender:
    """Return Phronesis with one of its two verbs for conversations; ``embedder`` makes its vectors.

    Without ``wait`` a call returns when its entry is on disk, and the entry is interpreted after that.
    """
    options = [*(["infer=False"] if verb == "add" else []), *([] if wait else ["wait=False"])]
    called = f"{verb}({', '.join(options)})" if options else verb
    return Contender(
        f"phronesis-{verb}" if wait else f"phronesis-{verb}-later",
        f"{installed_version('phronesis')}, {called}, SQLite",
        durable=True,
        open=lambda folder: PhronesisSystem(folder, embedder, verb=verb, wait=wait),
    )


def _message(turn: Turn) -> dict[str, Any]:
    message = {"id": turn.id, "role": turn.role, "name": turn.speaker, "content": turn.text}
    if turn.occurred_at:
        message["created_at"] = turn.occurred_at.isoformat()
    return message


_K1: Final = 1.2
_B: Final = 0.75


class Bm25System:
    """Robertson and Zaragoza's BM25 (2009) with idf ln(1 + (N - df + .5) / (df + .5)), over "speaker: text".

    The tokenizer is the one of the product; nothing else of the product is used. Nothing is written to disk.
    """

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._lengths: list[int] = []
        self._postings: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)

    def add(self, turns: Sequence[Turn]) -> None:
        """Index the turns."""
        for turn in turns:
            counts = Counter(tokenize(turn.line()))
            for term, count in counts.items():
                self._postings[term].append((len(self._ids), count))
            self._ids.append(turn.id)
            self._lengths.append(counts.total())

    def settle(self) -> None:
        """Nothing is pending."""

    def search(self, query: str, limit: int) -> Sequence[str]:
        """Return the turns that share a term with the query; equal scores in the order they were added."""
        total = len(self._ids)
        average = sum(self._lengths) / total if total else 1.0
        scores: defaultdict[int, float] = defaultdict(float)
        for term, asked in Counter(tokenize(query)).items():
            postings = self._postings.get(term, [])
            weight = asked * math.log(1 + (total - len(postings) + 0.5) / (len(postings) + 0.5))
            for row, count in postings:
                norm = _K1 * (1 - _B + _B * self._lengths[row] / average)
                scores[row] += weight * count / (count + norm)
        best = sorted(scores, key=lambda row: (-scores[row], row))[:limit]
        return [self._ids[row] for row in best]

    def close(self) -> None:
        """Nothing is held open."""


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
