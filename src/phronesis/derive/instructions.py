"""Text that gives orders to a model (law 8): "ignore all previous instructions", a fake system turn, a planted memory.

It finds what is said openly; it is no proof that a text is harmless. Fences are the first guard (``core.fences``):
what is found here is in addition kept out of everything that is searched, composed or learned from.

The rules are data, ``instructions.toml``:

- ``folds``: letters that count as others, letter for letter.
- ``parts``: pieces of patterns, ``<<name>>`` in a pattern.
- ``mentioned.cue``: what stands before an order that is only spoken of, between quotation marks.
- ``rule``: a ``name``; ``needs``, of which a text must hold one for the pattern to be tried (a fast look first);
  ``pattern``; ``not_after``: what, right before a match, makes it none ("do not ignore …").
"""

import bisect
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

from phronesis.core.loading import once
from phronesis.core.pattern_tables import parse_folded
from phronesis.core.text import one_of

MAX_SCANNED: Final = 1_000_000
"""Characters of a text that are looked at: some 0.1 s. What stands behind them is not found."""

MAX_QUOTE: Final = 200
"""Characters of the words that are quoted."""

HIDDEN: Final = "hidden_text"
"""The rule of text that nobody sees and a model reads."""

_BEFORE: Final = 160
"""Characters before a match that may say that it is none."""

_TAGS: Final = range(0xE0020, 0xE007F)
_TAG_OFFSET: Final = 0xE0000
# Tag letters spell the flags of regions after a black flag; elsewhere nothing but smuggled text is written with them.
_TAGGED: Final = re.compile("(?<![\U0001f3f4\U000e0020-\U000e007e])[\U000e0020-\U000e007e]{4,}")
# Bits and bytes as invisible characters: joiners stand alone in writing, and one selector follows its letter.
_BITS: Final = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff\u180e]{8,}|[\U000e0100-\U000e01ef]{4,}")
_INVISIBLE: Final = (
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e001f\U000e007f-\U000e01ef"
)
_HAN: Final = "\u3400-\u4dbf\u4e00-\u9fff"
_HAS_HAN: Final = re.compile(f"[{_HAN}]")
_DROPPED: Final = re.compile(rf"[*{_INVISIBLE}]+|(?<=[{_HAN}])[ \t\u3000]+(?=[{_HAN}])")
_SENTENCE_END: Final = re.compile(r"[.!?。！？\n]")


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What reads like an order: the rule that found it, and the words."""

    rule: str
    quote: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of order, compiled."""

    name: str
    needs: Sequence[str]
    pattern: re.Pattern[str]
    not_after: re.Pattern[str] | None


@dataclass(frozen=True, slots=True)
class Rules:
    """The table of orders, ready to use; ``ascii_rules`` are those that a text in ASCII may break."""

    version: str
    folding: Mapping[int, str]
    rules: Sequence[Rule]
    ascii_rules: Sequence[Rule]
    """Those that a text of ASCII alone can meet: the others' needs are Chinese."""
    mentioned: re.Pattern[str]
    hint: re.Pattern[str]
    ascii_hint: re.Pattern[str]
    """Any of the words that one of the rules, and of ``ascii_rules``, needs: most texts hold none."""


def find_order(text: str) -> Suspicion | None:
    """Give the first order to a model that ``text`` holds, in the order of the rules; None when there is none.

    It is found whatever its width and case, with invisible characters or look-alikes of its letters in it.
    """
    scanned = text[:MAX_SCANNED]
    hidden = _hidden(scanned)
    if hidden is not None:
        return Suspicion(HIDDEN, hidden)
    rules = load_rules()
    folded, dropped = _folded(scanned, rules.folding)
    plain = folded.isascii()
    if (rules.ascii_hint if plain else rules.hint).search(folded) is None:
        return None
    for rule in rules.ascii_rules if plain else rules.rules:
        for needed in rule.needs:
            if needed in folded:
                break
        else:
            continue
        for match in rule.pattern.finditer(folded):
            before = folded[max(0, match.start() - _BEFORE) : match.start()]
            refuted = rule.not_after is not None and rule.not_after.search(before) is not None
            if not refuted and rules.mentioned.search(before) is None:
                start, end = (_place(position, dropped) for position in match.span())
                return Suspicion(rule.name, _quoted(scanned, start, end))
    return None


