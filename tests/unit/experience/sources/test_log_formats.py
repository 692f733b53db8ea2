"""What each format of a log says of failures: the right test, the right message, and no more of them than it tells."""

import json
from typing import Final

import pytest

from phronesis.experience.laws.event_draft import Draft
from phronesis.experience.sources.log import LogSource
from unit.experience.sources.labelled_sources import read


def failures(text: str) -> list[tuple[str, str]]:
    """Give (what failed, the result) of the failures that a log tells of."""
    return [(draft.attempt, draft.result) for draft in log(text) if draft.label == "failure"]


def log(text: str) -> list[Draft]:
    return read(LogSource(), text)


INTERLEAVED: Final = """=== RUN   TestA
=== PAUSE TestA
=== RUN   TestB
=== PAUSE TestB
=== CONT  TestA
=== CONT  TestB
    b_test.go:9: b began
=== NAME  TestA
    a_test.go:5: a is wrong
=== NAME  TestB
    b_test.go:11: b is wrong
--- FAIL: TestB (0.02s)
--- FAIL: TestA (0.02s)
=== RUN   TestC
--- PASS: TestC (0.00s)
FAIL
FAIL	example.com/p	0.1s
"""
SUBTESTS: Final = """--- FAIL: TestSplit (0.00s)
    --- FAIL: TestSplit/empty (0.00s)
        split_test.go:21: got ["a"], want []
    --- PASS: TestSplit/one (0.00s)
    --- FAIL: TestSplit/many (0.00s)
        split_test.go:30:
            Error Trace: split_test.go:30
            Error:       Not equal: 3 and 4
FAIL
FAIL	example.com/text	0.003s
ok  	example.com/num	(cached)
"""
PANICKED: Final = """=== RUN   TestPut
--- FAIL: TestPut (0.00s)
panic: assignment to entry in nil map [recovered]
	panic: assignment to entry in nil map

goroutine 7 [running]:
testing.tRunner.func1.2({0x1, 0x2})
	/usr/local/go/src/testing/testing.go:1632 +0x230
example.com/cache.(*Cache).Put(...)
	/home/u/cache/cache.go:21
FAIL	example.com/cache	0.005s
FAIL
"""
TIMED_OUT: Final = """=== RUN   TestFast
--- PASS: TestFast (0.00s)
=== RUN   TestSlow
panic: test timed out after 1s
running tests:
	TestSlow (1s)

goroutine 17 [running]:
testing.(*M).startAlarm.func1()
	/usr/local/go/src/testing/testing.go:2366 +0x385
FAIL	example.com/slow	1.01s
"""
NOT_BUILT: Final = """# example.com/cache [example.com/cache.test]
./dir_test.go:32:10: undefined: foo
FAIL	example.com/cache [build failed]
--- FAIL: TestX (0.00s)
    x_test.go:3: no x
FAIL
FAIL	example.com/x	0.002s
"""
BAD_MAIN: Final = "no database\nexit status 2\nFAIL\texample.com/main\t0.001s\nok  \texample.com/good\t0.001s\n"


GO_TEST_GIVES: list[tuple[str, list[tuple[str, str]]]] = [
    (INTERLEAVED, [("TestB", "b began; b is wrong"), ("TestA", "a is wrong")]),
    (SUBTESTS, [("TestSplit/empty", 'got ["a"], want []'), ("TestSplit/many", "Not equal: 3 and 4")]),
    (PANICKED, [("TestPut", "panic: assignment to entry in nil map [recovered]")]),
    (TIMED_OUT, [("TestSlow", "panic: test timed out after 1s")]),
    (NOT_BUILT, [("build dir_test.go", "undefined: foo"), ("TestX", "no x")]),
    (BAD_MAIN, [("run go test example.com/main", "error: no database")]),
]


def test_go_test_gives_each_test_its_own_lines() -> None:
    for text, expected in GO_TEST_GIVES:
        assert sorted(failures(text)) == sorted(expected), text


def test_failing_tests_of_one_name_in_two_packages_are_two() -> None:
    one = "--- FAIL: TestNew (0.00s)\n    a_test.go:3: no key\nFAIL\nFAIL\texample.com/{}\t0.1s\n"
    drafts = log(one.format("a") + one.format("b"))
    assert [draft.situation for draft in drafts] == ["go test, package example.com/a", "go test, package example.com/b"]


def events(text: str, package: str, test: str = "") -> list[str]:
    """Write lines as ``go test -json`` does."""
    named = {"Package": package} | ({"Test": test} if test else {})
    return [
        json.dumps({"Time": "2025-03-10T17:34:31Z", "Action": "output", **named, "Output": f"{line}\n"})
        for line in text.splitlines()
    ]


