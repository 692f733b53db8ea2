"""A span for each call of a verb that reads or writes memories."""

import inspect
import json
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, Literal, ParamSpec, TypeVar

from phronesis.memory.runtime import Verbs
from phronesis.telemetry import OPERATION, PROVIDER, Disclosure, Value, is_traced, span

if TYPE_CHECKING:
    from collections.abc import Iterator

Operation = Literal["search_memory", "upsert_memory", "update_memory", "delete_memory"]
"""Operations of the semantic conventions. What is said may create, update or consolidate memories: an upsert."""

_QUERIES: Final = ("query", "user_message", "situation", "goal")
"""Parameters that hold what is searched for."""

_Self = TypeVar("_Self", bound=Verbs)
_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def traced(
    operation: Operation, found: str | None = None
) -> Callable[[Callable[Concatenate[_Self, _Given], _Result]], Callable[Concatenate[_Self, _Given], _Result]]:
    """Write a span for each call of a verb, if the process is traced; ``found``: the result's member with its items."""

    def decorate(
        verb: Callable[Concatenate[_Self, _Given], _Result],
    ) -> Callable[Concatenate[_Self, _Given], _Result]:
        @wraps(verb)
        def call(self: _Self, /, *given: _Given.args, **named: _Given.kwargs) -> _Result:
            if not is_traced():
                return verb(self, *given, **named)
            runtime = self._runtime
            shown = runtime.components.disclosure
            arguments = inspect.signature(verb).bind_partial(self, *given, **named).arguments
            attributes = _attributes(operation, verb.__name__, arguments, shown)
            with span(operation, {**attributes, "gen_ai.memory.store.id": runtime.tenant}) as current:
                result = verb(self, *given, **named)
                items = None if found is None else getattr(result, found, None)
                if current is not None and items is not None:
                    records = json.dumps(list(_records(items)), ensure_ascii=False) if shown.content else None
                    current.set(gen_ai__memory__record__count=len(items), gen_ai__memory__records=records)
                return result

        return call

    return decorate


def _attributes(operation: str, verb: str, arguments: Mapping[str, Any], shown: Disclosure) -> dict[str, Value]:
    """Return the attributes of a call that are known before it: with texts and users only as far as they are shown."""
    query = "\n".join(str(arguments[name]) for name in _QUERIES if arguments.get(name)) if shown.content else None
    known = {
        OPERATION: operation,
        PROVIDER: "phronesis",
        "phronesis.verb": verb,
        "gen_ai.conversation.id": arguments.get("session_id"),
        "gen_ai.memory.record.id": arguments.get("id"),
        "gen_ai.memory.query.text": query,
        "user.id": arguments.get("user_id") if shown.users else None,
    }
    return {name: value for name, value in known.items() if isinstance(value, str) and value}


def _records(items: Any) -> "Iterator[dict[str, Any]]":
    for one in items:
        item = getattr(one, "item", getattr(one, "event", one))
        record = {"id": getattr(item, "id", None), "content": getattr(item, "content", None)}
        score = getattr(one, "score", None)
        yield record if score is None else {**record, "score": score}
