"""Candidates of a context without the secrets and personal numbers in their words."""

from collections.abc import Sequence
from dataclasses import replace

from phronesis.core.context import Block, Candidates
from phronesis.core.items import Item
from phronesis.core.redaction import mask, mask_value
from phronesis.core.results import Evidence, Match, Source


def masked(candidates: Candidates) -> Candidates:
    """Give candidates with a marker for each secret and personal number; the user's own message stays as it is."""
    return replace(
        candidates,
        system_blocks=_blocks(candidates.system_blocks),
        working_summary=_blocks(candidates.working_summary),
        recent_turns=_blocks(candidates.recent_turns),
        evidence=[_evidence(one) for one in candidates.evidence],
    )


def _blocks(blocks: Sequence[Block]) -> list[Block]:
    return [block if (text := mask(block.text)) is block.text else replace(block, text=text) for block in blocks]


def _evidence(one: Evidence) -> Evidence:
    matched = tuple(_match(match) for match in one.matched)
    return replace(one, item=_item(one.item), matched=matched, sources=tuple(map(_source, one.sources)))


def _item(item: Item) -> Item:
    content, data, metadata = mask(item.content), mask_value(item.data), mask_value(item.metadata)
    value = mask_value(item.value, item.key or "")
    same = content is item.content and data is item.data and metadata is item.metadata and value is item.value
    return item if same else replace(item, content=content, value=value, data=data, metadata=metadata)


def _match(match: Match) -> Match:
    snippet = mask(match.snippet)
    return match if snippet is match.snippet else replace(match, snippet=snippet)


def _source(source: Source) -> Source:
    quote = None if source.quote is None else mask(source.quote)
    return source if quote is source.quote else replace(source, quote=quote)