def test_go_test_json_is_read_package_by_package() -> None:
    store, cache = "example.com/store", "example.com/cache"
    lines = [
        *events("=== RUN   TestUpload", store, "TestUpload"),
        *events("=== RUN   TestPut", cache, "TestPut"),
        *events("    store_test.go:31: quota exceeded", store, "TestUpload"),
        *events("    put_test.go:5: no entry", cache, "TestPut"),
        *events("--- FAIL: TestUpload (0.00s)", store, "TestUpload"),
        json.dumps({"Action": "fail", "Package": cache, "Test": "TestPut", "Elapsed": 0.5}),
        json.dumps({"Action": "skip", "Package": cache, "Test": "TestGet", "Elapsed": 0}),
        json.dumps({"Action": "fail", "Package": store, "Test": "TestUpload", "Elapsed": 0.01}),
        json.dumps({"Action": "fail", "Package": store, "Elapsed": 0.02}),
        json.dumps({"Action": "fail", "Package": cache, "Elapsed": 0.02}),
        json.dumps(
            {
                "ImportPath": "example.com/dir",
                "Action": "build-output",
                "Output": "./dir_test.go:32:10: undefined: foo\n",
            }
        ),
        json.dumps({"ImportPath": "example.com/dir", "Action": "build-fail"}),
    ]
    drafts = log("\n".join(lines))
    assert [(draft.attempt, draft.result, draft.lines) for draft in drafts] == [
        ("TestUpload", "quota exceeded", (3, 5)),
        ("TestPut", "no entry", (4, 6)),
        ("build dir_test.go", "undefined: foo", (11, 11)),
    ]
    assert drafts[0].occurred_at is not None
    assert drafts[0].observations["suite"] == {"passed": 0, "failed": 2, "skipped": 1}


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


POWERSHELL_NAMES_COMMAND: list[tuple[str, list[tuple[str, str]]]] = [
    (
        record("node : file:///C:/app/run.js:1", "node run.js > error.txt 2>&1", NATIVE)
        + "ReferenceError: require is not defined\n    at file:///C:/app/run.js:1:1\n\nNode.js v22.20.0",
        [("node run.js", "ReferenceError: require is not defined")],
    ),
    (
        record("python : Traceback (most recent call last):", "python t.py 2>&1 | Out-File a.txt", NATIVE)
        + '  File "C:\\w\\t.py", line 3, in <module>\n    import torch\n'
        "ModuleNotFoundError: No module named 'torch'",
        [("python t.py", "ModuleNotFoundError: No module named 'torch'")],
    ),
    (
        (
            "Get-Content: C:\\w\\a.ps1:3:1\nLine |\n   3 |  Get-Content x.txt\n     |  ~~~~~~~~\n"
            "     | Cannot find path 'C:\\w\\x.txt'."
        ),
        [("Get-Content x.txt", "error: Cannot find path 'C:\\w\\x.txt'.")],
    ),
    (record("docker :  Container api Stopping ", "docker compose down", NATIVE) + " Container api Stopped", []),
    ("PS C:\\w> npm test\n1 failed, 2 passed in 0.10s\n", [("npm test", "1 failed, 2 passed")]),
    (
        (
            "a : 3\n\nThe width is not positive.\nAt C:\\w\\b.ps1:9 char:5\n+     throw $why\n+     ~~~~~~~~~~\n"
            "    + CategoryInfo          : OperationStopped: (why:String) [], RuntimeExcep\n   tion\n"
            "    + FullyQualifiedErrorId : The width is not positive.\n"
        ),
        [("throw $why", "RuntimeException: The width is not positive.")],
    ),
    (
        (
            "[srv1] The connection was refused.\n+ CategoryInfo          : OpenError: (x) [], TransportException\n"
            "+ FullyQualifiedErrorId : Refused\n    + PSComputerName        : srv1\n"
        ),
        [("run log", "TransportException: [srv1] The connection was refused.")],
    ),
]


def test_powershell_names_the_command_and_the_plain_error() -> None:
    for text, expected in POWERSHELL_NAMES_COMMAND:
        assert failures(text) == expected, text
        assert failures(text.replace("At C:", "In C:").replace("char:1", "Zeichen:1")) == expected, text


MAVEN: Final = """[INFO] Scanning for projects...
[ERROR] COMPILATION ERROR :
[ERROR] /home/ci/Rate.java:[350,48] cannot find symbol
  symbol:   method getTotal()
[INFO] BUILD FAILURE"""


