"""Detect prompt injection (law 8): "ignore all previous instructions", fake system turns, planted memories.

Detection covers known patterns, also encoded ones; a text without a match may still be harmful. The first defence is
the delimiters around untrusted text (``core.data_delimiters``). Text detected here is also kept out of search, contexts
and learning.

The words are data, in ``instructions.toml``. A rule holds where a word of each of its groups stands in order within one
sentence. ``folds`` are characters treated as others; a mark of a chat format counts as it stands.
"""

import base64
import bisect
import codecs
import html
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final
from urllib.parse import unquote

from phronesis.core.lazy_loading import load_once
from phronesis.core.serialization import split_words
from phronesis.core.text import clean, label, latin_letter, name_of
from phronesis.index.tokens import ENGLISH_STOP_WORDS
from phronesis.models.text_features import simplified_characters

MAX_DECODED: Final = 100_000
"""Characters from the beginning of a text in which encodings are decoded."""

_LEAST: Final = 8
"""Minimum length of an encoded run, in characters."""

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


def decode_parts(text: str) -> Iterator[str]:
    """Return the decoded parts of a text, joined; most texts have none."""
    shown = text[:MAX_DECODED]
    for pattern, decode in _RUNS:
        for run in pattern.finditer(shown):
            if len(said := decode(run[0]) or "") >= _LEAST:
                yield said
    for pattern, read in _WHOLE:
        if len(pattern.findall(shown[:_SAMPLE])) >= _OFTEN:
            yield read(shown)


def letter_variants(text: str) -> Iterator[str]:
    """Return a text with its letters exchanged: digits as letters, rot13, reversed."""
    shown = text[:MAX_DECODED]
    if _DIGIT_IN_WORD.search(shown) is not None:
        yield shown.translate(_LEET)
    if shown.isascii():
        yield codecs.encode(shown, "rot13")
    yield shown[::-1]


def spaced_out_runs(text: str) -> Iterator[str]:
    """Return the runs of spaced-out letters (``i g n o r e  a l l``), joined.

    Word boundaries are kept where wider gaps show them. The string between most letters is taken as the separator;
    anything longer ends a word.
    """
    for run in _APART.finditer(text[:MAX_DECODED]):
        parts = _BETWEEN.split(run[0])  # letters, and what stands between them, in turn
        usual = Counter(parts[1::2]).most_common(1)[0][0]
        gaps = ["" if gap == usual else " " for gap in parts[1::2]]
        yield "".join(map("".join, zip(parts[::2], [*gaps, ""], strict=True)))


def _text_of(raw: bytes) -> str | None:
    """Return bytes as text; None if they are not text."""
    for encoding in ("utf-8", "utf-16-le"):
        with suppress(UnicodeDecodeError):
            text = raw.decode(encoding)
            if text and sum(char.isprintable() or char.isspace() for char in text) == len(text):
                return text
    return None


def _of_base64(run: str) -> str | None:
    body = "".join(run.split()).rstrip("=").replace("-", "+").replace("_", "/")
    body = body[: len(body) - (len(body) % 4 == 1)]
    with suppress(ValueError):
        return _text_of(base64.b64decode(body + "=" * (-len(body) % 4), validate=True))
    return None


def _of_base32(run: str) -> str | None:
    body = run.rstrip("=")
    with suppress(ValueError):
        return _text_of(base64.b32decode(body + "=" * (-len(body) % 8)))
    return None


def _of_codes(run: str) -> str | None:
    codes = [int(one) for one in re.findall(r"\d+", run)]
    return _text_of(bytes(codes)) if max(codes) < 256 else None  # noqa: PLR2004 - a byte


_RUNS: Final[tuple[tuple[re.Pattern[str], Callable[[str], str | None]], ...]] = (
    (_BASE64, _of_base64),
    (_BASE32, _of_base32),
    (_HEX, lambda run: _text_of(bytes.fromhex("".join(re.findall(r"[0-9A-Fa-f]{2}", re.sub(r"0x|\\x", "", run)))))),
    (_BINARY, lambda run: _text_of(bytes(int(one, 2) for one in re.findall("[01]{8}", run)))),
    (_CODES, _of_codes),
)
_WHOLE: Final[tuple[tuple[re.Pattern[str], Callable[[str], str]], ...]] = (
    (_ESCAPES, lambda text: _ESCAPES.sub(lambda found: chr(min(int(found[1], 16), 0x10FFFF)), text)),
    (_PERCENT, unquote),
    (_ENTITY, html.unescape),
)
_SAMPLE: Final = 20_000
_OFTEN: Final = 4
"""Occurrences that an escape must have in the beginning of a text before the text is decoded with it."""

