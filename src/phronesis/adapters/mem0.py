"""mem0's ``Memory`` and ``AsyncMemory`` over Phronesis: ``from phronesis.adapters.mem0 import Memory``.

The verbs, their arguments and the shapes of their results are mem0's (2.2); nothing of mem0 is imported.
"""

import asyncio
import functools
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar

import phronesis.memory
from phronesis.adapters import mem0_conversion
from phronesis.adapters.mem0_conversion import EXPIRES, KINDS, NAMES, drop_ids, expiry, filters_of, parse_call_scope
from phronesis.core.items import Item
from phronesis.errors import InputError, NotFound, PhronesisError

_LOG: Final = logging.getLogger(__name__)
_OWN: Final = frozenset({"phronesis"})
_PROCEDURE: Final = "procedural_memory"
_UNSET: Final = object()
_PAGE: Final = 1_000


class Memory:
    """A replacement for mem0's class, with Phronesis' log, evidence and history.

    Memories of a user are in that user's lane; those of an agent or a run alone in the shared ``namespace``. A message
    is kept verbatim as a memory, in addition to the facts extracted from it. Deleting archives: nothing is lost before
    ``phronesis delete --erase``. Extraction uses a model if ``brain.yml`` names one, else rules.
    """

    def __init__(
        self, config: Mapping[str, Any] | None = None, *, memory: phronesis.memory.Memory | None = None
    ) -> None:
        """Open a store, or use an open one.

        ``config`` may have ``{"phronesis": {"url", "policy", "tenant", "namespace"}}``; mem0's other sections (llm,
        embedder, vector_store …) are ignored, and the log says so.
        """
        given = dict(config or {})
        without_effect = sorted(set(given) - _OWN)
        if without_effect:
            _LOG.warning("of mem0's configuration %s has no effect: see docs/how-to/mem0.md", ", ".join(without_effect))
        own = dict(given.get("phronesis") or {})
        self._namespace = str(own.pop("namespace", "mem0"))
        self._owner = memory is None
        self.phronesis = memory or phronesis.memory.Memory.open(**own)

    @classmethod
    def from_config(cls, config_dict: dict[str, Any]) -> "Memory":
        """Open a store by a configuration."""
        return cls(config_dict)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store that this opened; one that was passed in stays open."""
        if self._owner:
            self.phronesis.close()

    def add(
        self,
        messages: Any,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        timestamp: Any | None = None,
        expiration_date: Any | None = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
    ) -> dict[str, Any]:
        """Remember a text, a message or a list of messages; return ``{"results": [{id, memory, event}, …]}``.

        With ``infer``, facts extracted from them become memories too. ``memory_type="procedural_memory"`` with an agent
        keeps the text as a procedure. ``timestamp`` is when it was said. ``prompt`` has no effect: prompts are the
        policy's.
        """
        of = parse_call_scope({"user_id": user_id, "agent_id": agent_id, "run_id": run_id}, self._namespace)
        if memory_type not in (None, _PROCEDURE):
            raise InputError(f"memory_type must be {_PROCEDURE} or left out", field="memory_type")
        if prompt is not None:
            _LOG.warning("prompt has no effect: what is extracted is a matter of the policy and docs/memory-types.md")
        kept = {**drop_ids(metadata), EXPIRES: expiry(expiration_date)}
        kept = {name: value for name, value in kept.items() if value is not None}
        said = _messages(messages)
        if not said:
            return {"results": []}
        if memory_type == _PROCEDURE and agent_id is not None:
            text = "\n".join(str(message.get("content") or "") for message in said)
            added = self.phronesis.add(text, kind="procedure", metadata=kept, occurred_at=timestamp, **of.writing)
        else:
            added = self.phronesis.add(said, metadata=kept, occurred_at=timestamp, infer=infer, **of.writing)
        self._make_findable()
        return {"results": list(mem0_conversion.events_of(added, verbatim=not infer))}

    def get(self, memory_id: str) -> dict[str, Any] | None:
        """Return a memory; None if there is none, or it was deleted."""
        with suppress(NotFound, InputError):
            item = self.phronesis.get(memory_id)
            return mem0_conversion.search_result(item, None) if item.live else None
        return None

    def get_all(
        self, /, *, filters: dict[str, Any] | None = None, top_k: int = 20, show_expired: bool = False, **kwargs: Any
    ) -> dict[str, Any]:
        """List memories, newest first. ``filters`` name at least one of user_id, agent_id, run_id.

        The arguments of mem0 1.x are accepted too: ``user_id``, ``agent_id``, ``run_id`` and ``limit``.
        """
        asked, most = _older(filters, top_k, kwargs)
        if not most:
            return {"results": []}
        found = self.phronesis.get_all(**self._search_arguments(asked, show_expired=show_expired), limit=most)
        return {"results": [mem0_conversion.to_mem0_memory(item) for item in found]}

    def search(
        self,
        /,
        query: str,
        *,
        top_k: int = 20,
        filters: dict[str, Any] | None = None,
        threshold: float | None = 0.1,
        rerank: bool = False,
        explain: bool = False,
        show_expired: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Find memories, best first, each with a ``score`` of 0 to 1: its share of the best one's score.

        ``threshold`` drops lower scores. ``rerank`` has no effect: a reranker is used if the policy names one. The
        arguments of mem0 1.x are accepted too, as in ``get_all``.
        """
        if kwargs.pop("reference_date", None) is not None:
            raise InputError(
                "reference_date is not supported: Phronesis has as_of and valid_at", field="reference_date"
            )
        if rerank:
            _LOG.warning("rerank has no effect: name a reranker in the policy")
        if threshold is not None and not 0 <= threshold <= 1:
            raise InputError(f"Invalid threshold: {threshold}. Must be between 0 and 1 (inclusive).", field="threshold")
        asked, most = _older(filters, top_k, kwargs)
        if not most:
            return {"results": []}
        found = self.phronesis.search(
            query, **self._search_arguments(asked, show_expired=show_expired), limit=most, explain=explain
        )
        results = []
        for one, score in zip(found, _shares([one.score for one in found]), strict=True):
            if score >= (0.0 if threshold is None else threshold):
                shown = mem0_conversion.search_result(one.item, score)
                results.append({**shown, "score_details": dict(one.why or {})} if explain else shown)
        return {"results": results}

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: dict[str, Any] | None = None,
        expiration_date: Any = _UNSET,
        data: str | None = None,
    ) -> dict[str, str]:
        """Change a memory's text or metadata (merged); its history keeps the old.

        ``data`` is the older name of ``text``.
        """
        words = data if text is None else text
        changed = None if metadata is None else drop_ids(metadata)
        if expiration_date is not _UNSET:
            changed = {**(changed or {}), EXPIRES: expiry(expiration_date)}
        if words is None and changed is None:
            raise InputError("At least one of text, metadata, or expiration_date must be provided.", field="text")
        self.phronesis.update(self._get_live(memory_id).id, content=words, metadata=changed)
        self._make_findable()
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        """Archive a memory."""
        self.phronesis.delete(self._get_live(memory_id).id)
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> dict[str, str]:
        """Archive all memories that match the given user, agent and run."""
        of = parse_call_scope({"user_id": user_id, "agent_id": agent_id, "run_id": run_id}, self._namespace)
        if of.user_id is not None:
            with suppress(NotFound):  # nothing was ever stored for them
                self.phronesis.items.delete_all(user_id=of.user_id, agent_id=of.agent_id, run_id=of.run_id)
        else:
            self._delete_items(of.reading)
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """Return the changes of a memory, oldest first; ``Memory.rollback`` takes the ``id`` of each."""
        try:
            item = self.phronesis.get(memory_id)
        except (NotFound, InputError):
            return []
        return list(mem0_conversion.changes_of(item, self.phronesis.history(item.id)))

    def reset(self) -> None:
        """Archive all memories of the tenant."""
        self._delete_items({"across": "tenant"})

    def chat(self, query: str) -> None:
        """Raise NotImplementedError, as mem0 does."""
        raise NotImplementedError("Chat function not implemented yet.")

    def _search_arguments(self, filters: Mapping[str, Any], *, show_expired: bool) -> dict[str, Any]:
        of = parse_call_scope(filters, self._namespace)
        today = self.phronesis.admin.components.clock().date()
        wanted = filters_of(filters, show_expired=show_expired, today=today)
        return {**of.reading, "kinds": KINDS, "filters": wanted}

    def _make_findable(self) -> None:
        """Make the vectors now: mem0's users expect an added memory to be found at once, by similarity too."""
        try:
            self.phronesis.flush()
        except PhronesisError as error:  # the memory is in the log, and found by its words
            _LOG.warning("vectors are made later: %s", error.message)

    def _delete_items(self, scope: Mapping[str, Any]) -> None:
        cursor = None
        while True:  # by cursor: an item stays listed while its deletion is pending
            page = self.phronesis.get_all(**scope, kinds=KINDS, limit=_PAGE, cursor=cursor)
            for item in page:
                self.phronesis.delete(item.id)
            cursor = page.next_cursor
            if cursor is None:
                return

    def _get_live(self, memory_id: str) -> Item:
        with suppress(NotFound, InputError):
            item = self.phronesis.get(memory_id)
            if item.live:
                return item
        raise InputError(f"Memory with id {memory_id} not found. Please provide a valid 'memory_id'", field="memory_id")


