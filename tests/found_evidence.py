"""Evidence as retrievers find it, made by hand."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from phronesis.core.items import Item
from phronesis.core.results import Evidence, Match, Source
from phronesis.core.retrieval_plan import RetrievalPlan, Store, SubPlan, SubQuery
from phronesis.recall.fusion import Candidate, Part
from phronesis.recall.scoring.weights import COVERED

AT = datetime(2026, 5, 1, 12, tzinfo=UTC)


def memory(
    n: int | str,
    covered: float = 0.5,
    *,
    text: str | None = None,
    score: float | None = None,
    messages: Sequence[str] = (),
    **fields: Any,
) -> Evidence:
    """Give a memory; ``messages`` are the ids of those it was taken from."""
    content = f"m{n}" if text is None else text
    item = Item(
        **{
            "id": f"m{n}",
            "kind": "fact",
            "content": content,
            "entry_id": "e1",
            "recorded_at": AT,
            "updated_at": AT,
            **fields,
        }
    )
    sources = tuple(Source("e1", message_id=one) for one in messages)
    return Evidence(item, covered if score is None else score, (), sources, why={COVERED: covered})


def section(
    n: int | str,
    covered: float = 0.5,
    *,
    document: str = "d1",
    uri: str | None = "https://a.example/d1",
    text: str | None = None,
    part: str = "chunk:0",
) -> Evidence:
    """Give a section of a document."""
    content = f"s{n}{document}" if text is None else text
    item = Item(
        id=f"s{n}",
        kind="section",
        content=content,
        entry_id="e2",
        recorded_at=AT,
        updated_at=AT,
        source_ref=uri,
        data={"document_id": document, "title": "A manual", "path": ["Intro"]},
    )
    matched = (Match(f"s{n}", part, content[:40], 0.0),)
    return Evidence(item, covered, matched, (Source("e2", uri),), why={COVERED: covered})


def part(store: Store, *found: Evidence, name: str | None = None, abstained: bool = False) -> Part:
    """Give what a retriever found."""
    return Part(name or store, store, found, abstained)


def candidate(evidence: Evidence, rank: int = 1, relevance: float = 0.5, **fields: Any) -> Candidate:
    """Give a candidate of the store that its kind is of."""
    store: Store = "resources" if evidence.item.kind == "section" else "memory"
    return Candidate(evidence, store, store, rank, relevance, **fields)


def plan(text: str = "How is the kettle cleaned?", **fields: Any) -> RetrievalPlan:
    """Give a plan of one question for both stores."""
    queries = (SubQuery(text),)
    parts = {"memory": SubPlan("memory", queries), "resources": SubPlan("resources", queries)}
    return RetrievalPlan(
        **{"id": "p1", "message": text, "intent": "how_to", "language": "en", "queries": queries, **parts, **fields}
    )
