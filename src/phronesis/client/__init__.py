"""Client: the verbs of Memory, executed by a server (``phronesis serve``).

Every verb repeats the parameters of Memory's verb, so that type checkers see them.
"""

import functools
import inspect
import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, get_type_hints
from urllib.parse import quote

from phronesis.client.transport import BODY, ROUTES, Route, Transport, plain
from phronesis.core.items import Item
from phronesis.core.record_display import Records
from phronesis.core.results import ErasureCertificate
from phronesis.errors import InputError, NotFound
from phronesis.memory import Memory
from phronesis.memory.admin import Admin
from phronesis.memory.entities import Entities
from phronesis.memory.items import Items
from phronesis.memory.quarantine import Quarantine
from phronesis.memory.reading import Sessions
from phronesis.memory.reasoning import Reasoning
from phronesis.memory.resources import Resources
from phronesis.memory.runs import Runs
from phronesis.memory.runtime import Verbs
from phronesis.memory.traits import Traits
from phronesis.wire import decode_record, decoded_item

__all__ = ["Client"]

P = ParamSpec("P")
R = TypeVar("R")
V_co = TypeVar("V_co", bound=Verbs, covariant=True)

_UPLOADED = frozenset({"uri", "title", "user_id", "namespace"})


class _Caller:
    """Sends calls of verbs along their routes."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def carry_out(self, method: Callable[..., Any], route: Route, given: dict[str, Any]) -> Any:
        """Send a verb's arguments along its route and return the verb's result."""
        if given.pop("actor", None) is not None:
            raise InputError("actor is the key's: phronesis serve keys create --actor …", field="actor")
        if method is Memory.get and given.get("id") is None and given.get("external_id") is not None:
            return self._get_named(given)
        headers = _headers(given)
        given = {name: plain(value) for name, value in given.items() if value is not None}
        path = route.path.format(**{name: _part(name, given.pop(name)) for name in _places(route, given)})
        if "path" in given:
            return self._upload(method, given, headers)
        waits = {"wait": "false"} if given.pop("wait", True) is False else {}
        sent = {route.renamed.get(name, name): value for name, value in given.items()} | dict(route.fixed)
        if route.method in BODY:
            body = sent if route.whole is None else sent.pop(route.whole)
            query = waits if route.whole is None else _query(sent) | waits
            answer = self.transport.send(route.method, path, query=query, body=body, headers=headers)
        else:
            answer = self.transport.send(route.method, path, query=_query(sent) | waits, headers=headers)
        return _result(method, answer if route.member is None else answer[route.member])

    def _get_named(self, given: dict[str, Any]) -> Item:
        """Return the item of an external id; the listing of a user includes the shared namespace's items."""
        query = {name: plain(value) for name, value in given.items() if value is not None}
        items = self.transport.send("GET", "/memories", query=query)["items"]
        user_id = given.get("user_id")
        found = next((one for one in items if one["user_id"] == user_id), None)
        if found is None:
            name = given["external_id"]
            raise NotFound(f"no item has the external_id {name!r:.80} in this scope", field="external_id")
        item: Item = decoded_item(found)
        return item

    def _upload(self, method: Callable[..., Any], given: dict[str, Any], headers: dict[str, str]) -> Any:
        """Upload a file of this machine: the server reads no files of its own for a caller."""
        path = Path(str(given.pop("path"))).expanduser()
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InputError(f"path: {path} cannot be read: {error.strerror or error}", field="path") from error
        if method is Resources.ingest_source:
            body = {"source_ref": path.name, **given, "text": content.decode("utf-8", "replace")}
            return _result(method, self.transport.send("POST", "/experiences", body=body, headers=headers))
        stray = sorted(given.keys() - _UPLOADED)
        if stray:
            raise InputError(f"{stray[0]} does not go with a file that is sent; give its text", field=stray[0])
        files = {"file": (path.name, content)}
        answer = self.transport.send("POST", "/resources/upload", body=given, files=files, headers=headers)
        return _result(method, answer)


class RemoteVerbs(Generic[V_co]):
    """Base class of ``Client`` and of its groups of verbs."""

    def __init__(self, caller: _Caller) -> None:
        self._caller = caller


