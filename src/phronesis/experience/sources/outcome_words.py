"""Detect in English and Chinese text whether it reports success or failure, and the reason it gives.

Questions, wishes, conditions and reports of an earlier state do not count. A text that reports both is unknown unless
its last report is about the present.
"""

import re
from collections.abc import Iterator
from typing import Final

from phronesis.experience.laws.outcome_labels import SAID, OutcomeLabel

_READ: Final = 4_000
_CLAUSE: Final = 400
"""Characters read of a text and of a clause: a verdict is short and comes early."""

_CUT: Final = re.compile(
    r"([.!?;,:\n。！？；，：、…]+)|\s(?:but|however|though|although|yet|so)\s|\sand (?:then|now|finally)\s"
    r"|但是?|不过|可是|然而|然后",
    re.IGNORECASE,
)
_QUESTION: Final = re.compile(r"[?？]|吗[。！…\s]{0,3}\Z")
_SUPPOSED: Final = re.compile(
    r"\b(?:if|whether|unless|until|should|would|could|might|may|maybe|perhaps|hope(?:fully)?|will|going to"
    r"|let me know|make sure"
    r"|ensure|in case|supposed to|want(?:s|ed)?|need(?:s|ed)?|how|why|expect(?:ed|ing)?|not sure|unsure"
    r"|don't know|probably"
    r"|seems?|to see|try to|can you|please)\b|\A\s{0,9}(?:when|once|whenever|as soon as)\b"
    r"|如果|要是|假如|应该|可能|也许|希望|是否|会不会|能不能|怎么|为什么|需要|想要|试试看|估计|大概|不确定"
    r"|不知道|要不要|有没有",
    re.IGNORECASE,
)
_EARLIER: Final = re.compile(
    r"\b(?:at first|initially|before|previously|originally|used to|earlier|yesterday|last (?:week|month|time))\b"
    r"|起初|一开始|刚开始|之前|原来|本来|先前|以前|上次",
    re.IGNORECASE,
)
_NOW: Final = re.compile(
    r"\b(?:now|finally|eventually|at last|in the end|again and it)\b|现在|终于|最后|这次|最终", re.IGNORECASE
)

_NO: Final = r"(?:\w{1,8}n't|not(?! only| just)|never|no longer|cannot|nothing|neither|none)"
_WORK: Final = (
    r"(?:work(?:s|ed|ing)?|help(?:s|ed)?|fix(?:es|ed)?|solv(?:es?|ed)|resolv(?:es?|ed)|pass(?:es|ed|ing)?"
    r"|succeed(?:s|ed)?"
    r"|compil(?:es?|ed)|build|builds|built|run|runs|start(?:s|ed)?|load(?:s|ed)?|connect(?:s|ed)?"
    r"|go through|went through|apply|successful"
    r"|c[ao]me up|respond(?:s|ed)?|finish(?:es|ed)?|make (?:a|any) difference|do the trick|enough)"
)
_BAD: Final = (
    r"(?:fail(?:s|ed|ing|ures?)?|errors?|crash(?:es|ed|ing)?|breaks?|broke|problems|issues|timeouts?"
    r"|time out|exceptions?|hang|hangs)"
)
_NOT_WORKED: Final = re.compile(
    rf"\b{_NO}(?:\s\w{{1,20}}){{0,2}}?\s{_WORK}\b|\bwithout (?:any )?success\b|\bunable to\b"
    rf"|\bdoes nothing\b|\bnothing (?:happens|happened|changed|changes)\b"
    r"|(?:没有?|未|不|无法|没能|不能)(?:能|再|被)?(?:解决|成功|通过|起作用|生效|修好|搞定|跑通|管用|奏效|工作)"
    r"|不行|没用|不好使|无效|白费|没有?效果|没什么用|不起作用|行不通|没有?帮助",
    re.IGNORECASE,
)
_NOT_FAILED: Final = re.compile(
    rf"\b(?:{_NO}|no|no more|zero|without(?: an?y?)?|0)(?:\s\w{{1,20}}){{0,2}}?\s{_BAD}\b"
    r"|(?:没有?|不再|未|不会|再没|再也没有?)(?:再|出现|有|报|任何|看到|过|遇到){0,3}(?:失败|报错|出错|错误"
    r"|异常|崩溃|超时|错)|没有?问题了|没事了",
    re.IGNORECASE,
)
_FAILED: Final = re.compile(
    r"\bstill (?:fail\w{0,4}|broken|crash\w{0,4}|get(?:ting)?|gives?|shows?|see(?:ing)?|throws?|hangs?"
    r"|wrong|the same|happens?|there"
    r"|an? error|errors?|red|timing out|times out|no\b|not\b|\w{1,6}n't)"
    r"|\bsame (?:error|problem|issue|failure|traceback|exception)|\bno (?:luck|effect|difference|success"
    r"|improvement)\b|\bworse\b|\bnope\b"
    r"|\b(?<!the )(?<!a )fail(?:s|ed|ing)\b(?!-|\s?over|\s(?:tests?|builds?|jobs?|logins?|requests?|cases?"
    r"|attempts?|uploads?|ones?)\b)"
    r"|\b(?:crashed|crashes|timed out|hung|in vain|to no avail|dead end|unsuccessful|gave up|broke|segfaults?)\b"
    r"|\b(?:got|gets?|gives?|gave|getting|threw|throws|raised|raises|returns?|returned|with|see|seeing"
    r"|there is|there's)"
    r" (?:me )?(?:(?:an?|the|another|new) )?(?:\w{1,20} )?(?:error|exception|traceback|segfault|timeout)\b"
    r"|(?:还是|仍然?|依然|依旧|又|继续)(?:会|是|在)?(?:报错|不行|失败|有问题|一样|出错|崩溃|报|超时|卡|错)"
    r"|(?:同样|一样)的(?:错误|问题|报错)"
    r"|失败|报错|出错|崩溃|更糟|更差|超时了|挂了|不对",
    re.IGNORECASE,
)
_WORKED: Final = re.compile(
    r"\b(?:it|that|this|which|everything|all|trick|fix|solution|and|now|finally) (?:just |all |now "
    r"|finally |really |also |both |has |have )?"
    r"(?:works?|worked|is working|did it|did the trick|do the trick|helped|fixed (?:it|that|this|the)"
    r"|solved (?:it|that|this|the)"
    r"|passes|passed|pass|compiles|compiled|runs (?:fine|now|again)|is fine|is green|are green|looks good now)\b"
    r"|\bwork(?:s|ed|ing) (?:now|again|fine|well|great|perfectly|like a charm|for me|as expected"
    r"|as intended|nicely|everywhere)\b"
    r"|(?:\A|\s)work(?:s|ed)\s{0,3}\Z|\A\s{0,3}work(?:s|ed)\b"
    r"|\b(?:is|was|are|were|got|been|now|problem|issue|bug|all) (?:now |all )?(?:fixed|solved|resolved)\b"
    r"|\A\s{0,3}(?:fixed|solved|resolved)\b"
    r"|\b(?:problem|issue|errors?|warnings?|timeouts?|failures?|bug|crash(?:es)?|leak) (?:is |are |was "
    r"|were |went |has |have |had )?(?:now |all )?"
    r"(?:gone|away|disappeared|solved|fixed|resolved|vanished|stopped)\b"
    r"|\b(?:succeeded|successful|successfully|success|did the trick|all green|perfect|like a charm"
    r"|exactly what i (?:needed|wanted))\b"
    r"|\btests? (?:now |all )?(?:pass|passes|passed|are green)\b|\b(?:went|goes) through\b"
    r"|解决了|已解决|解决啦|(?:现在|终于|就|都|已经|全|完全|这次|这下)好了|\A\s{0,3}好了|可以了"
    r"|(?<!不)行了|成功|搞定|通过了|全部通过|修好了|修复了|能用了|正常了|跑通了|生效了"
    r"|(?<!没)有用(?!户)|(?<!不)管用|奏效|恢复正常|一切正常",
    re.IGNORECASE,
)

