"""Classify a statement of an old memory by English and Chinese patterns, in which every gap is bounded.

They match the statement as written, without folding, so that matches can be quoted.
"""

import re
from collections.abc import Sequence
from typing import Final

from phronesis.reasoning.laws.facts import excerpt

MAX_LOOKED_AT: Final = 600
"""Maximum characters of a statement that patterns examine; a longer one is kept as an inference."""

_NEGATED = (
    r"(?:use|add|heat|exceed|run|store|mix|apply|choose|select|set|let|raise|lower|increase|reduce|keep|leave|calcine|go"
    r"|rely|trust|assume|dry|skip|omit|expose|touch|combine|employ|open|stir|wash)"
)
_AVOID_EN: Final = re.compile(
    r"(?:(?:please|also|and|but|so|thus|therefore),?\s)?(?:(?:you|we|one|agents?)\s(?:should|must)\s)?"
    r"(?:(?:(?:we|i)\s(?:recommend|advise|suggest)|it\sis\s(?:best|better|advisable|recommended))\s(?:to\s)?)?"
    rf"(?:avoid(?:ing)?\s|(?:do\snot|don['’]t|must\snot|should\snot|shouldn['’]t|refrain\sfrom|stay\saway\sfrom)\s"
    rf"|never\s(?={_NEGATED}\b))(?P<what>.{{2,400}})",
    re.IGNORECASE,
)
_AVOIDED_EN: Final = re.compile(
    r"(?P<what>.{2,200}?)\s(?:should|must|has\sto|have\sto|needs?\sto|is\sto|are\sto)\s(?:be\savoided|not\sbe\sused|never\sbe\sused)"
    r"(?P<why>.{0,300})",
    re.IGNORECASE,
)
_AVOID_ZH: Final = re.compile(
    r"(?:请|建议|最好|应该|应当|应|必须|务必|尽量|一定要)?(?:避免|不要|不得|不可(?!能|见|逆)|不应|不宜|禁止|切勿|请勿|严禁)"
    r"(?:再)?(?P<what>.{1,300})"
)
_REASON: Final = re.compile(
    r"\s{0,2}[,，(（]?\s{0,2}(?:\b(?:because|since|due to|otherwise|or else|so that|which|as (?:it|they|this|these))\b"
    r"|因为|由于|否则|以免|因其|原因是)"
)
_FIRST_VERB: Final = re.compile(
    r"(?:the use of|using|use|adding|add|applying|employing|choosing|使用|采用|选用|加入|添加)\s{0,2}",
    re.IGNORECASE,
)

_LEADING_EN: Final = re.compile(
    r"(?P<when>(?:when|if|whenever|under|with|without|at|in the presence of|in the absence of|for)\s"
    r"(?!example|instance|now|all|the most|most|least|first)[^,]{1,160}),\s(?=\S)",
    re.IGNORECASE,
)
_LEADING_ZH: Final = re.compile(
    r"(?P<when>(?:当|若|如果|如|倘若|对于)[^，,。]{2,80}|在[^，,。]{2,80}(?:时|下|中|情况下|条件下))[，,]"
)
_CONDITION: Final = re.compile(
    r"(?:this |it |these |which |that )?(?:only )?(?:applies|apply|holds|hold|is valid|valid) (?:only )?"
    r"(?:to|for|when|if|with|under|at|in)\b|only (?:valid|for|when|if|with|under|at)\b"
    r"|(?:该结论|该规律|此|本条)?(?:仅|只)(?:适用于|限于|对|在)|适用于",
    re.IGNORECASE,
)
_LIMITATION: Final = re.compile(
    r"\b(?:only|just) (?:one|two|three|four|five|a single|a few|\d{1,3})\b.{0,30}"
    r"\b(?:runs?|experiments?|trials?|samples?|batch(?:es)?)\b"
    r"|\bnot (?:yet )?(?:been )?(?:tested|verified|confirmed|reproduced|checked|repeated)\b"
    r"|\bremains? (?:uncertain|unclear|untested)\b|\bsmall sample\b|^tested (?:only )?in .{1,40} only\b"
    r"|(?:尚未|未经|还未|没有)(?:重复|充分|独立|经过)?(?:验证|测试|重复|确认|证实)|样本量?(?:少|小|有限)|有待"
    r"|(?:仅|只)(?:有|做了|基于|来自|重复了?)[^，,。]{0,8}(?:次|组|个)(?:运行|实验|样品|重复)?",
    re.IGNORECASE,
)

_STANDING: Final = re.compile(
    r"(?:always |please |generally |usually )?(?:use|keep|prefer|choose|select|maintain|set|ensure|make sure|employ)\b"
    r"|(?:请|建议|务必|始终|总是|一般|尽量|应|应该|应当|必须)?(?:优先)?(?:使用|采用|选用|选择|保持|维持|优先|推荐|首选|确保)",
    re.IGNORECASE,
)
_AHEAD: Final = re.compile(
    r"\b(?:next|future|further|follow|later|then|again|try|test|another)\b|下|后续|接下来|今后|将来|以后|尝试|测试|再",
    re.IGNORECASE,
)

