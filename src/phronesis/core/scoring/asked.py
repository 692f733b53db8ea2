"""What a question asks for beside its words: a time, and whose words are meant, in English and Chinese."""

import re
from typing import Final

MAX_SCANNED: Final = 2_000
"""Characters of a question that are looked at: what is asked stands in a sentence, not in the page pasted after it."""

_WHEN: Final = re.compile(
    r"\b(?:when|how long ago|how long|since when|(?:what|which) (?:(?:was|is) the )?(?:exact )?"
    r"(?:date|day|month|year|time|week|weekend|season))\b"
    "|什么时候|甚么时候|什麼時候|何时|何時|哪天|哪一天|哪年|哪一年|哪个月|哪個月|几号|幾號|几月|幾月|几点|幾點|多久|哪个季节|星期几|周几|礼拜几",
    re.IGNORECASE,
)
_SAYING: Final = (
    "say|said|saying|suggest|suggested|recommend|recommended|mention|mentioned|tell|told|advise|advised|propose|proposed"
    "|explain|explained|write|wrote|give|gave|given|show|showed|list|listed|describe|described|answer|answered|provide"
    "|provided|come up with|came up with|point out|pointed out|warn|warned|help|helped|offer|offered|draft|drafted"
)
_OTHER: Final = re.compile(
    rf"\b(?:you|(?:the |my )?(?:assistant|chatbot|bot|ai))(?: \w{{1,20}}){{0,3}}? (?:{_SAYING})\b"
    r"|\byour (?:\w{1,20} ){0,2}?(?:suggestions?|recommendations?|advice|answers?|explanations?|examples?|tips?|code"
    r"|snippets?|summary|reply|replies|response|responses|proposals?|lists?|version)\b"
    "|(?:你|您|助手|助理|AI)[^，。？！,.?!]{0,8}?(?:说过|说的|说|建议|推荐|提到|提过|提议|讲过|讲|告诉|给我|写的|写了|写过|写|介绍|解释|列出|列了|列的"
    "|回答|回复|教我|教过|提醒)",
    re.IGNORECASE,
)
_PERSONAL: Final = re.compile(
    r"\b(?:i|i'm|i've|i'd|me|my|mine|myself|we|us|our|ours|you|your|yours)\b|[我咱你您]", re.IGNORECASE
)


def asks_when(text: str) -> bool:
    """Tell whether a question asks for a time: when, what day, how long ago, 什么时候, 哪天, 几号."""
    return _WHEN.search(text[:MAX_SCANNED]) is not None


def asks_assistant(text: str) -> bool:
    """Tell whether a question asks for what the assistant said: "you suggested", "your advice", 你推荐的."""
    return _OTHER.search(text[:MAX_SCANNED]) is not None


def is_personal(text: str) -> bool:
    """Tell whether a question speaks of who asks or is asked: I, my, we, you, 我, 你."""
    return _PERSONAL.search(text[:MAX_SCANNED]) is not None
