"""What each format of a log says of failures: the right test, the right message, and no more of them than it tells."""

import re
from typing import Final

import pytest

from phronesis.experience.laws.event_draft import Draft
from phronesis.experience.sources.log import LogSource
from phronesis.experience.sources.port import MAX_TEXT
from unit.experience.sources.labelled_sources import DATA, read


def failures(text: str) -> list[tuple[str, str]]:
    """Give (what failed, the result) of the failures that a log tells of."""
    return [(draft.attempt, draft.result) for draft in log(text) if draft.label == "failure"]


def log(text: str) -> list[Draft]:
    return read(LogSource(), text)


def text_of(name: str) -> str:
    return (DATA / name).read_text("utf-8")


RECORD: Final = """{head}
At C:\\w\\run.ps1:4 char:1
+ {source}
+ {mark}
    + CategoryInfo          : {category}
    + FullyQualifiedErrorId : {identity}

"""


def record(head: str, source: str, category: str, identity: str = "NativeCommandError") -> str:
    return RECORD.format(head=head, source=source, mark="~" * 12, category=category, identity=identity)


NATIVE: Final = "NotSpecified: (x:String) [], RemoteException"


def test_powershell_names_the_command_and_the_plain_error() -> None:
    cases: list[tuple[str, list[tuple[str, str]]]] = [
        (
            record("node : file:///C:/app/run.js:1", "node run.js > error.txt 2>&1", NATIVE)
            + "ReferenceError: require is not defined\n    at file:///C:/app/run.js:1:1\n\nNode.js v22.20.0",
            [("node run.js", "ReferenceError: require is not defined")],
        ),
        (
            (
                "Get-Content: C:\\w\\a.ps1:3:1\nLine |\n   3 |  Get-Content x.txt\n     |  ~~~~~~~~\n"
                "     | Cannot find path 'C:\\w\\x.txt'."
            ),
            [("Get-Content x.txt", "error: Cannot find path 'C:\\w\\x.txt'.")],
        ),
        (
            (
                "[srv1] The connection was refused.\n+ CategoryInfo          : OpenError: (x) [], TransportException\n"
                "+ FullyQualifiedErrorId : Refused\n    + PSComputerName        : srv1\n"
            ),
            [("run log", "TransportException: [srv1] The connection was refused.")],
        ),
    ]
    for text, expected in cases:
        assert failures(text) == expected, text
        assert failures(text.replace("At C:", "In C:").replace("char:1", "Zeichen:1")) == expected, text


def test_builds_tell_what_was_wrong_where() -> None:
    cases: list[tuple[str, list[tuple[str, str]]]] = [
        (
            "[error] /u/Main.scala:9:14: not found: value fooo\n[error]   println(fooo)\n[error] one error found",
            [("build /u/Main.scala", "error: not found: value fooo")],
        ),
        (
            (
                "[info] CartSpec:\n[info] - rounds *** FAILED ***\n[info]   2 did not equal 3 (Cart.scala:14)\n"
                "[error] Failed: Total 2, Failed 1, Errors 0, Passed 1"
            ),
            [("CartSpec: rounds", "2 did not equal 3")],
        ),
        (
            "ld.lld: error: cannot open libbar.so: No such file\nld.lld-15: error: undefined symbol: f\nld: warning: x",
            [("run linker", "cannot open libbar.so: No such file"), ("run linker", "undefined symbol: f")],
        ),
        (
            (
                "panic: assignment to entry in nil map\n\ngoroutine 1 [running]:\nmain.(*C).Put(...)\n\t/u/c.go:21\n"
                "main.main()\n\t/u/main.go:9 +0x45\nexit status 2"
            ),
            [("run main", "panic: assignment to entry in nil map")],
        ),
    ]
    for text, expected in cases:
        assert failures(text) == expected, text


def test_sbt_tells_that_its_tests_failed() -> None:
    counted = "[info] Tests: succeeded 9, failed 0, canceled 0, ignored 0, pending 0\n[info] All tests passed.\n"
    ended = "(Test / test) sbt.TestsFailedException: Tests unsuccessful"
    assert failures(f"{counted}[error] {ended}") == [("run sbt", f"error: {ended}")]
    named = "[info] CartSumSpec:\n[info] - adds *** FAILED ***\n[info]   1 is not 2 (CartSumSpec.scala:9)\n"
    listed = "[error] Failed tests:\n[error]   shop.CartSumSpec\n[error]   shop.CartSum\n"
    assert [attempt for attempt, _ in failures(named + listed)] == ["CartSumSpec: adds", "shop.CartSum"]


