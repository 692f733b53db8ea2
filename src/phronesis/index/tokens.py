"""The tokenizer of documents and queries, the same on every backend.

- Words: runs of letters and digits outside the unspaced scripts. ASCII words lose the stop list and get the Snowball
  English stem (Porter 2001); other words (Cyrillic, Greek, Arabic, Hebrew, Devanagari …) are unchanged.
- Unspaced scripts (Han, Kana, Hangul, and Thai, Lao, Khmer, Myanmar, where a run of letters is a whole sentence and
  would match nothing): overlapping bigrams; a lone character is a term (Nie et al. 2000, 'On the use of words and
  n-grams for Chinese information retrieval'). Latin beside Chinese is a separate word: "用Python写" holds ``python``.
- Folding: NFKC, casefold, then the accents of Latin, Greek and Cyrillic, Hebrew points, Arabic vowel signs and tatweel
  are dropped (``Ålice`` = ``alice``, ``ё`` = ``е``), because queries often omit them. Japanese voicing marks and Indic
  vowel signs make another letter, so they stay. Letters without a decomposition follow the usual transliteration (ø →
  o).
- Emoji and other symbols are not words. Those in a text are searched (``search_terms``), except at the end of a
  question, where they carry tone and a rare 🎉 would outrank the words by idf.
- Identifiers: a compound joined by separators (``lumen-cloud-dev``, ``feature/login-fix``, ``v1.2.3``, an e-mail
  address) is a term besides its parts, and so is a number with its measure word (8套), so that an exact match ranks
  first.

No text raises: a lone surrogate or NUL is a separator. Time is linear in the text. What ranking uses of a text besides
its words is read off it here, too (`marks_of`).
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from struct import Struct
from typing import Final

from Stemmer import Stemmer

from phronesis.core.calendar import read_times
from phronesis.core.items import Item
from phronesis.recall.scoring.text_properties import (
    ASKS,
    FROM_ASSISTANT,
    FROM_TOOL,
    FROM_USER,
    LEAST_IMPORTANT,
    MAX_DATES,
    MOST_IMPORTANT,
    NAMES_TIME,
    NO_IMPORTANCE,
    NO_STAGE,
    SAID,
    SHARES_PHOTO,
    Marks,
    stage_number,
)
from phronesis.traits.laws.strength import MEMORY_KINDS, TRAIT

_ENGLISH: Final = """
a an and are as at be but by for if in into is it its no not of on or such that the their then there these they this
to was will with i me my we our you your he she his her him them do does did have has had having am been being were
would could should can may might must shall so than too very just about from up out what which who whom whose when
where why how s t d ll m re ve don didn doesn isn wasn aren couldn wouldn hasn haven also any some all most more other
own same only once here both each few nor over under again further during before after above below between through
until while off down because get got
"""
ENGLISH_STOP_WORDS: Final = frozenset(_ENGLISH.split())
"""135 words: function words and remains of contractions; with them recall@10 on LoCoMo rose from .555 to .604."""

CHINESE_FUNCTION_CHARACTERS: Final = frozenset(
    "的了是在我你您他她它们們这這那和与與也都就还還很吗嗎呢吧啊呀么麼着著把被之而且但及或"
)
"""A bigram of two of these is a stop word (我的 这是 他们); one with a content character is kept (目的 了解)."""

_CHINESE: Final = """
什么 什麼 怎么 怎麼 怎样 怎樣 为什 為什 哪个 哪個 哪些 哪里 哪裡 这个 這個 那个 那個 这些 這些 那些
这样 這樣 那样 那樣 这里 這裡 那里 那裡 一个 一個 一些 一下 一样 一樣 有没 有沒 没有 沒有 是不 是否
不是 可以 因为 因為 所以 如果 虽然 雖然 然后 然後 以及 已经 已經 时候 時候 的时 的時
"""
CHINESE_STOP_BIGRAMS: Final = frozenset(_CHINESE.split())
"""Question, demonstrative and linking words with a character outside the set above. The list is short: parts of
content words are kept and weighted down by idf. Both scripts are listed, since NFKC does not map one to the other."""

_UNSPACED: Final = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e80-\u0eff"  # Thai, Lao
    "\u1000-\u1049\u1050-\u109d\u1780-\u17d3\u17d7\u17dc\u17dd\u17e0-\u17e9"  # Myanmar, Khmer
    "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"  # Hangul
    "\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # Kana
    "\u3005-\u3007\u3105-\u312f\u31a0-\u31bf\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
)
# Indic and Tibetan letters with their vowel signs, which `\w` leaves out; without the danda, their full stop.
_INDIC: Final = "\u0900-\u0963\u0966-\u0df3\u0f40-\u0fbc"
_RUNS: Final = re.compile(f"([{_UNSPACED}]+)|((?:(?![{_UNSPACED}])[^\\W_]|[{_INDIC}])+)")
_ASCII_WORDS: Final = re.compile(r"[a-z0-9]+")
_HAS_MARKS: Final = re.compile("[\u00c0-\u06ff\u1e00-\u1fff]")
# Accents; Hebrew points; Arabic tatweel and vowel signs; soft hyphen, joiners, variation selectors, byte order mark.
_DROPPED: Final = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8"
    "\u06ea-\u06ed\u00ad\u200d\u2060\ufe00-\ufe0f\ufeff]+"
)
_TRANSLITERATED: Final = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"}
)
# CPython sorts a run of combining marks by insertion, so a million of them would take hours: fold in windows, cut where
# the next character (ASCII, Kana, Han, Hangul) never joins the one before, and anywhere when there is no such place.
_WINDOWS: Final = re.compile(
    "(?s).{1,256}(?=[\\x00-\\x7f\u3041-\u3096\u30a1-\u30fa\u3400-\u9fff\uac00-\ud7a3]|\\Z)|.{256}"
)
_SEPARATED: Final = r"(?:::|://|[-_./\\:@+#~])"
_IDENTIFIERS: Final = re.compile(rf"(?<![a-z0-9])[a-z0-9]++(?:{_SEPARATED}[a-z0-9]++)++")
_MARKED: Final = re.compile(r"(?<![a-z0-9])[a-z](?:\+\+|#)(?![a-z0-9+#])")  # C++, C#
_SEPARATOR: Final = re.compile(_SEPARATED)
_LEVELS: Final = re.compile("://|::|[/:@#~+]")
"""Separators of the levels of an identifier: a path's folders and file, an address's name and host."""
_EMOJI: Final = (
    "\u203c\u2049\u2139\u2190-\u21ff\u231a-\u23ff\u24c2\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\U0001f000-\U0001f1e5"
    "\U0001f200-\U0001f3fa\U0001f400-\U0001faff"
)
_SYMBOLS: Final = re.compile(f"[\U0001f1e6-\U0001f1ff]{{2}}|[{_EMOJI}]")
_TONE: Final = re.compile(f"[\\s{_EMOJI}\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff\u200d\ufe0f]")
_RECORD: Final = Struct("<QH")  # one TERM_RECORD
_CACHED_WORD: Final = 64  # characters; longer ones (keys, encoded data) are rare and would only fill the caches
MAX_WHOLE: Final = 256
"""Maximum length of an identifier that is indexed at each level; a longer one is indexed whole."""
MAX_FREQUENCY: Final = 0xFFFF
"""Maximum stored term frequency (two bytes); BM25 saturates far below."""


def tokenize(text: str) -> list[str]:
    """Return the index terms of a text, in order, with repeats; empty for stop words and symbols only."""
    if text.isascii():
        words = _ASCII_WORDS.findall(text.lower())
        short = max(map(len, words), default=0) <= _CACHED_WORD
        return [*filter(None, map(_cached_stem if short else _english, words))]
    tokens: list[str] = []
    for run, word in _RUNS.findall("".join(map(_fold, _WINDOWS.findall(text)))):
        if run:
            tokens.extend(_bigrams(run))
        elif not word.isascii():
            tokens.append(word)
        elif stem := _english(word):
            tokens.append(stem)
    return tokens


def search_terms(text: str) -> list[str]:
    """Return the search terms of a text: its words, then whole identifiers and emoji."""
    return [*tokenize(text), *wholes(text)]


def question_terms(text: str) -> list[str]:
    """Return the search terms of a question: those of a text, without emoji at its end."""
    end = len(text)
    while end and not text.isascii() and _TONE.match(text[end - 1]):
        end -= 1
    return search_terms(text[:end]) or search_terms(text)


def wholes(text: str) -> list[str]:
    """Return the identifiers and emoji of a text that are searched whole, in order, with repeats.

    A path, address or qualified name is returned at each level that is no single word: feature/login-fix and
    login-fix.
    """
    plain = text.isascii()
    folded = text.lower() if plain else "".join(map(_fold, _WINDOWS.findall(text)))
    joined = _IDENTIFIERS.findall(folded) if plain else _join_compounds(folded)
    out = [one for found in joined for one in _levels(found)] + _MARKED.findall(folded)
    return out if plain else out + _SYMBOLS.findall(folded)


def _levels(identifier: str) -> list[str]:
    """Return an identifier and its compound parts, without those of stop words alone."""
    whole = identifier.replace("\\", "/")
    if ENGLISH_STOP_WORDS.issuperset(_ASCII_WORDS.findall(whole)) and whole.isascii():
        return []
    parts = _LEVELS.split(whole) if len(whole) <= MAX_WHOLE else [whole]
    return [whole, *(part for part in parts if part != whole and not part.isalnum() and part)]


def _join_compounds(folded: str) -> list[str]:
    """Return compounds joined by separators in a folded text, and numbers with the character after them."""
    out: list[str] = []
    begin = end = parts = 0
    for run in _RUNS.finditer(folded):
        if run[2] and parts and _SEPARATOR.fullmatch(folded, end, run.start()):
            end, parts = run.end(), parts + 1
            continue
        if parts > 1:
            out.append(folded[begin:end])
        elif run[1] and parts and run.start() == end and folded[begin:end].isdecimal():
            out.append(folded[begin:end] + run[1][0])
        begin, end, parts = run.start(), run.end(), 1 if run[2] else 0
    return [*out, folded[begin:end]] if parts > 1 else out


def _fold(window: str) -> str:
    folded = unicodedata.normalize("NFKC", window).casefold()
    if _HAS_MARKS.search(folded):
        folded = unicodedata.normalize("NFD", folded).translate(_TRANSLITERATED)
    return unicodedata.normalize("NFC", _DROPPED.sub("", folded))


def _bigrams(run: str) -> list[str]:
    if len(run) == 1:
        return [] if run in CHINESE_FUNCTION_CHARACTERS else [run]
    return [
        first + second
        for first, second in pairwise(run)
        if not (first in CHINESE_FUNCTION_CHARACTERS and second in CHINESE_FUNCTION_CHARACTERS)
        and first + second not in CHINESE_STOP_BIGRAMS
    ]


def _english(word: str) -> str:
    return _cached_stem(word) if len(word) <= _CACHED_WORD else word


@lru_cache(maxsize=1 << 16)
def _cached_stem(word: str) -> str:
    # A Stemmer costs .3 µs and is not safe to share between threads; this cache replaces its own.
    return "" if word in ENGLISH_STOP_WORDS else str(Stemmer("english", 0).stemWord(word))


def term_hash(term: str) -> int:
    """Return a term's 64-bit hash (BLAKE2b, RFC 7693, 8 bytes, little-endian, unsigned), the same on every machine."""
    return _cached_hash(term) if len(term) <= _CACHED_WORD else _hash(term)


