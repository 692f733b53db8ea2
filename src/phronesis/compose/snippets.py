"""A candidate as rendered: cleaned, shortened and cited, with an estimate of its tokens; and text truncation."""

import dataclasses
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Final

from phronesis.compose.item_wording import CITATIONS_SHOWN, estimate_heading, heading_of, words_of
from phronesis.core.context import DUE_LABEL, Block
from phronesis.core.data_delimiters import SAMPLE
from phronesis.core.entries import SECTION
from phronesis.core.results import Evidence
from phronesis.core.text import ELLIPSIS, clean, label, name_of, without_citations
from phronesis.index.projections import chunk_start
from phronesis.models.token_counter import MESSAGE_OVERHEAD

# Truncating a text to a number of tokens around the matched part, at the end of a sentence or word.

Count = Callable[[str], int]

MAX_CHARACTERS_PER_TOKEN: Final = 16
"""Characters per token beyond which a text is cut before it is counted, to bound the cost. Prose has 1 to 6."""

_SAMPLED_CHARACTERS_PER_TOKEN: Final = 4
"""Size of the sample, per token of the limit, that estimates a huge text's characters per token."""

_SENTENCE_END: Final = re.compile(r"[。！？；…\n]|[.!?;](?=\s)")
_WORD_END: Final = re.compile(r"\s")
_OPENING_WINDOW: Final = 4
"""Window in which an opening is searched, as a multiple of its length."""
_SENTENCE_SHARE: Final = 0.6
"""Minimum share of the room that a cut at a sentence's end must use; otherwise the cut is at a word's end."""
_WORD_SHARE: Final = 0.8
_CAUTION: Final = 0.97
"""Tokens are not spread evenly over a text: the first cut aims slightly below the limit, which saves a count."""
_ATTEMPTS: Final = 6
_ZWJ: Final = "\u200d"


def excerpt(text: str, *, snippet: str = "", start: int | None = None, limit: int, count: Count) -> tuple[str, bool]:
    """Return at most ``limit`` tokens of ``text``, cleaned, and whether something was left out.

    A long text is shown from the sentence that holds ``snippet``; if the snippet is not part of it (a paraphrase, a
    claim), the snippet is shown instead. If ``start`` gives the matched range, it is shown from there, unless the
    snippet would then be cut off. An ellipsis marks each end that was cut. Empty if not even that fits.
    """
    uncut = whole(text, limit=limit, count=count)
    if uncut is not None:
        return uncut, False
    if limit <= 0:
        return "", True
    window = limit * MAX_CHARACTERS_PER_TOKEN
    sample = clean(text if len(text) <= window else text[: limit * _SAMPLED_CHARACTERS_PER_TOKEN])
    room = len(sample) * limit / max(1, count(sample))
    if start is None:
        text, begin = _cut_around(text, snippet, room)
    else:
        begin = _from(text, snippet.strip(ELLIPSIS), start, room)
    cut = text[begin : begin + window]
    return _shorten((ELLIPSIS if begin else "") + clean(cut), begin + len(cut) < len(text), limit, count), True


def _cut_around(text: str, snippet: str, room: float) -> tuple[str, int]:
    """Return the text, or the snippet instead, and the start of the excerpt."""
    at = text.find(snippet)
    if at < 0:
        text, at = snippet, 0
    near = at + len(snippet) < room * _SENTENCE_SHARE
    return text, 0 if near else _sentence_start(text, at, reach=int(room / 4))


def _from(text: str, snippet: str, start: int, room: float) -> int:
    """Return the start of the excerpt: the matched range, or the sentence of a snippet that ends beyond the room."""
    start = start if start < len(text) else 0
    at = text.find(snippet, start)
    if at < 0 or at + len(snippet) - start <= room:
        return start
    return max(start, _sentence_start(text, at, reach=int(room / 4)))


def first_sentence(text: str, *, most: int) -> str:
    """Return the first sentence of ``text`` on one line, or as much of it as fits ``most`` characters."""
    flat = " ".join(text[: _OPENING_WINDOW * most].split())
    end = _SENTENCE_END.search(flat)
    first = (flat if end is None else flat[: end.end()]).strip()
    return first if len(first) <= most else first[: _before_marks(first, most - 1)].rstrip() + ELLIPSIS


def whole(text: str, *, limit: int, count: Count) -> str | None:
    """Return ``text`` cleaned, or None if it is longer than ``limit`` tokens; a huge text is not counted."""
    if len(text) > max(0, limit) * MAX_CHARACTERS_PER_TOKEN:
        return None
    shown = clean(text)
    return shown if count(shown) <= limit else None


