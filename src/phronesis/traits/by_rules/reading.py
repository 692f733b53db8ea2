"""What the rules see in a memory: its behaviours and telling words, when it shows, where it points, what bars it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from phronesis.models.text_features import simplify_script
from phronesis.traits.by_rules.tables import Code, Tables, the_tables
from phronesis.traits.by_rules.terms import Word, plain, words_of
from phronesis.traits.by_rules.voices import SubjectNames, of_somebody_else
from phronesis.traits.laws.records import MemoryInput

USERS_NAMES: Final = frozenset({"user", "the user", "用户", "我", "i", "me", "self", "myself"})
"""How a memory's subject names the user. Somebody else's name is somebody else, until the caller says otherwise."""

BEHAVIOUR_KINDS: Final = frozenset({"fact", "episodic", "preference", "event", "procedure", "profile"})
"""Kinds that may show a behaviour; a task, a plan and a decision are none yet."""

STATED: Final = frozenset({"fact", "preference", "profile", "event"})
"""Kinds of what is so, or is to happen, rather than of what was done."""

PERSONAL_KEYS: Final = frozenset({"hobby", "diet", "skill"})
"""Keys of a profile that tell of what somebody does."""

_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_HAN_RUN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")
_FUNCTION: Final = frozenset(
    "的了是在我你您他她它们这那和与也都就还很吗呢吧啊呀么着把被之而且但及或给跟同到去来又再才从对向为以上下里外中前后个只条本台次遍回些点得地过会能要想说看做有没不一二三四五六七八九十两几半大小多少好"
)
"""Characters that tie others together: a pair that holds one says little by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFeatures:
    """A memory as the rules read it.

    ``barred``: it is of a kind that shows no behaviour, or about somebody else, as whoever wrote it says. ``marks``:
    what its words say against its showing one ("other", "supposed", ...). ``odds``: the log odds that it shows a
    behaviour of the user's, all in all (`showing`); 0 until they were weighed.
    """

    id: str
    at: datetime
    place: str
    text: str
    code: Code
    behaviours: frozenset[str]
    surely: Mapping[str, float]
    stems: frozenset[str]
    situations: frozenset[str]
    barred: str | None
    marks: frozenset[str]
    kind: str
    ended: bool
    negated: bool
    habit: bool
    odds: float = 0.0


def code_of(text: str) -> Code:
    """Return the language of a text: Chinese where a quarter of its letters are Han, and more of them say more."""
    letters = sum(map(str.isalpha, text))
    return "zh" if letters and len(_HAN.findall(text)) * 4 >= letters else "en"


def read(memory: MemoryInput, voice: SubjectNames) -> MemoryFeatures:
    """Read a memory."""
    tables = the_tables()
    text = plain(simplify_script(memory.content))
    code = code_of(memory.content)
    words = words_of(text, tables.irregular)
    found = tables.terms.found(text, words)
    marks = tables.marks[code]
    return MemoryFeatures(
        id=memory.id,
        at=memory.at,
        place=_place(memory),
        text=memory.content,
        code=code,
        kind=memory.kind,
        behaviours=frozenset(found.names),
        surely=found.names,
        stems=_stems(text, words, found.words, found.characters, voice=voice, tables=tables),
        situations=frozenset(
            name
            for name, one in tables.situations.items()
            if one.pattern["en"].search(text) or (code == "zh" and one.pattern["zh"].search(text))
        ),
        barred=_bar(memory, voice),
        marks=frozenset(_marks(memory, found.names, text, code, voice=voice)),
        ended=any(_marked(tables, "ended", text)),
        negated=any(_marked(tables, "negated", text)),
        habit=marks["habit"].search(text) is not None,
    )


def _marked(tables: Tables, mark: str, text: str) -> Iterable[bool]:
    yield tables.marks["en"][mark].search(text) is not None
    if not text.isascii():
        yield tables.marks["zh"][mark].search(text) is not None


def _place(memory: MemoryInput) -> str:
    """Return what counts as a session of its own: that in which it was said, else its day."""
    return f"s:{memory.session_id}" if memory.session_id is not None else f"d:{memory.at.date().isoformat()}"


def _stems(
    text: str,
    words: Sequence[Word],
    covered: frozenset[int],
    characters: frozenset[int],
    *,
    voice: SubjectNames,
    tables: Tables,
) -> frozenset[str]:
    """Return the telling words that no term covers: stems, and pairs of Han characters."""
    names = {name.lower() for name in voice.names}
    out = {
        word.stem
        for n, word in enumerate(words)
        if n not in covered
        and word.stem not in tables.generic["en"]
        and word.written not in names
        and len(word.stem) > 1
        and not word.stem.isdigit()
    }
    if not text.isascii():
        for run in _HAN_RUN.finditer(text):
            for n in range(run.start(), run.end() - 1):
                pair = text[n : n + 2]
                held = n in characters or n + 1 in characters
                if not held and pair not in tables.generic["zh"] and not set(pair) & _FUNCTION:
                    out.add(pair)
    return frozenset(out)


def _bar(memory: MemoryInput, voice: SubjectNames) -> str | None:
    if memory.kind not in BEHAVIOUR_KINDS or (memory.kind == "profile" and memory.key not in PERSONAL_KEYS):
        return "kind"
    named = memory.subject is not None and memory.subject.strip().casefold()
    return "other" if named and named not in USERS_NAMES | _lower(voice.names) else None


def _marks(
    memory: MemoryInput, names: Mapping[str, float], text: str, code: Code, *, voice: SubjectNames
) -> Iterable[str]:
    """Return what the words of a memory say against its showing a behaviour of the user's."""
    own: Mapping[str, re.Pattern[str]] = the_tables().marks[code]
    recurs = own["habit"].search(text) is not None
    for mark in ("supposed", "stance", "joke", "quoted", "static"):
        if any(_marked(the_tables(), mark, text)):
            yield mark
    if own["once"].search(text) and not recurs:
        yield "once"
    if of_somebody_else(memory.content, text, voice):
        yield "other"
    if memory.kind in STATED and max(names.values(), default=0.0) < 1.0 and not recurs:
        yield "unshown"  # a fact or a preference that names no behaviour, and does not say that it recurs


def _lower(names: frozenset[str]) -> frozenset[str]:
    return frozenset(name.casefold() for name in names)