def test_what_stands_before_every_line_is_no_part_of_it() -> None:
    cases: list[str] = ["10:00:01  ", "[10:00:01] :\t [Step 1/2] ", "[2026-03-10T10:00:01.123Z] ", "> ", "    "]
    for before in cases:
        wrapped = "".join(f"{before}{line}".rstrip() + "\r\n" for line in text_of("log_jest_console.txt").splitlines())
        (draft,) = log("\ufeff" + wrapped)
        assert (draft.label, draft.attempt) == ("failure", "totals"), before
        assert draft.result == "expect(received).toBe(expected) // Object.is equality", before


def test_no_piece_of_a_failed_run_is_a_success() -> None:
    for name in ("log_jest_console.txt", "log_go_parallel.txt", "log_mocha.txt"):
        lines = text_of(name).splitlines(keepends=True)
        pieces = ["".join(piece) for n in range(len(lines)) for piece in (lines[:n], lines[n:])]
        assert not [piece for piece in pieces if any(draft.label == "success" for draft in log(piece))], name


def test_a_list_that_a_test_prints_is_no_failure() -> None:
    (draft,) = log("  Cart\n1) pick\n2) pay\n    ✓ adds\n\n  2 passing (12ms)\n\n")
    assert (draft.label, draft.result) == ("success", "2 passed")


def test_a_failure_with_other_elements_around_it_is_one() -> None:
    inner = '<testcase name="a"><failures><failure message="1 is not 2"/></failures></testcase>'
    assert failures(f"<testsuite name='s'>{inner}<testcase name='b'/></testsuite>") == [("a", "1 is not 2")]


def test_a_long_parameter_is_part_of_a_test() -> None:
    name = f"tests/test_a.py::test_x[{'a' * 900}]"
    assert failures(f"FAILED {name} - AssertionError: no\n== 1 failed, 2 passed in 0.1s ==") == [
        (name, "AssertionError: no")
    ]


# Single forms of logs, and what is refused.


CASE = '<testcase classname="a" name="test_b"><failure message="assert 1 == 2">E   assert 1 == 2</failure></testcase>'
LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE testsuites [
 <!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">
]>
<testsuites><testsuite name="&c;"><testcase name="b"><failure>&c;</failure></testcase></testsuite></testsuites>"""
OUTSIDE = """<?xml version="1.0"?>
<!DOCTYPE testsuites SYSTEM "file:///etc/hostname">
<testsuites><testsuite name="a"><testcase name="b"><failure>x</failure></testcase></testsuite></testsuites>"""


def only(text: str) -> Draft:
    (draft,) = log(text)
    return draft


@pytest.mark.parametrize("text", [LAUGHS, OUTSIDE, "<!DOCTYPE html><html><body>404</body></html>"])
def test_a_document_type_is_refused(text: str) -> None:
    assert log(text) == []


def test_a_report_that_breaks_off_gives_what_was_there() -> None:
    whole = f"<testsuites><testsuite name='s'>{CASE}<testcase name='ok'/></testsuite></testsuites>"
    assert only(whole[: whole.index("<testcase name='ok'")]).label == "failure"
    cut = only("<testsuite name='s'><testcase name='ok'/><testcase na")
    assert (cut.label, cut.attempt) == ("unknown", "s")


def test_a_single_error_is_told_in_short() -> None:
    cases: list[tuple[str, str]] = [
        ("main.cpp(10): error C2065: 'x': undeclared identifier", "C2065: 'x': undeclared identifier"),
        (
            "Unhandled exception. System.ArgumentException: bad\n   at Acme.App.Main() in /srv/App.cs:line 7",
            "ArgumentException: bad",
        ),
        ('Traceback (most recent call last):\n  File "a.py", line 1, in f', "a traceback that is cut off"),
        ("make: *** [Makefile:3: x] Error 1", "make: *** [Makefile:3: x] Error 1"),
    ]
    for text, result in cases:
        draft = only(text)
        assert (draft.label, draft.result) == ("failure", result), text


def test_what_no_database_holds_is_replaced() -> None:
    draft = only("ValueError: a\x00b\ud800" + "c" * 3 * MAX_TEXT)
    assert re.fullmatch("ValueError: a�b�c+", draft.result)
