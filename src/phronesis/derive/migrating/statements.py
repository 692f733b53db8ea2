"""A free text taken apart: its title, and its statements with the headings that they stand under.

English and Chinese. Bullets, numbers and emphasis go; words stay as they are written.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from phronesis.core.text import UNSPACED

Label = Literal["title", "conditions", "limitations", "avoid", "next", "neutral"]
"""What a heading says of what stands under it."""

_WORDS: Final[dict[Label, str]] = {
    "title": r"title|topic|subject|标题|主题|题目",
    "conditions": r"(?:applicable )?conditions?|applies (?:to|when|if)|applicable (?:to|when)|when to use"
    r"|适用条件|适用范围|适用于|适用场景|条件|前提",
    "limitations": r"limitations?|limits|caveats?|known issues|uncertaint(?:y|ies)|局限性?|限制|不足|不确定性",
    "avoid": r"avoid|do not|don't|constraints?|避免|禁止|约束|不要|禁忌",
    "next": r"next|next (?:steps?|runs?|experiments?)|to ?dos?|follow[- ]?ups?|future work|plan"
    r"|下一?步(?:计划|建议|实验)?|后续(?:工作|计划|实验)?|待办|未来工作",
    "neutral": r"content|description|summary|insights?|findings?|lessons?(?: learned)?|memory|memory item(?: \d{1,4})?"
    r"|notes?|results?|conclusions?|experience|facts?|inferences?|observations?|claims?|references?|refs?|sources?|evidence"
    r"|内容|描述|总结|说明|经验|经验总结|教训|事实|推断|发现|观察|结果|结论|记忆|备注|参考(?:文献|资料)?|来源|引用|证据",
}
_LABELS: Final = {name: re.compile(words, re.IGNORECASE) for name, words in _WORDS.items()}
_LABELLED: Final = re.compile(r"([^:：]{1,32})(?:：|:(?!\d))\s{0,4}(.{0,200000})", re.DOTALL)
_BULLET: Final = re.compile(
    r"(?:[-*•·‣▪>]\s{1,4}|\(?\d{1,3}[.)]\s{1,4}|[（(]?\d{1,3}）\s{0,4}|\(\d{1,3}\)\s{0,4}|\d{1,3}、\s{0,4}|[一二三四五六七八九十]{1,3}、\s{0,4})"
)
_HEADING: Final = re.compile(r"#{1,6}\s{1,4}(.{1,400})")
_EMPHASIS: Final = re.compile(r"\*\*|__|`")
_END: Final = re.compile(
    r"[。！？；]|[!?;](?=\s|$)|(?<!\bca)(?<!\bcf)(?<!\bvs)(?<!\bfig)(?<!approx)(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bno)"
    r"\.(?=\s|$)",
    re.IGNORECASE,
)
_SAID: Final = re.compile(rf"[{UNSPACED}]|[^\W_].{{0,40}}[^\W_]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence, or one member of a list, without its full stop; what heading it stands under, None for none."""

    text: str
    label: Label | None = None


@dataclass(slots=True)
class Told:
    """What a text says. ``title`` is empty where it names none."""

    title: str = ""
    statements: list[Statement] = field(default_factory=list)


def read_statements(text: str) -> Told:
    """Give a text's title and statements, in their order."""
    told = Told()
    under: Label | None = None
    for raw in text.splitlines():
        line = _EMPHASIS.sub("", raw).strip()
        heading = _HEADING.match(line)
        line = _unbulleted(heading[1] if heading else line)
        label, rest = _labelled(line, loose=heading is not None)
        if heading is not None and label is None:
            under = None
            if not told.title:
                told.title = line.strip(" :：")
                continue
        if label == "title":
            told.title, under = told.title or rest, None
        elif label is not None:
            under = label if not rest else None
        if label != "title" or rest != told.title:
            told.statements += [_statement(one, label or under) for one in _sentences(rest) if says_something(one)]
    return told


def _statement(sentence: str, under: Label | None) -> Statement:
    """Give a sentence without the number or label that it begins with in the middle of a line."""
    label, text = _labelled(_unbulleted(sentence))
    return Statement(text, label) if label is not None and text else Statement(_unbulleted(sentence), under)


def says_something(text: str) -> bool:
    """Tell whether a text has two letters or digits at least, or a Chinese character."""
    return _SAID.search(text) is not None


def _unbulleted(line: str) -> str:
    bullet = _BULLET.match(line)
    return line if bullet is None else line[bullet.end() :].strip()


def _labelled(line: str, *, loose: bool = False) -> tuple[Label | None, str]:
    """Give the label that a line begins with and the rest of it; ``loose``: no colon need stand behind it."""
    found = _LABELLED.fullmatch(line)
    name, rest = (found[1], found[2]) if found is not None else (line, "")
    for label, words in _LABELS.items():
        if words.fullmatch(name.strip()):
            return label, rest.strip()
        first, _, others = line.partition(" ")
        if loose and others and not words.fullmatch(line) and words.fullmatch(first):
            return label, others.strip()
    return None, line


def _sentences(line: str) -> Iterator[str]:
    start = 0
    for end in _END.finditer(line):
        mark = end[0] if end[0] in "?？" else ""
        yield line[start : end.start()].strip() + mark
        start = end.end()
    yield line[start:].strip()
