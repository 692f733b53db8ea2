"""The source ``log``: what kind of output a text is, and which readers read it."""

from collections.abc import Sequence
from typing import Final

from phronesis.core.experience.drafts import Draft
from phronesis.derive.sources.finishing import finished
from phronesis.derive.sources.log.compilers import read_compilers
from phronesis.derive.sources.log.drafting import drafts_of
from phronesis.derive.sources.log.endings import read_commands, read_endings
from phronesis.derive.sources.log.findings import Reading
from phronesis.derive.sources.log.go_test import event_lines, read_go_test
from phronesis.derive.sources.log.javascript_tests import read_javascript_tests
from phronesis.derive.sources.log.junit import read_junit
from phronesis.derive.sources.log.junit_xml import is_junit
from phronesis.derive.sources.log.lines import lines_of
from phronesis.derive.sources.log.mocha import read_mocha
from phronesis.derive.sources.log.powershell import without_records
from phronesis.derive.sources.log.pytest_output import read_pytest
from phronesis.derive.sources.log.sbt import read_sbt
from phronesis.derive.sources.log.suites import read_suites
from phronesis.derive.sources.log.traces import read_traces
from phronesis.derive.sources.port import Raw

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
"""In this order: what one has read, the next ones leave alone. A failing test's block holds its stack trace."""


class LogSource:
    """Reads what programs print: reports of tests, consoles, stack traces, compilers, builds."""

    source_type = "log"
    version = "log/3"

    def read(self, raw: Raw) -> Sequence[Draft]:
        """Give a draft for each failing test and each distinct error, one for what went well, none for prose."""
        if is_junit(raw.text):
            return finished(read_junit(raw))
        reading = Reading(without_records(event_lines(raw, lines_of(raw))))
        for read in _READERS:
            read(reading)
        return finished(drafts_of(reading))
