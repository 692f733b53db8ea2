"""What a question asks for beside its words: a time, and whose words are meant, in English and Chinese."""

import re
from typing import Final, Literal

MAX_SCANNED: Final = 2_000
"""Characters of a question that are looked at: what is asked stands in a sentence, not in the page pasted after it."""

_WHEN: Final = re.compile(
    r"\b(?:when|how long ago|how long|since when|(?:what|which) (?:(?:was|is) the )?(?:exact )?"
    r"(?:date|day|month|year|time|week|weekend|season))\b"
    "|什么时候|甚么时候|什麼時候|何时|何時|哪天|哪一天|哪年|哪一年|哪个月|哪個月|几号|幾號|几月|幾月|几点|幾點|多久|哪个季节|星期几|周几|礼拜几",
    re.IGNORECASE,
)
_YOU: Final = re.compile(
    # "you" as who does something; not as whom it was told to
    r"(?<!to )(?<!tell )(?<!told )(?<!ask )(?<!asked )(?<!give )(?<!gave )(?<!with )(?<!for )(?<!from )(?<!show )"
    r"(?<!showed )(?<!sent )(?<!send )(?<!thank )\b(?:you|you['’](?:d|ve|re|ll)|your|yours)\b"
    r"|\b(?:the |my )?(?:assistant|chatbot|bot|ai)(?:['’]s)?\b"
    "|(?<![跟给給对對诉訴问問向和同请請让讓])(?:你|您)|助手|助理",
    re.IGNORECASE,
)
_ADVICE: Final = re.compile(
    r"\b(?:should|shall|may|ought) (?:i|we)\b|\bhow (?:can|could|might|do|would) (?:i|we)\b"
    "|我们?(?:应该|应当|该|可以|能)?(?:怎么|怎样|如何)(?:办|做|处理|解决|才能|弄|调整)|我们?应?该(?:怎|如何|用|吃|买|选)",
    re.IGNORECASE,
)
_ME: Final = re.compile(r"\b(?:i|i['’](?:m|ve|d|ll)|me|my|mine|myself|we|us|our|ours)\b|[我咱]", re.IGNORECASE)

Voice = Literal["user", "assistant"]
"""Whose words a question is after that names nobody."""


def asks_when(text: str) -> bool:
    """Tell whether a question asks for a time: when, what day, how long ago, 什么时候, 哪天, 几号."""
    return _WHEN.search(text[:MAX_SCANNED]) is not None


def voice_of(text: str) -> Voice | None:
    """Give whose words a question is after by its "I" and "you": what the assistant said or advises, or the user's own.

    None where it speaks of neither: then a role says nothing.
    """
    asked = text[:MAX_SCANNED]
    if _YOU.search(asked) is not None or _ADVICE.search(asked) is not None:
        return "assistant"
    return "user" if _ME.search(asked) is not None else None