_SENTENCE: Final = re.compile(r"[^.!?\n。！？]{0,1000}(?:[.](?=\S)[^.!?\n。！？]{0,300}){0,4}(?:[.!?。！？]|\n|\Z)")
_WHY: Final = re.compile(
    r"\b(?:the|our|my|its|root) (?:real |actual |root |main |only )?(?:problem|issue|cause|reason|culprit"
    r"|bug|mistake)"
    r" (?:was|is|turned out|for (?:this|that|it) (?:was|is))\b|\b(?:it |this |that )?turn(?:s|ed) out\b"
    r"|\b(?:root cause)\b"
    r"|\b(?:it|that|this) (?:was|is|failed|fails|happened|happens|broke|worked|works) (?:because|due to"
    r"|since)\b|\b(?:was|is) caused by\b"
    r"|原因(?:是|在于|就是)|问题(?:出)?在|问题(?:就)?是|根源(?:是|在)|是因为|才发现|原来是|罪魁祸首",
    re.IGNORECASE,
)


def said_outcome(text: str) -> OutcomeLabel:
    """Return the label that a text's words support; the signals quote them."""
    votes = list(_votes(text))
    sides = {label for label, _, _ in votes}
    if len(sides) > 1 and votes[-1][2]:
        votes = [vote for vote in votes if vote[0] == votes[-1][0]]
        sides = {votes[-1][0]}
    signals = tuple(dict.fromkeys(f"says “{phrase}”" for _, phrase, _ in votes))[:5]
    if sides == {"success"}:
        return OutcomeLabel("success", signals, SAID)
    if sides == {"failure"}:
        return OutcomeLabel("failure", signals, SAID)
    return OutcomeLabel("unknown", signals)


def reasons(text: str) -> str:
    """Return the first sentence that gives a reason; empty if there is none."""
    for match in _SENTENCE.finditer(text[:_READ]):
        sentence = match[0].strip()
        if sentence and _WHY.search(sentence) and not sentence.endswith(("?", "？")):
            return sentence
    return ""


def is_question(text: str) -> bool:
    """Return whether a text is only a question: short, ending in a question mark."""
    words = text.strip()
    return words.endswith(("?", "？")) and len(words) <= _CLAUSE


def _votes(text: str) -> Iterator[tuple[str, str, bool]]:
    for clause, mark in _clauses(text[:_READ].replace("’", "'")):
        if _QUESTION.search(mark) or _QUESTION.search(clause) or _SUPPOSED.search(clause) or _EARLIER.search(clause):
            continue
        now = _NOW.search(clause) is not None
        against = _NOT_WORKED.search(clause)
        if against:
            yield "failure", against[0].strip(), now
            continue
        spared = _NOT_FAILED.search(clause)
        if spared:
            yield "success", spared[0].strip(), now
            continue
        for label, match in (("failure", _FAILED.search(clause)), ("success", _WORKED.search(clause))):
            if match:
                yield label, match[0].strip(), now


def _clauses(text: str) -> Iterator[tuple[str, str]]:
    """Yield the clauses of a text, each with the mark that ends it."""
    start = 0
    for cut in _CUT.finditer(text):
        yield text[start : cut.start()][:_CLAUSE], cut[1] or ""
        start = cut.end()
    yield text[start:][:_CLAUSE], ""
