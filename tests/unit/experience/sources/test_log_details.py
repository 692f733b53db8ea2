"""Single forms of logs, and what is refused."""

import re

import pytest

from phronesis.experience.laws.event_draft import Draft
from phronesis.experience.sources.log import LogSource
from phronesis.experience.sources.port import MAX_TEXT
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
