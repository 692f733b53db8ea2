"""Requests of verbs, without I/O: what is sent for a call, and the result that its answer holds."""

import functools
import inspect
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, Self, get_type_hints
from urllib.parse import quote

from phronesis.core.items import Item
from phronesis.core.results import ErasureCertificate
from phronesis.core.serialization import Records, encode
from phronesis.core.serialization import plain as plain_json
from phronesis.core.timestamps import isoformat
from phronesis.errors import InputError, NotFound
from phronesis.memory import Memory
from phronesis.memory.resources import Resources
from phronesis.wire import as_json, decode_record, decoded_item

BODY: Final = frozenset({"POST", "PATCH"})
"""Methods whose arguments are sent as a JSON body; the others use a query."""


@dataclass(frozen=True, slots=True)
class Route:
    """The route of a verb.

    ``path`` names arguments in braces, each one segment. ``renamed`` gives an argument another name; ``fixed`` is sent
    in addition to the arguments; ``whole`` is the argument that is the whole body; ``member`` is the member of the
    response that holds the result.
    """

    method: str
    path: str
    renamed: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    whole: str | None = None
    member: str | None = None


ROUTES: Final[dict[Callable[..., Any], Route]] = {}
"""The verbs that the server offers, as `Client` declares them. Those that need the store's machine are missing."""

QUEUEABLE: Final = frozenset(
    {Memory.add, Memory.commit_turn, Memory.ingest, Memory.feedback, Resources.ingest, Resources.ingest_source}
)
"""Writes whose result a caller can do without, so that they may wait in an outbox."""


_UPLOADED: Final = frozenset({"uri", "title", "user_id", "namespace"})


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request; ``path`` is relative to the API's root.

    ``repeatable``: it is idempotent. If not, it is repeated only if nothing was sent, or the server did nothing.
    """

    method: str
    path: str
    query: Mapping[str, Any] | None = None
    body: Any = None
    headers: Mapping[str, str] | None = None
    files: Mapping[str, Any] | None = None
    repeatable: bool = True

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of httpx's ``request`` beside method and URL."""
        given = {"params": self.query, "headers": self.headers}
        if self.files is not None:
            return given | {"data": self.body, "files": self.files}
        if self.body is None:
            return given
        headers = {**(self.headers or {}), "Content-Type": "application/json"}
        return given | {"headers": headers, "content": encode(self.body)}

    def to_json(self) -> str:
        """Return the request as JSON, from which `from_json` makes it again."""
        return encode(asdict(self)).decode()

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the request that `to_json` wrote."""
        return cls(**json.loads(text))


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a verb: its request, and what makes the verb's result of the answer.

    ``queueable``: the caller can do without the result. ``alone``: it may not overtake writes that wait. ``own_key``:
    the idempotency key was generated here.
    """

    method: Callable[..., Any]
    request: Request
    decode: Callable[[Any], Any]
    queueable: bool = False
    alone: bool = False
    own_key: bool = False

    def dated(self, now: datetime) -> Self:
        """Return the call with the time at which it was made, for one that is sent later.

        A call under the caller's own key stays as it is: the same key with another body would be a conflict.
        """
        if not self.own_key:
            return self
        at, body = now.isoformat(), dict(self.request.body)
        if self.method is Memory.commit_turn:
            body["turn_events"] = _dated_turn(body.get("turn_events"), at)
        elif self.method is Memory.ingest:
            rows = body["nei"] if isinstance(body.get("nei"), list) else [body.get("nei")]
            body["nei"] = [
                {**row, "occurred_at": at} if isinstance(row, dict) and row.get("occurred_at") is None else row
                for row in rows
            ]
        elif "occurred_at" in inspect.signature(self.method).parameters:
            body = {"occurred_at": at, **body}
        return replace(self, request=replace(self.request, body=body))


def _dated_turn(turn: Any, at: str) -> Any:
    """Return a turn whose messages and tool calls have a time."""
    if isinstance(turn, str):
        return [{"role": "user", "content": turn, "created_at": at}]
    if isinstance(turn, list):
        return [{"created_at": at, **one} if isinstance(one, dict) else one for one in turn]
    if not isinstance(turn, dict):
        return turn
    return {
        name: _dated_turn(value, at) if name in {"messages", "tool_calls"} and value else value
        for name, value in turn.items()
    }