def _messages(given: Any) -> list[dict[str, Any]]:
    """Return the messages of a text, one message or several; empty ones are skipped, as in mem0."""
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    members = [given] if isinstance(given, Mapping) else given
    if not isinstance(members, list):
        raise InputError("messages must be str, dict, or list[dict]", field="messages")
    spoken = (one for one in members if isinstance(one, Mapping) and one.get("role") not in (None, "system"))
    return [dict(one) for one in spoken if one.get("content")]


def _shares(scores: Sequence[float]) -> list[float]:
    """Return each score as a share of the range from 0, or from the lowest if that is below 0, to the best."""
    low, best = min([0.0, *scores]), max(scores, default=0.0)
    return [(score - low) / (best - low) if best > low else 1.0 for score in scores]


def _older(filters: Mapping[str, Any] | None, top_k: int, older: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """Return filters and result count, merged with mem0 1.x arguments."""
    unknown = set(older) - {*NAMES, "limit"}
    if unknown:
        raise TypeError(f"unexpected arguments: {', '.join(sorted(unknown))}")
    ids = {name: older[name] for name in NAMES if older.get(name) is not None}
    most = older.get("limit", top_k)
    if not isinstance(most, int) or isinstance(most, bool) or most < 0:
        raise InputError(f"Invalid top_k: {most!r:.40}. Must be a non-negative integer.", field="top_k")
    return {**(filters or {}), **ids}, most


# mem0's ``AsyncMemory``: the verbs of ``Memory`` as coroutines, each on a thread.

P = ParamSpec("P")
R = TypeVar("R")


def _verb(
    method: Callable[Concatenate[Memory, P], R],
) -> Callable[Concatenate["AsyncMemory", P], Coroutine[Any, Any, R]]:
    @functools.wraps(method)
    async def call(self: "AsyncMemory", /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(method, self.memory, *args, **kwargs)

    return call


class AsyncMemory:
    """The verbs of ``Memory`` as coroutines. The constructor opens the store and blocks, as does ``close``."""

    def __init__(self, config: dict[str, Any] | None = None, *, memory: phronesis.memory.Memory | None = None) -> None:
        self.memory = Memory(config, memory=memory)

    @classmethod
    def from_config(cls, config_dict: dict[str, Any]) -> "AsyncMemory":
        """Open a store by a configuration."""
        return cls(config_dict)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Close the store that this opened; one that was passed in stays open."""
        self.memory.close()

    add = _verb(Memory.add)
    chat = _verb(Memory.chat)
    delete = _verb(Memory.delete)
    delete_all = _verb(Memory.delete_all)
    get = _verb(Memory.get)
    get_all = _verb(Memory.get_all)
    history = _verb(Memory.history)
    reset = _verb(Memory.reset)
    search = _verb(Memory.search)
    update = _verb(Memory.update)
