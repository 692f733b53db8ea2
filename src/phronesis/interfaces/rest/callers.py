"""Who calls a route: what it declares as ``Reading``, ``Writing`` or ``Administering`` lets only those in."""

from typing import Annotated, Final

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from phronesis.core.keys import Role
from phronesis.errors import Unauthenticated
from phronesis.interfaces.admission import Admission, Caller
from phronesis.interfaces.rest.limiting import RateLimit

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


def admit(request: Request) -> Caller:
    """Give the caller of a request; what it calls too often is refused, and so is whoever tries keys that are none."""
    admission: Admission = request.app.state.admission
    limit: RateLimit = request.app.state.rate_limit
    address = request.client.host if request.client is not None else "nowhere"
    try:
        caller = admission.admit(bearer(request.headers.get("authorization")))
    except Unauthenticated:
        limit.take(address)
        raise
    limit.take(address if caller.key is None else caller.key.id)
    request.state.caller = caller
    return caller


def _reading(request: Request, _: Annotated[object, Depends(BEARER)]) -> Caller:
    return _with(request, Role.READ)


def _writing(request: Request, _: Annotated[object, Depends(BEARER)]) -> Caller:
    return _with(request, Role.WRITE)


def _administering(request: Request, _: Annotated[object, Depends(BEARER)]) -> Caller:
    return _with(request, Role.ADMIN)


def _with(request: Request, role: Role) -> Caller:
    caller = admit(request)
    caller.needs(role)
    return caller


Reading = Annotated[Caller, Depends(_reading)]
Writing = Annotated[Caller, Depends(_writing)]
Administering = Annotated[Caller, Depends(_administering)]
