"""Sources of a migration (items of a lane, or rows of a file, checked before any write) and the forms of their text.

A statement of an old memory may name runs, hold leftover brackets, and say by its beginning what to avoid.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from phronesis.core.ids import LaneName
from phronesis.core.items import Item
from phronesis.core.serialization import digest
from phronesis.core.text import UNSPACED, check_id, check_text, replace_unstorable
from phronesis.core.timestamps import isoformat, parse_past
from phronesis.errors import InputError
from phronesis.log import inputs
from phronesis.models.text_features import has_han
from phronesis.reasoning.laws.facts import excerpt
from phronesis.store.database import Unit
from phronesis.store.eligible import ReadConditions, items_before
from phronesis.store.lanes import find_lane

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
_HEDGES: Final = tuple("may might probably likely perhaps possibly 可能 也许 推测 或许 大概 似乎".split())
_DIGIT: Final = re.compile(r"\d")
_WORD: Final = re.compile(r"[a-z]+")
_ID = r"[A-Za-z]{0,16}[-_#.]?\d[A-Za-z0-9_.-]{0,40}"
_RUNS: Final = re.compile(
    rf"(?:\bruns?|\bexperiments?|\bexp\.?|\btrials?|运行|实验|批次|试验)\s{{0,2}}[#：:]?\s{{0,2}}(?P<ids>{_ID}"
    rf"(?:\s{{0,2}}(?:,|，|、|and|&|和|与|及)\s{{0,2}}{_ID}){{0,8}})(?!\s{{0,2}}(?:times?\b|h\b|%|°|次|个|组|轮|遍|天|小时|[：:.]?\d))",
    re.IGNORECASE,
)
_ONE_ID: Final = re.compile(_ID)
_ROUND: Final = str.maketrans("[]【】［］〔〕", "()()()()")
_EMPTY_BRACKETS: Final = re.compile(
    r"\s{0,2}[(（]\s{0,2}(?:(?:see|cf\.?|refs?\.?|from|e\.g\.|见|参见|参考|引自|来自)\s{0,2})?(?:[,，、;；and和与]{0,4}\s{0,2}){0,1}[)）]",
    re.IGNORECASE,
)
_LOOSE: Final = re.compile(r"\s{1,8}(?=[,.;:!?，。；：！？、)）])|(?<=[(（])\s{1,8}")


def clean_removed_aliases(text: str) -> str:
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
    found = [one.strip(".-_") for one in named] + [one for one in known if _contains_id(one, looked)]
    return list(dict.fromkeys(found))


def is_result(text: str) -> bool:
    """Return whether a statement about a run holds a number beside its name, and no word of supposition."""
    small = _RUNS.sub(" ", text[:MAX_LOOKED_AT]).lower()
    words = set(_WORD.findall(small))
    return _DIGIT.search(small) is not None and not any(
        word in words if word.isascii() else word in small for word in _HEDGES
    )


def as_report(text: str) -> str:
    """Return advice rephrased as a report of an earlier memory."""
    if has_han(text):
        return f"早先的记忆写道：「{text.translate(str.maketrans('「」『』“”', '‘’‘’‘’'))}」"
    plain = text.translate(str.maketrans('“”"', "'''"))
    return f'An earlier memory noted: "{plain}"'


def _contains_id(run_id: str, text: str) -> bool:
    """Return whether an id occurs in a text as a whole word."""
    whole = rf"(?<![A-Za-z0-9_-]){re.escape(run_id)}(?![A-Za-z0-9_-])"
    return run_id in text and re.search(whole, text) is not None


MIGRATED_KINDS: Final = tuple(
    "message fact episodic profile preference task decision event intention procedure".split()
)
"""Kinds whose content is free text. The others are created by engines in their own formats."""
MARKED: Final[Mapping[str, Any]] = {"metadata.kind": "reasoning"}
"""Default filter of items to migrate: those stored as reasoning before claims existed."""
MAX_ROWS: Final = 1_000_000
_MAX_NAME: Final = 200
"""Maximum characters of an old id: it becomes part of the name of a run that represents it."""
_TEXTS: Final = ("content", "memory", "text")
_IDS: Final = ("id", "mem_id", "memory_id")
_KNOWN: Final = frozenset({*_TEXTS, *_IDS, "title", "metadata", "created_at", "run_ids", "run_id", "kind"})


@dataclass(frozen=True, slots=True)
class OldRow:
    """An old memory of a file: its citation, and the payload of its entry."""

    name: str
    payload: Mapping[str, Any]

    @property
    def natural_key(self) -> str:
        """The identity of the memory: its id and its text. The same row again is the same memory."""
        return digest([self.payload["source_ref"], self.payload["content"]])


def rows_of(memories: Iterable[object], *, scope: str | None, now: datetime) -> list[OldRow]:
    """Return the checked rows of a file, before any is written; InputError names the invalid one."""
    if isinstance(memories, str | bytes | Mapping):
        raise InputError("memories must be a list of texts or mappings, not one of them", field="memories")
    rows = [_row(member, n, scope, now) for n, member in enumerate(memories, start=1)]
    if len(rows) > MAX_ROWS:
        raise InputError(f"memories holds {len(rows):,} rows; migrate {MAX_ROWS:,} at a time", field="memories")
    return rows


def selected_items(unit: Unit, name: LaneName, wanted: ReadConditions) -> list[Item]:
    """Return the selected items of one lane, oldest first."""
    lane = find_lane(unit, name)
    found = [] if lane is None else items_before(unit, lane, wanted, None, limit=None)
    return found[::-1]


def _row(member: object, n: int, scope: str | None, now: datetime) -> OldRow:
    place = f"memories[{n - 1}]"
    row: Mapping[str, Any] = {"content": member} if isinstance(member, str) else _check_mapping(member, place)
    text = check_text(next((row[name] for name in _TEXTS if row.get(name) is not None), None), field=f"{place}.content")
    given = next((row[name] for name in _IDS if row.get(name) is not None), None)
    name = f"memory-{digest(text)[:16]}" if given is None else _name(given, f"{place}.id")
    known = inputs.metadata(row.get("metadata"), field=f"{place}.metadata")
    others = inputs.metadata({key: value for key, value in row.items() if key not in _KNOWN}, field=place)
    kind = row.get("kind")
    payload: dict[str, Any] = {"content": replace_unstorable(text), "source_ref": name, "metadata": {**others, **known}}
    if kind is not None and kind not in MIGRATED_KINDS:
        raise InputError(
            f"{place}.kind must be one of {', '.join(MIGRATED_KINDS)}, not {kind!r:.40}", field=f"{place}.kind"
        )
    if row.get("created_at") is not None:
        payload["occurred_at"] = isoformat(parse_past(row["created_at"], field=f"{place}.created_at", now=now))
    title = next((one for one in (row.get("title"), known.get("title"), known.get("topic")) if one), None)
    if title is not None:
        payload["title"] = replace_unstorable(check_text(title, field=f"{place}.title"))
    runs = _runs(row, known, f"{place}.run_ids")
    optional = {"kind": kind, "scope": scope, "run_ids": runs}
    payload |= {key: value for key, value in optional.items() if value}
    return OldRow(name if given is not None else f"number {n}", {key: value for key, value in payload.items() if value})


def _check_mapping(member: object, place: str) -> Mapping[str, Any]:
    if not isinstance(member, Mapping):
        raise InputError(f"{place} must be a text or a mapping, not {type(member).__name__}", field=place)
    return member


def _name(given: object, field: str) -> str:
    name = check_id(str(given) if isinstance(given, int) and not isinstance(given, bool) else given, field=field)
    if len(name) > _MAX_NAME:
        raise InputError(f"{field} has {len(name)} characters; at most {_MAX_NAME} are kept", field=field)
    return name


def _runs(row: Mapping[str, Any], known: Mapping[str, Any], field: str) -> Sequence[str]:
    found: list[Any] = [row.get("run_id"), known.get("run_id")]
    for listed in (row.get("run_ids"), known.get("run_ids")):
        if listed is not None and not isinstance(listed, list | tuple):
            raise InputError(f"{field} must be a list of ids, not {type(listed).__name__}", field=field)
        found += listed or ()
    return list(dict.fromkeys(check_id(run, field=field) for run in found if run is not None))


# Parsing free text into a title and statements under their headings.

Label = Literal["title", "conditions", "limitations", "avoid", "next", "neutral"]
"""What a heading means for the statements under it."""
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
    """One sentence or list item without its full stop, and the label of its heading, or None."""

    text: str
    label: Label | None = None


@dataclass(slots=True)
class ParsedMemory:
    """The parsed text. ``title`` is empty where there is none."""

    title: str = ""
    statements: list[Statement] = field(default_factory=list)


def read_statements(text: str) -> ParsedMemory:
    """Return a text's title and statements in order."""
    told = ParsedMemory()
    under: Label | None = None
    for raw in text.splitlines():
        line = _EMPHASIS.sub("", raw).strip()
        heading = _HEADING.match(line)
        line = _strip_bullet(heading[1] if heading else line)
        label, rest = _split_label(line, loose=heading is not None)
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
            told.statements += [_statement(one, label or under) for one in _sentences(rest) if has_content(one)]
    return told


def _statement(sentence: str, under: Label | None) -> Statement:
    """Return a sentence without a leading number or label."""
    label, text = _split_label(_strip_bullet(sentence))
    return Statement(text, label) if label is not None and text else Statement(_strip_bullet(sentence), under)


def has_content(text: str) -> bool:
    """Return whether a text has at least two letters or digits, or a Chinese character."""
    return _SAID.search(text) is not None


def _strip_bullet(line: str) -> str:
    bullet = _BULLET.match(line)
    return line if bullet is None else line[bullet.end() :].strip()


def _split_label(line: str, *, loose: bool = False) -> tuple[Label | None, str]:
    """Return the label at the start of a line and the rest; with ``loose`` no colon is needed."""
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
