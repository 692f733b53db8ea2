"""Label an attempt as success, failure or unknown from explicit signals in its observations (EMB-02).

Contradicting signals give unknown, with both listed; no signal gives unknown with none.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from phronesis.experience.laws.event_draft import LABELS, Label

GIVEN: Final = 1.0
MEASURED: Final = 0.95
SAID: Final = 0.8
UNDECIDED: Final = 0.5
"""Confidence of a label: given by the caller; by a number, boolean or status field; by words; by no signal or by
contradicting ones. An order of trust, not measured frequencies."""

MAX_SIGNALS: Final = 20
"""Signals listed at most."""

_DEPTH: Final = 3
_MEMBERS: Final = 1_000
_SHORT: Final = 120
_SCANNED: Final = 2_000
_MOST: Final = 10**10
_DIGITS: Final = re.compile(r"-?[0-9]{1,10}")


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


SUCCESS_WORDS: Final = _words(
    "success successful successfully succeeded succeeds pass passed passes ok okay solved resolved fixed green"
    " correct proved proven accepted 成功 通过 已解决 解决 正确 已修复 修复"
)
FAILURE_WORDS: Final = _words(
    "failure failed fails fail error errored errors broken timeout timed_out crashed crash aborted rejected red"
    " incorrect wrong refuted unsuccessful 失败 报错 错误 超时 未通过 不通过 未解决 崩溃"
)
"""Status words that decide if they are the whole field. ``completed``, ``done`` and ``finished`` only say that
something ended; ``cancelled`` and ``skipped`` that it did not run."""

_EXIT: Final = _words("exit_code exitcode exit_status returncode return_code rc")
_PASSED: Final = _words("passed passes passed_tests num_passed tests_passed successes")
_FAILED: Final = _words("failed failures failed_tests num_failed tests_failed errors error_count num_errors")
_YES: Final = _words(
    "compile_ok build_ok compiles compiled success is_success succeeded ok passed solved resolved is_correct correct"
    " verified"
)
_NO: Final = _words("failed failure is_failure error is_error timeout timed_out crashed crash aborted")
_ERRORS: Final = _words("error errors exception exceptions error_message stderr_error error_type")
_STATUS: Final = _words("status outcome result conclusion state verdict label")
_NOTHING: Final = frozenset(
    ("", "none", "null", "no", "0", "no error", "no errors", "n/a", "nil", "[]", "{}", "false", "无", "没有")
)

_EXIT_TEXT: Final = re.compile(
    r"\b(?:exit(?:ed)?(?: with)?(?: code| status)?|return ?code|退出码)\s?[:=：]?\s?(-?\d{1,10})\b", re.IGNORECASE
)
_COUNT_TEXT: Final = re.compile(r"\b(\d{1,9}) (passed|passing|failed|failing|failures?|errors?)\b", re.IGNORECASE)
_PAIR_TEXT: Final = re.compile(r"\s?([A-Za-z_][\w -]{0,40}?)\s?[:=]\s?(\S.{0,200})\s?\Z")
_ERROR_TEXT: Final = re.compile(r"\s?(?:fatal error|error|fatal|traceback|错误|报错)\s?[:：(\[]", re.IGNORECASE)
_TYPED_TEXT: Final = re.compile(r"\s?[A-Za-z_][\w.]{0,80}(?:Error|Exception)\s?:")

_TRUTHS: Final = {"true": True, "yes": True, "false": False, "no": False}

Signal = tuple[Label, str, float]


@dataclass(frozen=True, slots=True)
class OutcomeLabel:
    """A label, the signals that decided it in words, and its confidence in [0, 1]."""

    label: Label
    signals: tuple[str, ...] = ()
    confidence: float = UNDECIDED

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a draft that it decides."""
        return {"label": self.label, "signals": self.signals, "confidence": self.confidence}


def label_of(
    observations: object = None, hints: object = None, *, given: object = None, long_errors: bool = True
) -> OutcomeLabel:
    """Return the label that ``observations`` and a person's ``hints`` support; ``given`` overrides both.

    Both are a mapping, a text, or a list of either; other values are ignored. Counts of failed tests are decisive
    before those of passed ones. A ``reward`` of 1 is a success and 0 a failure; values between are neither. Without
    ``long_errors``, an error text of 120 characters or more is ignored, as in older entries.
    """
    given_label = next((label for label in LABELS if label == given), None)
    if given_label is not None:
        return OutcomeLabel(given_label, ("given",), GIVEN)
    found = list(dict.fromkeys(_signals([observations, hints], _DEPTH + 1, long_errors)))
    sides = sorted({label for label, _, _ in found})
    words = tuple(dict.fromkeys(text for _, text, _ in found))[:MAX_SIGNALS]
    if not sides:
        return OutcomeLabel("unknown")
    if len(sides) == 1:
        return OutcomeLabel(sides[0], words, max(strength for _, _, strength in found))
    both = [next(text for label, text, _ in found if label == side) for side in sides]
    return OutcomeLabel("unknown", tuple(dict.fromkeys((*both, *words)))[:MAX_SIGNALS])


