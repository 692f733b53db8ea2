"""Dependencies of routes: the caller and its role, ids in paths, idempotency keys and versions of writes; uploads."""

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import unquote

from fastapi import Depends, Header, Query, Request, UploadFile
from fastapi.concurrency import run_in_threadpool
from fastapi.security import HTTPBearer
from starlette.convertors import Convertor, register_url_convertor
from starlette.types import ASGIApp, Receive, Scope, Send

from phronesis.core.api_keys import Role
from phronesis.errors import InputError, Unauthenticated
from phronesis.interfaces.authentication import Authenticator, Caller
from phronesis.interfaces.http import PREFIX
from phronesis.memory import Memory
from phronesis.resources.documents import IngestedResource

BEARER: Final = HTTPBearer(
    auto_error=False, bearerFormat="phr_…", description="An API key, as `phronesis serve keys create` prints it."
)
"""Documents the authentication in OpenAPI; the header itself is parsed here, with our own errors."""


def bearer(header: str | None) -> str | None:
    """Return the token of an ``Authorization`` header; Unauthenticated for another scheme."""
    if header is None:
        return None
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated("Authorization must be 'Bearer' and an API key", field="Authorization")
    return token.strip()


def address_of(request: Request) -> str:
    """Return the address under which calls without a key are counted."""
    return request.client.host if request.client is not None else "nowhere"


async def authenticate(request: Request, *, oauth: bool = False) -> Caller:
    """Return the caller of a request; too many calls are refused, and so are too many invalid keys.

    A thread is used only if the store must be asked: it costs as much as many calls.
    """
    admission: Authenticator = request.app.state.admission
    try:
        token = bearer(request.headers.get("authorization"))
        caller = admission.recent(token, oauth=oauth)
        if caller is None:
            caller = await run_in_threadpool(admission.authenticate, token, oauth=oauth)
    except Unauthenticated:
        admission.count(None, address_of(request))
        raise
    admission.count(caller, address_of(request))
    request.state.caller = caller
    return caller


@dataclass(frozen=True, slots=True)
class AuthenticatedApp:
    """An application at ``path`` behind authentication and the rate limit, for every request."""

    path: str
    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        scope["route"] = self  # route name for the log and the metrics, also of refused requests
        await authenticate(Request(scope, receive), oauth=True)
        await self.app(scope, receive, send)


def _caller_with(role: Role) -> Any:
    async def require(request: Request, _: Annotated[object, Depends(BEARER)]) -> Caller:
        caller = await authenticate(request)
        caller.require_role(role)
        return caller

    return Depends(require)


Reading = Annotated[Caller, _caller_with(Role.READ)]
Writing = Annotated[Caller, _caller_with(Role.WRITE)]
Administering = Annotated[Caller, _caller_with(Role.ADMIN)]


# Paths with ids: an id may contain a slash, written ``%2F``, and still is one segment of the path.


class Segment(Convertor[str]):
    """One segment of a path, as sent by the caller."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        """Return the text that a segment encodes."""
        return value.replace("%2F", "/").replace("%25", "%")

    def to_string(self, value: str) -> str:
        """Return the segment that encodes a text."""
        return value.replace("%", "%25").replace("/", "%2F")


_SEGMENT: Final = Segment()
register_url_convertor("segment", _SEGMENT)

RUN: Final = "/runs/{run_id:segment}"
USER: Final = "/users/{user_id:segment}"


def segment_path(scope: Scope) -> str:
    """Return the path of a request, in which only slashes separate segments."""
    path: str = scope["path"]
    raw: bytes = scope.get("raw_path") or b""
    if not path.startswith(f"{PREFIX}/"):
        return path
    segments = [unquote(one) for one in raw.decode("latin-1").split("/")]
    if "/".join(segments) != path:  # absent, or the path was rewritten by an outer layer
        segments = path.split("/")
    return "/".join(map(_SEGMENT.to_string, segments))


# Parameters of every write beside its body: the idempotency key, whether to wait, and the expected version.

Key = Annotated[
    str | None,
    Header(alias="Idempotency-Key", max_length=256, description="The same key and body again: the same result, once."),
]
Match = Annotated[
    str | None, Header(alias="If-Match", max_length=64, description="The item's ETag; another version is a 412.")
]
_TAG: Final = re.compile(r'"?(\d{1,9})"?')


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options of a write."""

    idempotency_key: str | None
    wait: bool

    def by(self, caller: Caller) -> dict[str, Any]:
        """Return the arguments common to all writing verbs."""
        return {"actor": caller.actor, "idempotency_key": self.idempotency_key, "wait": self.wait}


async def _write_options(
    idempotency_key: Key = None,
    wait: Annotated[bool, Query(description="false: stored at once, interpreted later.")] = True,
) -> WriteOptions:
    return WriteOptions(idempotency_key, wait)


Written = Annotated[WriteOptions, Depends(_write_options)]


def version_of(tag: str | None) -> int | None:
    """Return the version in an If-Match header; None if it is absent, or ``*``."""
    if tag is None or tag.strip() == "*":
        return None
    found = _TAG.fullmatch(tag.strip().removeprefix("W/"))
    if found is None:
        raise InputError('If-Match must be an ETag as it came, such as "3"', field="If-Match")
    return int(found[1])


def etag(version: int) -> dict[str, str]:
    """Return the ETag header of an item's version."""
    return {"ETag": f'"{version}"'}


# Uploaded files, over HTTP and on the pages.

_ENDING: Final = re.compile(r"\.[A-Za-z0-9]{1,16}")
"""A file extension that may select a reader. Any other is dropped; a long one would exceed the name limit of most file
systems, which is in bytes.
"""

MAX_NAME: Final = 200
"""Maximum characters of an uploaded file's name, the last ones: they include its extension."""


def ingest_upload(
    memory: Memory, file: UploadFile, *, uri: str | None, title: str | None, **more: Any
) -> IngestedResource:
    """Ingest an uploaded file; readers examine its extension and content, as for a file on disk.

    A name given again is a new version of the same document, as with a file that is ingested by path.
    """
    name = Path(file.filename or "").name[-MAX_NAME:]
    if not name:
        raise InputError("the file needs a name: its ending says how it is read", field="file")
    most = memory.admin.components.documents.max_bytes
    body = file.file.read(most + 1)
    if len(body) > most:
        raise InputError(
            f"file: it has more than resources.max_bytes ({most:,}); split it, or raise the limit", field="file"
        )
    ending = Path(name).suffix
    with tempfile.TemporaryDirectory(prefix="phronesis-upload-") as folder:
        path = Path(folder, f"upload{ending if _ENDING.fullmatch(ending) else ''}")
        path.write_bytes(body)
        return memory.resources.ingest(path=path, uri=uri or f"upload:{name}", title=title or name, **more)
