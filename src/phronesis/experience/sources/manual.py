"""The source ``manual``: notes that a person wrote, under headings and labels or in paragraphs."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from phronesis.core.ids import derived_id
from phronesis.core.relations import Origin
from phronesis.experience.laws.event_draft import VIEWS, Draft
from phronesis.experience.laws.outcome_labels import (
    FAILURE_WORDS,
    SUCCESS_WORDS,
    OutcomeLabel,
    label_of,
    outcome_in_text,
)
from phronesis.experience.sources.port import LineIndex, RawText, Source, moment_of, placed_lines, storable_drafts

Field = Literal["situation", "goal", "attempt", "result", "reflection", "label", "date"]

_NAMES: Final[dict[Field, str]] = {
    "situation": "situation|context|background|environment|setting|setup|problem|symptom|情景|情境|背景|环境|現象|现象"
    "|问题|场景|情况",
    "goal": "goal|aim|objective|task|purpose|wanted|目标|目的|任务|需求",
    "attempt": "attempt|attempted|tried|approach|action|method|what i did|what we did|did|steps|fix tried"
    "|what i tried|what we tried"
    "|尝试|嘗試|做法|方法|操作|步骤|行动|措施|试过",
    "result": "result|results|outcome|what happened|effect|observed|结果|結果|结局|效果|结论",
    "reflection": "reflection|reflections|lesson|lessons|lesson learned|lessons learned|learned|takeaway|takeaways"
    "|insight|conclusion|why"
    "|反思|教训|教訓|经验|总结|心得|体会|启示|原因|经验教训|经验总结",
    "label": "label|status|success|verdict|标签|状态|成败",
    "date": "date|when|day|日期|时间",
}
_FIELDS: Final[dict[str, Field]] = {word: name for name, words in _NAMES.items() for word in words.split("|")}

_LABELLED: Final = re.compile(
    r"\s{0,8}(?:[-*+•]\s{1,4})?[*_]{0,3}([A-Za-z][A-Za-z ]{1,20}"
    r"|[\u4e00-\u9fff]{2,4})(?:\s?#?\d{1,3})?[*_]{0,3}\s?[:：][*_]{0,3}\s?(.*)\Z"
)
_HEADING: Final = re.compile(r"(#{1,6})\s{1,4}(\S.*)\Z")
_BARE: Final = re.compile(
    r"(?:[*_]{2,3})?([A-Za-z][A-Za-z ]{1,20}|[\u4e00-\u9fff]{2,4})(?:\s?#?\d{1,3})?(?:[*_]{2,3})?\s?[:：]?\Z"
)
_RULE: Final = re.compile(r"\s{0,3}(?:-\s?){3,40}\Z|\s{0,3}(?:\*\s?){3,40}\Z|\s{0,3}(?:_\s?){3,40}\Z|={3,200}\Z")
_BULLET: Final = re.compile(r"\s{0,8}(?:[-*+•]|\d{1,3}[.)、])\s{1,4}(\S.*)\Z")
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)?)?")
_LINE: Final = 2_000
_TITLE: Final = 80


@dataclass(slots=True)
class _FieldText:
    """The text of one field, with its span."""

    words: list[str]
    start: int
    end: int

    @property
    def text(self) -> str:
        return "\n".join(self.words).strip()


_Attempt = dict[Field, _FieldText]
"""One attempt of an entry: the fields that belong to it alone."""


@dataclass(slots=True)
class _Entry:
    """The part of a text between two rules or headings."""

    title: str = ""
    shared: dict[Field, _FieldText] = field(default_factory=dict)
    tries: list[_Attempt] = field(default_factory=list)
    loose: list[_FieldText] = field(default_factory=list)
    by_headings: bool = False

    @property
    def labelled(self) -> bool:
        return bool(self.shared or self.tries)


class ManualSource(Source):
    """Reads notes: Markdown or plain text, in English or Chinese."""

    source_type = "manual"
    version = "manual/1"

    def read(self, raw: RawText) -> Sequence[Draft]:
        """Return a draft for each attempt: a labelled field, or a paragraph without labels."""
        return storable_drafts(_drafts(raw))


def _drafts(raw: RawText) -> Iterator[Draft]:
    index = LineIndex(raw.text)
    made = derived_id("manual", raw.text.encode(errors="replace").decode())
    for n, entry in enumerate(_entries(raw.text), start=1):
        if entry.tries:
            tries = [one for one in entry.tries if one["attempt"].text]
            for seq, one in enumerate(tries, start=1):
                yield _draft_of(raw, entry, one, index, (f"{made}#{n}", seq) if len(tries) > 1 else None)
        elif not entry.labelled:
            for told in entry.loose:
                yield _of_paragraph(entry, told, index)


def _entries(text: str) -> Iterator[_Entry]:
    """Yield the entries of a text; a rule, or a heading that names no field, begins a new one."""
    entry, open_told = _Entry(), None
    open_field: Field | None = None
    for start, end, line in placed_lines(text):
        bare = line.rstrip("\r")
        short = bare[:_LINE]
        heading = _HEADING.match(short)
        if (found := _field_of(short, heading)) is not None:
            open_field, words = found
            if entry.tries and not entry.tries[-1]["attempt"].text and heading is None:
                entry.tries.pop()  # "## Attempt 2" was a title
                if entry.tries:
                    yield entry
                    entry = _Entry()
            if open_field in {"situation", "goal"} and entry.tries:  # repeated, for the next entry
                yield entry
                entry = _Entry(by_headings=entry.by_headings)
            entry.by_headings = entry.by_headings or heading is not None
            open_told = _FieldText([words + bare[_LINE:]] if words else [], start, end)
            _set_field(entry, open_field, open_told)
        elif heading or _RULE.match(short):
            if heading or not _underlines(entry, open_told, short):
                yield entry
                entry = _Entry(title=heading[2].strip(" #*_") if heading else "")
            open_told, open_field = None, None
        elif not bare.strip():
            if open_told is not None and open_field is None:
                open_told = None  # a paragraph ends; the words of a field may go on after an empty line
            elif open_told is not None:
                open_told.words.append("")
        else:
            open_told = _append_line(entry, open_told, bare, start, end, field_open=open_field is not None)
    yield entry


def _underlines(entry: _Entry, told: _FieldText | None, line: str) -> bool:
    """Return whether a line of dashes underlines the title above it, as in a heading of two lines."""
    if told is None or entry.labelled or len(entry.loose) != 1 or len(told.words) != 1 or len(told.words[0]) > _TITLE:
        return False
    if line.strip() != line.strip()[:1] * len(line.strip()) or line[:1] not in "=-" or told.words[0][-1:] in ".。!！":
        return False
    entry.title = told.words[0].strip()
    entry.loose.clear()
    return True


def _field_of(line: str, heading: re.Match[str] | None) -> tuple[Field, str] | None:
    """Return the field that a line begins, and its text."""
    if heading is not None:
        bare = _BARE.match(heading[2].strip(" #"))
        name = _FIELDS.get(bare[1].strip().casefold()) if bare else None
        if name is not None:
            return name, ""
        line = heading[2]
    if (match := _LABELLED.match(line)) is None:
        return None
    name = _FIELDS.get(match[1].strip().casefold())
    return (name, match[2].strip()) if name is not None else None


def _set_field(entry: _Entry, name: Field, told: _FieldText) -> None:
    """Add a field to the entry, or to its last attempt once there is one."""
    if name == "attempt":
        entry.tries.append({name: told})
    elif entry.tries and name not in {"date", "situation", "goal"}:
        entry.tries[-1].setdefault(name, told)
    else:
        entry.shared.setdefault(name, told)


def _append_line(
    entry: _Entry, told: _FieldText | None, line: str, start: int, end: int, *, field_open: bool
) -> _FieldText:
    """Append a line to the open field or paragraph, else begin a paragraph."""
    bullet = _BULLET.match(line[:_LINE])
    if told is not None and (field_open or not bullet):
        told.words.append(line.strip())
        told.end = end
        return told
    made = _FieldText([bullet[1] + line[_LINE:] if bullet else line.strip()], start, end)
    entry.loose.append(made)
    return made


def _draft_of(raw: RawText, entry: _Entry, one: _Attempt, index: LineIndex, place: tuple[str, int] | None) -> Draft:
    told = {**entry.shared, **one}
    texts: dict[str, Any] = {name: part.text for name, part in told.items() if name in VIEWS and part.text}
    other = {"situation": entry.loose[0].text if entry.loose else "", "goal": entry.title}
    texts |= {name: text for name, text in other.items() if text and name not in texts}
    judged = _outcome_of(told.get("label"), texts)
    own = [part for name, part in told.items() if name in one or (place is None or place[1] == 1)]
    begin, end = min(part.start for part in own), max(part.end for part in own)
    return Draft(
        **texts,
        **judged.fields,
        field_origin=dict.fromkeys(texts, "human"),
        **index.place(begin, end),
        occurred_at=_day(raw, told.get("date")),
        episode_id=place[0] if place else None,
        seq=place[1] if place else None,
    )


def _day(raw: RawText, told: _FieldText | None) -> datetime | None:
    """Return the date of an entry; a day stands for its first moment."""
    if told is None or (stamp := _DAY.search(told.text[:100])) is None:
        return None
    return moment_of(raw, stamp[0] if len(stamp[0]) > len("2026-01-01") else f"{stamp[0]}T00:00")


def _outcome_of(label: _FieldText | None, texts: dict[str, str]) -> OutcomeLabel:
    """Return the written label, else that of the result's words, else that of the attempt's."""
    if label is not None:
        said = label.text.casefold().strip(" .。*_")
        good, bad = SUCCESS_WORDS | {"yes", "true", "是"}, FAILURE_WORDS | {"no", "false", "否"}
        for name, words in (("success", good), ("failure", bad), ("unknown", {"unknown"})):
            if said in words:
                return label_of(given=name)
    if "result" in texts:
        judged = label_of(texts["result"])
        return judged if judged.signals else outcome_in_text(texts["result"])
    return outcome_in_text(texts.get("attempt", ""))


def _of_paragraph(entry: _Entry, told: _FieldText, index: LineIndex) -> Draft:
    origins: dict[str, Origin] = {"attempt": "human", **({"goal": "human"} if entry.title else {})}
    fields = outcome_in_text(told.text).fields | index.place(told.start, told.end)
    return Draft(attempt=told.text, goal=entry.title, field_origin=origins, **fields)
