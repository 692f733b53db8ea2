"""The source ``log``: detect the kind of output and run the parsers for it."""

from collections.abc import Sequence
from typing import Final

from phronesis.experience.laws.event_draft import Draft
from phronesis.experience.sources.log.commands import read_commands, read_endings
from phronesis.experience.sources.log.compilers import read_compilers
from phronesis.experience.sources.log.draft_building import drafts_of
from phronesis.experience.sources.log.findings import LogParse, lines_of
from phronesis.experience.sources.log.foreign_reports import REMEDY, foreign_format
from phronesis.experience.sources.log.go_test import event_lines, read_go_test
from phronesis.experience.sources.log.junit_drafts import read_junit
from phronesis.experience.sources.log.junit_xml import is_junit
from phronesis.experience.sources.log.powershell import without_records
from phronesis.experience.sources.log.pytest_output import read_pytest
from phronesis.experience.sources.log.sbt import read_sbt
from phronesis.experience.sources.log.test_runners import read_javascript_tests, read_mocha, read_suites
from phronesis.experience.sources.log.traces import read_traces
from phronesis.experience.sources.port import RawText, Source, storable_drafts

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
