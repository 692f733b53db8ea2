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


def wrong_arguments(error: ValidationError) -> CallToolResult:
    """Give the result for arguments that are not of the tool's schema; it names the first that is wrong."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    field = ".".join(str(part) for part in first["loc"]) or "arguments"
    told = f"{field}: {first['msg']}; the tool's input schema says what it takes"
    return _refusal({"code": "input.invalid", "message": told, "field": field, "details": {}})


def _refusal(error: Mapping[str, Any]) -> CallToolResult:
    field = f" (field {error['field']})" if error["field"] else ""
    text = f"{error['code']}: {error['message']}{field}"
    return CallToolResult(content=[TextContent(text=text)], is_error=True, _meta={META: dict(error)})