@once
def load_rules() -> Rules:
    """Give the rules, read and compiled once."""
    table = parse_folded(
        "instructions.toml", resources.files(__package__).joinpath("instructions.toml").read_text("utf-8")
    )
    pairs: dict[str, str] = {}
    for given, meant in table["folds"].items():
        pairs.update(zip(given, meant, strict=True))
    rules = tuple(_rule(row, table["parts"]) for row in table["rule"])
    spaced = tuple(rule for rule in rules if not any(map(_HAS_HAN.search, rule.needs)))
    return Rules(
        table["version"], _Folding(pairs), rules, spaced, re.compile(table["mentioned"]["cue"]),
        hint=_hint(rules), ascii_hint=_hint(spaced),
    )  # fmt: skip


def _hint(rules: Iterable[Rule]) -> re.Pattern[str]:
    return re.compile(one_of(needed for rule in rules for needed in rule.needs))


def _rule(row: Mapping[str, Any], parts: Mapping[str, str]) -> Rule:
    pattern = re.sub(r"<<(\w+)>>", lambda found: parts.get(found[1], found[0]), row["pattern"])
    not_after = row.get("not_after")
    return Rule(
        row["name"], tuple(row["needs"]), re.compile(pattern), None if not_after is None else re.compile(not_after)
    )


class _Folding(dict[int, str]):
    """What each character counts as, worked out when it is first met: always one character."""

    def __init__(self, pairs: Mapping[str, str]) -> None:
        super().__init__()
        self._pairs = pairs

    def __missing__(self, code: int) -> str:
        char = chr(code - _TAG_OFFSET) if code in _TAGS else chr(code)
        wide = unicodedata.normalize("NFKC", char)
        char = wide if len(wide) == 1 else char
        low = char.lower()
        char = low if len(low) == 1 else char
        self[code] = self._pairs.get(char, char)
        return self[code]


def _folded(text: str, folding: Mapping[int, str]) -> tuple[str, list[tuple[int, int]]]:
    """Give the text as it is matched, and for each part left out of it its place there and all that was left out."""
    if text.isascii():
        same_length = text.lower()
        if "*" not in text and text.isprintable():  # as most are: nothing of it is left out
            return same_length, []
    else:
        same_length = text.translate(folding)
    dropped: list[tuple[int, int]] = []
    gone = 0
    for match in _DROPPED.finditer(same_length):
        place = match.start() - gone
        gone += match.end() - match.start()
        dropped.append((place, gone))
    return _DROPPED.sub("", same_length) if dropped else same_length, dropped


def _place(position: int, dropped: Sequence[tuple[int, int]]) -> int:
    """Give where a position of the folded text stands in the given one."""
    earlier = bisect.bisect_right(dropped, position, key=lambda one: one[0])
    return position + (dropped[earlier - 1][1] if earlier else 0)


def _hidden(text: str) -> str | None:
    if text.isascii():
        return None
    tagged = _TAGGED.search(text)
    if tagged is not None:
        return "".join(chr(ord(char) - _TAG_OFFSET) for char in tagged[0][:MAX_QUOTE])
    bits = _BITS.search(text)
    return None if bits is None else f"{len(bits[0])} invisible characters"


def _quoted(text: str, start: int, end: int) -> str:
    """Give the match with the rest of its sentence, as far as there is room."""
    room = max(0, MAX_QUOTE - (end - start))
    ends = _SENTENCE_END.search(text, end, end + room)
    return text[start : min(end + room, ends.end() if ends is not None else len(text))][:MAX_QUOTE].strip()
