"""Chroma as an external index: a local folder or a server. Telemetry is off, and Chroma embeds nothing itself."""

import hashlib
import importlib.util
import re
import tempfile
import threading
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np

from phronesis.errors import IndexUnavailable, MissingExtra
from phronesis.index.projections import OutsideDocument, Where
from phronesis.store.dialects import Vector

BATCH: Final = 500
"""Documents in one call: a few megabytes with their vectors. Chroma's own limit is 5,461 (its ``max_batch_size``)."""

BEYOND: Final = ("Chroma's own files and log, until `chroma vacuum`, and their copies",)

_MARK: Final = 12
"""Length of the encoder's mark in a collection's name, in hexadecimal digits."""


class Chroma:
    """Collections named ``{collection}-{mark of the encoder}``: Chroma's vectors are of one dimension in each.

    Nothing is reached before the first call, and a call that fails has the next one begin anew.

    Args:
        path: the folder, or None; ``url``: the server, or None.
        collection: how the collections' names begin.
        token: sent to the server as a bearer token and as ``x-chroma-token``.
        timeout: seconds a call of the server may take.
    """

    name: Final = "chroma"
    beyond: Final = BEYOND

    def __init__(
        self, *, path: str | None, url: str | None, collection: str, token: str | None = None, timeout: float = 5.0
    ) -> None:
        if importlib.util.find_spec("chromadb") is None:
            raise MissingExtra(
                'reasoning.index: chromadb is not installed; pip install "phronesis[chroma]"', field="reasoning.index"
            )
        self._path = None if path is None else Path(path).expanduser().absolute()
        self._url, self._collection, self._timeout = url, collection, timeout
        self._headers = {"Authorization": f"Bearer {token}", "x-chroma-token": token} if token else {}
        self._client: Any = None
        self._sessions: list[Any] = []
        self._open: dict[str, ChromaSpace] = {}
        self._lock = threading.Lock()

    def space(self, model: str, dimension: int) -> "ChromaSpace":
        """Return the collection of a model."""
        name = f"{self._collection}-{hashlib.sha256(f'{model}/{dimension}'.encode()).hexdigest()[:_MARK]}"
        with self._lock:
            known = self._open.get(name)
        if known is not None:
            return known
        with self.reaching():
            found = self._connect().get_or_create_collection(
                name,
                embedding_function=None,
                configuration={"hnsw": {"space": "cosine"}},
                metadata={"model": model, "dimension": dimension},
            )
        with self._lock:
            return self._open.setdefault(name, ChromaSpace(self, found))

    def spaces(self) -> "Sequence[ChromaSpace]":
        """Return every collection with the configured prefix."""
        ours = re.compile(rf"{re.escape(self._collection)}-[0-9a-f]{{{_MARK}}}")
        with self.reaching():
            listed = self._connect().list_collections()
        return [ChromaSpace(self, found) for found in listed if ours.fullmatch(found.name)]

    def close(self) -> None:
        """Release the folder or the server."""
        with self._lock:
            client, sessions, self._client, self._sessions = self._client, self._sessions, None, []
            self._open.clear()
        if client is not None:
            client.close()
        for session in sessions:
            session.close()  # the client leaves its connections open

    @contextmanager
    def reaching(self) -> Iterator[None]:
        """Translate errors of Chroma, its server and the system, and reconnect at the next call."""
        import httpx  # noqa: PLC0415 - comes with the optional package
        from chromadb.errors import ChromaError  # noqa: PLC0415 - an optional package

        try:
            yield
        # It says ValueError when it does not reach a server, or what answers is none; AttributeError, in this process
        # from then on, when a folder could not be opened once.
        except (ChromaError, httpx.HTTPError, OSError, ValueError, AttributeError) as error:
            with self._lock:
                self._open.clear()
            where = self._path if self._url is None else self._url
            raise IndexUnavailable(
                f"chroma at {where} cannot be used ({type(error).__name__}: {error!s:.200}); see that it is there and"
                " may be written. What it is to be told waits"
            ) from error

    def _connect(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self._folder() if self._url is None else self._server(self._url)
            return self._client

    def _folder(self) -> Any:
        import chromadb  # noqa: PLC0415 - an optional package, a second to load

        folder = Path(str(self._path))
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):  # what Chroma could not open once it cannot open in this process again
            return chromadb.PersistentClient(path=str(folder), settings=_settings(chromadb))

    def _server(self, url: str) -> Any:
        import chromadb  # noqa: PLC0415 - an optional package, a second to load

        # Its client waits for ever, and asks already while it is made: whether there is a server is asked first.
        asked = urllib.request.Request(f"{url}/api/v2/heartbeat", headers=self._headers)  # noqa: S310 - http by policy
        with urllib.request.urlopen(asked, timeout=self._timeout) as answer:  # noqa: S310
            answer.read()
        parts = urlsplit(url)
        ssl = parts.scheme == "https"
        client: Any = chromadb.HttpClient(
            host=parts.hostname or "",
            port=parts.port or (443 if ssl else 8000),
            ssl=ssl,
            headers=dict(self._headers),
            settings=_settings(chromadb),
        )
        # There is no other way to give it a time-out, and to close what it opens.
        self._sessions = [part._server._session for part in (client, client._admin_client)]  # noqa: SLF001
        for session in self._sessions:
            session.timeout = self._timeout
        return client


