"""Composing a context: candidates in, a package within its token budget out (laws 5 and 8). Pure."""

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from phronesis.compose.aliases import aliases
from phronesis.compose.excerpts import Count
from phronesis.compose.layout import DUE_TITLE, TITLES, Layout, headings_in_order, language_of, preamble
from phronesis.compose.pieces import Piece, citation_of, is_due, speaker
from phronesis.compose.selection import Selection
from phronesis.core.budget import Ledger
from phronesis.core.context import SLOTS, Block, Budget, Candidates, ContextPackage
from phronesis.core.fences import SAMPLE, choose_boundary
from phronesis.core.results import Evidence
from phronesis.core.text import storable
from phronesis.errors import BudgetTooSmall
from phronesis.models.token_counter import MESSAGE_OVERHEAD, PRIMING_OVERHEAD, TokenCounter

BUDGETED: Final = SLOTS[:-1]
"""The slots that share what the user's message leaves."""


def compose(
    candidates: Candidates,
    *,
    budget: Budget,
    counter: TokenCounter,
    context_id: str,
    explain: Mapping[str, Any],
    seed: str | None = None,
) -> ContextPackage:
    """Give a package whose two renderings each fit ``budget.total``, as counted by ``counter``.

    The boundary of the fences is derived from ``seed``, the session's (default: the context's). To ``explain`` are
    added ``budget`` (what was used of what; the slots' figures are estimates, ``used`` is counted), ``cache`` (how much
    of it is the same for other questions), ``dropped`` (slot, index, citation and reason of each candidate that is not
    shown), ``shortened``, and ``conflicts`` (of what is shown and disputed, with whether the other side is shown too).
    The same input gives the same package. Raises BudgetTooSmall, with the least budget that would do as
    ``details["minimum"]``, when the user's message alone does not fit: it is never cut.
    """
    count = cache(counter.count)
    layout, ledger = _begun(candidates, budget, counter.name, count)
    selection = Selection(candidates, budget=budget, ledger=ledger, count=count)
    selection.fill()
    boundary = choose_boundary(seed or context_id, [layout.user_message, *_shown(selection.chosen)])
    introduced = candidates.held or any(getattr(candidates, slot) for slot in BUDGETED)
    layout = dataclasses.replace(layout, boundary=boundary, introduced=introduced)
    layout, tokens = _fitted(layout, selection, budget.total, count)
    text = layout.text(selection.chosen)
    spent = {"total": budget.total, "used": tokens, "counter": counter.name, "exact": counter.exact,
             "slots": ledger.report()}  # fmt: skip
    stable = layout.stable(selection.chosen)
    return ContextPackage(
        context_id=context_id,
        system_blocks=_blocks(selection.chosen, "system_blocks"),
        working_summary=_blocks(selection.chosen, "working_summary"),
        recent_turns=_blocks(selection.chosen, "recent_turns"),
        evidence=_evidence(selection.chosen),
        user_message=candidates.user_message,
        token_count=tokens,
        token_budget=budget.total,
        explain={
            **explain,
            "budget": spent,
            "cache": _cacheable(stable, text, count),
            "conflicts": _conflicts(selection.chosen),
            "dropped": selection.dropped,
            "shortened": _shortened(selection.chosen),
        },
        text=text,
        messages=layout.messages(selection.chosen),
        stable_messages=int(bool(stable)),
        citations={alias: citation for citation, alias in layout.aliases.items()},
    )


def shown_core(candidates: Candidates, *, budget: Budget, counter: TokenCounter) -> frozenset[str]:
    """Give the citations of the system blocks that ``compose`` shows of these candidates, whatever the evidence is.

    Raises BudgetTooSmall as ``compose`` does.
    """
    count = cache(counter.count)
    _, ledger = _begun(candidates, budget, counter.name, count)
    selection = Selection(dataclasses.replace(candidates, evidence=()), budget=budget, ledger=ledger, count=count)
    selection.fill()
    return frozenset(one for block in _blocks(selection.chosen, "system_blocks") for one in block.citations)


def _begun(candidates: Candidates, budget: Budget, counter: str, count: Count) -> tuple[Layout, Ledger]:
    """Give the layout without its boundary, and the tokens that the slots may share."""
    lasting = [block.text for block in candidates.system_blocks if not is_due(block)]
    layout = Layout(SAMPLE, language_of(lasting), storable(candidates.user_message))
    taken = _minimum(layout, budget.total, counter, count) + _frame(candidates, layout.language, count)
    available = budget.total - taken
    return layout, Ledger(available, {slot: getattr(budget, slot) for slot in BUDGETED}, total=budget.total)


