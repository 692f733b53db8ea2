"""What runners of JavaScript tests print: TAP and the spec form of ``node --test``, Jest."""

import re
from typing import Final

from phronesis.derive.sources.log.findings import Finding, Reading, Summary, foreign
from phronesis.derive.sources.log.suites import traced, until

_TAP: Final = re.compile(r"\s{0,40}(not ok|ok) \d{1,9}(?: -)? (.{1,300})\Z")
_TAP_ERROR: Final = re.compile(r"\s{1,40}(?:error|name|message): ['\"|]?[-]?\s?(.{0,300}?)['\"]?\Z")
_JEST: Final = re.compile(r"\s{1,8}● (.{1,300})\Z")
_JEST_COUNTS: Final = re.compile(r"Tests:\s{1,20}(.{1,200}), \d{1,9} total")
_JEST_PART: Final = re.compile(r"(\d{1,9}) (failed|passed|skipped|todo)")

_SPEC: Final = re.compile(r"\s{0,40}✖ (.{1,300}?) \((\d{1,9}(?:\.\d{1,9})?)ms\)\Z")
_SPEC_COUNT: Final = re.compile(r"ℹ (pass|fail|skipped) (\d{1,9})\Z")
_PLACE: Final = re.compile(r"\s{1,40}at .{0,200}?\(?([^\s():]{1,300}):\d{1,9}:\d{1,9}\)?\Z")


def read_javascript_tests(reading: Reading) -> None:
    """Find the failing tests of each runner, and what it counts."""
    for read in (_read_tap, _read_spec, _read_jest):
        read(reading)


def _read_spec(reading: Reading) -> None:
    counts: dict[str, int] = {}
    seen: set[str] = set()
    last = 0
    for n, line in enumerate(reading.lines):
        counted = _SPEC_COUNT.match(line.text) if line.text.startswith("ℹ ") else None
        match = _SPEC.match(line.text) if "✖ " in line.text else None
        if counted:
            counts[{"pass": "passed", "fail": "failed"}.get(counted[1], counted[1])] = int(counted[2])
            last = n
            reading.take(n, n)
        elif match and reading.free(n):
            end = until(reading, n, lambda said: said.lstrip().startswith(("✖ ", "✔ ", "ℹ ", "▶ ", "test at ")))
            found = Finding(tool="node --test", first=n, last=end, test=match[1], status="failed")
            if match[1] not in seen:  # they are told again at the end
                reading.found(traced(reading, n + 1, end, found))
            seen.add(match[1])
            reading.take(n, end)
    if counts:
        reading.summaries.append(Summary(tool="node --test", line=last, counts=counts))


def _read_tap(reading: Reading) -> None:
    if not any(line.text.startswith("TAP version ") for line in reading.lines):
        return
    counts = {"passed": 0, "failed": 0}
    last = 0
    for n, line in enumerate(reading.lines):
        match = _TAP.match(line.text) if "ok " in line.text else None
        if match is None or not reading.free(n):
            continue
        last = n
        counts["passed" if match[1] == "ok" else "failed"] += 1
        if match[1] == "ok":
            reading.take(n, n)
            continue
        end = n
        if reading.text(n + 1).strip() == "---":
            end = until(reading, n, lambda said: said.strip() == "...")
            end += reading.text(end + 1).strip() == "..."
        reading.found(_tap_failure(reading, n, end, match[2]))
    reading.summaries.append(Summary(tool="node --test", line=last, counts=counts))


def _tap_failure(reading: Reading, first: int, last: int, name: str) -> Finding:
    told: dict[str, str] = {}
    for n in range(first + 1, last + 1):
        match = _TAP_ERROR.match(reading.text(n))
        if match:
            key = reading.text(n).strip().partition(":")[0]
            told.setdefault(key, match[1].strip() or reading.text(n + 1).strip())
    return Finding(tool="node --test", first=first, last=last, test=name, status="failed",
                   message=told.get("error") or told.get("message", ""), error_type=told.get("name"))  # fmt: skip


def _read_jest(reading: Reading) -> None:
    seen: set[str] = set()
    for n, line in enumerate(reading.lines):
        counts = _JEST_COUNTS.match(line.text) if line.text.startswith("Tests:") else None
        if counts:
            said = {name: int(count) for count, name in _JEST_PART.findall(counts[1])}
            reading.summaries.append(Summary(tool="jest", line=n, counts=said))
            reading.take(n, n)
        match = _JEST.match(line.text) if "●" in line.text else None
        if match and reading.free(n):
            last = until(reading, n, lambda text: text.startswith(("  ● ", "Test Suites:", "FAIL ", "PASS ")))
            if match[1] not in seen:
                seen.add(match[1])
                message = next((text for k in range(n + 1, last + 1) if (text := reading.text(k).strip())), "")
                places = [place[1] for k in range(n, last + 1) if (place := _PLACE.match(reading.text(k)))]
                found = Finding(tool="jest", first=n, last=last, test=match[1], status="failed", message=message,
                                file=next((file for file in places if not foreign(file)), None))  # fmt: skip
                reading.found(traced(reading, n, last, found))
            reading.take(n, last)
