"""Text made safe to show to a model: nothing invisible, nothing that reads as our own markup (law 8).

What a person would not see is removed: control characters, bidirectional overrides, zero-width characters and the
invisible letters that smuggle instructions (Unicode tags, supplementary variation selectors). Joiners (ZWJ, ZWNJ) and
the plain direction marks stay: emoji and right-to-left scripts are written with them. Look-alikes of a fence, of a
citation and of a chat template's control tokens are spelled so that they are neither.
"""

import re
import unicodedata
from typing import Final

from phronesis.core.text import storable

LABEL_LENGTH: Final = 40
"""Characters of a speaker's name that are shown."""

_LINE_ENDS: Final = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_INVISIBLE: Final = re.compile(
    "[\x01-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f"  # control characters but tab and line feed
    "\xad\u180e\u200b\ufeff"  # zero-width
    "\u202a-\u202e\u2060-\u206f"  # bidirectional overrides and isolates, invisible operators
    "\ufff9-\ufffb\U000e0000-\U000e01ef]"  # annotations, tags, supplementary variation selectors
)
_GAP: Final = "[\\s\u200c-\u200f\u061c\ufe00-\ufe0f]*"
_ANGLES: Final = "<＜﹤‹\u2329\u3008\u27e8\u27ea❮❬❰«《˂ᐸ≺≪⧼"
_TAG: Final = re.compile(rf"[{_ANGLES}](?={_GAP}[/／⁄∕]?{_GAP}(\w{{1,13}}|[|｜]))")
_TAG_WORDS: Final = ("memory", "turn", "start_of_turn", "end_of_turn", "|")
"""What follows `<` in our fences, and in the control tokens of chat templates (ChatML, Llama 3, Gemma)."""
_CITATION: Final = re.compile(rf"[\[［【〔⟦〚]{_GAP}(\w{{3}}){_GAP}[:：∶︰﹕]")
_LABEL_MARKS: Final = re.compile(r"[\[\]()<>\"'`;,:=\\/{}|#*]")


def clean(text: str) -> str:
    """Give ``text`` without what is invisible, each line end as a line feed, look-alikes of our tags spelled out."""
    if text.isascii() and "<" not in text and text.replace("\n", "").isprintable():
        return text  # most English text: four patterns need not look for what is not there
    shown = _INVISIBLE.sub("", _LINE_ENDS.sub("\n", storable(text)))
    return _TAG.sub(_without_angle, shown)


def without_citations(text: str) -> str:
    """Give cleaned text in which ``[mem:`` reads ``[quoted mem:``, so that only we can cite."""
    if text.isascii() and "[" not in text:
        return text
    return _CITATION.sub(_quoted, text)


def label(text: str) -> str:
    """Give a speaker's name on one line, without the marks that our own headings use; may be empty."""
    return " ".join(_LABEL_MARKS.sub(" ", clean(text[: 4 * LABEL_LENGTH])).split())[:LABEL_LENGTH].strip()


def _without_angle(found: re.Match[str]) -> str:
    word = unicodedata.normalize("NFKC", found.group(1)).casefold()
    return "&lt;" if word.startswith(_TAG_WORDS) else found.group()


def _quoted(found: re.Match[str]) -> str:
    word = unicodedata.normalize("NFKC", found.group(1)).casefold()
    return "[quoted mem:" if word == "mem" else found.group()