class ChromaSpace:
    """One collection."""

    def __init__(self, index: Chroma, collection: Any) -> None:
        self._index = index
        self._collection = collection

    @property
    def id(self) -> str:
        """The collection's own id; a collection that is deleted and created again has another."""
        return str(self._collection.id)

    def put(self, documents: Sequence[OutsideDocument]) -> None:
        """Store documents, in batches."""
        for start in range(0, len(documents), BATCH):
            batch = documents[start : start + BATCH]
            with self._index.reaching():
                self._collection.upsert(
                    ids=[one.id for one in batch],
                    documents=[one.text for one in batch],
                    metadatas=[dict(one.facts) for one in batch],
                    embeddings=np.stack([np.asarray(one.vector, np.float32) for one in batch]),
                )

    def remove(self, ids: Sequence[str]) -> None:
        """Remove documents, in batches."""
        for start in range(0, len(ids), BATCH):
            with self._index.reaching():
                self._collection.delete(ids=list(ids[start : start + BATCH]))

    def clear(self, where: Where) -> None:
        """Delete all matching documents."""
        with self._index.reaching():
            self._collection.delete(where=_condition(where))

    def list_documents(self, where: Where, *, vectors: bool = False) -> Iterator[OutsideDocument]:
        """Return all matching documents, read in pages."""
        include = ["documents", "metadatas", *(["embeddings"] if vectors else [])]
        start = 0
        while True:
            with self._index.reaching():
                page = self._collection.get(where=_condition(where), limit=BATCH, offset=start, include=include)
            for n, one in enumerate(page["ids"]):
                vector = np.asarray(page["embeddings"][n], np.float32) if vectors else None
                yield OutsideDocument(one, page["documents"][n] or "", page["metadatas"][n] or {}, vector)
            if len(page["ids"]) < BATCH:
                return
            start += BATCH

    def nearest(self, vector: Vector, where: Where, *, limit: int) -> list[str]:
        """Return the nearest documents found by its HNSW graph."""
        with self._index.reaching():
            found = self._collection.query(
                query_embeddings=[np.asarray(vector, np.float32)], n_results=limit, where=_condition(where), include=[]
            )
        return list(found["ids"][0])


def _settings(chromadb: Any) -> Any:
    # No telemetry, and no .env file of whatever folder the process was started in.
    return chromadb.Settings(_env_file=None, anonymized_telemetry=False)


def _condition(where: Where) -> Mapping[str, Any]:
    """Return a condition in Chroma's syntax, which has no conjunction of one."""
    parts = [{name: values[0] if len(values) == 1 else {"$in": list(values)}} for name, values in where.items()]
    return parts[0] if len(parts) == 1 else {"$and": parts}