def prepare_call(method: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call:
    """Return the call of a verb with these arguments; InputError for those that no server takes."""
    signature = _signature(method)
    given = dict(signature.bind(None, *args, **kwargs).arguments)
    del given["self"]
    own_key = "idempotency_key" in signature.parameters and given.get("idempotency_key") is None
    if own_key:  # makes retries idempotent
        given["idempotency_key"] = uuid.uuid4().hex
    if given.pop("actor", None) is not None:
        raise InputError("actor is the key's: phronesis serve keys create --actor …", field="actor")
    if method is Memory.get and given.get("id") is None and given.get("external_id") is not None:
        return _call_by_name(given)
    route, headers = ROUTES[method], _headers(given)
    given = {name: plain(value, field=name) for name, value in given.items() if value is not None}
    path = route.path.format(**{name: _part(name, given.pop(name)) for name in _places(route, given)})
    if "path" in given:
        return _call_with_file(method, given, headers)
    waits = {"wait": "false"} if given.pop("wait", True) is False else {}
    sent = {route.renamed.get(name, name): value for name, value in given.items()} | dict(route.fixed)
    if route.method in BODY:
        body = sent if route.whole is None else sent.pop(route.whole)
        query = waits if route.whole is None else _query(sent) | waits
        request = Request(route.method, path, query=query, body=body, headers=headers)
    else:
        request = Request(route.method, path, query=_query(sent) | waits, headers=headers)
    return Call(
        method,
        request,
        lambda answer: _result(method, answer if route.member is None else answer[route.member]),
        queueable=method in QUEUEABLE,
        own_key=own_key,
    )


def prepare_erasure(
    *, item_id: str | None, user_id: str | None, expected_version: int | None, reason: str | None
) -> Call:
    """Return the call that erases an item or a user; it has no idempotency key."""
    if (item_id is None) == (user_id is None):
        raise InputError("give either id or user_id", field="id")
    if expected_version is not None and item_id is None:
        raise InputError("expected_version is that of an item: give its id", field="expected_version")
    path = f"/memories/{_part('id', item_id)}" if item_id is not None else f"/users/{_part('user_id', user_id)}"
    query = ({"erase": "true"} if item_id is not None else {}) | ({} if reason is None else {"reason": reason})
    headers = _headers({"expected_version": expected_version})
    request = Request("DELETE", path, query=query, headers=headers, repeatable=False)
    return Call(Memory.erase, request, functools.partial(decode_record, ErasureCertificate), alone=True)


def _call_by_name(given: Mapping[str, Any]) -> Call:
    """Return the call for the item of an external id; a user's listing includes the shared namespace's items."""
    query = _query({name: plain(value, field=name) for name, value in given.items() if value is not None})

    def decode(answer: Any) -> Item:
        user_id, name = given.get("user_id"), given["external_id"]
        found = next((one for one in answer["items"] if one["user_id"] == user_id), None)
        if found is None:
            raise NotFound(f"no item has the external_id {name!r:.80} in this scope", field="external_id")
        return decoded_item(found)

    return Call(Memory.get, Request("GET", "/memories", query=query), decode)


def _call_with_file(method: Callable[..., Any], given: dict[str, Any], headers: dict[str, str]) -> Call:
    """Return the call that sends a file of this machine: the server reads no files of its own for a caller."""
    path = Path(str(given.pop("path"))).expanduser()
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"path: {path} cannot be read: {error.strerror or error}", field="path") from error
    decode = functools.partial(_result, method)
    if method is Resources.ingest_source:
        body = {"source_ref": path.name, **given, "text": content.decode("utf-8", "replace")}
        return Call(method, Request("POST", "/experiences", body=body, headers=headers), decode, queueable=True)
    stray = sorted(given.keys() - _UPLOADED)
    if stray:
        raise InputError(f"{stray[0]} does not go with a file that is sent; give its text", field=stray[0])
    files = {"file": (path.name, content)}
    return Call(method, Request("POST", "/resources/upload", body=given, files=files, headers=headers), decode)


def plain(value: Any, *, field: str) -> Any:
    """Return an argument as JSON: records as plain values, times as ISO 8601, durations in hours."""
    if isinstance(value, datetime):
        return isoformat(value) if value.tzinfo is not None else value.isoformat()
    if isinstance(value, timedelta):
        return value / timedelta(hours=1)
    return value if isinstance(value, Path) else plain_json(as_json(value), field=field)


@functools.cache
def _signature(method: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(method)


def _headers(given: dict[str, Any]) -> dict[str, str]:
    """Remove and return the arguments that are sent as headers."""
    out = {}
    if (key := given.pop("idempotency_key", None)) is not None:
        out["Idempotency-Key"] = header_text(str(key), field="idempotency_key")
    if (version := given.pop("expected_version", None)) is not None:
        out["If-Match"] = f'"{version}"'
    return out


def _places(route: Route, given: dict[str, Any]) -> list[str]:
    """Return the arguments that are part of the path; none of them may be empty."""
    names = [part[1:-1] for part in route.path.split("/") if part.startswith("{")]
    for name in names:
        if not str(given.get(name, "")).strip():
            raise InputError(f"{name} must not be empty", field=name)
    return names


def header_text(value: str, *, field: str) -> str:
    """Return a text that is sent in a header; InputError if none can hold it."""
    if not value.isascii() or not value.isprintable() or value != value.strip():
        raise InputError(f"{field} is sent in a header: give printable ASCII without spaces around it", field=field)
    return value


def _query(given: dict[str, Any]) -> dict[str, Any]:
    """Return arguments as a query: lists repeat their name, mappings are JSON."""
    return {
        name: json.dumps(value) if isinstance(value, dict) else _url_value(name, value) for name, value in given.items()
    }


def _url_value(name: str, value: Any) -> Any:
    """Return an argument that is sent in a URL; InputError for lone surrogates."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{name} holds lone surrogates, which no URL can hold", field=name) from error
    return value


def _part(name: str, value: Any) -> str:
    """Return an argument as a path segment; InputError if a URL cannot hold it."""
    if str(value) in {".", ".."}:
        raise InputError(
            f"{name} {str(value)!r} cannot go into a URL, where it means a folder; call Memory at the store itself",
            field=name,
        )
    return quote(_url_value(name, str(value)), safe="")


def _result(method: Callable[..., Any], answer: Any) -> Any:
    gives = get_type_hints(method)["return"]
    found = decoded_item(answer) if gives is Item else decode_record(gives, answer)
    return Records(found) if isinstance(found, list) else found
