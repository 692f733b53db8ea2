"""Parse test output of sbt (ScalaTest, MUnit, specs2, JUnit); its compiler errors are parsed with the others."""

import re
from dataclasses import replace
from typing import Final

from phronesis.experience.sources.log.findings import CommandEnd, Finding, LogParse, foreign
from phronesis.experience.sources.log.traces import thrown

_LEVEL: Final = re.compile(
    r"(?:\[\d\d-\d\d \d\d:\d\d:\d\d\.\d{1,6}\] |\[\d\d:\d\d:\d\d\] )?(?:\[[\w.-]{1,60}\] )?"
    r"\[(info|error|success)\] ?(.*)\Z"
)
_SUITE: Final = re.compile(r"([A-Za-z]\w{0,200}(?:\.\w{1,200}){0,12}):\Z")
_FAILED: Final = re.compile(r"[ \t]{0,20}- (.{1,300}?) \*\*\* FAILED \*\*\*(?: \(.{1,60}\))?\Z")
_ABORTED: Final = re.compile(r"[ \t]{0,20}(\S{1,300}) \*\*\* ABORTED \*\*\*(?: \(.{1,60}\))?\Z")
_MARKED: Final = re.compile(r"[ \t]{0,20}[x!✘] (\S.{0,300})\Z")
_JUNIT: Final = re.compile(r"Test (\S.{0,300}?) failed: (\S.*?)(?:, took [\d.]{1,20} sec(?:onds)?)?\Z")
_MUNIT: Final = re.compile(r"==> X (\S.{0,300}?)(?: {1,4}\d{1,9}(?:\.\d{1,6})?s(?: (.*))?)?\Z")
_MUNIT_PLACE: Final = re.compile(r"(\S{1,300}\.scala):(\d{1,9})(?: (.*))?\Z")
_CODE: Final = re.compile(r"\d{1,9}:(?: |\Z)")
_MUNIT_WELL: Final = re.compile(r"\s{0,8}\+ \S.{0,300}? \d{1,9}(?:\.\d{1,6})?s\Z")
_PLACE: Final = re.compile(r"\(([\w./-]{1,200}\.scala):(\d{1,9})\)\Z")
_SBT_COUNTS: Final = re.compile(
    r"(?:Passed|Failed|Error): (?:: )?Total \d{1,9}, Failed (\d{1,9}), Errors (\d{1,9}), Passed (\d{1,9})"
)
_SCALATEST: Final = re.compile(
    r"Tests: succeeded (\d{1,9}), failed (\d{1,9}), canceled (\d{1,9}), ignored (\d{1,9}), pending (\d{1,9})"
)
_LISTED: Final = re.compile(r"(?:Failed tests|Error during tests):\Z")
_NAME: Final = re.compile(r"[ \t]{1,20}([A-Za-z_][\w$-]{0,200}(?:[./][\w$-]{1,200}){0,20})\Z")
_ENDED: Final = re.compile(
    r"\([^()]{1,120}\) (?:sbt\.TestsFailedException: )?(?:Tests unsuccessful|Compilation failed)"
)
_TASK: Final = re.compile(r"[\w./-]{1,100}:test: Tests unsuccessful\Z")
_PROMPT: Final = re.compile(r"sbt:[\w.-]{1,80}> (\S.{0,400})\Z")
_BEHIND: Final = 8
"""Lines below the name of a test that may hold the reason of its failure."""


def read_sbt(reading: LogParse) -> None:
    """Find failed tests, their counts, and suites that failed without naming a test."""
    suite, n = "", 0
    told = scala = 0
    while n < len(reading.lines):
        text = reading.text(n)
        if text.startswith("sbt:") and (prompt := _PROMPT.match(text)):
            reading.commands[n] = f"sbt {prompt[1].strip()}"
            reading.take(n, n)
            told, scala = len(reading.findings), len(reading.summaries)
        elif "==> X " in text[:40] or (text.endswith("s") and "+ " in text[:12]):
            _munit(reading, n)
        elif "[" in text[:1] and (level := _LEVEL.match(text)):
            words = level[2]
            if named := _SUITE.match(words):
                suite = named[1]
            if not _parse_end(reading, n, level[1], words) and not _parse_counts(reading, n, words, scala):
                _test(reading, n, words, suite)
            if _LISTED.match(words):
                n = _parse_failed_suites(reading, n, told)
                told = len(reading.findings)
        n += 1


def _level(reading: LogParse, n: int) -> str | None:
    """Return the text after sbt's level on a line; None without one."""
    level = _LEVEL.match(reading.text(n)) if reading.text(n).startswith("[") else None
    return level[2] if level else None


def _parse_end(reading: LogParse, n: int, level: str, words: str) -> bool:
    if level == "success" and words.startswith("Total time: "):
        reading.endings.append(CommandEnd(n, well=True, text=words, tool="sbt"))
    elif level == "error" and (_ENDED.match(words) or _TASK.match(words)):
        reading.found(Finding("sbt", n, n, message=f"error: {words}", follows=True))
    else:
        return False
    reading.take(n, n)
    return True