def _verb(method: Callable[Concatenate[V_co, P], R]) -> Callable[Concatenate[RemoteVerbs[V_co], P], R]:
    route, signature = ROUTES[method], inspect.signature(method)
    keyed = "idempotency_key" in signature.parameters

    @functools.wraps(method)
    def call(self: RemoteVerbs[V_co], /, *args: P.args, **kwargs: P.kwargs) -> R:
        given = dict(signature.bind(self, *args, **kwargs).arguments)
        del given["self"]
        if keyed and given.get("idempotency_key") is None:  # makes retries idempotent
            given["idempotency_key"] = uuid.uuid4().hex
        answer: R = self._caller.carry_out(method, route, given)
        return answer

    return call


class RemoteItems(RemoteVerbs[Items]):
    """The group ``items``."""

    archive = _verb(Items.archive)
    unarchive = _verb(Items.unarchive)
    pin = _verb(Items.pin)
    unpin = _verb(Items.unpin)
    retract = _verb(Items.retract)
    delete_all = _verb(Items.delete_all)
    due = _verb(Items.due)
    preview = _verb(Items.preview)


class RemoteEntities(RemoteVerbs[Entities]):
    """The group ``entities``."""

    get = _verb(Entities.get)
    merge = _verb(Entities.merge)
    split = _verb(Entities.split)
    list = _verb(Entities.list)


class RemoteSessions(RemoteVerbs[Sessions]):
    """The group ``sessions``."""

    turns = _verb(Sessions.turns)
    list = _verb(Sessions.list)


class RemoteTraits(RemoteVerbs[Traits]):
    """The group ``traits``."""

    evidence = _verb(Traits.evidence)
    correct = _verb(Traits.correct)
    delete = _verb(Traits.delete)
    reflections = _verb(Traits.reflections)


class RemoteResources(RemoteVerbs[Resources]):
    """The group ``resources``."""

    ingest_source = _verb(Resources.ingest_source)
    get_source = _verb(Resources.get_source)
    ingest = _verb(Resources.ingest)
    get = _verb(Resources.get)
    get_episode = _verb(Resources.get_episode)


class RemoteReasoning(RemoteVerbs[Reasoning]):
    """The group ``reasoning``."""

    add = _verb(Reasoning.add)
    check = _verb(Reasoning.check)
    get = _verb(Reasoning.get)
    rebuild_index = _verb(Reasoning.rebuild_index)


class RemoteRuns(RemoteVerbs[Runs]):
    """The group ``runs``."""

    record = _verb(Runs.record)
    list = _verb(Runs.list)
    get = _verb(Runs.get)
    feedback = _verb(Runs.feedback)
    review = _verb(Runs.review)


class RemoteAdmin(RemoteVerbs[Admin]):
    """The group ``admin``."""

    jobs = _verb(Admin.jobs)
    retry = _verb(Admin.retry)
    overview = _verb(Admin.overview)
    users = _verb(Admin.users)
    contexts = _verb(Admin.contexts)
    context = _verb(Admin.context)
    requests = _verb(Admin.requests)
    latencies = _verb(Admin.latencies)
    unlearned = _verb(Admin.unlearned)


class RemoteQuarantine(RemoteVerbs[Quarantine]):
    """The group ``quarantine``."""

    list = _verb(Quarantine.list)
    release = _verb(Quarantine.release)
    reject = _verb(Quarantine.reject)


