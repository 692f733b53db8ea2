"""OpenTelemetry spans, where the process has loaded it: whoever wants spans sets up a provider before the first call.

Nothing is imported here, so that a process without OpenTelemetry pays a look into a dictionary. Names follow the
semantic conventions for generative AI 0.1 (open-telemetry/semantic-conventions-genai), whose status is "development".
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

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