MAX_SCANNED: Final = 1_000_000
"""Characters of a text that are scanned, in some 0.1 s. Anything after them is not detected."""

MAX_QUOTE: Final = 200
"""Maximum length of a quotation, in characters."""

HIDDEN: Final = "hidden_text"
"""The rule of text that is invisible to people but readable for a model."""

_MAX_LAYERS: Final = 2
"""Nested encodings that are decoded."""

_LEAST_HIDDEN: Final = 6
"""Minimum length of a word that is searched for among spaced-out letters."""

_BEFORE: Final = 160
_BEHIND: Final = 40
"""Characters before and behind a match that may cancel it."""

_GAP: Final = r"(?:[^.!?。]|\.(?=\S)){0,50}?"
"""What may stand between the words of an order, within a sentence."""

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
"""Maximum share of letters of other scripts in a text of the supported languages."""
_LEAST_FOREIGN: Final = 6
_LEAST_WORDS: Final = 6
"""Minimum number of words for language detection; a shorter text may be a list of names."""

_SENTENCE_END: Final = re.compile(r"[.!?。！？\n]")


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A detected order: the rule that matched, and the matching words."""

    rule: str
    quote: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of order: its groups of words, and the expression made of them."""

    name: str
    groups: Sequence[Sequence[str]]
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None

    def may_hold(self, text: str) -> bool:
        """Return whether a text holds a word of each group, in any order: most texts hold none."""
        for group in self.groups:  # in loops: with `any` and `all`, checking a message takes half as long again
            for word in group:
                if word in text:
                    break
            else:
                return False
        return True


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules; ``ascii_rules`` are those that an ASCII text can match: the others need Chinese."""

    version: str
    folding: Mapping[int, str]
    rules: Sequence[Rule]
    ascii_rules: Sequence[Rule]
    mentioned: re.Pattern[str]
    denied: re.Pattern[str]


def find_order(text: str) -> Suspicion | None:
    """Return the first order to a model in ``text``, in the order of the rules; None when there is none.

    Matching ignores width and case, invisible characters and look-alike letters, and covers encoded and spaced-out
    text.
    """
    openly = _decoded_order(text, _MAX_LAYERS)
    if openly is not None:
        return openly
    for said in spaced_out_runs(text):
        order = _find_open_order(said)
        if order is not None or _hides_order(said):
            return Suspicion(HIDDEN if order is None else order.rule, said[:MAX_QUOTE])
    return next(filter(None, map(_find_open_order, letter_variants(text))), None)


def _decoded_order(text: str, layers: int) -> Suspicion | None:
    """Return an order in the plain text, or in up to the maximum number of nested encodings."""
    order = _find_open_order(text)
    if order is None and layers:
        order = next(filter(None, (_decoded_order(said, layers - 1) for said in decode_parts(text))), None)
    return order


def _hides_order(joined: str) -> bool:
    """Return whether joined letters that were spaced out contain the words of an order."""
    folded = _fold_text(joined, load_rules().folding)[0].replace(" ", "")
    return any(
        all(any(word.replace(" ", "") in folded for word in group) for group in rule.groups)
        and any(len(word) >= _LEAST_HIDDEN and word.replace(" ", "") in folded for word in rule.groups[0])
        for rule in load_rules().rules
    )


def _find_open_order(text: str) -> Suspicion | None:
    scanned = text[:MAX_SCANNED]
    hidden = _hidden(scanned)
    if hidden is not None:
        return Suspicion(HIDDEN, hidden)
    rules = load_rules()
    folded, dropped = _fold_text(scanned, rules.folding)
    held = " ".join(folded.split())
    for rule in rules.ascii_rules if folded.isascii() else rules.rules:
        if not rule.may_hold(held):
            continue
        for match in rule.pattern.finditer(folded):
            before = folded[max(0, match.start() - _BEFORE) : match.start()]
            behind = folded[match.start() : match.end() + _BEHIND]
            spoken_of = rules.denied.search(before) or rules.mentioned.search(before)
            if not spoken_of and (rule.unless is None or rule.unless.search(behind) is None):
                start, end = (_place(position, dropped) for position in match.span())
                return Suspicion(rule.name, _quote_match(scanned, start, end))
    return None


def is_judged(text: str) -> bool:
    """Return whether the rules cover a text's language: English, Chinese, or almost no words.

    A text in other scripts is not covered, nor is Latin text without any English function word.
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
    """Return a speaker's name in a form safe for derived text; None for one that reads like a role or an order.

    Structural characters (brackets, colons, line ends) are removed.
    """
    if given is None or not name_of(given) or find_order(given) is not None:
        return None
    return given if _STRUCTURE.search(given) is None and clean(given) == given else label(given)


