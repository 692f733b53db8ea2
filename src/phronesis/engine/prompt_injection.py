"""Detect prompt injection (law 8): "ignore all previous instructions", fake system turns, planted memories.

Detection covers known patterns, also encoded ones; a text without a match may still be harmful. The first defence is
the delimiters around untrusted text (``core.data_delimiters``). Text detected here is also kept out of search, contexts
and learning.

The rules are data, in ``instructions.toml``:

- ``folds``: characters treated as other characters, one for one.
- ``parts``: named pattern fragments, ``<<name>>`` in a pattern.
- ``mentioned.cue``: words before a quoted order that is only mentioned.
- ``rule``: a ``name``; ``needs``, literals of which a text must hold one before the pattern is tried; ``pattern``;
  ``not_after``: words directly before a match that cancel it ("do not ignore …").
"""

import base64
import binascii
import bisect
import codecs
import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final
from urllib.parse import unquote

from phronesis.core.lazy_loading import once
from phronesis.core.pattern_tables import parse_folded
from phronesis.core.text import clean, label, latin_letter, name_of, one_of
from phronesis.index.tokens import ENGLISH_STOP_WORDS

# Decoding of obfuscated text: base64, hexadecimal, percent escapes, rot13, reversed and spaced-out letters.

MAX_DECODED: Final = 100_000
"""Characters of a text, from its beginning, whose encodings are read."""

_LEAST: Final = 8
"""Characters that a decoded run must have: what is shorter says nothing."""

_BASE64: Final = re.compile(r"(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/_-]{4}(?:\r?\n)?+){4,}+[A-Za-z0-9+/_-]{0,3}={0,2}")
_BASE32: Final = re.compile(r"(?<![A-Z2-7])[A-Z2-7]{24,}+=*+")
_HEX: Final = re.compile(r"(?:(?:0x|\\x|=|%)?[0-9A-Fa-f]{2}[ \t:,]?+){10,}+")
_BINARY: Final = re.compile(r"(?:[01]{8}[ \t,]?+){8,}+")
_CODES: Final = re.compile(r"(?:\d{2,3}[ \t]?,?[ \t]?+){10,}+")
_ESCAPES: Final = re.compile(r"\\u\{?([0-9A-Fa-f]{4,6})\}?")
_PERCENT: Final = re.compile(r"(?:%[0-9A-Fa-f]{2})")
_ENTITY: Final = re.compile(r"&#(?:\d{2,6}|[xX][0-9A-Fa-f]{2,6});?")
_APART: Final = re.compile(r"(?<![^\W\d_])[^\W\d_](?:(?:[^\w\n]|_){1,4}+[^\W\d_](?![^\W\d_])){7,}+")
_BETWEEN: Final = re.compile(r"([\W_]+)")
_LEET: Final = str.maketrans("013457@$!|", "oieastasil")
_DIGIT_IN_WORD: Final = re.compile(r"[A-Za-z][013457@$!|]+[A-Za-z]")


def decoded(text: str) -> Iterator[str]:
    """Return what the encoded parts of a text say, one after the other; most texts have none."""
    shown = text[:MAX_DECODED]
    for pattern, decode in _RUNS:
        for run in pattern.finditer(shown):
            said = decode(run[0])
            if said is not None and len(said) >= _LEAST:
                yield said
    for pattern, read in _WHOLE:
        if len(pattern.findall(shown[:_SAMPLE])) >= _OFTEN:
            yield read(shown)


def turned(text: str) -> Iterator[str]:
    """Return a text letter for letter as others: digits as letters, rot13, from its end."""
    shown = text[:MAX_DECODED]
    if _DIGIT_IN_WORD.search(shown) is not None:
        yield shown.translate(_LEET)
    if shown.isascii():
        yield codecs.encode(shown, "rot13")
    yield shown[::-1]


