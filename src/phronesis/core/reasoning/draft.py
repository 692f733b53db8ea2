"""The lines of a block, read as far as they can be: what the rules judge, lawful or not."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from phronesis.core.reasoning.records import CLAIMS, HEADER, KEYS
from phronesis.core.reasoning.strict_json import Unreadable, read_json
from phronesis.errors import Violation

PROTOCOL: Final = "protocol"
"""The rule of the form: first line, ``KEY=VALUE`` lines, one line of JSON."""

MAX_BLOCK: Final = 1_000_000
"""Characters of a block: ten claims of 100,000 each, far more than FACTS that code shortens ever hold."""

MAX_VIOLATIONS: Final = 100
"""Mistakes that are listed of one block; a text of a million wrong lines would give as many."""

MAX_KEY: Final = 64
"""Characters of a key."""

_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_BREAKING: Final = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SHOWN: Final = 40


@dataclass(slots=True)
class Draft:
    """A block as it was found. ``members`` are the claims, of any JSON type; None when they could not be read.

    ``loose`` are the numbers of lines behind the claims that are no ``KEY=VALUE``: JSON over several lines, mostly.
    """

    text: str
    values: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    members: Sequence[Any] | None = None
    mistakes: list[Violation] = field(default_factory=list)
    loose: list[int] = field(default_factory=list)

    @property
    def extra(self) -> tuple[tuple[str, str], ...]:
        """The keys that nothing here knows, with their values, in the order of the lines."""
        return tuple((key, value) for key, value in self.values.items() if key not in KEYS)

    def claims(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Give the claims that are objects, each with its place from 0."""
        for n, member in enumerate(self.members or ()):
            if isinstance(member, Mapping):
                yield n, member

    def mistake(self, rule: str, message: str, member: Mapping[str, Any] | None = None) -> Violation:
        """Give a violation in the claims' line, of this claim."""
        claim_id = None if member is None else member.get("claim_id")
        known = claim_id if isinstance(claim_id, str) else None
        return Violation(rule=rule, message=message, line=self.lines.get(CLAIMS), key=CLAIMS, claim_id=known)


def read_draft(text: str) -> Draft:
    """Read a block as far as it can be read; what is wrong with its form stands in ``mistakes``. Never raises.

    A byte order mark before the first line, CR at the ends of lines and blank lines after the first are passed over.
    """
    draft = Draft(text)
    if len(text) > MAX_BLOCK:
        draft.mistakes.append(_wrong(f"the block has {len(text):,} characters; at most {MAX_BLOCK:,} are read"))
        return draft
    lines = [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
    if lines[0] != HEADER:
        draft.mistakes.append(_wrong(f"the first line must be {HEADER}, not {lines[0][:_SHOWN]!r}", 1))
    # A block whose first line is forgotten still has its keys there.
    for number, line in enumerate(lines, 1):
        if len(draft.mistakes) == MAX_VIOLATIONS:
            return draft
        if line.strip() and (number > 1 or line.startswith(tuple(f"{key}=" for key in KEYS))):
            _read_line(draft, number, line)
    if CLAIMS in draft.values:
        _read_claims(draft)
    elif not any(mistake.key == CLAIMS for mistake in draft.mistakes):
        draft.mistakes.append(_wrong(f"there is no line {CLAIMS}=[…]", key=CLAIMS))
    return draft


def _read_line(draft: Draft, number: int, line: str) -> None:
    key, equals, value = line.partition("=")
    wrong = _near_miss(key)
    known: str | None = next((name for name in KEYS if name == key.partition("＝")[0].strip().upper()), None)
    if wrong is None and not (equals and len(key) <= MAX_KEY and _KEY.fullmatch(key)):
        if CLAIMS in draft.values:
            draft.loose.append(number)
            return
        wrong = f"{key[:_SHOWN]!r} is no KEY=VALUE line: a key is letters, digits, '_', '.' and '-', a letter first"
    if wrong is None and key in draft.values:
        known, wrong = key, f"{key} stands twice; it was on line {draft.lines[key]}"
    if wrong is None:
        draft.values[key], draft.lines[key] = value, number
        bad = None if key == CLAIMS else _BREAKING.search(value)  # JSON says itself what it cannot hold
        if bad is None:
            return
        known, wrong = key, f"{key} holds the control character {bad[0]!r}; a value is one line of text"
    draft.mistakes.append(_wrong(wrong, number, known))


def _near_miss(key: str) -> str | None:
    if "＝" in key:
        return f"{key[:_SHOWN]!r}: the sign ＝ is full-width; write ="
    if key not in KEYS and key.strip().upper() in KEYS:
        return f"{key[:_SHOWN]!r}: write {key.strip().upper()}= in capitals, without spaces"
    return None


def _read_claims(draft: Draft) -> None:
    if draft.loose:
        where = f"line {draft.loose[0]} is" if len(draft.loose) == 1 else f"lines from {draft.loose[0]} on are"
        message = f"{CLAIMS} must be one line; {where} no KEY=VALUE"
        draft.mistakes.append(Violation(rule=PROTOCOL, message=message, line=draft.loose[0], key=CLAIMS))
    try:
        value = read_json(draft.values[CLAIMS])
    except Unreadable as error:
        draft.mistakes.append(draft.mistake(PROTOCOL, f"{CLAIMS}: {error}"))
        return
    if isinstance(value, list):
        draft.members = value
        return
    draft.mistakes.append(draft.mistake(PROTOCOL, f"{CLAIMS} must be an array of claims, not {type(value).__name__}"))


def _wrong(message: str, line: int | None = None, key: str | None = None) -> Violation:
    return Violation(rule=PROTOCOL, message=message, line=line, key=key)
