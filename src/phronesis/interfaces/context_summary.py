"""A composed context reduced to what an agent needs: the prompt and its citations, without the full records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from phronesis.core.context import Block, ContextPackage
from phronesis.core.items import statement
from phronesis.core.results import Evidence
from phronesis.core.serialization import Record, as_json

_PLAIN: Final = ("context_id", "user_message", "token_count", "token_budget", "text", "messages")
_SLOTS: Final = ("system_blocks", "working_summary", "recent_turns")
SNIPPET: Final = 200
"""Maximum characters of an item's text beside the context, which has it in full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSummary(Record):
    """A context without the records that it was composed from; ``explain`` adds those (`ContextPackage`).

    The blocks of each slot name their citations; each evidence has its ``item``'s id, kind and first words, its
    ``score`` and its ``sources``. ``explain`` is empty.
    """

    context_id: str
    system_blocks: Sequence[Mapping[str, Any]]
    working_summary: Sequence[Mapping[str, Any]]
    recent_turns: Sequence[Mapping[str, Any]]
    evidence: Sequence[Mapping[str, Any]]
    user_message: str
    token_count: int
    token_budget: int
    text: str
    messages: Sequence[Mapping[str, str]]
    citations: Mapping[str, Any] = field(default_factory=dict)
    explain: Mapping[str, Any] = field(default_factory=dict)


def summary_of(package: ContextPackage) -> ContextSummary:
    """Return a context without its records: about four times the tokens of its text, instead of thirty."""
    given: dict[str, Any] = {name: getattr(package, name) for name in _PLAIN}
    given |= {name: [_block(one) for one in getattr(package, name)] for name in _SLOTS}
    return ContextSummary(
        **given, evidence=[_evidence(one) for one in package.evidence], citations=as_json(package.citations)
    )


def _block(block: Block) -> dict[str, Any]:
    told = {"text": block.text, "citations": list(block.citations), "label": block.label, "role": block.role}
    return {name: value for name, value in told.items() if value}


def _evidence(one: Evidence) -> dict[str, Any]:
    item, source = one.item, one.sources[0] if one.sources else None
    text = statement(item)
    words = text if len(text) <= SNIPPET else f"{text[: SNIPPET - 1]}…"
    where = None if source is None else source.source_ref or source.session_id
    return {
        "item": {"id": item.id, "kind": item.kind, "content": words},
        "score": one.score,
        "sources": [] if where is None else [where],
    }
