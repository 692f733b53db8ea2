"""Who calls a route: what it declares as ``Reading``, ``Writing`` or ``Administering`` lets only those in."""

from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.security import HTTPBearer
from starlette.types import ASGIApp, Receive, Scope, Send

from phronesis.core.keys import Role
from phronesis.errors import Unauthenticated
from phronesis.interfaces.admission import Admission, Caller

BEARER: Final = HTTPBearer(
    auto_error=False, bearerFormat="phr_…", description="An API key, as `phronesis keys create` prints it."
)
"""Says in the OpenAPI document how a caller names itself; the header is read here, with our own errors."""


def bearer(header: str | None) -> str | None:
    """Give the token of an ``Authorization`` header; Unauthenticated for another scheme."""
    if header is None:
        return None
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated("Authorization must be 'Bearer' and an API key", field="Authorization")
    return token.strip()


def address_of(request: Request) -> str:
    """Give whom calls without a key are counted under."""
    return request.client.host if request.client is not None else "nowhere"


async def admit(request: Request) -> Caller:
    """Give the caller of a request; what it calls too often is refused, and so is whoever tries keys that are none.

    A thread is only taken where the store has to be asked: that costs as much as many a call.
    """
    admission: Admission = request.app.state.admission
    try:
        token = bearer(request.headers.get("authorization"))
        caller = admission.recent(token)
        if caller is None:
            caller = await run_in_threadpool(admission.admit, token)
    except Unauthenticated:
        admission.count(None, address_of(request))
        raise
    admission.count(caller, address_of(request))
    request.state.caller = caller
    return caller


@dataclass(frozen=True, slots=True)
class Admitted:
    """An application at ``path`` that only those reach who are let in and do not call too often, whatever they ask."""

    path: str
    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        scope["route"] = self  # what the log and the counts name, of those who are refused too
        await admit(Request(scope, receive))
        await self.app(scope, receive, send)


async def _reading(request: Request, _: Annotated[object, Depends(BEARER)]) -> Caller:
    return await _with(request, Role.READ)


async def _writing(request: Request, _: Annotated[object, Depends(BEARER)]) -> Caller:
    return await _with(request, Role.WRITE)


async def _administering(request: Request, _: Annotated[object, Depends(BEARER)]) -> Caller:
    return await _with(request, Role.ADMIN)


async def _with(request: Request, role: Role) -> Caller:
    caller = await admit(request)
    caller.needs(role)
    return caller


Reading = Annotated[Caller, Depends(_reading)]
Writing = Annotated[Caller, Depends(_writing)]
Administering = Annotated[Caller, Depends(_administering)]