def _signals(said: object, depth: int, long_errors: bool) -> Iterator[Signal]:
    """Yield the signals for a label, in the order given."""
    if isinstance(said, str):
        yield from _of_text(said, long_errors)
    elif isinstance(said, Mapping):
        yield from _of_mapping(said, depth, long_errors)
    elif isinstance(said, Sequence) and depth:
        for one in said[:_MEMBERS]:
            yield from _signals(one, depth - 1, long_errors)


def _of_mapping(said: Mapping[Any, Any], depth: int, long_errors: bool) -> Iterator[Signal]:
    counts = {"failed": 0, "passed": 0}
    for key, value in list(said.items())[:_MEMBERS]:
        name = str(key)[:_SHORT].strip().casefold().replace("-", "_").replace(" ", "_")
        number = _count_of(value)
        if number is not None and name in _FAILED:
            counts["failed"] += number
            if number > 0:
                yield ("failure", f"{number} {_noun(name, number)}", MEASURED)
        elif number is not None and name in _PASSED:
            counts["passed"] += number
        elif isinstance(value, Mapping):
            if depth:
                yield from _of_mapping(value, depth - 1, long_errors)
        else:
            yield from _member_signals(name, value, number, long_errors)
    if counts["passed"] > 0 and counts["failed"] <= 0:
        yield ("success", f"{counts['passed']} passed", MEASURED)


def _member_signals(name: str, value: object, number: int | None, long_errors: bool) -> Iterator[Signal]:
    """Yield the signal of one member that is no count."""
    if isinstance(value, bool):
        if name in _YES:
            yield ("success" if value else "failure", f"{name} is {str(value).lower()}", MEASURED)
        elif name in _NO:
            yield ("failure" if value else "success", f"{name} is {str(value).lower()}", MEASURED)
    elif name in _EXIT:
        if number is not None:
            yield _exit(number)
    elif name == "reward" and isinstance(value, int | float) and value in (0, 1):
        yield ("success" if value else "failure", f"reward {int(value)}", MEASURED)
    elif name in _ERRORS and isinstance(value, str):
        if _plain(value) not in _NOTHING or (long_errors and len(value.strip()) >= _SHORT):
            yield ("failure", f"{name}: {_short(value)}", SAID)
    elif name in _ERRORS and isinstance(value, Sequence):
        if value:
            yield ("failure", f"{len(value)} {_noun(name, len(value))}", SAID)
    elif isinstance(value, str) and (name in _STATUS or name in _YES or name in _NO):
        yield from _word_signals(value, f"{name}: ", MEASURED)


def _of_text(said: str, long_errors: bool) -> Iterator[Signal]:
    """Yield the signals of a line: ``name: value``, an exit code, counts, a status, an error."""
    text = said[:_SCANNED]
    word = list(_word_signals(text, "", SAID))
    if word:
        yield from word
        return
    pair = _PAIR_TEXT.match(text)
    named: list[Signal] = []
    if pair:
        value = pair[2].strip()
        named = list(_of_mapping({pair[1]: _TRUTHS.get(value.casefold(), value)}, 0, long_errors))
    if named:
        yield from named
        return
    for code in _EXIT_TEXT.findall(text):
        yield _exit(int(code))
    counts = [(int(count), noun.casefold()) for count, noun in _COUNT_TEXT.findall(text)]
    failed = [(count, noun) for count, noun in counts if count and not noun.startswith("pass")]
    for count, noun in failed or [(count, noun) for count, noun in counts if count and noun.startswith("pass")]:
        yield ("failure" if failed else "success", f"{count} {noun}", MEASURED)
    if _ERROR_TEXT.match(text) or _TYPED_TEXT.match(text):
        yield ("failure", _short(text), SAID)


def _word_signals(said: str, before: str, strength: float) -> Iterator[Signal]:
    plain = _plain(said)
    word = plain.replace(" ", "_")
    if word in SUCCESS_WORDS:
        yield ("success", f"{before}{plain}", strength)
    elif word in FAILURE_WORDS:
        yield ("failure", f"{before}{plain}", strength)


def _exit(code: int) -> Signal:
    return ("failure" if code else "success", f"exit code {code}", MEASURED)


def _noun(name: str, count: int) -> str:
    if name in {"error", "errors", "error_count", "num_errors"}:
        return "error" if count == 1 else "errors"
    return "exceptions" if name.startswith("exception") else "failed"


def _count_of(value: object) -> int | None:
    """Return a count; None for other values, including ``True``."""
    if isinstance(value, str):
        return int(value) if _DIGITS.fullmatch(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_MOST < value < _MOST:
        return None
    return int(value) if value == int(value) else None


def _plain(said: str) -> str:
    """Return a text in lower case without surrounding marks, for comparison with a word."""
    return said[:_SCANNED].strip(" \t\r\n.!。！*_`\"'✓✗✔✘✅❌:：").casefold() if len(said) < _SHORT else ""


def _short(said: str) -> str:
    """Return the first line of a text, cut."""
    return said.strip().partition("\n")[0][:_SHORT]
