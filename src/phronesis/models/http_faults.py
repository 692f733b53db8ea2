"""What a server's refusals, failures and unreadable answers are called here. Nothing that a server wrote is quoted."""

import email.utils
import json
import math
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

from phronesis.errors import AnswerRejected, ModelError, ModelRefused, ModelUnavailable

_PASSING: Final = frozenset({408, 409, 425, 429})
"""Statuses below 500 after which the same call may succeed (RFC 9110, 8470 and 6585; 409 as OpenAI's clients do)."""
_NEVER_THERE: Final = frozenset({501, 505})
"""Statuses of a server that lacks what was asked for, and will the next time (RFC 9110)."""
_REDIRECTS: Final = range(300, 400)
"""Statuses that point elsewhere (RFC 9110). Nobody follows: the texts were meant for the server that was named."""
_KEY: Final = frozenset({401, 403, 407})
"""Statuses about who asks (RFC 9110)."""
_MISSING: Final = frozenset({404, 405, 410})
"""Statuses about what is asked (RFC 9110). Servers say 404 of a model as of a path."""


def of_status(gateway: str, status: int, headers: Mapping[str, str]) -> ModelError:
    """Give the error of an answer whose HTTP status is not of success; ``headers`` with names in lower case.

    ``details`` has ``status``, and ``retry_after`` in seconds where the server says so.
    """
    details: dict[str, Any] = {"status": status}
    waiting = retry_after(headers)
    if waiting is not None:
        details["retry_after"] = waiting
    if status in _PASSING or (status >= HTTPStatus.INTERNAL_SERVER_ERROR and status not in _NEVER_THERE):
        return ModelUnavailable(
            f"gateway {gateway}: the server is overloaded or failing (HTTP {status}); try again later, or read its log",
            details=details,
        )
    field, problem = _refusal(status)
    return ModelRefused(f"gateway {gateway}: {problem} (HTTP {status})", field=field, details=details)


def _refusal(status: int) -> tuple[str, str]:
    if status in _KEY:
        return "api_key", "the server refuses the key; correct the variable that api_key_env names"
    if status in _MISSING:
        return "model", "the server knows no such model, or no such path; correct the model's name or base_url"
    if status in _REDIRECTS:
        return "base_url", "the server points to another address, which is not followed; give that one as base_url"
    return "parameters", "the server refuses the parameters: one that it does not know, or so long a text"


def retry_after(headers: Mapping[str, str], *, now: Callable[[], float] = time.time) -> float | None:
    """Give the seconds that a server asks to wait, at least 0; None when it does not say, or not in a readable way.

    ``retry-after-ms`` (OpenAI's, Azure's) goes before ``retry-after``, which is in seconds or a date (RFC 9110). A date
    counts from the server's own ``date``: its clock need not be ours.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000.0
    said = headers.get("retry-after")
    seconds = _number(said)
    if seconds is not None:
        return seconds
    until = _moment(said)
    if until is None:
        return None
    asked = _moment(headers.get("date"))
    return max(0.0, until - (now() if asked is None else asked))


def _number(said: str | None) -> float | None:
    try:
        value = float(said or "")
    except ValueError:
        return None
    return max(0.0, value) if math.isfinite(value) else None


def _moment(said: str | None) -> float | None:
    parts = email.utils.parsedate_tz(said or "")
    try:
        return None if parts is None else float(email.utils.mktime_tz(parts))
    except (ValueError, OverflowError):
        return None


def unreachable(gateway: str, cause: str) -> ModelUnavailable:
    """Give the error of a server that was not reached, or hung up; ``cause`` is the name of the fault's class."""
    return ModelUnavailable(
        f"gateway {gateway}: the server cannot be reached, or it ended the connection ({cause});"
        " start it, or correct base_url"
    )


def unreadable(gateway: str, problem: str) -> AnswerRejected:
    """Give the error of an answer that is not what the path promises; ``problem`` completes "the answer …"."""
    return AnswerRejected(f"gateway {gateway}: the answer {problem}; is base_url that of a server of this kind?")


def parsed(gateway: str, body: bytes) -> Any:
    """Give the JSON value of a body; AnswerRejected when it has none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # the parser's own error holds the body
        raise unreadable(gateway, "is not JSON") from None