@load_once
def load_rules() -> Rules:
    """Return the rules, read and made into expressions once."""
    table = tomllib.loads(resources.files(__package__).joinpath("instructions.toml").read_text("utf-8"))
    pairs: dict[str, str] = {}
    for given, meant in table["folds"].items():
        pairs.update(zip(given, meant, strict=True))
    marks = [(name, split_words(given)) for name, given in table["marks"].items()]
    rules = (*(_mark(name, words) for name, words in marks), *map(_rule, table["rule"]))
    return Rules(
        version=table["version"],
        folding=_Folding(pairs),
        rules=rules,
        ascii_rules=tuple(rule for rule in rules if not all(map(_HAS_HAN.search, rule.groups[0]))),
        mentioned=re.compile(
            rf"{_any_of(split_words(table['words']['mentioned']))}[^.!?\"'`\n]{{0,60}}[\"'「『`][^\"」』`\n]{{0,40}}$"
        ),
        denied=re.compile(rf"{_any_of(split_words(table['words']['denied']))}\s*$"),
    )


def _rule(row: Mapping[str, Any]) -> Rule:
    listed = [split_words(group) for group in row["near"]]
    unless = row.get("unless")
    pattern = re.compile(_GAP.join(map(_any_of, listed)), re.MULTILINE)
    groups = [[word.strip("^*") for word in group] for group in listed]
    return Rule(row["name"], groups, pattern, None if unless is None else re.compile(_any_of(split_words(unless))))


def _mark(name: str, words: Sequence[str]) -> Rule:
    return Rule(name, [words], re.compile(rf"(?<![`\"'])(?:{'|'.join(map(re.escape, words))})"), None)


def _any_of(words: Iterable[str]) -> str:
    """Return an expression for any of these words: ``^`` begins a line, ``*`` stands for an ending."""
    return f"(?:{'|'.join(map(_word, words))})"


def _word(word: str) -> str:
    plain = word.strip("^*")
    text = r"\s{1,8}".join(map(re.escape, plain.split()))
    line = r"^[ \t>#\[(-]{0,6}" if word.startswith("^") else ""
    first = r"(?<![a-z0-9_])" if plain[0].isascii() and plain[0].isalnum() else ""
    last = r"(?![a-z0-9_])" if plain[-1].isascii() and plain[-1].isalnum() and not word.endswith("*") else ""
    return f"{line}{first}{text}{last}"


class _Folding(dict[int, str]):
    """The folding of each character, computed on first use: always one character."""

    def __init__(self, pairs: Mapping[str, str]) -> None:
        super().__init__()
        self._pairs = pairs

    def __missing__(self, code: int) -> str:
        char = latin_letter(chr(code - _TAG_OFFSET) if code in _TAGS else chr(code))
        self[code] = self._pairs.get(char) or simplified_characters(char)
        return self[code]


def _fold_text(text: str, folding: Mapping[int, str]) -> tuple[str, list[tuple[int, int]]]:
    """Return the folded text, and for each removed part its position there and the total length removed so far."""
    if text.isascii():
        same_length = text.lower()
        if "*" not in text and text.isprintable():
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
    """Return the position in the original text of a position in the folded one."""
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


def _quote_match(text: str, start: int, end: int) -> str:
    """Return the match with the rest of its sentence, up to the maximum length."""
    room = max(0, MAX_QUOTE - (end - start))
    ends = _SENTENCE_END.search(text, end, end + room)
    return text[start : min(end + room, ends.end() if ends is not None else len(text))][:MAX_QUOTE].strip()
