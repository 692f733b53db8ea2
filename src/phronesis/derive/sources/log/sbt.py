"""What sbt prints of ScalaTest's tests; its compiler's errors are read with those of the others."""

import re
from typing import Final

from phronesis.derive.sources.log.findings import Finding, Reading, Summary

_SUITE: Final = re.compile(r"\[info\] ([A-Z]\w{1,200}):\Z")
_FAILED: Final = re.compile(r"\[info\] {1,20}- (.{1,300}?) \*\*\* FAILED \*\*\*")
_SAID: Final = re.compile(r"\[info\] {2,20}(\S.{0,600}?)(?: \(([\w./-]{1,200}\.scala):(\d{1,9})\))?\Z")
_COUNTS: Final = re.compile(
    r"\[(?:error|info)\] (?:Passed|Failed|Error): Total \d{1,9}, Failed (\d{1,9}), Errors (\d{1,9}), Passed (\d{1,9})"
)


def read_sbt(reading: Reading) -> None:
    """Find the tests that failed, and what sbt counts."""
    suite = None
    for n, line in enumerate(reading.lines):
        text = line.text
        if not text.startswith(("[info] ", "[error] ")):
            continue
        named, failed, counts = _SUITE.match(text), _FAILED.match(text), _COUNTS.match(text)
        if named:
            suite = named[1]
        elif failed:
            said = _SAID.match(reading.text(n + 1))
            name = f"{suite}: {failed[1]}" if suite else failed[1]
            reading.found(Finding(
                tool="scalatest", first=n, last=n + 1 if said else n, test=name, status="failed",
                message=said[1] if said else "", file=said[2] if said else None,
                place=int(said[3]) if said and said[3] else None,
            ))  # fmt: skip
        elif counts:
            failures, errors, passed = map(int, counts.groups())
            reading.summaries.append(Summary(tool="scalatest", line=n, counts={"passed": passed, "failed": failures,
                                                                               "errors": errors}))  # fmt: skip
            reading.take(n, n)
