"""What the rules see in a memory: its words, when and where it shows, what bars it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from phronesis.index.tokens import tokenize
from phronesis.models.text_features import has_han
from phronesis.traits.by_rules.tables import MAX_READ, Code, Words, searchable, the_tables
from phronesis.traits.laws.records import MemoryInput

USERS_NAMES: Final = frozenset({"user", "the user", "用户", "我", "i", "me", "self", "myself"})
"""How a memory's subject names the user. Somebody else's name is somebody else, until the caller says otherwise."""

BEHAVIOUR_KINDS: Final = frozenset({"fact", "episodic", "preference", "event", "procedure", "profile"})
"""Kinds that may show a behaviour; a task, a plan and a decision are none yet."""

STATED: Final = frozenset({"fact", "preference", "profile", "event"})
"""Kinds of what is so, or is to happen, rather than of what was done."""

PERSONAL_KEYS: Final = frozenset({"hobby", "diet", "skill"})
"""Keys of a profile that tell of what somebody does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFeatures:
    """A memory as the rules read it.

    ``barred``: it is of a kind that shows no behaviour, or about somebody else, as whoever wrote it says. ``marks`` are
    those of the table. ``odds``: the log odds that it shows a behaviour of the user's (`showing`); ``apart``: what it
    tells the user did not do; ``private``: it seems sensitive, so it shows nothing together with what does not.
    """

    id: str
    at: datetime
    place: str
    text: str
    code: Code
    kind: str
    behaviours: frozenset[str]
    situations: frozenset[str]
    marks: frozenset[str]
    stems: frozenset[str]
    barred: bool
    odds: float = 0.0
    apart: bool = False
    private: bool = False

    @property
    def habit(self) -> bool:
        """Whether it says that it recurs."""
        return "habit" in self.marks


def read(memory: MemoryInput) -> MemoryFeatures:
    """Read a memory."""
    tables = the_tables()
    text = searchable(memory.content)
    return MemoryFeatures(
        id=memory.id,
        at=memory.at,
        place=_place(memory),
        text=memory.content,
        code="zh" if has_han(memory.content) else "en",
        kind=memory.kind,
        behaviours=_found(tables.behaviours, text),
        situations=_found(tables.situations, text),
        marks=_found(tables.marks, text),
        stems=frozenset(tokenize(memory.content[:MAX_READ])),
        barred=_is_barred(memory),
    )


def read_all(memories: Sequence[MemoryInput]) -> list[MemoryFeatures]:
    """Read memories, each once, in the order of time."""
    return [read(one) for one in sorted({one.id: one for one in memories}.values(), key=lambda one: (one.at, one.id))]


def _found(table: Mapping[str, Words], text: str) -> frozenset[str]:
    return frozenset(name for name, one in table.items() if one.stand_in(text))


def _place(memory: MemoryInput) -> str:
    """Return what counts as a session of its own: that in which it was said, else its day."""
    return f"s:{memory.session_id}" if memory.session_id is not None else f"d:{memory.at.date().isoformat()}"


def _is_barred(memory: MemoryInput) -> bool:
    if memory.kind not in BEHAVIOUR_KINDS or (memory.kind == "profile" and memory.key not in PERSONAL_KEYS):
        return True
    return memory.subject is not None and memory.subject.strip().casefold() not in USERS_NAMES
