"""What went wrong, as a caller of a tool or a resource is told: code, field, remedy, and never a traceback."""

from collections.abc import Mapping
from typing import Any, Final

from mcp.types import CallToolResult, TextContent
from pydantic import ValidationError

from phronesis.errors import PhronesisError

META: Final = "phronesis/error"
"""The member of ``_meta`` that holds ``{code, message, field, details}``: a refusal has no structured content, since
that would have to be of the tool's output schema."""


def refused(error: PhronesisError) -> CallToolResult:
    """Give the result that says which of our errors was raised."""
    return _refusal(error.to_dict())


def not_allowed(role: str) -> CallToolResult:
    """Give the result for a caller whose role does not reach."""
    message = f"this needs the role {role}, which you do not have; ask the operator of this memory for it"
    return _refusal({"code": "access.role", "message": message, "field": None, "details": {"role": role}})


def wrong_arguments(error: ValidationError, arguments: Mapping[str, Any]) -> CallToolResult:
    """Return the result for arguments that are not of the tool's schema; it names the first that is wrong.

    Where an argument may be of several types, it names the member that is wrong in the one it comes nearest to.
    """
    faults = [(_path(fault, arguments), fault) for fault in error.errors(include_url=False, include_context=False)]
    first = faults[0][0][:1]
    path = max((path for path, _ in faults if path[:1] == first), key=len)
    told = dict.fromkeys(str(fault["msg"]).removeprefix("Value error, ") for at, fault in faults if at == path)
    field = ".".join(map(str, path)) or "arguments"
    message = f"{field}: {', or '.join(told)}; the tool's input schema says what it takes"
    return _refusal({"code": "input.invalid", "message": message, "field": field, "details": {}})


def _path(fault: Mapping[str, Any], arguments: Any) -> tuple[str | int, ...]:
    """Return where a fault is in the arguments, without the names of types that the schema's unions add."""
    path: list[str | int] = []
    value, parts = arguments, fault["loc"]
    for n, part in enumerate(parts):
        inside = isinstance(value, Mapping) and part in value
        inside |= isinstance(value, list) and isinstance(part, int) and part < len(value)
        if inside:
            value = value[part]
            path.append(part)
        elif fault["type"] == "missing" and n == len(parts) - 1:
            path.append(part)
    return tuple(path)


def _refusal(error: Mapping[str, Any]) -> CallToolResult:
    field = f" (field {error['field']})" if error["field"] else ""
    text = f"{error['code']}: {error['message']}{field}"
    return CallToolResult(content=[TextContent(text=text)], is_error=True, _meta={META: dict(error)})
