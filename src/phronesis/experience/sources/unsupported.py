"""Refuse texts of unsupported formats by the format's name, before anything is recorded.

A text without attempts is no error, since a log may contain none; a text that cannot be parsed is.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from phronesis.errors import InputError
from phronesis.experience.sources.log.junit_xml import is_broken, is_junit, root_of
from phronesis.experience.sources.port import Raw
from phronesis.experience.sources.run import holds_run
from phronesis.experience.sources.transcripts import transcripts

_ROOTS: Final = {
    "assemblies": "a report of xUnit.net",
    "test-run": "a report of NUnit 3",
    "test-results": "a report of NUnit 2",
    "TestRun": "a report of Visual Studio (.trx)",
    "checkstyle": "a report of Checkstyle",
    "html": "a page in HTML",
    "coverage": "a report of coverage",
    "!DOCTYPE": "XML or HTML with a document type, which may define entities",
}
_LOG_REMEDY: Final = "give JUnit XML without a document type (<testsuites>), 'go test -json', or the console's output"
_RUN_REMEDY: Final = "a run is an object with steps, a trajectory, events or messages, or with an id and an outcome"
_CHAT_REMEDY: Final = (
    "a conversation is a list of messages with role and content, or from and value, in which a user asks and an"
    " assistant answers"
)


def refuse_unsupported(source_type: str, raw: Raw) -> None:
    """Raise InputError for a text in an unsupported format; the message names it and the remedy."""
    if source_type == "log":
        found = _xml(raw.text) or _json_log(raw.text)
        remedy = _LOG_REMEDY
    elif source_type == "run" and _is_json(raw.text):
        found, remedy = "" if holds_run(raw.text) else "JSON in which no run is found", _RUN_REMEDY
    elif source_type == "chat" and _is_json(raw.text):
        found, remedy = "" if transcripts(raw) else "JSON in which no conversation is found", _CHAT_REMEDY
    else:
        return
    if found:
        raise InputError(
            f"text: this is {found}, which the source '{source_type}' does not read; {remedy}", field="text"
        )


def _xml(text: str) -> str:
    root = root_of(text)
    if not root or is_junit(text):
        return (
            "JUnit XML that is not well-formed and lists no case before its fault" if root and is_broken(text) else ""
        )
    declared = text.lstrip("\ufeff \t\r\n").startswith(("<?xml", "<!"))
    return _ROOTS.get(root, f"XML whose first element is <{root:.40}>" if declared else "")


def _json_log(text: str) -> str:
    """Return the name of a text that is one JSON value: reports of mocha, Jest, ESLint … have no lines."""
    value = _loaded(text)
    event = isinstance(value, Mapping) and "Action" in value  # one line of ``go test -json``
    return "one JSON document" if isinstance(value, dict | list) and value and not event else ""


def _is_json(text: str) -> bool:
    """Return whether a text is a value of JSON, or has one on its first line."""
    words = text.lstrip("\ufeff \t\r\n")
    return words[:1] in {"{", "["} and (_loaded(words) is not None or _loaded(words.partition("\n")[0]) is not None)


def _loaded(text: str) -> Any:
    words = text.lstrip("\ufeff \t\r\n")
    if words[:1] not in {"{", "["}:
        return None
    try:
        return json.loads(words)
    except (ValueError, RecursionError):
        return None
