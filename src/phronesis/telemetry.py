"""OpenTelemetry spans, where the process has loaded it: whoever wants spans sets up a provider before the first call.

Nothing is imported here, so that a process without OpenTelemetry pays a look into a dictionary. Names follow the
semantic conventions for generative AI 0.1 (open-telemetry/semantic-conventions-genai), whose status is "development".
"""

import inspect
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, Final, Literal, ParamSpec, Protocol, TypeVar

_API: Final = "opentelemetry.trace"
_SCOPE: Final = "phronesis"

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"

Value = str | int | float | bool | Sequence[str]


@dataclass(frozen=True, slots=True)
class Disclosure:
    """What spans say beyond names and numbers: the words of memories and queries, and ids of users."""

    content: bool = False
    users: bool = False


class Span:
    """A span that is being written."""

    def __init__(self, span: Any) -> None:
        self._span = span

    def set(self, **values: Value | None) -> None:
        """Set attributes, whose dots are written as two underscores; None leaves one out."""
        for name, value in values.items():
            if value is not None:
                self._span.set_attribute(name.replace("__", "."), value)


def is_traced() -> bool:
    """Return whether the process has loaded OpenTelemetry."""
    return _API in sys.modules


@contextmanager
def span(name: str, attributes: Mapping[str, Value], *, remote: bool = False) -> Iterator[Span | None]:
    """Write a span for the block; None where nothing is traced. An error's name is in it, its text is not.

    ``remote``: the block calls another process.
    """
    api: Any = sys.modules.get(_API)
    if api is None:
        yield None
        return
    kind = api.SpanKind.CLIENT if remote else api.SpanKind.INTERNAL
    started = api.get_tracer(_SCOPE).start_as_current_span(
        name, kind=kind, attributes=dict(attributes), record_exception=False, set_status_on_exception=False
    )
    with started as current:
        try:
            yield Span(current)
        except Exception as error:
            current.set_attribute("error.type", str(getattr(error, "code", type(error).__qualname__)))
            current.set_status(api.StatusCode.ERROR)
            raise


@contextmanager
def model_span(operation: str, model: str, *, max_tokens: int | None = None) -> Iterator[Span | None]:
    """Write a span for a call of a model, retries included. ``model`` is its gateway, the provider, and its name."""
    provider, _, name = model.partition("/")
    attributes: dict[str, Value] = {OPERATION: operation, PROVIDER: provider, "gen_ai.request.model": name}
    if max_tokens is not None:
        attributes["gen_ai.request.max_tokens"] = max_tokens
    with span(f"{operation} {name}", attributes, remote=True) as current:
        yield current


Operation = Literal["search_memory", "upsert_memory", "update_memory", "delete_memory"]
"""Operations of the semantic conventions. What is said may create, update or consolidate memories: an upsert."""

_QUERIES: Final = ("query", "user_message", "situation", "goal")
"""Parameters that hold what is searched for."""


class _Traceable(Protocol):
    """Verbs of a Memory."""

    _runtime: Any


_Self = TypeVar("_Self", bound=_Traceable)
_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def traced(
    operation: Operation, found: str | None = None
) -> Callable[[Callable[Concatenate[_Self, _Given], _Result]], Callable[Concatenate[_Self, _Given], _Result]]:
    """Write a span for each call of a verb, if the process is traced; ``found``: the result's member with its items."""

    def decorate(verb: Callable[Concatenate[_Self, _Given], _Result]) -> Callable[Concatenate[_Self, _Given], _Result]:
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


def _records(items: Any) -> Iterator[dict[str, Any]]:
    for one in items:
        item = getattr(one, "item", getattr(one, "event", one))
        record = {"id": getattr(item, "id", None), "content": getattr(item, "content", None)}
        score = getattr(one, "score", None)
        yield record if score is None else {**record, "score": score}
