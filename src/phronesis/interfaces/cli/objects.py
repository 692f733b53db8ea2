"""Files of JSON objects, as commands take them: one object, a list of them, or one a line."""

import json
from typing import Any

from phronesis.errors import InputError


def objects(text: str) -> list[dict[str, Any]]:
    """Read a JSON object, a list of them, or one a line; InputError names the place that is none."""
    try:
        whole = json.loads(text)
    except json.JSONDecodeError:
        lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
        return [_object(_line(line, number), f"line {number}") for number, line in lines]
    listed = whole if isinstance(whole, list) else [whole]
    return [_object(one, f"number {number}") for number, one in enumerate(listed, start=1)]


def _line(line: str, number: int) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"file: line {number} is not JSON ({error.msg})", field="file") from error


def _object(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"file: {place} must be a JSON object, not {type(value).__name__}", field="file")
    return value