def _minimum(layout: Layout, total: int, counter: str, count: Count) -> int:
    """Give the tokens of the message alone; BudgetTooSmall when that is more than ``total``."""
    minimum = _tokens(layout.text(()), layout.messages(()), count)
    if minimum > total:
        raise BudgetTooSmall(
            f"token_budget: {total} tokens cannot hold the user's message, which is never cut;"
            f" give at least {minimum}, or shorten the message",
            field="token_budget",
            details={"token_budget": total, "minimum": minimum, "counter": counter},
        )
    return minimum


def _fitted(layout: Layout, selection: Selection, total: int, count: Count) -> tuple[Layout, int]:
    """Give the layout with its aliases, and the tokens of what it shows, at most ``total``.

    Pieces are not additive under BPE: now and then the whole is more than the sum of what was counted, and the least
    valuable are let go. The preamble goes last.
    """
    while True:
        layout = dataclasses.replace(layout, aliases=aliases(headings_in_order(selection.chosen)))
        tokens = _tokens(layout.text(selection.chosen), layout.messages(selection.chosen), count)
        if tokens <= total:
            return layout, tokens
        if selection.chosen:
            selection.let_go(tokens - total)
        else:
            layout = dataclasses.replace(layout, introduced=False)


def _cacheable(stable: str, text: str, count: Count) -> dict[str, Any]:
    """Say how much of a prompt is the part that calls of one session share, and by what to tell whether they do."""
    return {
        "stable_characters": len(stable),
        "total_characters": len(text),
        "stable_tokens": count(stable),
        "total_tokens": count(text),
        "stable_prefix_hash": hashlib.sha256(stable.encode("utf-8", "surrogatepass")).hexdigest()[:16],
    }


def _tokens(text: str, messages: Sequence[Mapping[str, str]], count: Count) -> int:
    """Give the tokens of the larger rendering; the messages with what a chat template puts around them."""
    chat = sum(count(message["content"]) + MESSAGE_OVERHEAD for message in messages) + PRIMING_OVERHEAD
    return max(count(text), chat)


def _frame(candidates: Candidates, language: str, count: Count) -> int:
    """Give what surrounds the pieces at most: the preamble, titles, the fence of the evidence, two messages more."""
    slots = [slot for slot in BUDGETED if getattr(candidates, slot)]
    if not slots:
        return 0
    titles = sum(count(f"{title}\n\n") for title in (DUE_TITLE, *(TITLES[slot] for slot in slots)))
    fence = count(SAMPLE.memory("")) if candidates.evidence else 0
    return count(preamble(language, SAMPLE)) + titles + fence + 2 * MESSAGE_OVERHEAD


def _shown(chosen: Sequence[Piece]) -> Iterator[str]:
    for piece in chosen:
        yield piece.text
        yield piece.heading
        if isinstance(piece.source, Block):
            yield speaker(piece.source)


def _of(chosen: Sequence[Piece], slot: str) -> list[Piece]:
    return sorted((piece for piece in chosen if piece.slot == slot), key=lambda piece: piece.index)


def _blocks(chosen: Sequence[Piece], slot: str) -> list[Block]:
    return [piece.source for piece in _of(chosen, slot) if isinstance(piece.source, Block)]


def _evidence(chosen: Sequence[Piece]) -> list[Evidence]:
    return [piece.source for piece in _of(chosen, "evidence") if isinstance(piece.source, Evidence)]


def _conflicts(chosen: Sequence[Piece]) -> list[dict[str, Any]]:
    shown = {citation_of(piece.source) for piece in chosen}
    return [
        {"citation": evidence.item.citation, "disputed_by": f"mem:{other}", "shown": f"mem:{other}" in shown}
        for evidence in _evidence(chosen)
        for other in evidence.conflicts
    ]


def _shortened(chosen: Sequence[Piece]) -> list[dict[str, Any]]:
    ordered = sorted(chosen, key=lambda piece: (SLOTS.index(piece.slot), piece.index))
    return [
        {"slot": piece.slot, "index": piece.index, "citation": citation_of(piece.source)}
        for piece in ordered
        if piece.shortened
    ]
