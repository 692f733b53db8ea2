"""Records say what items hold, with the documented value for what is absent."""

from datetime import UTC, datetime
from struct import pack
from typing import Any

import numpy as np

from phronesis.core.items import Item
from phronesis.core.lexical_index import K1, B, ScopeIndex, idf_of
from phronesis.experience.laws.ranking import word_shares
from phronesis.experience.laws.records import (
    Episode,
    ForgetResult,
    Ingested,
    L1Event,
    event_of,
    meta_of,
    pattern_of,
    principle_of,
)
from phronesis.reasoning.laws.records import MigratedSource, MigrationResult, MigrationStatus, checked_feedback

AT = datetime(2026, 1, 1, tzinfo=UTC)


def item(kind: str, **given: Any) -> Item:
    return Item(
        **{"id": "i", "kind": kind, "content": "x", "entry_id": "e", "recorded_at": AT, "updated_at": AT, **given}
    )


def test_an_event_and_how_it_was_created() -> None:
    bare = event_of(item("l1"))
    assert (bare.situation, bare.constraints, bare.usefulness, bare.weight, bare.seq) == ("", (), 0.5, 1.0, None)
    data = {"goal": "g", "signals": ["s"], "lines": [3, 4], "usefulness": 0.9, "weight": 0.5}
    held = item("l1", data=data, run_id="episode", position=2, source_ref="r", source_type="t", confidence=0.8)
    event, meta = event_of(held), meta_of(held)
    assert (event.goal, event.usefulness, event.weight, event.episode_id, event.seq) == ("g", 0.9, 0.5, "episode", 2)
    assert (meta.lines, meta.source_ref, meta.source_type, meta.confidence) == ((3, 4), "r", "t", 0.8)
    assert (meta_of(item("l1")).lines, meta_of(item("l1")).source_ref) == (None, "")
    told = Ingested("e", [(event, meta)])
    assert (len(told), told[0], list(told), told.pending) == (1, (event, meta), [(event, meta)], False)
    later = event_of(item("l1", data={"goal": "later", "situation": "s"}))
    episode = Episode.of("e", [bare, event, later])
    assert (episode.goal, episode.situation, len(episode.events)) == ("g", "s", 3)


def test_a_pattern_has_its_most_typical_members_first() -> None:
    pattern = pattern_of(item("pattern", label="success"), [("a", 0.1), ("c", 0.9), ("b", 0.9)])
    assert [name for name, _ in pattern.members] == ["b", "c", "a"]
    assert (pattern.outcome, pattern_of(item("pattern")).outcome) == ("success", "unknown")


def test_a_principle_needs_validation_without_evidence_or_of_a_single_machine() -> None:
    def needs(*patterns: str, **data: Any) -> bool:
        return principle_of(item("principle", data=data), patterns=patterns).needs_validation

    assert needs()
    assert not needs("p")
    assert needs("p", unconfirmed=True)
    assert not needs("p", unconfirmed=True, confirmed=True)
    assert not ForgetResult(None).dry_run
    assert isinstance(event_of(item("l1")), L1Event)


def test_a_migration_counts_its_memories_by_status() -> None:
    kinds: tuple[MigrationStatus, ...] = ("refused", "migrated", "refused")
    sources = [MigratedSource(str(n), status) for n, status in enumerate(kinds)]
    result = MigrationResult(sources)
    assert (result.counts, result.refused, result.dry_run) == (
        {"refused": 2, "migrated": 1},
        [sources[0], sources[2]],
        False,
    )
    assert result.to_dict()["counts"] == {"refused": 2, "migrated": 1}
    zero = checked_feedback({"products": [{"name": "a", "value": -0.0}]}).products[0].value
    assert str(zero) == "0.0"
    assert len(checked_feedback({"products": [{"name": str(n)} for n in range(1_000)]}).products) == 1_000


def test_words_are_scored_as_a_share_of_all_that_was_asked_among_experience_alone() -> None:
    index = ScopeIndex()
    index.add([(n, b"".join(pack("<QH", term, 1) for term in one)) for n, one in enumerate(([1], [1, 2], [1, 3]))])
    mask = np.array([True, True, False])
    [found] = word_shares([(index, mask)], [1, 9])
    asked = {1: idf_of(2, 2), 9: idf_of(2, 0)}
    for row, length in ((0, 1), (1, 2)):
        saturation = K1 * (1 - B) + K1 * B * length / 1.5
        wanted = asked[1] / sum(asked.values()) / (1 + saturation)
        np.testing.assert_allclose(found[row], wanted, rtol=1e-5)
    assert found[2] == 0.0
    [twice] = word_shares([(index, mask)], [1, 1, 9])
    np.testing.assert_allclose(twice[0] / found[0], 2 * sum(asked.values()) / (2 * asked[1] + asked[9]), rtol=1e-5)
    [many] = word_shares([(index, mask)], [*range(1, 3), *range(100, 200)])
    most = idf_of(2, 2) + idf_of(2, 1) + 62 * idf_of(2, 0)
    np.testing.assert_allclose(many[0] / found[0], sum(asked.values()) / most, rtol=1e-5)
    assert word_shares([(index, ~mask & mask)], [1])[0].tolist() == [0.0, 0.0, 0.0]
