"""Which traits a search and a context show, and in what order (NM-11)."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from cited_contexts import in_full
from custom_store import open_with, write
from phronesis import Memory
from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry
from phronesis.core.ids import item_id
from phronesis.core.items import Item
from phronesis.core.relations import Edge
from phronesis.core.results import SearchResult
from phronesis.core.timestamps import isoformat
from phronesis.engine.handler import Handler, Outcomes
from phronesis.engine.writer import WriteResult
from phronesis.recall.scoring.weights import WORDS as SCALE
from phronesis.store.lane_view import LaneView
from set_clock import Clock

START = datetime(2026, 5, 1, tzinfo=UTC)
WORDS = "plans every journey long ahead"


def told(entry: Entry) -> dict[str, Any]:
    """Give what a reflection notes of any trait."""
    strength = {
        "at": isoformat(entry.recorded_at),
        "reinforcements": 1,
        "contradictions": 0,
        "last_reinforced": None,
        "cap": "core",
        "trend": False,
    }
    return {"subtype": "behavior", "context": "general", "strength": strength}


def traits(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """Make traits as they are given, change others, and join items by edges."""
    given = entry.payload
    made = [
        Item(
            id=item_id(entry.id, "trait", one["content"]),
            kind="trait",
            content=one["content"],
            entry_id=entry.id,
            recorded_at=entry.recorded_at,
            updated_at=entry.recorded_at,
            stage=one["stage"],
            importance=7,
            source_type="reflection",
            data=told(entry) | one.get("data", {}),
            **view.scope_fields(),
        )
        for one in given.get("made", ())
    ]
    patches = [Patch(trait, fields, "reflected") for trait, fields in given.get("changed", {}).items()]
    edges = [
        Edge(type=kind, from_kind="item", from_id=one, to_kind="item", to_id=other, entry_id=entry.id)
        for kind, one, other in given.get("joined", ())
    ]
    return Changes(items=made, patches=patches, edges=edges)


@pytest.fixture
def memory(database_url: str, clock: Clock) -> Iterator[Memory]:
    with open_with(database_url, [Handler(verb="traits", apply=traits)], clock=clock) as opened:
        yield opened


def make(memory: Memory, *stages: str | None, data: Mapping[str, Any] | None = None) -> list[str]:
    """Make a trait of each stage, all in the same words; gives their ids."""
    return [
        _made(write(memory, "traits", {"made": [{"content": WORDS, "stage": stage, "data": data or {}}]}))
        for stage in stages
    ]


def _made(written: WriteResult) -> str:
    assert written.applied is not None
    [item] = written.applied.settled.created
    return item.id


def change(memory: Memory, trait: str, **fields: Any) -> None:
    write(memory, "traits", {"changed": {trait: fields}})


def search(memory: Memory, query: str = "who plans a journey", **asked: Any) -> SearchResult:
    return memory.search(query, user_id="alice", **asked)


def ids(found: Sequence[Any]) -> list[str]:
    return [one.item.id for one in found]


def contexts(memory: Memory, *traits: str, **asked: Any) -> list[bool]:
    """Tell of each trait whether a composed context shows or names it."""
    text = in_full(memory.compose_context("s", "who plans a journey", user_id="alice", **asked))
    return [trait in text for trait in traits]


def test_guesses_and_what_was_given_up_are_not_recalled_but_listed(memory: Memory) -> None:
    hidden = make(memory, "trend", "candidate", "dissolved")
    sides = make(memory, "core", "emerging", data={"side_of": "whole"})
    shown = make(memory, "emerging", None)
    assert set(ids(search(memory))) == set(shown)
    assert set(ids(search(memory, kinds=["trait"]))) == set(shown)
    assert contexts(memory, *hidden, *sides, *shown) == [False] * 5 + [True] * 2
    listed = memory.get_all(user_id="alice", kinds=["trait"])
    assert {item.id for item in listed} == {*hidden, *sides, *shown}
    assert [memory.get(trait).id for trait in hidden] == hidden
    assert memory.admin.rebuild(verify=True).equal


def test_no_filter_and_no_time_brings_them_out(memory: Memory, clock: Clock) -> None:
    [given_up, retracted, guessed] = make(memory, "core", "core", "core")
    clock.pass_days(1)
    change(memory, given_up, stage="dissolved", ended="dissolved")
    change(memory, guessed, stage="candidate")
    memory.items.retract(retracted)
    clock.pass_days(1)
    [kept] = make(memory, "emerging")
    for asked in (
        {},
        {"filters": {"ended": "dissolved"}},
        {"filters": {"ended": {"in": ["dissolved", "retracted"]}}},
        {"filters": {"stage": "candidate"}},
        {"filters": {"NOT": [{"ended": "superseded"}]}},
        {"valid_at": START},
        {"valid_at": clock.now},
    ):
        assert set(ids(search(memory, **asked))) <= {kept}, asked
    assert ids(search(memory, valid_at=clock.now)) == [kept]
    assert contexts(memory, given_up, retracted, guessed, kept, valid_at=clock.now) == [False, False, False, True]


def test_the_more_settled_stands_first(memory: Memory) -> None:
    emerging, core, none, established = make(memory, "emerging", "core", None, "established")
    found = search(memory, explain=True)
    assert ids(found) == [core, established, emerging, none]
    why = [dict(one.why or {}) for one in found]
    base = sum(why[3].values()) - why[3]["recency"] - why[3]["importance"]
    assert base > 0
    assert [one["trait_boost"] / base for one in why] == pytest.approx([0.25, 0.15, 0.05, 0.0], abs=1e-4)
    assert [one["importance"] / base for one in why] == pytest.approx([0.15 * 6 / 9] * 4, abs=1e-4)
    assert [one["recency"] / base for one in why] == pytest.approx([0.15] * 4, abs=1e-4)
    for one in found:
        ratio = SCALE.score(sum((one.why or {}).values())) / SCALE.score(sum(why[0].values()))
        assert one.score / found[0].score == pytest.approx(ratio, abs=1e-4)
    assert found.explain is not None
    assert found.explain["formula"]["bonuses"]["trait_boost"]["core"] == 0.25


def test_as_of_a_time_its_stage_of_then_decides(memory: Memory, clock: Clock) -> None:
    [moved, steady] = make(memory, "candidate", "emerging")
    times = {"candidate": clock.pass_days(0.01)}
    for stage in ("emerging", "established", "core", "candidate"):
        clock.pass_days(1)
        change(memory, moved, stage=stage)
        times[f"{stage} again" if stage in times else stage] = clock.now
    clock.pass_days(1)

    def boosts(**asked: Any) -> dict[str, float]:
        return {one.item.id: round((one.why or {})["trait_boost"], 3) for one in search(memory, explain=True, **asked)}

    assert ids(search(memory)) == [steady]
    for again in ("candidate", "candidate again"):
        assert ids(search(memory, as_of=times[again])) == [steady]
        assert contexts(memory, moved, steady, as_of=times[again]) == [False, True]
    assert [ids(search(memory, as_of=times[stage]))[0] for stage in ("established", "core")] == [moved, moved]
    seen = [boosts(as_of=times[stage])[moved] for stage in ("emerging", "established", "core")]
    assert seen == sorted(set(seen))
    assert boosts(as_of=times["emerging"])[steady] == seen[0] > 0
    assert next(one.item.stage for one in search(memory, as_of=times["core"])) == "core"
    assert contexts(memory, moved, as_of=times["core"]) == [True]
    assert memory.admin.rebuild(verify=True).equal


def test_recent_and_important_memories_stand_before_others_in_the_same_words(memory: Memory, clock: Clock) -> None:
    def state(**fields: Any) -> str:
        return memory.add(f"Alice {WORDS}", user_id="alice", kind="episodic", **fields).items[0].id

    old, weighty = state(importance=5), state(importance=9)
    first = clock.pass_days(0.01)
    clock.pass_days(60)
    new = state(importance=5)
    assert ids(search(memory)) == [new, weighty, old]
    why = {one.item.id: dict(one.why or {}) for one in search(memory, explain=True)}
    assert why[old]["recency"] == pytest.approx(why[new]["recency"] / 4, rel=1e-3)
    assert why[weighty]["importance"] == pytest.approx(why[old]["importance"] * 2, rel=1e-3)
    assert why[old]["trait_boost"] == 0
    then = {one.item.id: dict(one.why or {}) for one in search(memory, explain=True, as_of=first)}
    assert then.keys() == {old, weighty}
    base = sum(then[weighty].values()) - sum(then[weighty][name] for name in ("recency", "importance", "trait_boost"))
    assert then[weighty]["recency"] / base == pytest.approx(0.15, abs=1e-3)
