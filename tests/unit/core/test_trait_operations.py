"""What a reflection may wish, and what it looks at: the source's defaults, and the kinds that count."""

from phronesis.core.items import KINDS
from phronesis.traits.laws.records import (
    CONTEXTS,
    GENERAL,
    MEMORY_KINDS,
    NewBehavior,
    NewTrend,
    Reconsidered,
    Reinforcement,
    SeenTrait,
    Side,
    Upgrade,
    Wishes,
)


def test_what_is_not_said_is_the_sources_default() -> None:
    trend = NewTrend(content="Runs", evidence_ids=["a"])
    assert (trend.window_days, trend.context) == (30, "general")
    assert NewBehavior(content="Runs", evidence_ids=["a"]).quality_grade == "C"
    assert Reinforcement(trait_id="t", new_evidence_ids=["a"]).quality_grade == "C"
    assert Upgrade(from_trait_ids=["t"], new_content="Is fit", new_subtype="preference").facet is None
    assert Side(content="Talks", context="work").evidence_ids == ()
    assert Reconsidered(action="dissolve", reasoning="").sides == ()
    assert not any(getattr(Wishes(), name) for name in Wishes.__slots__)


def test_only_what_conversations_give_counts() -> None:
    assert set(MEMORY_KINDS) < set(KINDS)
    assert set(KINDS) - set(MEMORY_KINDS) == {
        "message",
        "trait",
        "l1",
        "pattern",
        "principle",
        "reasoning",
        "section",
        "run",
        "cycle",
        "mark",
        "document",
    }
    assert GENERAL in CONTEXTS
    assert SeenTrait(id="t", content="Runs", stage="trend", subtype="behavior").context == GENERAL
