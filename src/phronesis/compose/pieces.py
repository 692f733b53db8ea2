"""One candidate as it will be shown: cleaned, shortened, cited, and its tokens estimated."""

import dataclasses
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Final

from phronesis.compose.aliases import sized
from phronesis.compose.cleaning import clean, label, name_of, without_citations
from phronesis.compose.excerpts import Count, excerpt, whole
from phronesis.compose.headings import CITATIONS_SHOWN, heading_of
from phronesis.compose.wording import words_of
from phronesis.core.context import DUE_LABEL, Block
from phronesis.core.fences import SAMPLE
from phronesis.core.resources.records import SECTION
from phronesis.core.results import Evidence
from phronesis.index.projections import chunk_start
from phronesis.models.token_counter import MESSAGE_OVERHEAD

MIN_EXCERPT: Final = 48
"""Tokens below which a text is not cut to fit the room that is left: it would cost more in headings than it says."""

SUMMARY_CITATIONS_SHOWN: Final = 1
"""The same before a line of the summary, which is short, and of which there are many."""

PLAIN_ROLES: Final = frozenset({"user", "assistant"})
"""Roles that a recent turn may keep in a list of messages. Every other becomes data under the user's role."""
_NAMED_ROLES: Final = PLAIN_ROLES | {"system", "developer", "tool", "function"}
_SEPARATOR_TOKENS: Final = 2
"""Line breaks around a piece: at most two, at most a token each."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A candidate as shown: its words, and before them a heading that cites (empty before a turn's).

    ``tokens`` estimates what it adds to the larger rendering; ``index`` is its place.
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
        """Whether it says what is due."""
        return self.slot == "system_blocks" and is_due(self.source)

    @property
    def fenced(self) -> bool:
        """Whether it is shown as data."""
        return isinstance(self.source, Evidence) or self.source.fenced


def citation_of(source: Block | Evidence) -> str | None:
    """Give what a report calls it by: the item's citation, or a block's first one, if any."""
    if isinstance(source, Evidence):
        return source.item.citation
    return source.citations[0] if source.citations else None


def evidence_piece(
    index: int, evidence: Evidence, *, snippet_tokens: int, room: int, count: Count, zone: tzinfo = UTC
) -> Piece | None:
    """Give a memory under its heading, in at most ``room`` tokens, its text in at most ``snippet_tokens``.

    None when the room is too small for that, or for a useful part of it.
    """
    heading = heading_of(evidence, zone)
    overhead = count(sized(heading)) + _SEPARATOR_TOKENS
    limit = min(snippet_tokens, room - overhead)
    found = evidence.matched[0] if evidence.matched else None
    shown, shortened = excerpt(
        words_of(evidence.item), snippet="" if found is None else found.snippet,
        start=chunk_start(found.part) if found is not None and evidence.item.kind == SECTION else None,
        limit=limit, count=count,
    )  # fmt: skip
    if limit < 0 or (shortened and (not shown or limit < min(snippet_tokens, MIN_EXCERPT))):
        return None
    quoted = without_citations(shown)
    tokens = overhead + count(quoted)
    return Piece("evidence", index, evidence, quoted, tokens, shortened, heading) if tokens <= room else None


def is_due(source: Block | Evidence) -> bool:
    """Whether it says what is due: the part of core memory that changes with the time of the call."""
    return isinstance(source, Block) and source.label == DUE_LABEL


def group_of(block: Block) -> tuple[str | None, bool]:
    """Give what blocks of a slot must have in common to be shown as one group: the label and the fence."""
    return block.label, block.fenced


def cited(slot: str, block: Block) -> tuple[str, ...]:
    """Give those of a block's citations that are shown before it."""
    most = SUMMARY_CITATIONS_SHOWN if slot == "working_summary" else CITATIONS_SHOWN
    return tuple(block.citations[:most])


def block_piece(
    slot: str, index: int, block: Block, *, room: int, cut: bool, first: bool = True, count: Count
) -> Piece | None:
    """Give a block of instructions or of the summary in at most ``room`` tokens, its citations before it.

    None when the room is too small: for the whole, or with ``cut`` for a useful part. The ``first`` of a group pays for
    its fence and its label.
    """
    about = f"({_on_one_line(block.about)})" if block.about else ""
    heading = " ".join([*(f"[{citation}]" for citation in cited(slot, block)), *filter(None, [about])])
    frame = count(SAMPLE.memory("")) if first and block.fenced else 0
    frame += count(f"{label(block.label)}:\n") if first and block.label else 0
    overhead = count(sized(heading)) + frame + _SEPARATOR_TOKENS
    text = block.text if block.label is None else " ".join(block.text.split())
    shown, shortened = _fitted(text, room - overhead, cut=cut, count=count)
    if shown is None:
        return None
    quoted = without_citations(shown) if block.label is None else _on_one_line(shown)
    tokens = overhead + count(quoted)
    if tokens > room:
        return None
    source = dataclasses.replace(block, text=shown) if shortened else block
    return Piece(slot, index, source, quoted, tokens, shortened, heading)


def _on_one_line(text: str) -> str:
    return " ".join(without_citations(clean(text)).split())


def turn_piece(index: int, block: Block, *, room: int, cut: bool, count: Count) -> Piece | None:
    """Give a recent turn in at most ``room`` tokens; None when that is too small, as for `block_piece`."""
    # In the text every turn is fenced; in the messages a plain one has its prefix and a message's overhead instead.
    fence = count(SAMPLE.turn(speaker(block), ""))
    overhead = max(fence, count(message_prefix(block))) + MESSAGE_OVERHEAD + _SEPARATOR_TOKENS
    shown, shortened = _fitted(block.text, room - overhead, cut=cut, count=count)
    if shown is None:
        return None
    source = dataclasses.replace(block, text=shown) if shortened else block
    return Piece("recent_turns", index, source, shown, overhead + count(shown), shortened)


def _fitted(text: str, limit: int, *, cut: bool, count: Count) -> tuple[str | None, bool]:
    """Give the text whole, or with ``cut`` an excerpt of a useful length, or None; and whether it was cut."""
    uncut = whole(text, limit=limit, count=count) if limit >= 0 else None
    if uncut is not None:
        return uncut, False
    if not cut or limit < MIN_EXCERPT:
        return None, False
    return excerpt(text, limit=limit, count=count)[0] or None, True


def keeps_its_role(block: Block) -> bool:
    """Whether a recent turn stands under its own role in a list of messages."""
    return block.role in PLAIN_ROLES and not block.fenced


def speaker(block: Block) -> str:
    """Give the attributes of a turn's tag: its role, and its name if it has one."""
    # An unknown role is not shown: cleaned, it could read "user".
    role = block.role if block.role in _NAMED_ROLES else "other"
    name = name_of(block.name or "")
    return f'role="{"quoted " if block.fenced else ""}{role}"' + (f' name="{name}"' if name else "")


def message_prefix(block: Block) -> str:
    """Give the name before a user's message. None before the assistant's: a model would learn to write it."""
    name = name_of(block.name or "") if block.role == "user" else ""
    return f"{name}: " if name else ""