_ID = r"[A-Za-z]{0,16}[-_#.]?\d[A-Za-z0-9_.-]{0,40}"
_RUNS: Final = re.compile(
    rf"(?:\bruns?|\bexperiments?|\bexp\.?|\btrials?|运行|实验|批次|试验)\s{{0,2}}[#：:]?\s{{0,2}}(?P<ids>{_ID}"
    rf"(?:\s{{0,2}}(?:,|，|、|and|&|和|与|及)\s{{0,2}}{_ID}){{0,8}})(?!\s{{0,2}}(?:times?\b|h\b|%|°|次|个|组|轮|遍|天|小时|[：:.]?\d))",
    re.IGNORECASE,
)
_ONE_ID: Final = re.compile(_ID)
_RESULT: Final = re.compile(
    r"\b(?:gave|gives?|found|reached|was|were|showed|shows|yielded|measured|produced|fell|rose|dropped|increased|decreased|had|lost)\b"
    r"|得到|达到|为|测得|显示|下降|升高|上升|降低|提高|是",
    re.IGNORECASE,
)
_HEDGE: Final = re.compile(
    r"\b(?:may|might|probably|likely|suggests?|could|possibly|perhaps|presumably|seems?|appears?)\b"
    r"|可能|也许|推测|或许|大概|似乎|估计",
    re.IGNORECASE,
)
_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_ROUND: Final = str.maketrans("[]【】［］〔〕", "()()()()")
_EMPTY_BRACKETS: Final = re.compile(
    r"\s{0,2}[(（]\s{0,2}(?:(?:see|cf\.?|refs?\.?|from|e\.g\.|见|参见|参考|引自|来自)\s{0,2})?(?:[,，、;；and和与]{0,4}\s{0,2}){0,1}[)）]",
    re.IGNORECASE,
)
_CITING: Final = re.compile(
    r"(?:according to|based on|per|see"
    r"|as (?:says|shows?|shown|reports?|reported|states?|stated|notes?|noted|said)(?: in| by)?)\s{0,3},\s{0,3}"
    r"|(?:根据|依据|据|如|参见|见)(?:所述|所示|报道|记载|所说)?\s{0,3}[，,]\s{0,3}",
    re.IGNORECASE,
)
_LOOSE: Final = re.compile(r"\s{1,8}(?=[,.;:!?，。；：！？、)）])|(?<=[(（])\s{1,8}")


def is_chinese(text: str) -> bool:
    """Return whether a text contains a Chinese character."""
    return _HAN.search(text) is not None


def tidy_text(text: str) -> str:
    """Return a text from which aliases were removed, without leftover brackets and gaps."""
    plain = " ".join(_LOOSE.sub("", _EMPTY_BRACKETS.sub("", text)).split()).strip(" ,，;；、")
    citing = _CITING.match(plain)
    return plain if citing is None else plain[citing.end() :]


def to_avoid(text: str, *, under: bool = False) -> str | None:
    """Return what a statement says to avoid, without the reason, or None.

    ``under`` a heading of that kind, it is the whole statement.
    """
    looked = text[:MAX_LOOKED_AT]
    found = _AVOID_EN.fullmatch(looked) or _AVOIDED_EN.fullmatch(looked) or _AVOID_ZH.fullmatch(looked)
    if found is None and not under:
        return None
    what = found["what"] if found is not None else looked
    reason = _REASON.search(what)
    what = what[: reason.start()] if reason is not None else what
    verb = _FIRST_VERB.match(what)
    what = what[verb.end() :] if verb is not None else what
    return excerpt(what.translate(_ROUND).strip(" ,，.。;；"), 300) or None


def is_standing_advice(text: str) -> bool:
    """Return whether an order is general practice ("Use 0.1 M KHCO3"), not a next step."""
    looked = text[:MAX_LOOKED_AT]
    return _STANDING.match(looked) is not None and _AHEAD.search(looked) is None


def leading_condition(text: str) -> str | None:
    """Return the condition at the start of a statement as written, or None."""
    found = _LEADING_EN.match(text[:MAX_LOOKED_AT]) or _LEADING_ZH.match(text[:MAX_LOOKED_AT])
    return None if found is None else found["when"].strip()


def is_condition(text: str) -> bool:
    """Return whether the whole statement is a condition of others."""
    return _CONDITION.match(text[:MAX_LOOKED_AT]) is not None


def is_limitation(text: str) -> bool:
    """Return whether the whole statement is a limitation of others."""
    return _LIMITATION.search(text[:MAX_LOOKED_AT]) is not None


def runs_named(text: str, known: Sequence[str]) -> list[str]:
    """Return the runs that a statement names, by the word "run" or by a known run id."""
    looked = text[:MAX_LOOKED_AT]
    named = [one for found in _RUNS.finditer(looked) for one in _ONE_ID.findall(found["ids"])]
    return list(dict.fromkeys([one.strip(".-_") for one in named] + [one for one in known if _stands(one, looked)]))


def is_result(text: str) -> bool:
    """Return whether a statement reports a result and contains no supposition."""
    looked = text[:MAX_LOOKED_AT]
    return _RESULT.search(looked) is not None and _HEDGE.search(looked) is None


def as_report(text: str) -> str:
    """Return advice rephrased as a report of an earlier memory."""
    if is_chinese(text):
        return f"早先的记忆写道：「{text.translate(str.maketrans('「」『』“”', '‘’‘’‘’'))}」"
    plain = text.translate(str.maketrans('“”"', "'''"))
    return f'An earlier memory noted: "{plain}"'


def _stands(run_id: str, text: str) -> bool:
    """Return whether an id occurs in a text as a whole word."""
    at = text.find(run_id)
    while at >= 0:
        around = text[max(0, at - 1) : at] + text[at + len(run_id) : at + len(run_id) + 1]
        if not any(char.isascii() and (char.isalnum() or char in "-_") for char in around):
            return True
        at = text.find(run_id, at + 1)
    return False
