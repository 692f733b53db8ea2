"""The source ``log``: detect the kind of output and run the parsers for it."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from phronesis.experience.laws.event_draft import Draft
from phronesis.experience.sources.log.commands import read_commands, read_endings
from phronesis.experience.sources.log.compilers import read_compilers
from phronesis.experience.sources.log.findings import LogParse, drafts_of
from phronesis.experience.sources.log.go_test import event_lines, read_go_test
from phronesis.experience.sources.log.junit import FORBIDDEN, RefusedError, Report, read_junit
from phronesis.experience.sources.log.log_lines import lines_of, without_records
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


_PROLOG: Final = re.compile(r"\s+|<\?[^>]{0,2000}>|<!--")
_ROOT: Final = re.compile(r"<(!DOCTYPE|(?:[\w.-]{1,60}:)?[A-Za-z][\w.-]{0,80})")


def root_of(text: str) -> str:
    """Return the first element's name without prefix, or ``!DOCTYPE``; empty for other texts."""
    n = 1 if text.startswith("\ufeff") else 0
    while match := _PROLOG.match(text, n):
        n = match.end()
        if match[0] == "<!--":
            n = text.find("-->", n)
            if n < 0:
                return ""
            n += len("-->")
    root = _ROOT.match(text, n)
    return root[1].rpartition(":")[2] if root else ""


def is_junit(text: str) -> bool:
    """Return whether a text is a JUnit report by its first element."""
    return root_of(text) in {"testsuites", "testsuite"}


def is_broken(text: str) -> bool:
    """Return whether a report is not well-formed and contains no test before the error."""
    report = Report(FORBIDDEN.sub(" ", text))
    try:
        report.parse()
    except RefusedError:
        return False
    return report.broken and not any(suite.counts["tests"] or suite.unlisted for suite in report.suites)


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