def _hash(term: str) -> int:
    return int.from_bytes(blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


_cached_hash = lru_cache(maxsize=1 << 16)(_hash)


def clear_caches() -> None:
    """Clear the caches of stems and hashes, which may hold erased names; an erasure calls it."""
    _cached_stem.cache_clear()
    _cached_hash.cache_clear()


def pack_terms(tokens: Sequence[str]) -> bytes:
    """Return a document's term frequencies as `core.lexical_index.TERM_RECORD` records sorted by hash, 10 bytes each.

    A frequency saturates at 65,535. The document's length is the sum of its frequencies.
    """
    counts: dict[int, int] = {}
    long = tokens and max(map(len, tokens)) > _CACHED_WORD
    for term in map(term_hash if long else _cached_hash, tokens):  # a Counter takes twice as long for so few
        counts[term] = counts.get(term, 0) + 1
    if len(tokens) > MAX_FREQUENCY:
        counts = {term: min(count, MAX_FREQUENCY) for term, count in counts.items()}
    record = _RECORD.pack
    return b"".join([record(term, counts[term]) for term in sorted(counts)])


_NOTE: Final = re.compile(r"(?<!\s)\s*+\[[^\[\]\n]{1,600}\]\s*\Z")
"""A note in brackets at the end of a message, as chats show attachments."""

_PHOTO: Final = re.compile(
    r"\[[^\[\]\n]{0,40}\b(?:photos?|images?|pictures?|screenshots?|selfies?)\b|[\[【][^\[\]【】\n]{0,20}(?:照片|图片|截图|相片)|!\[[^\[\]\n]{0,300}\]\(",
    re.IGNORECASE,
)
_ASKING: Final = ("?", "？")
WEIGHED_KINDS: Final = frozenset({"message", *MEMORY_KINDS, TRAIT})
"""Kinds whose importance affects ranking: conversation memories and what was learned from them."""

ROLE_FLAGS: Final = {"user": FROM_USER, "assistant": FROM_ASSISTANT, "tool": FROM_TOOL}
"""The bit of each role."""


def marks_of(item: Item, text: str, *, dated: bool = True) -> Marks:
    """Return the packed features of one part of an item: role, speech act, its day, days named in it, boosts.

    Days are in the offset in which the item was said; if not ``dated``, none are looked for in the text. An item that
    names no time and is no message has the day from which it is valid. Relative times count from when the text was
    said, or else recorded.
    """
    said = item.occurred_at or item.recorded_at
    # What was taken from a message has the day on which it was so, not when it was said.
    at = item.local(said) if item.kind == "message" or item.source_type != "chat" else said
    flags = ROLE_FLAGS.get(item.role or "", 0) | (SAID if item.kind == "message" else 0)
    if asks(text):
        flags |= ASKS
    if ("[" in text or "【" in text) and _PHOTO.search(text) is not None:
        flags |= SHARES_PHOTO
    times, named = read_times(text, at) if dated else ([], False)
    if named:
        flags |= NAMES_TIME
    if not times and item.kind != "message" and item.valid_from is not None and item.valid_from.date() != said.date():
        day = item.valid_from.toordinal()
        return Marks(flags, at.toordinal(), ((day, day),), *boost_of(item))
    dates = dict.fromkeys([(time.first.toordinal(), time.last.toordinal()) for time in times[:MAX_DATES]])
    return Marks(flags, at.toordinal(), tuple(dates), *boost_of(item))


def boost_of(item: Item) -> tuple[int, int]:
    """Return the importance and the stage number that boost an item."""
    weighed = item.kind in WEIGHED_KINDS
    # An imported log may say anything.
    importance = min(max(item.importance, LEAST_IMPORTANT), MOST_IMPORTANT) if weighed else NO_IMPORTANCE
    return importance, stage_number(item.stage) if item.kind == TRAIT else NO_STAGE


def asks(text: str) -> bool:
    """Return whether a text ends with a question mark, ignoring a note in brackets after it."""
    end = text[-1_000:].rstrip()
    if end.endswith(_ASKING):
        return True
    return end.endswith("]") and _NOTE.sub("", end).rstrip().endswith(_ASKING)
