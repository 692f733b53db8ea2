"""Parse constraints given in words and check whether a text violates one (EMB-11).

A constraint forbids what follows its negation ("no internet", "不能用 sudo") or, if nothing follows, what precedes it
("sudo is not allowed"). A text violates it if one clause has all its terms outside the clause's own negations.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from phronesis.errors import InputError

MUST_NOT: Final = "must_not"
"""The member of a constraint mapping that says what is forbidden: a phrase or a list of phrases."""

MAX_SCANNED: Final = 4_000
"""Characters of an attempt that are examined."""

MAX_PHRASE: Final = 500
"""Characters of a constraint or a preference; longer texts are not parsed as rules."""

MAX_RULES: Final = 50

TermsOf = Callable[[str], Sequence[str]]

_NEGATION: Final = re.compile(
    r"\b(?:must not|may not|do not|does not|did not|should not|can not|not to|not|no|never|without|cannot"
    r"|(?:do|does|did|ca|wo|should|must|is|are)n['’]t|avoid(?:ing|ed|s)?|exclud(?:e|es|ing)|forbid(?:s|den)?"
    r"|prohibit(?:s|ed)?|ban(?:s|ned)?|instead of|rather than|lacks?|lacking|skip(?:ping|ped)?)\b"
    r"|不能够?|不要|不可以?|不得|不许|不准|不允许|不应该?|不想|不喜欢|禁止|严禁|避免|不使用|不用|不带|不靠|没有|没法|没用|没"
    r"|无法|无需|勿|别|而不是|而非|代替|无|未|不",
    re.IGNORECASE,
)
_NO_NEGATION: Final = re.compile(
    r"\b(?:not only|no longer|no matter|no problem|no doubt|do not forget|don['’]t forget)\b"
    r"|不仅|不但|不过|不断|不同|不管|不论|不久|别的|特别|分别|区别|级别|类别|未来|无论|没错|没问题|不忘|别忘",
    re.IGNORECASE,
)
_RESUMED: Final = re.compile(
    r"\b(?:but|then|so|and then|because|since)\b|而是|但是?|然后|于是|改用|改为|改成|再|就|直接", re.IGNORECASE
)
_CLAUSE: Final = re.compile(r"[;!?\n。；！？，,、:：]|\.(?=\s|$)")
_APART: Final = re.compile(r"\s(?:or|and|nor)\s|[,/、，;；]|或者?|以及|和|与", re.IGNORECASE)
_FILLER: Final = re.compile(
    r"\b(?:us(?:e|es|ed|ing|age)|be|is|are|any|the|a|an|all|allowed|available|permitted|possible|please|to|of|with|on"
    r"|at|has|have|there|we|you|i|it|this|may|must|should|can|will|need(?:s|ed)?|rely(?:ing)?|requir(?:e|es|ed|ing)"
    r"|access(?:ing|es)?|connection|rights?|permissions?|tools?|prefer(?:ably|s|red|ence)?|like|call(?:s|ing)?)\b"
    r"|使用|任何|允许|可用|访问|连接|权限|进行|可以|需要|命令|工具|调用|喜欢|最好|尽量|优先|偏好|[用的了得能被去做要有是请我你再也许]",
    re.IGNORECASE,
)
_OVER: Final = re.compile(r"\bover\b|胜过|多于", re.IGNORECASE)
"""Words after which the less preferred alternative follows."""

_EDGES: Final = " \t\n.,;:!?\"'`()[]{}。，；：！？“”‘’（）"

_SAME: Final[Sequence[tuple[str, ...]]] = (
    ("internet", "network", "online", "download", "web", "联网", "网络", "上网", "互联网", "在线", "下载", "外网"),
    ("sudo", "root", "管理员", "提权", "超级用户"),
    ("gpu", "cuda", "显卡"),
    ("restart", "reboot", "重启"),
    ("delete", "remove", "rm", "删除", "删掉"),
    ("docker", "container", "容器"),
    ("proxy", "代理", "vpn"),
    ("cache", "缓存"),
)
"""Synonyms, in both languages; ``no internet`` forbids a download."""

_STATES: Final = {
    "offline": "internet",
    "air-gapped": "internet",
    "airgapped": "internet",
    "离线": "联网",
    "断网": "联网",
    "read-only": "delete",
    "只读": "删除",
}
"""Words that imply what is forbidden."""


_HAN: Final = re.compile("[\u3400-\u9fff]")
_LATIN: Final = re.compile("[A-Za-z]{2,}")


def is_chinese(text: str) -> bool:
    """Return whether a text is Chinese: it has at least as many Han characters as Latin words, often names."""
    han = len(_HAN.findall(text))
    return han > 0 and han >= len(_LATIN.findall(text))


@dataclass(frozen=True, slots=True)
class Ban:
    """One thing that a constraint forbids: its words, and the terms of each of its names."""

    constraint: str
    phrase: str
    names: Sequence[frozenset[str]]

    def is_violated_by(self, clauses: Iterable[frozenset[str]]) -> bool:
        """Return whether a clause, given as its terms, does what is forbidden."""
        return any(name <= clause for clause in clauses for name in self.names)

    @property
    def reason(self) -> str:
        """Return the reason given for an attempt that violates it, in the constraint's language."""
        if is_chinese(self.constraint):
            return f"用到了“{self.phrase}”，与约束“{self.constraint}”不符"
        return f"it comes to {self.phrase!r}, which {self.constraint!r} rules out"


