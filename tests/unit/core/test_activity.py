"""Figures of activity: latencies by route, and the ids that a context shows by section."""

from datetime import UTC, datetime

from phronesis.core.context import Block, ContextPackage, ContextRecord, RouteLatency, TimedRequest, route_latencies
from phronesis.core.items import Item
from phronesis.core.results import Evidence

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_latencies_are_of_the_nearest_rank() -> None:
    timed = [TimedRequest("http", "GET /a", n == 3, float(n)) for n in (3, 1, 2, 4)]
    assert route_latencies([TimedRequest("mcp", "search", False, 7.5), *timed]) == [
        RouteLatency(interface="http", route="GET /a", count=4, failed=1, p50=2.0, p95=4.0, longest=4.0),
        RouteLatency(interface="mcp", route="search", count=1, failed=0, p50=7.5, p95=7.5, longest=7.5),
    ]
    assert route_latencies([]) == []


def test_an_item_in_two_sections_counts_once() -> None:
    shown = {"system_blocks": ["a", "b"], "evidence": ["b"]}
    assert ContextRecord(context_id="c", at=NOON, verb="compose_context", shown=shown).item_count == 2


def test_a_context_names_its_items_by_section() -> None:
    item = Item(id="e", kind="fact", content="x", entry_id="n", recorded_at=NOON, updated_at=NOON)
    package = ContextPackage(
        context_id="c",
        system_blocks=[Block("Be kind.", ["policy:0"]), Block("x", ["mem:a", "mem:b"]), Block("y", ["mem:a"])],
        working_summary=[],
        recent_turns=[Block("Hi", ["mem:t"], role="user")],
        evidence=[Evidence(item=item, score=0.9, sources=(), matched=())],
        user_message="?",
        token_count=1,
        token_budget=2,
    )
    assert package.ids_by_section() == {"system_blocks": ["a", "b"], "recent_turns": ["t"], "evidence": ["e"]}