def _parse_counts(reading: LogParse, n: int, words: str, first: int) -> bool:
    """Parse counts; sbt's counts of all frameworks replace those of ScalaTest right above."""
    counts, own = _SBT_COUNTS.match(words), _SCALATEST.match(words)
    if counts:
        failures, errors, passed = map(int, counts.groups())
        said: dict[str, int | float] = {"passed": passed, "failed": failures, "errors": errors}
        if passed or failures or errors:
            while len(reading.summaries) > first and reading.summaries[-1].tool == "scalatest":
                if n - reading.summaries[-1].line > _BEHIND:
                    break
                reading.summaries.pop()
            reading.count("sbt", n, said)
    elif own:
        passed, failures, *left_out = map(int, own.groups())
        said = {"passed": passed, "failed": failures, "skipped": sum(left_out)}
        reading.count("scalatest", n, said)
    else:
        return False
    reading.called(n, "sbt")
    reading.take(n, n)
    return True


def _test(reading: LogParse, n: int, words: str, suite: str) -> None:
    """Parse a failed test and the reason on the lines below."""
    failed, aborted, marked, junit = (form.match(words) for form in (_FAILED, _ABORTED, _MARKED, _JUNIT))
    if junit:
        kind, message = thrown(junit[2]) or (None, junit[2])
        reading.found(Finding("junit", n, n, test=junit[1].rstrip(), status="failed", error_type=kind, message=message))
    elif failed:
        name = f"{suite}: {failed[1]}" if suite else failed[1]
        _add_test(reading, n, Finding("scalatest", n, n, test=name, status="failed"))
    elif aborted:
        _add_test(reading, n, Finding("scalatest", n, n, test=aborted[1], status="error"))
    elif marked and reading.text(n).lstrip("0123456789-:.[] ").startswith("error]"):
        _add_test(reading, n, Finding("specs2", n, n, test=marked[1].rstrip(), status="failed"))


def _add_test(reading: LogParse, n: int, found: Finding) -> None:
    """Add a test with the first line below it, the place, and the stack frames."""
    below: list[str] = []
    while len(below) < _BEHIND and (words := _level(reading, n + 1 + len(below))) is not None:
        deeper = words.startswith((" ", "\t")) and words.strip()
        if not deeper or _FAILED.match(words) or _MARKED.match(words) or words.lstrip().startswith(("- ", "+ ")):
            break
        below.append(words.strip())
    if below:
        frames = [words.removeprefix("at ") for words in below if words.startswith("at ")]
        said = [words for words in below if not words.startswith(("at ", "..."))]
        where = [*said, *(frame for frame in frames if not foreign(frame))]
        place = next((match for words in where if (match := _PLACE.search(words))), None)
        kind, message = thrown(said[0]) or (None, said[0]) if said else (None, "")
        found = replace(
            found,
            last=n + len(below),
            error_type=kind,
            message=_PLACE.sub("", message).rstrip(),
            frames=frames,
            file=place[1] if place else None,
            place=int(place[2]) if place else None,
        )
    reading.found(found)


def _munit(reading: LogParse, n: int) -> None:
    """Parse ``==> X suite.test 0.1s error``, or mark a passed test as read."""
    text = reading.text(n)
    match = _MUNIT.match(text[text.find("==> X ") :]) if "==> X " in text else None
    if match is None:
        if _MUNIT_WELL.match(text):
            reading.take(n, n)
        return
    kind, message = thrown(match[2] or "") or (None, match[2] or "")
    below: list[str] = []
    while len(below) < _BEHIND and (words := reading.text(n + 1 + len(below)).lstrip("# ")):
        if "==> X" in words or words.startswith("[") or _MUNIT_WELL.match(words):
            break
        below.append(words)
    last = n + len(below)
    place = next((there for words in (message, *below) if (there := _MUNIT_PLACE.match(words))), None)
    if place:
        rest = (words for words in below if not _CODE.match(words) and not _MUNIT_PLACE.match(words))
        message = place[3] or next(rest, "")
    reading.found(
        Finding(
            "munit",
            n,
            last,
            test=match[1].rstrip(),
            status="failed",
            error_type=kind,
            message=message,
            file=place[1] if place else None,
            place=int(place[2]) if place else None,
        )
    )


def _parse_failed_suites(reading: LogParse, n: int, told: int) -> int:
    """Parse sbt's list of failed suites, each a finding if no test of it was named; return the last line."""
    tests = [one for one in reading.findings[told:] if one.test is not None]
    named = {one.test.partition(":")[0].rpartition(".")[2] for one in tests if one.test and one.tool == "scalatest"}
    named |= {one.test.partition(" ")[0].rpartition(".")[0] for one in tests if one.test and one.tool == "munit"}
    told_all = any(one.tool not in {"scalatest", "munit"} for one in tests)  # they do not name their suite
    last = n
    while (words := _level(reading, last + 1)) is not None and (match := _NAME.match(words)):
        last += 1
        if not told_all and match[1] not in named and match[1].rpartition(".")[2] not in named:
            reading.found(Finding("sbt", last, last, test=match[1], status="failed"))
    reading.take(n, last)
    return last
