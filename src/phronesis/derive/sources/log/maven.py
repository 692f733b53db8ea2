"""What Maven prints of tests (surefire, failsafe): the methods that failed, and the counts of all classes."""

import re
from typing import Final

from phronesis.derive.sources.log.findings import Finding, Reading, Summary
from phronesis.derive.sources.log.suites import traced, until

_METHOD: Final = re.compile(
    r"(?:\[ERROR\] {1,2})?([\w.$\[\]{}]{1,300})(?:\(([\w.$]{1,200})\))?(?:\[[^\]\n]{0,100}\])? {1,4}(?:-- )?"
    r"Time elapsed: (\d{1,9}(?:[.,]\d{1,4})?) s(?:ec)? {1,4}<<< (FAILURE|ERROR)!"
)
_COUNTS: Final = re.compile(r"Tests run: (\d{1,9}), Failures: (\d{1,9}), Errors: (\d{1,9})(?:, Skipped: (\d{1,9}))?")


def read_maven(reading: Reading) -> None:
    """Find the tests that failed, and what Maven counts."""
    total = -1
    for n, line in enumerate(reading.lines):
        match = _METHOD.match(line.text) if "<<< " in line.text else None
        if match and reading.free(n):
            last = until(reading, n, lambda said: said.startswith("[") or "<<< " in said or not said.strip())
            name = f"{match[2]}.{match[1]}" if match[2] else match[1]
            found = Finding(tool="surefire", first=n, last=last, test=name, seconds=float(match[3].replace(",", ".")),
                            status="failed" if match[4] == "FAILURE" else "error")  # fmt: skip
            reading.found(traced(reading, n + 1, last, found))
        elif "Tests run: " in line.text and _COUNTS.search(line.text):
            reading.take(n, n)
            reading.called(n, "maven")
            if "Time elapsed" not in line.text:
                total = n
    counts = _COUNTS.search(reading.text(total))
    if counts:  # the last line counts all classes
        ran, failed, errors, skipped = (int(count or 0) for count in counts.groups())
        said = {"tests": ran, "passed": max(0, ran - failed - errors - skipped), "failed": failed, "errors": errors,
                "skipped": skipped}  # fmt: skip
        reading.summaries.append(Summary(tool="surefire", line=total, counts=said))