def bans_of(constraints: Sequence[Any], terms_of: TermsOf) -> tuple[list[Ban], list[str]]:
    """Return what constraints forbid, and the constraints from which these rules read nothing.

    A constraint is a text, or ``{"must_not": phrase or [phrases]}``. InputError for anything else.
    """
    bans: list[Ban] = []
    unread: list[str] = []
    for constraint in _check_rules(constraints, "constraints"):
        named = constraint if isinstance(constraint, str) else ", ".join(constraint)
        found = _forbidden_phrases(constraint) if isinstance(constraint, str) else list(constraint)
        read = [Ban(named, phrase, names) for phrase in found if (names := _names(phrase, terms_of))]
        bans += read
        if not read:
            unread.append(named)
    return bans, unread


def clauses_of(text: str, terms_of: TermsOf) -> list[frozenset[str]]:
    """Return the terms of each clause of a text, without what it says was not done."""
    return [
        terms for clause in _CLAUSE.split(text[:MAX_SCANNED]) if (terms := frozenset(terms_of(_drop_negations(clause))))
    ]


def make_preference_scorer(
    preferences: Sequence[Any], terms_of: TermsOf
) -> Callable[[Sequence[frozenset[str]]], float]:
    """Return a function of a text's clauses that gives how far it is preferred, in [-1, 1]; 0 if nothing applies.

    "prefer X" and "X" count for it, "avoid X" and "最好不用 X" against; each preference has the same weight.
    """
    wishes: list[tuple[float, Sequence[frozenset[str]]]] = []
    for wish in _check_rules(preferences, "preferences"):
        texts = [wish] if isinstance(wish, str) else list(wish)
        unwanted = [one for text in texts for one in _forbidden_phrases(text)] if isinstance(wish, str) else texts
        if unwanted:
            wishes += [(-1.0, _names(one, terms_of)) for one in unwanted]
        else:
            wishes += [
                (1.0, _names(_FILLER.sub(" ", wanted), terms_of) or _names(wanted, terms_of))
                for wanted in (_OVER.split(text)[0] for text in texts)
            ]

    def liked(clauses: Sequence[frozenset[str]]) -> float:
        held = frozenset[str]().union(*clauses)
        shares = [sign * max((len(name & held) / len(name) for name in names), default=0.0) for sign, names in wishes]
        return sum(shares) / len(shares) if shares else 0.0

    return liked


def as_texts(constraints: Any, *, field: str) -> list[str]:
    """Return constraints as readable texts. InputError, which names ``field``, for an invalid one."""
    return [
        rule if isinstance(rule, str) else f"must not: {', '.join(rule)}" for rule in _check_rules(constraints, field)
    ]


def _check_rules(given: Sequence[Any], field: str) -> list[str | tuple[str, ...]]:
    if isinstance(given, str | Mapping):
        given = [given]
    if not isinstance(given, list | tuple) or len(given) > MAX_RULES:
        raise InputError(f"{field} must be a list of at most {MAX_RULES} texts", field=field)
    return [_check_rule(rule, field) for rule in given]


def _check_rule(rule: object, field: str) -> str | tuple[str, ...]:
    if isinstance(rule, Mapping) and set(rule) == {MUST_NOT}:
        phrases = rule[MUST_NOT]
        listed = (phrases,) if isinstance(phrases, str) else tuple(phrases) if isinstance(phrases, list | tuple) else ()
        if listed and all(_is_phrase(one) for one in listed):
            return tuple(one.strip(_EDGES) for one in listed)
    elif isinstance(rule, str) and _is_phrase(rule):
        return rule.strip()
    raise InputError(
        f"each of {field} is a text of 1 to {MAX_PHRASE} characters, such as 'no internet', or"
        f" {{'{MUST_NOT}': ['internet']}}; got {rule!r:.60}",
        field=field,
    )


def _is_phrase(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip(_EDGES)) and len(value) <= MAX_PHRASE


def _forbidden_phrases(text: str) -> list[str]:
    """Return the phrases that a text forbids."""
    out = []
    for clause in _clauses_that_list(text):
        masked = _NO_NEGATION.sub(lambda match: " " * len(match.group()), clause)
        if (found := _NEGATION.search(masked)) is None:
            out += [opposite for state, opposite in _STATES.items() if state in clause.casefold()]
            continue
        behind = _phrases(_NEGATION.sub(" ", clause[found.end() :]))
        out += behind or _phrases(clause[: found.start()])
    return list(dict.fromkeys(out))


def _clauses_that_list(text: str) -> list[str]:
    """Return a constraint's clauses; a list after a comma ("no curl, wget") stays with its negation."""
    out: list[str] = []
    for clause in re.split(r"[;!?\n。；！？]|\.(?=\s|$)|[,，、]", text):
        negated = _NEGATION.search(_NO_NEGATION.sub("", clause)) is not None
        if out and not negated and _NEGATION.search(out[-1]):
            out[-1] += f", {clause}"
        else:
            out.append(clause)
    return out


def _phrases(text: str) -> list[str]:
    found = [_FILLER.sub(" ", part).strip(_EDGES) for part in _APART.split(text)]
    return [" ".join(phrase.split()) for phrase in found if phrase]


def _names(phrase: str, terms_of: TermsOf) -> list[frozenset[str]]:
    """Return the terms of a phrase, and those of its synonyms."""
    if not (own := frozenset(terms_of(phrase))):
        return []
    out = [own]
    for called in _SAME:
        names = [frozenset(terms_of(name)) for name in called]
        if own in names:
            out += [name for name in names if name != own]
    return out


def _drop_negations(clause: str) -> str:
    """Return a clause without its negated parts, each up to where the alternative begins."""
    masked = _NO_NEGATION.sub(lambda match: " " * len(match.group()), clause)
    out, place = [], 0
    while (found := _NEGATION.search(masked, place)) is not None:
        out.append(clause[place : found.start()])
        if (resumed := _RESUMED.search(masked, found.end())) is None:
            return " ".join(out)
        place = resumed.end()
    return " ".join([*out, clause[place:]])
