"""Counting tokens: exact for OpenAI's o200k vocabulary, a proven upper bound for every other model."""

import re
import unicodedata
import warnings
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, Literal, Protocol, get_args, runtime_checkable

from phronesis.errors import InputError, MissingExtra

TokenCounterChoice = Literal["auto", "o200k", "bytes"]
MESSAGE_OVERHEAD: Final = 4
"""Tokens that chat rendering adds to one message (role, separators), a name included."""
PRIMING_OVERHEAD: Final = 3
"""Tokens that open the model's reply, once a request. Both: OpenAI cookbook, 'How to count tokens with tiktoken'."""
PIECE_CHARACTERS: Final = 50_000
"""Longest text handed to bpe_openai at once: at most 200,000 bytes, and so tokens, which is where it refuses."""
# In o200k's pattern a run of letters or of digits always ends before white space and these marks, and no alternative
# looks back, so a cut there leaves the tokens as they are. An underscore is a mark itself and may take a line break
# along.
_CUT: Final = r"(?:\Z|(?<=[^\W_])(?=[\s.,;:!?，。、；：！？]))"
_PIECE: Final = re.compile(rf"(?s).{{1,{PIECE_CHARACTERS}}}{_CUT}")
_UNBROKEN: Final = re.compile(rf"(?s).+?{_CUT}")
WINDOW: Final = 256
# CPython sorts a run of combining marks by insertion, in quadratic time, so text is normalised in windows. A character
# of _SAFE never joins the one before: NFKC of the whole is the windows' NFKC in a row. A stretch without one is bounded
# by NFKD, which works character by character and is never shorter, since no composition lengthens UTF-8.
_SAFE: Final = r"\x00-\x7f\u3041-\u3096\u30a1-\u30fa\u3400-\u9fff\uac00-\ud7a3"
_WINDOWS: Final = re.compile(rf"(?s)(.{{1,{WINDOW}}}(?=[{_SAFE}]|\Z))|(.{{{WINDOW}}}[^{_SAFE}]*)")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@runtime_checkable
class TokenCounter(Protocol):
    """Counts the tokens of a text."""

    @property
    def name(self) -> str:
        """The vocabulary, for explanations: ``o200k``, ``bytes``."""
        ...

    @property
    def exact(self) -> bool:
        """Return whether `count` is exact; otherwise it is an upper bound."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens, 0 for the empty text; never raises, special tokens are read as plain text."""
        ...


class ByteBound:
    """An upper bound on the tokens of any byte-complete vocabulary: max(UTF-8 bytes of text, of its NFKC form) + 1.

    Proof. (1) Byte-level BPE (Radford et al. 2019) starts from one token per UTF-8 byte and every merge turns two into
    one, so tokens <= bytes(text). (2) SentencePiece with byte fallback (Kudo & Richardson 2018) first normalises, at
    most by NFKC, and puts one word mark in front. It then cuts the text into pieces of the vocabulary; every piece
    covers one character or more, of one byte or more, and a character outside the vocabulary becomes its bytes. The
    word mark is itself a piece, also where it stands for a space (one byte). So tokens <= bytes(NFKC(text)) + 1. The
    larger of both covers either kind. A lone surrogate is read as U+FFFD, three bytes. What a chat template adds is not
    in the text: see `MESSAGE_OVERHEAD`. The bound is loose: about four times the tokens of English, three of Chinese.
    """

    name: Final = "bytes"
    exact: Final = False

    def count(self, text: str) -> int:
        """Return the bound, 0 for the empty text. Linear in the text."""
        if not text:
            return 0
        if text.isascii():
            return len(text) + 1
        return max(len(_plain(text).encode()), _nfkc_bytes(_plain(text))) + 1


KEPT: Final = 8_192
"""Counts in the cache, of some 150 bytes each; the turns, profile and summary of a session are in all its contexts."""


class CachedCounts:
    """A cache of another counter's counts, keyed by the digest of the text; no text is kept. Thread-safe."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._counts: dict[bytes, int] = {}
        self.name = counter.name
        self.exact = counter.exact

    def count(self, text: str) -> int:
        """Return the other counter's count."""
        digest = blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()
        found = self._counts.get(digest)
        if found is None:
            if len(self._counts) >= KEPT:
                self._counts.clear()
            found = self._counts[digest] = self._counter.count(text)
        return found


class O200k:
    """The exact count of OpenAI's o200k_base vocabulary (GPT-4o and later), by ``bpe_openai``.

    A text above 50,000 characters is counted in pieces, cut where the vocabulary's pattern always cuts. A run of that
    length without such a position (a key, encoded data) counts as its bytes, an upper bound.
    """

    name: Final = "o200k"
    exact: Final = True

    def __init__(self) -> None:
        with warnings.catch_warnings():
            # It reads its tables through importlib.resources.open_binary, which Python 3.11 deprecates.
            warnings.simplefilter("ignore", DeprecationWarning)
            try:
                import bpe_openai  # noqa: PLC0415 - optional
            except ImportError as error:
                raise MissingExtra(
                    'token_counter: bpe-openai is not installed; pip install "phronesis[tokens]", or choose bytes',
                    field="token_counter",
                ) from error
            self._encoding = _encoding(bpe_openai.get_encoding)

    def count(self, text: str) -> int:
        """Return the number of o200k tokens, special tokens read as plain text; a lone surrogate counts as U+FFFD."""
        plain = _plain(text)
        if len(plain) <= PIECE_CHARACTERS:
            return len(self._encoding.encode_ordinary(plain))
        total = position = 0
        while position < len(plain):
            piece = _PIECE.match(plain, position)
            if piece:
                total += len(self._encoding.encode_ordinary(piece.group()))
                position = piece.end()
            else:
                end = _end_of_unbroken(plain, position)
                total += len(plain[position:end].encode())
                position = end
        return total


@lru_cache(maxsize=1)
def _encoding(load: Callable[[str], Any]) -> Any:
    """Load the vocabulary once per process, which takes a quarter of a second."""
    return load("o200k_base")


def _end_of_unbroken(text: str, position: int) -> int:
    stretch = _UNBROKEN.match(text, position)
    return stretch.end() if stretch else len(text)


def _nfkc_bytes(text: str) -> int:
    """UTF-8 bytes of NFKC(text), or more where a run without a safe cut is longer than a window; linear time."""
    total = 0
    for window, unbroken in _WINDOWS.findall(text):
        total += len(unicodedata.normalize("NFKC", window).encode())
        for start in range(0, len(unbroken), WINDOW):
            total += len(unicodedata.normalize("NFKD", unbroken[start : start + WINDOW]).encode())
    return total


def _plain(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text)


def load_token_counter(choice: str) -> TokenCounter:
    """Return the counter named; ``auto`` takes o200k if it is installed, else the byte bound.

    Raises MissingExtra, with the pip command, for ``o200k`` if it is not installed; InputError for another name.
    """
    if choice == "o200k":
        return O200k()
    if choice == "bytes":
        return ByteBound()
    if choice != "auto":
        raise InputError(
            f"token_counter: {choice!r} is not one of {', '.join(get_args(TokenCounterChoice))}", field="token_counter"
        )
    try:
        return O200k()
    except MissingExtra:
        return ByteBound()