def _shorten(text: str, more: bool, limit: int, count: Count) -> str:
    """Return the longest prefix found in a few tries, with an ellipsis if anything follows."""
    shown = text + ELLIPSIS if more else text
    tokens = count(shown)
    end = len(text)
    for _ in range(_ATTEMPTS):
        if tokens <= limit:
            return shown if end > 0 else ""
        end = _good_end(text, max(1, int(end * _CAUTION * limit / tokens)))
        shown = text[:end].rstrip() + ELLIPSIS
        tokens = count(shown)
    # If the density is too uneven for proportional cuts, halve the rest, which terminates.
    while tokens > limit and end > 0:
        end //= 2
        shown = text[:end].rstrip() + ELLIPSIS
        tokens = count(shown)
    return shown if tokens <= limit and end > 0 else ""


def _good_end(text: str, end: int) -> int:
    """Return the last end of a sentence up to ``end``, or of a word, or ``end`` itself, never within a character."""
    for pattern, share in ((_SENTENCE_END, _SENTENCE_SHARE), (_WORD_END, _WORD_SHARE)):
        found = [match.end() for match in pattern.finditer(text, int(end * share), end + 1) if match.end() <= end]
        if found:
            return found[-1]
    return _before_marks(text, end)


def _before_marks(text: str, end: int) -> int:
    lowest = max(0, end - MAX_CHARACTERS_PER_TOKEN)
    while lowest < end < len(text) and (
        unicodedata.category(text[end]).startswith("M") or _ZWJ in (text[end], text[end - 1])
    ):
        end -= 1
    return end


def _sentence_start(text: str, at: int, *, reach: int) -> int:
    """Return the start of the sentence around ``at``, at most ``reach`` characters before it; else a word's start."""
    lowest = max(0, at - reach)
    for pattern in (_SENTENCE_END, _WORD_END):
        found = [match.end() for match in pattern.finditer(text, lowest, at)]
        if found:
            return found[-1] + len(text[found[-1] : at]) - len(text[found[-1] : at].lstrip())
    return at


MIN_EXCERPT: Final = 48
"""Minimum tokens of an excerpt: a shorter one would cost more in headings than it says."""

SUMMARY_CITATIONS_SHOWN: Final = 1
"""Maximum citations before a line of the summary."""

PLAIN_ROLES: Final = frozenset({"user", "assistant"})
"""Roles that a recent turn may keep in a list of messages; any other is shown as data under the user's role."""
_NAMED_ROLES: Final = PLAIN_ROLES | {"system", "developer", "tool", "function"}
_SEPARATOR_TOKENS: Final = 2
"""Line breaks around a piece: at most two, at most a token each."""


@dataclass(frozen=True, slots=True)
class RenderedPiece:
    """A candidate as rendered: its text, preceded by a heading with its citation (empty before a turn's).

    ``tokens`` estimates what it adds to the larger rendering; ``index`` is its position.
    """

    slot: str
    index: int
    source: Block | Evidence
    text: str
    tokens: int
    shortened: bool = False
    heading: str = ""

    @property
    def due(self) -> bool:
        """Return whether it is a due item."""
        return self.slot == "system_blocks" and is_due(self.source)

    @property
    def fenced(self) -> bool:
        """Return whether it is rendered as data."""
        return isinstance(self.source, Evidence) or self.source.fenced


def citation_of(source: Block | Evidence) -> str | None:
    """Return its name in reports: the item's citation, or a block's first one, if any."""
    if isinstance(source, Evidence):
        return source.item.citation
    return source.citations[0] if source.citations else None


def evidence_piece(
    index: int, evidence: Evidence, *, snippet_tokens: int, room: int, count: Count, zone: tzinfo = UTC
) -> RenderedPiece | None:
    """Return a memory under its heading, in at most ``room`` tokens, its text in at most ``snippet_tokens``.

    None if the room is too small for that, or for a useful part of it.
    """
    heading = heading_of(evidence, zone)
    overhead = count(estimate_heading(heading)) + _SEPARATOR_TOKENS
    limit = min(snippet_tokens, room - overhead)
    found = evidence.matched[0] if evidence.matched else None
    shown, shortened = excerpt(
        words_of(evidence.item),
        snippet="" if found is None else found.snippet,
        start=chunk_start(found.part) if found is not None and evidence.item.kind == SECTION else None,
        limit=limit,
        count=count,
    )
    if limit < 0 or (shortened and (not shown or limit < min(snippet_tokens, MIN_EXCERPT))):
        return None
    quoted = without_citations(shown)
    tokens = overhead + count(quoted)
    return RenderedPiece("evidence", index, evidence, quoted, tokens, shortened, heading) if tokens <= room else None