BUILDS_TELL_WAS: list[tuple[str, list[tuple[str, str]]]] = [
    (
        "[error] /u/Main.scala:9:14: not found: value fooo\n[error]   println(fooo)\n[error] one error found",
        [("build /u/Main.scala", "error: not found: value fooo")],
    ),
    (
        (
            "[error] -- [E008] Not Found Error: /u/M.scala:18:44\n[error] 18 |  x = y\n[error]    |    ^\n"
            "[error]    |value y is not a member of M\n[error] one error found"
        ),
        [("build /u/M.scala", "E008: value y is not a member of M")],
    ),
    (
        (
            "[info] CartSpec:\n[info] - rounds *** FAILED ***\n[info]   2 did not equal 3 (Cart.scala:14)\n"
            "[error] Failed: Total 2, Failed 1, Errors 0, Passed 1"
        ),
        [("CartSpec: rounds", "2 did not equal 3")],
    ),
    ("e: file:///u/A.kt:12:5 Unresolved reference: foo", [("build /u/A.kt", "error: Unresolved reference: foo")]),
    (
        "  23>a.obj : error LNK2019: unresolved external symbol _f [C:\\s.vcxproj]",
        [("run linker", "LNK2019: unresolved external symbol _f")],
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


def test_builds_tell_what_was_wrong_where() -> None:
    for text, expected in BUILDS_TELL_WAS:
        assert failures(text) == expected, text


MUNIT: Final = """shop.CartTest:
  + adds 0.02s
==> X shop.CartTest.rounds half up  0.01s munit.ComparisonFailException: /u/CartTest.scala:9 values are not the same
8:  test("rounds"):
    at munit.Assertions.failComparison(Assertions.scala:274)
[error] Failed: Total 2, Failed 1, Errors 0, Passed 1
[error] Failed tests:
[error]   shop.CartTest
[error] (Test / test) sbt.TestsFailedException: Tests unsuccessful
"""
SCALATEST: Final = """[info] CartSpec:
[info] - rounds *** FAILED ***
[info]   scala.NotImplementedError: an implementation is missing
[info]   at scala.Predef$.$qmark$qmark$qmark(Predef.scala:284)
[info]   at shop.Cart.round(Cart.scala:12)
[info] Tests: succeeded 1, failed 1, canceled 0, ignored 0, pending 0
[error] Failed: Total 2, Failed 1, Errors 0, Passed 1
[error] Failed tests:
[error] \tshop.CartSpec
[error] \tshop.StockSpec
"""


SBT_TELLS_WHICH: list[tuple[str, list[tuple[str, str]]]] = [
    (MUNIT, [("shop.CartTest.rounds half up", "ComparisonFailException: values are not the same")]),
    (
        SCALATEST,
        [("CartSpec: rounds", "NotImplementedError: an implementation is missing"), ("shop.StockSpec", "failed")],
    ),
    (
        (
            "[error]   x the total is rounded\n[error]    3 is not 4 (CartSpec.scala:7)\n"
            "[error] Failed: Total 1, Failed 1, Errors 0, Passed 0\n[error] Failed tests:\n[error] \tshop.CartSpec"
        ),
        [("the total is rounded", "3 is not 4")],
    ),
    (
        "[error] Test shop.CartTest.rounds failed: 3 is not 4, took 0.1 sec",
        [("shop.CartTest.rounds", "3 is not 4")],
    ),
    (
        "[12:01:02] [shop] [info] CartSpec:\n[12:01:02] [shop] [info] - rounds *** FAILED ***",
        [("CartSpec: rounds", "failed")],
    ),
    (
        (
            "[info] Tests: succeeded 9, failed 0, canceled 0, ignored 0, pending 0\n[info] All tests passed.\n"
            "[error] (Test / test) sbt.TestsFailedException: Tests unsuccessful"
        ),
        [("run sbt", "error: (Test / test) sbt.TestsFailedException: Tests unsuccessful")],
    ),
]


def test_sbt_tells_which_test_failed_else_which_suite() -> None:
    for text, expected in SBT_TELLS_WHICH:
        assert failures(text) == expected, text


MOCHA: Final = """  Escrow
    ✔ pays out
    1) refuses a wrong deposit
    2) frees the rest

  1 passing (1s)
  2 failing

  1) Escrow
       refuses a wrong deposit:
     AssertionError: expected 'estimate' to include 'InvalidAmount'
      at Context.<anonymous> (test/escrow.js:52:32)

  2) Escrow frees the rest:

      AssertionError [ERR_ASSERTION]: 0 == 20
      + expected - actual

      -0
      +20

      at Context.<anonymous> (test/escrow.js:76:66)
      at process.processImmediate (node:internal/timers:476:21)


npm ERR! Test failed.  See above for more details.
"""


def test_mocha_names_the_suite_and_the_test() -> None:
    drafts = log(MOCHA)
    assert [(draft.attempt, draft.result) for draft in drafts] == [
        ("Escrow refuses a wrong deposit", "AssertionError: expected 'estimate' to include 'InvalidAmount'"),
        ("Escrow frees the rest", "AssertionError: 0 == 20"),
    ]
    assert drafts[0].observations["suite"] == {"passed": 1, "failed": 2}
    assert drafts[1].artifacts[0].name == "test/escrow.js"


JEST: Final = """FAIL src/cart.test.js
  ✕ totals (3 ms)

  ● totals

    expect(received).toBe(expected) // Object.is equality

      at Object.<anonymous> (src/cart.test.js:8:20)

Tests:       1 failed, 1 total
"""


STANDS_BEFORE_EVERY: list[str] = [
    "10:00:01  ",
    "[10:00:01] :\t [Step 1/2] ",
    "[2026-03-10T10:00:01.123Z] ",
    "> ",
    "    ",
]


def test_what_stands_before_every_line_is_no_part_of_it() -> None:
    for before in STANDS_BEFORE_EVERY:
        wrapped = "".join(f"{before}{line}".rstrip() + "\r\n" for line in JEST.splitlines())
        (draft,) = log("\ufeff" + wrapped)
        assert (draft.label, draft.attempt) == ("failure", "totals"), before
        assert draft.result == "expect(received).toBe(expected) // Object.is equality", before


PIECE_FAILED_RUN: list[str] = [JEST, MOCHA, MUNIT, SCALATEST, INTERLEAVED, MAVEN]


def test_no_piece_of_a_failed_run_is_a_success() -> None:
    for text in PIECE_FAILED_RUN:
        lines = text.splitlines(keepends=True)
        pieces = ["".join(piece) for n in range(len(lines)) for piece in (lines[:n], lines[n:])]
        assert not [piece for piece in pieces if any(draft.label == "success" for draft in log(piece))], text


def suite(cases: str, attributes: str = "") -> str:
    return f'<?xml version="1.0"?>\n<testsuites><testsuite name="shop" {attributes}>{cases}</testsuite></testsuites>'


TRACE: Final = (
    "Traceback (most recent call last):&#10;  File &quot;/app/test_foo.py&quot;, line 18, in t&#10;"
    "    self.assertFalse(True)&#10;AssertionError: True is not false&#10;"
)


FAILED_JUNIT_REPORT: list[tuple[str, list[tuple[str, str]]]] = [
    (
        suite(
            '<testcase classname="C" name="a"><skipped/><failure message="12 != 11">trace</failure></testcase>'
            '<testcase classname="C" name="b"><skipped/><error message="db gone"/></testcase>'
            '<testcase classname="C" name="c"/>'
        ),
        [("C.a", "12 != 11"), ("C.b", "db gone")],
    ),
    (
        suite(f'<testcase name="t"><failure message="{TRACE}"/></testcase>'),
        [("t", "AssertionError: True is not false")],
    ),
    (
        suite(f'<testcase name="t"><failure message="{TRACE.replace("&#10;", " ")}"/></testcase>'),
        [("t", "AssertionError: True is not false")],
    ),
    (
        suite('<testcase name="t"><failure message="Failed">    a_test.go:11: no rows</failure></testcase>'),
        [("t", "no rows")],
    ),
    (
        suite(
            '<testcase name="t"><error message="exited with error code 1"/></testcase>'
            '<system-out>Traceback (most recent call last):\n  File "x.py", line 3, in f\n    g()\n'
            "KeyError: 'port'</system-out>"
        ),
        [("t", "KeyError: 'port'")],
    ),
    (
        suite("", 'tests="3" failures="2" errors="1"'),
        [("shop", "3 failed; the report counts them and lists no case")],
    ),
    (suite('<failure message="no such fixture"/>'), [("shop", "no such fixture")]),
]


def test_what_failed_in_a_junit_report_is_a_failure() -> None:
    for text, expected in FAILED_JUNIT_REPORT:
        assert failures(text) == expected, text
        assert not [draft for draft in log(text) if draft.label == "success"], text


@pytest.mark.parametrize(
    "case",
    [
        '<testcase name="t"><flakyFailure message="once"/><flakyError message="twice"/></testcase>',
        '<testcase name="t" status="run" result="completed"/>',
        '<testcase name="t"><system-out>Error: x</system-out></testcase>',
    ],
)
def test_what_passed_in_the_end_is_a_success(case: str) -> None:
    (draft,) = log(suite(case))
    assert (draft.label, draft.result) == ("success", "1 passed")


def test_a_report_that_breaks_off_keeps_the_failures_that_it_declared() -> None:
    assert failures('<testsuite name="s" tests="1" failures="1"><properties><property name="a"') == [
        ("s", "1 failed; the report counts them and lists no case")
    ]
