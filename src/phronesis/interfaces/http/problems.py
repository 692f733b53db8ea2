"""Errors as RFC 9457 problem details (``application/problem+json``), with the codes of `phronesis.errors`."""

import json
import logging
import traceback
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from phronesis import errors

MEDIA_TYPE: Final = "application/problem+json"
STATUS_OF: Final[Mapping[type[errors.PhronesisError], HTTPStatus]] = {
    errors.PhronesisError: HTTPStatus.INTERNAL_SERVER_ERROR,
    errors.InputError: HTTPStatus.BAD_REQUEST,
    errors.TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    errors.NotFound: HTTPStatus.NOT_FOUND,
    errors.Conflict: HTTPStatus.CONFLICT,
    errors.AccessRefused: HTTPStatus.FORBIDDEN,
    errors.Unauthenticated: HTTPStatus.UNAUTHORIZED,
    errors.RateLimited: HTTPStatus.TOO_MANY_REQUESTS,
    errors.MissingExtra: HTTPStatus.NOT_IMPLEMENTED,
    errors.StorageError: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.IntegrityError: HTTPStatus.INTERNAL_SERVER_ERROR,
    errors.StorageRefused: HTTPStatus.INTERNAL_SERVER_ERROR,
    errors.ModelError: HTTPStatus.BAD_GATEWAY,
    errors.ModelUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.ModelBudgetSpent: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.IndexUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.FetchFailed: HTTPStatus.BAD_GATEWAY,
    errors.FetchRefused: HTTPStatus.BAD_REQUEST,
    errors.HandlerMissing: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.Closed: HTTPStatus.SERVICE_UNAVAILABLE,
}
"""Status of each error class; a class not listed has the status of its nearest listed base."""

_FRAMEWORK_ERRORS: Final = {
    HTTPStatus.NOT_FOUND: ("http.path", "there is nothing at this path; /docs lists what there is"),
    HTTPStatus.METHOD_NOT_ALLOWED: ("http.method", "this path does not take this method; the header Allow says which"),
    HTTPStatus.BAD_REQUEST: ("http.body", "the body cannot be read"),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: (errors.TooLarge.code, "the body is larger than this server takes"),
}
"""Code and message, by status, of errors that the framework raises before a verb is called."""

_SHOWN_MISTAKES: Final = 20

_FOR_PROGRAMS: Final = ("/api/", "/mcp", "/openapi.json", "/metrics")

ProblemPage = Callable[[Request, int, str, str], Response]
"""Renders a problem as a page for a browser, from status, code and message: ``app.state.problem_page``."""

logger = logging.getLogger("phronesis.server")


def status_of(error: errors.PhronesisError) -> HTTPStatus:
    """Return the HTTP status of an error."""
    return next(STATUS_OF[kind] for kind in type(error).__mro__ if kind in STATUS_OF)


def problem(
    request: Request,
    status: HTTPStatus,
    code: str,
    detail: str,
    *,
    field: str | None = None,
    details: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the problem response with the error and its remedy."""
    body = {
        "type": f"urn:phronesis:error:{code}",
        "title": status.phrase,
        "status": int(status),
        "detail": detail,
        "code": code,
        "field": field,
        "instance": request.url.path,
        "request_id": request.scope.get("state", {}).get("request_id"),
        "details": dict(details or {}),
    }
    page: ProblemPage | None = getattr(request.app.state, "problem_page", None)
    is_browser = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith(_FOR_PROGRAMS)
    if page is not None and is_browser:
        return page(request, status, code, detail)
    return Response(json.dumps(body).encode(), status, headers, media_type=MEDIA_TYPE)


def error_response(request: Request, error: errors.PhronesisError, status: HTTPStatus | None = None) -> Response:
    """Return the response for one of our errors; ``status`` overrides its own where a header decides it."""
    headers = retry_after_header(error)
    if isinstance(error, errors.Unauthenticated):
        headers["WWW-Authenticate"] = _challenge(request)
    return problem(
        request,
        status or status_of(error),
        error.code,
        error.message,
        field=error.field,
        details=error.details,
        headers=headers,
    )


def _challenge(request: Request) -> str:
    """Return the challenge of a request without a valid token; at /mcp it says where to get one (RFC 9728, 5.1)."""
    bearer, serving = 'Bearer realm="phronesis"', getattr(request.app.state, "serving", None)
    if request.url.path != "/mcp" or serving is None or serving.oauth is None:
        return bearer
    invalid = ', error="invalid_token"' if "authorization" in request.headers else ""
    return f'{bearer}{invalid}, resource_metadata="{serving.oauth.metadata_url}"'


def retry_after_header(error: errors.PhronesisError) -> dict[str, str]:
    """Return the Retry-After header for a transient error, else no header."""
    if isinstance(error, errors.RateLimited):
        return {"Retry-After": str(max(1, round(error.retry_after)))}
    return {"Retry-After": "1"} if isinstance(error, errors.StorageBusy) else {}


def answer_problems(app: FastAPI) -> None:
    """Install handlers that answer every error of an application's routes as a problem."""

    @app.exception_handler(errors.PhronesisError)
    def _answer_error(request: Request, error: errors.PhronesisError) -> Response:
        moved = isinstance(error, errors.VersionConflict) and "if-match" in request.headers
        return error_response(request, error, HTTPStatus.PRECONDITION_FAILED if moved else None)

    @app.exception_handler(RequestValidationError)
    def _form(request: Request, error: RequestValidationError) -> Response:
        mistakes = [_validation_message(one) for one in error.errors()[:_SHOWN_MISTAKES]]
        broken = [one["loc"][-1] for one in error.errors() if one["type"] == "json_invalid"]
        if broken:  # the position is a character offset
            mistakes = [{"field": "body", "message": f"no JSON at character {broken[0]}"}]
        first = mistakes[0]
        return problem(
            request,
            HTTPStatus.BAD_REQUEST if broken else HTTPStatus.UNPROCESSABLE_ENTITY,
            "http.body" if broken else errors.InputError.code,
            f"{first['field']}: {first['message']}",
            field=first["field"],
            details={"mistakes": mistakes},
        )

    app.add_exception_handler(HTTPException, framework_response)  # type: ignore[arg-type]  # of this class alone


def framework_response(request: Request, error: HTTPException) -> Response:
    """Return the response for an error raised by the framework."""
    status = HTTPStatus(error.status_code)
    code, detail = _FRAMEWORK_ERRORS.get(status, ("http.request", str(error.detail)))
    return problem(request, status, code, detail, headers=error.headers)


def unexpected_response(request: Request, error: Exception) -> Response:
    """Return the response for an unexpected error.

    Its message may quote stored text, so neither the caller nor the log gets it; the log has the error's type and
    place.
    """
    place = "".join(traceback.format_tb(error.__traceback__))
    logger.error("unforeseen %s at %s %s\n%s", type(error).__name__, request.method, request.url.path, place)
    return problem(
        request,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        errors.PhronesisError.code,
        "something went wrong here that is not your doing; the server's log has it under this request_id",
    )


def _validation_message(fault: Mapping[str, Any]) -> dict[str, str]:
    """Return one validation error of a body or parameter, without the value: it may be long, or a secret."""
    place = [str(part) for part in fault["loc"] if part not in {"body", "query", "path", "header"}]
    return {"field": ".".join(place) or "body", "message": str(fault["msg"]).removeprefix("Value error, ")}