def is_due(source: Block | Evidence) -> bool:
    """Return whether it is a due item, the part of core memory that depends on the time of the call."""
    return isinstance(source, Block) and source.label == DUE_LABEL


def group_of(block: Block) -> tuple[str | None, bool]:
    """Return the group of a block, its label and fence: blocks of one group are rendered together."""
    return block.label, block.fenced


def shown_citations(slot: str, block: Block) -> tuple[str, ...]:
    """Return those of a block's citations that are shown before it."""
    most = SUMMARY_CITATIONS_SHOWN if slot == "working_summary" else CITATIONS_SHOWN
    return tuple(block.citations[:most])


def block_piece(
    slot: str, index: int, block: Block, *, room: int, cut: bool, first: bool = True, count: Count
) -> RenderedPiece | None:
    """Return a block of instructions or of the summary in at most ``room`` tokens, after its citations.

    None if the room is too small: for the whole, or with ``cut`` for a useful part. The ``first`` of a group includes
    its fence and label.
    """
    about = f"({_on_one_line(block.about)})" if block.about else ""
    heading = " ".join([*(f"[{citation}]" for citation in shown_citations(slot, block)), *filter(None, [about])])
    frame = count(SAMPLE.memory("")) if first and block.fenced else 0
    frame += count(f"{label(block.label)}:\n") if first and block.label else 0
    overhead = count(estimate_heading(heading)) + frame + _SEPARATOR_TOKENS
    text = block.text if block.label is None else " ".join(block.text.split())
    shown, shortened = _fit_text(text, room - overhead, cut=cut, count=count)
    if shown is None:
        return None
    quoted = without_citations(shown) if block.label is None else _on_one_line(shown)
    tokens = overhead + count(quoted)
    if tokens > room:
        return None
    source = dataclasses.replace(block, text=shown) if shortened else block
    return RenderedPiece(slot, index, source, quoted, tokens, shortened, heading)


def _on_one_line(text: str) -> str:
    return " ".join(without_citations(clean(text)).split())


def turn_piece(index: int, block: Block, *, room: int, cut: bool, count: Count) -> RenderedPiece | None:
    """Return a recent turn in at most ``room`` tokens; None if that is too small, as for `block_piece`."""
    # In the text every turn is fenced; in the messages a plain one has its prefix and a message's overhead instead.
    fence = count(SAMPLE.turn(speaker(block), ""))
    overhead = max(fence, count(message_prefix(block))) + MESSAGE_OVERHEAD + _SEPARATOR_TOKENS
    shown, shortened = _fit_text(block.text, room - overhead, cut=cut, count=count)
    if shown is None:
        return None
    source = dataclasses.replace(block, text=shown) if shortened else block
    return RenderedPiece("recent_turns", index, source, shown, overhead + count(shown), shortened)


def _fit_text(text: str, limit: int, *, cut: bool, count: Count) -> tuple[str | None, bool]:
    """Return the whole text, or with ``cut`` an excerpt of a useful length, or None; and whether it was cut."""
    uncut = whole(text, limit=limit, count=count) if limit >= 0 else None
    if uncut is not None:
        return uncut, False
    if not cut or limit < MIN_EXCERPT:
        return None, False
    return excerpt(text, limit=limit, count=count)[0] or None, True


def keeps_its_role(block: Block) -> bool:
    """Return whether a recent turn keeps its role in a list of messages."""
    return block.role in PLAIN_ROLES and not block.fenced


def speaker(block: Block) -> str:
    """Return the attributes of a turn's tag: its role, and its name if it has one."""
    # An unknown role is not shown: after cleaning it could read "user".
    role = block.role if block.role in _NAMED_ROLES else "other"
    name = name_of(block.name or "")
    return f'role="{"quoted " if block.fenced else ""}{role}"' + (f' name="{name}"' if name else "")


def message_prefix(block: Block) -> str:
    """Return the name before a user's message; None for the assistant's, because a model would imitate it."""
    name = name_of(block.name or "") if block.role == "user" else ""
    return f"{name}: " if name else ""