def apart(text: str) -> Iterator[str]:
    """Return the runs of letters that stand apart (``i g n o r e  a l l``), joined.

    Words are kept where gaps tell them.

    What stands between most letters is what holds them apart; anything longer parts words.
    """
    for run in _APART.finditer(text[:MAX_DECODED]):
        parts = _BETWEEN.split(run[0])  # letters, and what stands between them, in turn
        usual = Counter(parts[1::2]).most_common(1)[0][0]
        gaps = ["" if gap == usual else " " for gap in parts[1::2]]
        yield "".join(map("".join, zip(parts[::2], [*gaps, ""], strict=True)))


def _text_of(raw: bytes) -> str | None:
    """Return bytes as text; None when they are none."""
    for encoding in ("utf-8", "utf-16-le"):
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        if text and sum(char.isprintable() or char.isspace() for char in text) == len(text):
            return text
    return None


def _of_base64(run: str) -> str | None:
    body = "".join(run.split()).rstrip("=").replace("-", "+").replace("_", "/")
    body = body[: len(body) - (len(body) % 4 == 1)]
    try:
        return _text_of(base64.b64decode(body + "=" * (-len(body) % 4), validate=True))
    except (binascii.Error, ValueError):
        return None


def _of_base32(run: str) -> str | None:
    body = run.rstrip("=")
    try:
        return _text_of(base64.b32decode(body + "=" * (-len(body) % 8)))
    except (binascii.Error, ValueError):
        return None


def _of_hex(run: str) -> str | None:
    return _text_of(bytes.fromhex("".join(re.findall(r"[0-9A-Fa-f]{2}", re.sub(r"0x|\\x", "", run)))))


def _of_binary(run: str) -> str | None:
    return _text_of(bytes(int(one, 2) for one in re.findall("[01]{8}", run)))


def _of_codes(run: str) -> str | None:
    codes = [int(one) for one in re.findall(r"\d+", run)]
    return _text_of(bytes(codes)) if max(codes) < 256 else None  # noqa: PLR2004 - a byte


def _unescaped(text: str) -> str:
    return _ESCAPES.sub(lambda found: chr(min(int(found[1], 16), 0x10FFFF)), text)


_RUNS: Final[tuple[tuple[re.Pattern[str], Callable[[str], str | None]], ...]] = (
    (_BASE64, _of_base64), (_BASE32, _of_base32), (_HEX, _of_hex), (_BINARY, _of_binary), (_CODES, _of_codes),
)  # fmt: skip
_WHOLE: Final[tuple[tuple[re.Pattern[str], Callable[[str], str]], ...]] = (
    (_ESCAPES, _unescaped), (_PERCENT, unquote), (_ENTITY, html.unescape),
)  # fmt: skip
_SAMPLE: Final = 20_000
_OFTEN: Final = 4
"""Times that an escape must stand in a text, in its first characters, for the text to be read with it."""


MAX_SCANNED: Final = 1_000_000
"""Characters of a text that are looked at: some 0.1 s. What stands behind them is not found."""

MAX_QUOTE: Final = 200
"""Characters of the words that are quoted."""

HIDDEN: Final = "hidden_text"
"""The rule of text that nobody sees and a model reads."""

_MAX_LAYERS: Final = 2
"""Encodings within encodings that are read."""