class Client(RemoteVerbs[Memory]):
    """A memory on a server: ``with Client("http://127.0.0.1:8765", api_key=…) as m: m.add(…)``. Thread-safe.

    Its verbs take and return what those of ``Memory`` do. The API key determines tenant, role and actor. Verbs that
    need the store's machine (rebuild, import, keys, doctor …) are not available.
    """

    def __init__(self, url: str, *, api_key: str | None = None, timeout: float = 30.0, retries: int = 3) -> None:
        """Create a client; nothing is sent before the first verb.

        Args:
            url: the server's address, such as ``http://127.0.0.1:8765``.
            api_key: a key, as ``phronesis serve keys create`` prints it; None if the server needs none.
            timeout: seconds to wait for a response.
            retries: how often a call is repeated when the connection breaks, or the server asks to wait. Writes are
                done once: each has an idempotency key, generated if none is given.

        Raises:
            InputError: ``url`` is not an address, or ``retries`` not a count.
            MissingExtra: the HTTP library is not installed.
        """
        caller = _Caller(Transport(url, api_key=api_key, timeout=timeout, retries=retries))
        super().__init__(caller)
        self.items = RemoteItems(caller)
        self.entities = RemoteEntities(caller)
        self.sessions = RemoteSessions(caller)
        self.traits = RemoteTraits(caller)
        self.resources = RemoteResources(caller)
        self.reasoning = RemoteReasoning(caller)
        self.runs = RemoteRuns(caller)
        self.admin = RemoteAdmin(caller)
        self.quarantine = RemoteQuarantine(caller)

    add = _verb(Memory.add)
    get_all = _verb(Memory.get_all)
    search = _verb(Memory.search)
    get = _verb(Memory.get)
    update = _verb(Memory.update)
    delete = _verb(Memory.delete)
    history = _verb(Memory.history)
    explain = _verb(Memory.explain)
    rollback = _verb(Memory.rollback)
    commit_turn = _verb(Memory.commit_turn)
    compose_context = _verb(Memory.compose_context)
    ingest = _verb(Memory.ingest)
    aggregate = _verb(Memory.aggregate)
    abstract = _verb(Memory.abstract)
    query = _verb(Memory.query)
    mem_search = _verb(Memory.mem_search)
    feedback = _verb(Memory.feedback)
    forget = _verb(Memory.forget)
    get_user_traits = _verb(Memory.get_user_traits)
    should_reflect = _verb(Memory.should_reflect)
    reflect = _verb(Memory.reflect)
    learn = _verb(Memory.learn)
    plan = _verb(Memory.plan)
    retrieve = _verb(Memory.retrieve)

    def erase(
        self,
        *,
        id: str | None = None,  # noqa: A002 - the contract's name
        user_id: str | None = None,
        expected_version: int | None = None,
        reason: str | None = None,
    ) -> ErasureCertificate:
        """Erase an item, or a user, permanently; needs an admin's key.

        InputError unless exactly one of ``id`` and ``user_id`` is given. Sessions can only be erased on the server's
        machine.
        """
        if (id is None) == (user_id is None):
            raise InputError("give either id or user_id", field="id")
        if expected_version is not None and id is None:
            raise InputError("expected_version is that of an item: give its id", field="expected_version")
        path = f"/memories/{_part('id', id)}" if id is not None else f"/users/{_part('user_id', user_id)}"
        asked = {"erase": "true"} if id is not None else {}
        query = asked if reason is None else {**asked, "reason": reason}
        answer = self._caller.transport.send(
            "DELETE", path, query=query, headers=_headers({"expected_version": expected_version}), repeatable=False
        )
        certificate: ErasureCertificate = decode_record(ErasureCertificate, answer)
        return certificate

    def close(self) -> None:
        """Close the connections."""
        self._caller.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def _headers(given: dict[str, Any]) -> dict[str, str]:
    """Remove and return the arguments that are sent as headers."""
    out = {}
    if (key := given.pop("idempotency_key", None)) is not None:
        out["Idempotency-Key"] = str(key)
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


def _query(given: dict[str, Any]) -> dict[str, Any]:
    """Return arguments as a query: lists repeat their name, mappings are JSON."""
    return {name: json.dumps(value) if isinstance(value, dict) else value for name, value in given.items()}


def _part(name: str, value: Any) -> str:
    """Return an argument as a path segment; InputError if a URL cannot hold it."""
    if str(value) in {".", ".."}:
        raise InputError(
            f"{name} {str(value)!r} cannot go into a URL, where it means a folder; call Memory at the store itself",
            field=name,
        )
    return quote(str(value), safe="")


def _result(method: Callable[..., Any], answer: Any) -> Any:
    gives = get_type_hints(method)["return"]
    found = decoded_item(answer) if gives is Item else decode_record(gives, answer)
    return Records(found) if isinstance(found, list) else found
