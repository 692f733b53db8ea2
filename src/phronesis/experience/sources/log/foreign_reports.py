"""Reports that the source ``log`` does not read, by the names of their formats."""

from collections.abc import Mapping
from typing import Final

from phronesis.experience.sources.log.junit_xml import is_broken, is_junit, root_of
from phronesis.experience.sources.port import load_json

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
REMEDY: Final = "give JUnit XML without a document type (<testsuites>), 'go test -json', or the console's output"


def foreign_format(text: str) -> str:
    """Return the name of a text's format; empty where the source may read it."""
    return _xml(text) or _json_log(text)


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
    value = load_json(text)
    event = isinstance(value, Mapping) and "Action" in value  # one line of ``go test -json``
    return "one JSON document" if isinstance(value, dict | list) and value and not event else ""
