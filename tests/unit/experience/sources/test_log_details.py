"""Single forms of logs, and what is refused."""

import re
from itertools import islice, product

import pytest

from phronesis.experience.laws.event_draft import Artifact, Draft
from phronesis.experience.sources.log import LogSource
from phronesis.experience.sources.port import MAX_DRAFTS, MAX_TEXT
from unit.experience.sources.labelled_sources import read

CASE = '<testcase classname="a" name="test_b"><failure message="assert 1 == 2">E   assert 1 == 2</failure></testcase>'
LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE testsuites [
 <!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">
]>
<testsuites><testsuite name="&c;"><testcase name="b"><failure>&c;</failure></testcase></testsuite></testsuites>"""
OUTSIDE = """<?xml version="1.0"?>
<!DOCTYPE testsuites SYSTEM "file:///etc/hostname">
<testsuites><testsuite name="a"><testcase name="b"><failure>x</failure></testcase></testsuite></testsuites>"""


def log(text: str) -> list[Draft]:
    return read(LogSource(), text)


def only(text: str) -> Draft:
    (draft,) = log(text)
    return draft


@pytest.mark.parametrize("text", [LAUGHS, OUTSIDE, "<!DOCTYPE html><html><body>404</body></html>"])
def test_a_document_type_is_refused(text: str) -> None:
    assert log(text) == []


def test_an_entity_that_nobody_defined_ends_the_report_there() -> None:
    assert only(f"<testsuite name='s'>{CASE}<testcase name='x'>&lol;</testcase></testsuite>").attempt == "a.test_b"


def test_a_report_that_breaks_off_gives_what_was_there() -> None:
    whole = f"<testsuites><testsuite name='s'>{CASE}<testcase name='ok'/></testsuite></testsuites>"
    assert only(whole[: whole.index("<testcase name='ok'")]).label == "failure"
    cut = only("<testsuite name='s'><testcase name='ok'/><testcase na")
    assert (cut.label, cut.attempt) == ("unknown", "s")


def test_characters_that_xml_forbids_stop_no_report() -> None:
    assert only(f"\ufeff<testsuite name='\x1bs'>{CASE}</testsuite>").result == "AssertionError: assert 1 == 2"


def test_places_in_a_report_are_characters_not_bytes() -> None:
    text = f"<testsuite name='prüfen → 测试'>\r\n\r{CASE}\r\n</testsuite>"
    draft = only(text)
    assert draft.span is not None
    assert text[slice(*draft.span)] == CASE
    assert draft.lines == (2, 2)


SINGLE_ERROR_TOLD: list[tuple[str, str]] = [
    ("main.cpp(10): error C2065: 'x': undeclared identifier", "C2065: 'x': undeclared identifier"),
    (
        "ld: a.c:(.text+0x5): undefined reference to `foo'\ncollect2: error: ld returned 1 exit status",
        "undefined reference to `foo'",
    ),
    (
        "Unhandled exception. System.ArgumentException: bad\n   at Acme.App.Main() in /srv/App.cs:line 7",
        "ArgumentException: bad",
    ),
    (
        "fatal error: all asleep\n\ngoroutine 1 [chan receive]:\nmain.main()\n\t/srv/a.go:7 +0x1",
        "fatal error: all asleep",
    ),
    ('Traceback (most recent call last):\n  File "a.py", line 1, in f', "a traceback that is cut off"),
    ("[12:01:02] ERROR - queue is full", "error: queue is full"),
    ("make: *** [Makefile:3: x] Error 1", "make: *** [Makefile:3: x] Error 1"),
]


def test_a_single_error_is_told_in_short() -> None:
    for text, result in SINGLE_ERROR_TOLD:
        draft = only(text)
        assert (draft.label, draft.result) == ("failure", result), text


def test_tap_is_read() -> None:
    text = (
        "TAP version 13\n# Subtest: adds\nnot ok 1 - adds\n  ---\n  error: |-\n    2 !== 3\n"
        "  name: 'AssertionError'\n  ...\n"
        "ok 2 - zero\nnot ok 3 - bare\n1..3"
    )
    adds, bare = log(text)
    assert (adds.attempt, adds.result, adds.lines) == ("adds", "AssertionError: 2 !== 3", (3, 8))
    assert (bare.attempt, bare.result) == ("bare", "failed")
    assert bare.observations["suite"] == {"passed": 1, "failed": 2}


def test_a_pytest_run_that_was_cut_off_tells_what_failed_so_far() -> None:
    text = "=== test session starts ===\nt/test_a.py::test_x PASSED  [ 10%]\nt/test_a.py::test_y FAILED  [ 20%]"
    assert only(text).attempt == "t/test_a.py::test_y"


def test_a_good_suite_that_exits_badly_is_unknown_with_both_signals() -> None:
    draft = only("$ pytest --cov-fail-under=90\n12 passed in 0.10s\nexit code: 1")
    assert (draft.label, set(draft.signals)) == ("unknown", {"12 passed", "exit code 1"})


def test_lines_of_a_diff_are_no_commands() -> None:
    text = "- old value\n+ new value\n"
    assert log(text) == []


def test_more_errors_than_anybody_reads_are_cut_and_it_is_said() -> None:
    names = ["".join(word) for word in islice(product("abcdefghijklmnop", repeat=3), MAX_DRAFTS + 5)]
    text = "\n".join(f"ERROR: {name} is bad\n" for name in names)
    drafts = log(text)
    assert len(drafts) == MAX_DRAFTS
    assert drafts[-1].observations["left_out"] is True
    assert "left_out" not in drafts[0].observations


def test_what_no_database_holds_is_replaced() -> None:
    draft = only("ValueError: a\x00b\ud800" + "c" * 3 * MAX_TEXT)
    assert re.fullmatch("ValueError: a�b�c+", draft.result)


def test_an_error_names_its_artifacts() -> None:
    draft = only(
        "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x1\n"
        "    #0 0x4f in free ../sysdeps/a.c:1\n"
        "    #1 0x5a in pop /srv/ring.c:9\n\n"
    )
    assert list(draft.artifacts) == [
        Artifact("file", "/srv/ring.c"),
        Artifact("error_type", "heap-use-after-free"),
        Artifact("concept", "sanitizer"),
    ]
