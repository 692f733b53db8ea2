"""Outcomes of what contexts showed: which citations a reply has, which outcomes count, and what they weigh."""

from datetime import UTC, datetime

import pytest

from phronesis.core.context import ContextPackage
from phronesis.core.items import Item
from phronesis.core.relations import (
    CONTEXT_ID,
    CONTEXT_OUTCOME,
    MOST,
    UNUSED,
    Edge,
    ItemUse,
    citations_in,
    latest_outcomes,
    outcomes_in,
    uses_of,
)
from phronesis.core.results import Evidence

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ID = "01a22895-7e78-8738-a998-f921e8c4dd7c"


def outcome(grade: str, *, entry: str = "e1", context: str = "c1", item: str = "a", reply: str = "r1") -> Edge:
    return Edge(
        type=CONTEXT_OUTCOME,
        from_kind="item",
        from_id=reply,
        to_kind="item",
        to_id=item,
        entry_id=entry,
        grade=grade,
        data={CONTEXT_ID: context},
    )


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("Lyon [m1].", ["m1"]),
        ("Lyon[m1][m12], as said [m1].", ["m1", "m12"]),
        ("Both [m1, m3; m2].", ["m1", "m3", "m2"]),
        ("住在杭州【m2】，喝龙井［m1、m3］。", ["m2", "m1", "m3"]),
        (f"Lyon [mem:{ID}].", [f"mem:{ID}"]),
        ("A list [m0], [m], [1], [memo], (m1), m1, [m1 or m2], [m123456].", []),
        ("", []),
    ],
)
def test_citations_are_aliases_or_ids_in_brackets(text: str, cited: list[str]) -> None:
    assert citations_in(text) == cited


def test_aliases_stand_for_items_in_evidence_or_elsewhere() -> None:
    item = Item(id="b", kind="fact", content="Said.", entry_id="e", recorded_at=NOW, updated_at=NOW)
    package = ContextPackage(
        context_id="c",
        system_blocks=[],
        working_summary=[],
        recent_turns=[],
        evidence=[Evidence(item, score=1.0)],
        user_message="",
        token_count=0,
        token_budget=0,
        citations={"m1": "policy:1", "m2": "mem:a", "m3": "mem:b"},
    )
    assert package.aliases_by_section() == {"standing": {"m2": "a"}, "evidence": {"m3": "b"}}


def test_the_latest_outcome_of_an_item_in_a_context_counts() -> None:
    edges = [
        outcome("contradicted", entry="e2", reply="r2"),
        outcome("used"),
        outcome("used", entry="e3", reply="r3", context="c2"),
        outcome("ignored", item="b"),
    ]
    assert {(edge.to_id, edge.grade) for edge in latest_outcomes(edges)} == {
        ("a", "contradicted"),
        ("a", "used"),
        ("b", "ignored"),
    }
    assert outcomes_in("c1", edges) == {"a": "contradicted", "b": "ignored"}
    assert uses_of(edges) == {"a": ItemUse(used=1, contradicted=1), "b": ItemUse(ignored=1)}
    assert uses_of([]) == {}


def test_outcomes_weigh_at_most_one_persons_judgement() -> None:
    assert (UNUSED.weights, UNUSED.summary) == ((0.0, 0.0), "")
    assert ItemUse(shown=3, ignored=1).summary == "shown 3×, used 0×, contradicted 0×"
    assert ItemUse(used=1, ignored=2).weights == pytest.approx((0.5, 0.2))
    assert ItemUse(contradicted=1).weights == (0.0, 1.0)
    assert ItemUse(used=40, contradicted=20).weights == pytest.approx((MOST / 2, MOST / 2))
