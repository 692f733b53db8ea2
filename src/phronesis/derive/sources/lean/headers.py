"""The lines of a log by which messages, jobs of a build and facts of a run are known."""

import re
from typing import Any, Final

from phronesis.derive.sources.lean.lines import Line
from phronesis.derive.sources.lean.units import Message, Unit

_FILE: Final = r"(?P<file>(?:[A-Za-z]:)?[^\n:]{1,300}\.lean)"
_PLACE: Final = r":(?P<line>\d{1,9}):(?P<column>\d{1,9})(?:-(?P<end_line>\d{1,9}):(?P<end_column>\d{1,9}))?: ?"
_SEVERITY: Final = r"(?P<severity>error|warning|info|trace)(?:\([\w.]{1,80}\))?:"
_PLAIN: Final = re.compile(rf"{_FILE}{_PLACE}{_SEVERITY} ?")
_LAKE: Final = re.compile(rf"{_SEVERITY} (?:{_FILE}(?:{_PLACE}|: ))?")
_JOB: Final = re.compile(
    r"(?P<mark>[✔✓✖✗⚠ℹ]) ?\ufe0f? ?\[\d{1,6}/\d{1,6}\] "
    r"(?P<verb>Built|Building|Replayed|Replaying|Ran|Running|Fetched|Fetching) "
    r"(?P<target>[^\s()]{1,300})(?: \((?:(?P<minutes>\d{1,5})m ?)?(?P<time>\d{1,9}(?:\.\d{1,6})?)(?P<unit>ms|s)\))?"
)
_CHECKED: Final = frozenset({"Built", "Building", "Replayed", "Replaying"})
_STEP: Final = re.compile(r"\[\d{1,6}/\d{1,6}\] [A-Z][a-z]{1,20} ")
_END: Final = re.compile(
    r"Some (?:required )?(?:builds|targets) logged failures|Build completed|```|[$%❯] |\tCommand |Command exited|"
    r"\s{0,20}(?:Maximum resident|Elapsed|User time|System time|Exit status)|(?:real|user|sys)\t|"
    r"\s{1,20}\d{1,15} {1,8}maximum resident"
)
FAILURES: Final = re.compile(r"Some (?:required )?(?:builds|targets) logged failures:")
_FACTS: Final = (
    ("memory_bytes", 1024, re.compile(r"\s{0,20}Maximum resident set size \(kbytes\): (\d{1,15})")),
    ("memory_bytes", 1, re.compile(r"\s{0,20}(\d{1,15}) {1,8}maximum resident set size")),
)
_ELAPSED: Final = re.compile(
    r"\s{0,20}Elapsed \(wall clock\) time[^\n]{0,40}: (?:(\d{1,5}):)?(\d{1,5}):(\d{1,2}(?:\.\d{1,6})?)$"
)
_REAL: Final = re.compile(r"real\s{1,8}(?:(\d{1,6})m)?(\d{1,9}(?:\.\d{1,6})?)s?$")
_OLD_LAKE: Final = ("> ", "stdout:", "stderr:", "external command", "build failed", "failed to build")


def normal_file(name: str) -> str:
    """Give a file's name as a person writes it: slashes, and without the ``./././`` of lake."""
    parts = name.strip().replace("\\", "/").split("/")
    return "/".join(part for at, part in enumerate(parts) if part != "." and (part or at == 0))


def read_message(lines: list[Line], at: int) -> Message | None:
    """Read line ``at`` as the first of a message, with or without a place."""
    said = lines[at].text
    found = _PLAIN.match(said) or _LAKE.match(said)
    if found is None:
        return None
    rest = said[found.end() :]
    if found["file"] is None and rest.startswith(_OLD_LAKE):
        rest = ""
    place = None if found["line"] is None else (int(found["line"]), int(found["column"]))
    end = None if found["end_line"] is None else (int(found["end_line"]), int(found["end_column"]))
    return Message(
        severity=found["severity"], text=rest, first=at, last=at, file=normal_file(found["file"] or ""),
        position=place, end=end,
    )  # fmt: skip


def read_job(said: str, at: int) -> Unit | None:
    """Read a line of lake that marks a job as done: with its module, its time, and what the mark says."""
    found = _JOB.match(said)
    if found is None:
        return None
    failed, target = found["mark"] in "✖✗", found["target"]
    unit = Unit(form="lake", first=at, last=at, module=target.rpartition("/")[2])
    if found["time"] is not None:
        unit.seconds = float(found["time"]) / (1000 if found["unit"] == "ms" else 1) + 60 * int(found["minutes"] or 0)
    if failed:
        unit.verdict = "failed"
    elif found["verb"] in _CHECKED and ":" not in target and (target[0].isupper() or target[0] == "«"):
        unit.verdict = "ok"
    unit.signal = f"lake marks {found['verb']} {found['mark']}"
    return unit


def ends_message(said: str) -> bool:
    """Tell whether a line cannot belong to a message: another program speaks, or lake sums up."""
    return _END.match(said) is not None or _STEP.match(said) is not None


def facts_of(said: str) -> dict[str, Any]:
    """Give the time and memory that a line tells of a whole run (``time -v``, ``time``), in seconds and bytes."""
    for name, factor, pattern in _FACTS:
        if (found := pattern.match(said)) is not None:
            return {name: int(found[1]) * factor}
    if (found := _ELAPSED.match(said)) is not None:
        return {"run_seconds": 3600 * int(found[1] or 0) + 60 * int(found[2]) + float(found[3])}
    if (found := _REAL.match(said)) is not None:
        return {"run_seconds": 60 * int(found[1] or 0) + float(found[2])}
    return {}