_LEAST_HIDDEN: Final = 6
"""Letters of a word that an order needs, for it to be looked for among letters that stand apart."""

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
_MARKS: Final = "\u0300-\u036f\u0483-\u0489\u20d0-\u20ff"
_DROPPED: Final = re.compile(rf"[*{_INVISIBLE}{_MARKS}]+|(?<=[{_HAN}])[ \t\u3000]+(?=[{_HAN}])")
_STRUCTURE: Final = re.compile(r"[\[\]<>{}|#*`:\n]")
_SAMPLED: Final = 2_000
_LETTER: Final = re.compile(r"[^\W\d_]")
_KNOWN_LETTER: Final = re.compile(rf"[a-z\u00df-\u024f\u1e00-\u1eff{_HAN}]")
_LATIN_WORD: Final = re.compile(r"[a-z\u00df-\u024f']+")
_MOST_FOREIGN: Final = 0.2
"""Share of letters of other scripts, in a text of the languages that are known."""
_LEAST_FOREIGN: Final = 6
_ENGLISH: Final = frozenset(word for word in ENGLISH_STOP_WORDS if len(word) > 2) | {"is", "of", "to"}  # noqa: PLR2004
"""Small words that are of no other language: "a", "me" and "no" are."""
_LEAST_WORDS: Final = 6
"""Words from which a text tells its language: a shorter one may be a list of names."""

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
    """Return the first order to a model that ``text`` holds, in the order of the rules; None when there is none.

    It is found whatever its width and case, with invisible characters or look-alikes of its letters in it; encoded, or
    with its letters apart.
    """
    openly = _decoded_order(text, _MAX_LAYERS)
    if openly is not None:
        return openly
    for said in apart(text):
        order = _said_openly(said)
        if order is not None or _hides_order(said):
            return Suspicion(HIDDEN if order is None else order.rule, said[:MAX_QUOTE])
    return next(filter(None, map(_said_openly, turned(text))), None)


def _decoded_order(text: str, layers: int) -> Suspicion | None:
    """Return what a text says openly, or up to so many encodings in each other."""
    order = _said_openly(text)
    if order is None and layers:
        order = next(filter(None, (_decoded_order(said, layers - 1) for said in decoded(text))), None)
    return order


def _hides_order(joined: str) -> bool:
    """Return whether words without spaces, whose letters stood apart, hold what an order needs."""
    folded = _folded(joined, load_rules().folding)[0].replace(" ", "")
    return any(
        len(word) >= _LEAST_HIDDEN and word in folded
        for rule in load_rules().rules for needed in rule.needs for word in (needed.replace(" ", ""),)
    )  # fmt: skip


def _said_openly(text: str) -> Suspicion | None:
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


def is_judged(text: str) -> bool:
    """Return whether a text is in a language that the rules know: English, Chinese, or next to no language at all.

    A text of other scripts is none of them, nor is one of Latin letters in which no small word of English stands.
    """
    sample = text[:_SAMPLED].lower()
    letters = _LETTER.findall(sample)
    foreign = sum(_KNOWN_LETTER.match(letter) is None for letter in letters)
    if foreign > _MOST_FOREIGN * len(letters) and foreign >= _LEAST_FOREIGN:
        return False
    words = _LATIN_WORD.findall(sample)
    return (
        len(words) < _LEAST_WORDS or sample.lstrip().startswith(("{", "[")) or not ENGLISH_STOP_WORDS.isdisjoint(words)
    )


def speaker_name(given: str | None) -> str | None:
    """Return a speaker's name as it may stand in what is learned; None for one that reads like a role or an order.

    Signs that structure a text (brackets, a colon, line ends) are no part of it.
    """
    if given is None or not name_of(given) or find_order(given) is not None:
        return None
    return given if _STRUCTURE.search(given) is None and clean(given) == given else label(given)


@once
def load_rules() -> Rules:
    """Return the rules, read and compiled once."""
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
        char = latin_letter(chr(code - _TAG_OFFSET) if code in _TAGS else chr(code))
        self[code] = self._pairs.get(char, char)
        return self[code]


def _folded(text: str, folding: Mapping[int, str]) -> tuple[str, list[tuple[int, int]]]:
    """Return the text as it is matched, and for each part left out of it its place there and all that was left out."""
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
    """Return where a position of the folded text stands in the given one."""
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
    """Return the match with the rest of its sentence, as far as there is room."""
    room = max(0, MAX_QUOTE - (end - start))
    ends = _SENTENCE_END.search(text, end, end + room)
    return text[start : min(end + room, ends.end() if ends is not None else len(text))][:MAX_QUOTE].strip()
