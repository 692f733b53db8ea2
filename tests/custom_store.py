"""A Memory whose handlers a test chooses: joined as ``wiring`` does it, with another registry."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

from phronesis import wiring
from phronesis.core.changes import Changes
from phronesis.core.entries import Entry
from phronesis.core.ids import LaneName
from phronesis.engine.handler import Handler, Outcomes
from phronesis.engine.plugin import EngineSet, OpenPart
from phronesis.engine.writer import WriteResult
from phronesis.memory import Memory
from phronesis.store.lane_view import LaneView
from phronesis.wiring import find_engines

USER = LaneName("user", "alice")


@dataclass(frozen=True)
class _MoreHandlers(EngineSet):
    """Engines, with handlers that take the place of theirs."""

    given: Mapping[str, Handler]

    def handlers(self, opened: Iterable[OpenPart]) -> Mapping[str, Handler]:
        return {**super().handlers(opened), **self.given}


@contextmanager
def registered(handlers: Iterable[Handler]) -> Iterator[None]:
    """Have stores that are opened meanwhile know these handlers too; one of a verb that exists takes its place.

    Without folds: what a test's handler says of an item stands, whatever evidence it has.
    """
    given = {handler.verb: handler for handler in handlers}
    plain = tuple(replace(engine, folds={}) for engine in find_engines())
    with mock.patch.object(wiring, "find_engines", return_value=_MoreHandlers(plain, given)):
        yield


def open_with(url: str, handlers: Iterable[Handler], **options: Any) -> Memory:
    """Open a store without vectors whose registry has these handlers too."""
    with registered(handlers):
        return Memory.open(url, policy={"embedder": "none"}, **options)


def write(
    memory: Memory, verb: str, payload: Mapping[str, Any], *, wait: bool = True, key: str | None = None
) -> WriteResult:
    """Record an entry of any verb in alice's lane."""
    return memory.admin.components.writer.write(
        memory.admin.tenant, USER, verb=verb, payload=payload, actor="tester", wait=wait, idempotency_key=key
    )


def failing(apply: Callable[[LaneView, Entry, Outcomes], Changes], fails: Callable[[Entry], bool]) -> Any:
    """Give an ``apply`` that raises where ``fails`` says so, after it has read and before it gives anything."""

    def half(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
        changes = apply(view, entry, outcomes)
        if fails(entry):
            raise ZeroDivisionError(entry.payload)
        return changes

    return half
