"""Read the form of a statement of an old memory: the runs it names, leftover brackets, and what it begins with."""

import re
from collections.abc import Sequence
from typing import Final

from phronesis.reasoning.laws.facts import excerpt

MAX_LOOKED_AT: Final = 600
"""Maximum characters of a statement that patterns examine; a longer one is kept as an inference."""

_AVOIDING: Final = (
    "please avoid|avoid using|avoid|do not|don't|don’t|never|must not|should not|"
    "refrain from|请避免|应避免|必须避免|建议避免|避免|不要|请不要|不得|不应|不宜|禁止|严禁|切勿|请勿"
).split("|")
"""What a statement that says what to avoid begins with."""

_REASONS: Final = (
    " because | since | due to | otherwise |, or else | so that |, which |因为|由于|否则|以免|因其"
).split("|")
_FIRST_VERBS: Final = ("using ", "use ", "adding ", "add ", "the use of ", "使用", "采用", "选用", "加入", "添加")
_HEDGES: Final = (
    "may",
    "might",
    "probably",
    "likely",
    "perhaps",
    "possibly",
    "可能",
    "也许",
    "推测",
    "或许",
    "大概",
    "似乎",
)
_DIGIT: Final = re.compile(r"\d")
_WORD: Final = re.compile(r"[a-z]+")
_ID = r"[A-Za-z]{0,16}[-_#.]?\d[A-Za-z0-9_.-]{0,40}"
_RUNS: Final = re.compile(
    rf"(?:\bruns?|\bexperiments?|\bexp\.?|\btrials?|运行|实验|批次|试验)\s{{0,2}}[#：:]?\s{{0,2}}(?P<ids>{_ID}"
    rf"(?:\s{{0,2}}(?:,|，|、|and|&|和|与|及)\s{{0,2}}{_ID}){{0,8}})(?!\s{{0,2}}(?:times?\b|h\b|%|°|次|个|组|轮|遍|天|小时|[：:.]?\d))",
    re.IGNORECASE,
)
_ONE_ID: Final = re.compile(_ID)
_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_ROUND: Final = str.maketrans("[]【】［］〔〕", "()()()()")
_EMPTY_BRACKETS: Final = re.compile(
    r"\s{0,2}[(（]\s{0,2}(?:(?:see|cf\.?|refs?\.?|from|e\.g\.|见|参见|参考|引自|来自)\s{0,2})?(?:[,，、;；and和与]{0,4}\s{0,2}){0,1}[)）]",
    re.IGNORECASE,
)
_LOOSE: Final = re.compile(r"\s{1,8}(?=[,.;:!?，。；：！？、)）])|(?<=[(（])\s{1,8}")


def is_chinese(text: str) -> bool:
    """Return whether a text contains a Chinese character."""
    return _HAN.search(text) is not None


def tidy_text(text: str) -> str:
    """Return a text from which aliases were removed, without leftover brackets and gaps."""
    return " ".join(_LOOSE.sub("", _EMPTY_BRACKETS.sub("", text)).split()).strip(" ,，;；、")


def to_avoid(text: str, *, under: bool = False) -> str | None:
    """Return what a statement says to avoid, without the reason, or None.

    ``under`` a heading of that kind, it is the whole statement.
    """
    looked = text[:MAX_LOOKED_AT]
    said = _after_first(looked, _AVOIDING)
    if said is None and not under:
        return None
    what = looked if said is None else said
    ends = [place for reason in _REASONS if (place := what.lower().find(reason)) > 0]
    what = what[: min(ends, default=len(what))].strip(" ,，:：")
    what = _after_first(what, _FIRST_VERBS) or what
    return excerpt(what.translate(_ROUND).strip(" ,，.。;；"), 300) or None


def _after_first(text: str, words: Sequence[str]) -> str | None:
    """Return what follows the longest of these words at the start of a text, or None."""
    small = text.lower()
    found = max((word for word in words if small.startswith(word)), key=len, default=None)
    return None if found is None else text[len(found) :].strip()


def runs_named(text: str, known: Sequence[str]) -> list[str]:
    """Return the runs that a statement names, by the word "run" or by a known run id."""
    looked = text[:MAX_LOOKED_AT]
    named = [one for found in _RUNS.finditer(looked) for one in _ONE_ID.findall(found["ids"])]
    return list(
        dict.fromkeys([one.strip(".-_") for one in named] + [one for one in known if _contains_id(one, looked)])
    )


def is_result(text: str) -> bool:
    """Return whether a statement about a run holds a number beside its name, and no word of supposition."""
    small = _RUNS.sub(" ", text[:MAX_LOOKED_AT]).lower()
    words = set(_WORD.findall(small))
    return _DIGIT.search(small) is not None and not any(
        word in words if word.isascii() else word in small for word in _HEDGES
    )


def as_report(text: str) -> str:
    """Return advice rephrased as a report of an earlier memory."""
    if is_chinese(text):
        return f"早先的记忆写道：「{text.translate(str.maketrans('「」『』“”', '‘’‘’‘’'))}」"
    plain = text.translate(str.maketrans('“”"', "'''"))
    return f'An earlier memory noted: "{plain}"'


def _contains_id(run_id: str, text: str) -> bool:
    """Return whether an id occurs in a text as a whole word."""
    at = text.find(run_id)
    while at >= 0:
        around = text[max(0, at - 1) : at] + text[at + len(run_id) : at + len(run_id) + 1]
        if not any(char.isascii() and (char.isalnum() or char in "-_") for char in around):
            return True
        at = text.find(run_id, at + 1)
    return False
