"""Label an attempt as success, failure or unknown, from its observations or from what a person says of it (EMB-02).

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
    if (given_label := next((label for label in LABELS if label == given), None)) is not None:
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
    if word := list(_word_signals(text, "", SAID)):
        yield from word
        return
    if pair := _PAIR_TEXT.match(text):
        value = pair[2].strip()
        if named := list(_of_mapping({pair[1]: _TRUTHS.get(value.casefold(), value)}, 0, long_errors)):
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
    if word in SUCCESS_WORDS or word in FAILURE_WORDS:
        yield ("success" if word in SUCCESS_WORDS else "failure", f"{before}{plain}", strength)


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

_NEGATION: Final = r"(?:\w{1,8}n't|not(?! only| just)|never|no longer|cannot|nothing|neither|none)"
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
    rf"\b{_NEGATION}(?:\s\w{{1,20}}){{0,2}}?\s{_WORK}\b|\bwithout (?:any )?success\b|\bunable to\b"
    rf"|\bdoes nothing\b|\bnothing (?:happens|happened|changed|changes)\b"
    r"|(?:没有?|未|不|无法|没能|不能)(?:能|再|被)?(?:解决|成功|通过|起作用|生效|修好|搞定|跑通|管用|奏效|工作)"
    r"|不行|没用|不好使|无效|白费|没有?效果|没什么用|不起作用|行不通|没有?帮助",
    re.IGNORECASE,
)
_NOT_FAILED: Final = re.compile(
    rf"\b(?:{_NEGATION}|no|no more|zero|without(?: an?y?)?|0)(?:\s\w{{1,20}}){{0,2}}?\s{_BAD}\b"
    r"|(?:没有?|不再|未|不会|再没|再也没有?)(?:再|出现|有|报|任何|看到|过|遇到){0,3}(?:失败|报错|出错|错误"
    r"|异常|崩溃|超时|错)|没有?问题了|没事了",
    re.IGNORECASE,
)
_SAYS_FAILED: Final = re.compile(
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
_SAYS_WORKED: Final = re.compile(
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


def outcome_in_text(text: str) -> OutcomeLabel:
    """Return the label that a text's words support; the signals quote them."""
    votes = list(_votes(text))
    sides = {label for label, _, _ in votes}
    if len(sides) > 1 and votes[-1][2]:
        sides = {votes[-1][0]}
        votes = [vote for vote in votes if vote[0] in sides]
    signals = tuple(dict.fromkeys(f"says “{phrase}”" for _, phrase, _ in votes))[:5]
    return OutcomeLabel(votes[0][0], signals, SAID) if len(sides) == 1 else OutcomeLabel("unknown", signals)


def reasons(text: str) -> str:
    """Return the first sentence that gives a reason; empty if there is none."""
    sentences = (match[0].strip() for match in _SENTENCE.finditer(text[:_READ]))
    return next((one for one in sentences if _WHY.search(one) and not one.endswith(("?", "？"))), "")


def is_question(text: str) -> bool:
    """Return whether a text is only a question: short, ending in a question mark."""
    words = text.strip()
    return words.endswith(("?", "？")) and len(words) <= _CLAUSE


def _votes(text: str) -> Iterator[tuple[Label, str, bool]]:
    for clause, mark in _clauses(text[:_READ].replace("’", "'")):
        if _QUESTION.search(mark) or _QUESTION.search(clause) or _SUPPOSED.search(clause) or _EARLIER.search(clause):
            continue
        now = _NOW.search(clause) is not None
        if against := _NOT_WORKED.search(clause):
            yield "failure", against[0].strip(), now
            continue
        if spared := _NOT_FAILED.search(clause):
            yield "success", spared[0].strip(), now
            continue
        if failed := _SAYS_FAILED.search(clause):
            yield "failure", failed[0].strip(), now
        if worked := _SAYS_WORKED.search(clause):
            yield "success", worked[0].strip(), now


def _clauses(text: str) -> Iterator[tuple[str, str]]:
    """Yield the clauses of a text, each with the mark that ends it."""
    start = 0
    for cut in _CUT.finditer(text):
        yield text[start : cut.start()][:_CLAUSE], cut[1] or ""
        start = cut.end()
    yield text[start:][:_CLAUSE], ""
