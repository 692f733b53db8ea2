"""The source ``log``: detect the kind of output and run the parsers for it."""

from collections.abc import Mapping, Sequence
from typing import Final

from phronesis.experience.laws.event_draft import Draft
from phronesis.experience.sources.log.commands import read_commands, read_endings
from phronesis.experience.sources.log.compilers import read_compilers
from phronesis.experience.sources.log.draft_building import drafts_of
from phronesis.experience.sources.log.findings import LogParse, lines_of
from phronesis.experience.sources.log.go_test import event_lines, read_go_test
from phronesis.experience.sources.log.junit_drafts import read_junit
from phronesis.experience.sources.log.junit_xml import is_broken, is_junit, root_of
from phronesis.experience.sources.log.powershell import without_records
from phronesis.experience.sources.log.pytest_output import read_pytest
from phronesis.experience.sources.log.sbt import read_sbt
from phronesis.experience.sources.log.test_runners import read_javascript_tests, read_mocha, read_suites
from phronesis.experience.sources.log.traces import read_traces
from phronesis.experience.sources.port import RawText, Source, load_json, storable_drafts

_READERS: Final = (
    read_sbt,
    read_commands,
    read_pytest,
    read_suites,
    read_go_test,
    read_mocha,
    read_javascript_tests,
    read_traces,
    read_compilers,
    read_endings,
)
"""The parsers in order: later ones skip what earlier ones have read. A failing test's block includes its stack
trace."""


class LogSource(Source):
    """Reads program output: test reports, consoles, stack traces, compilers, builds."""

    source_type = "log"
    version = "log/3"

    def read(self, raw: RawText) -> Sequence[Draft]:
        """Return a draft per failing test and distinct error, one for what succeeded, none for prose."""
        if is_junit(raw.text):
            return storable_drafts(read_junit(raw))
        reading = LogParse(without_records(event_lines(raw, lines_of(raw))))
        for read in _READERS:
            read(reading)
        return storable_drafts(drafts_of(reading))

    def refusal(self, raw: RawText) -> str:
        """Return why a text cannot be read: it is another kind of report."""
        found = foreign_format(raw.text)
        return f"{found}, which the source 'log' does not read; {REMEDY}" if found else ""


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
