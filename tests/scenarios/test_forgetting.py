"""Forgetting: what nobody needs fades, is archived and ends; what something stands on stays (EMB-16)."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from phronesis.experience.laws.records import ForgetResult
from tried_events import USER, Tried, trying

POLICY = {"experience": {"forget": {"half_life_days": 100, "delete_after_days": 50}}}


@pytest.fixture
def tried(database_url: str) -> Iterator[Tried]:
    with trying(database_url, POLICY) as opened:
        yield opened


def forget(tried: Tried, **given: Any) -> ForgetResult:
    return tried.memory.forget(user_id=USER, **given)


def actions(result: ForgetResult) -> dict[str, str]:
    return {row.id: row.action for row in result.rows}


def live(tried: Tried, kind: str) -> set[str]:
    return {item.id for item in tried.memory.get_all(user_id=USER, kinds=[kind], limit=1000)}


@pytest.mark.both_databases
def test_an_event_is_downweighted_then_archived_then_deleted_and_stays_traceable(tried: Tried) -> None:
    tried.try_(("token", 9), attempt="A lonely walk along the harbour", result="cold feet")
    event = tried.events["token/9"]
    tried.clock.pass_days(120)
    [row] = [row for row in forget(tried).rows if row.id == event]
    assert (row.action, row.before["weight"], row.after["weight"]) == ("downweight", 1.0, 0.5)
    assert row.figures["retention"] == pytest.approx(2 ** (-1.2), abs=1e-3)
    assert (row.figures["age_days"], row.figures["uses"], row.figures["source"]) == (120, 0, "human")
    assert tried.event("token/9").weight == 0.5
    tried.clock.pass_days(120)
    [row] = [row for row in forget(tried).rows if row.id == event]
    assert (row.action, row.before["status"], row.after["status"]) == ("archive", "active", "archived")
    assert event not in live(tried, "l1")
    tried.clock.pass_days(49)
    assert event not in actions(forget(tried))
    tried.clock.pass_days(2)
    [row] = [row for row in forget(tried).rows if row.id == event]
    assert (row.action, row.before["ended"], row.after["ended"]) == ("delete", None, "retired")
    ended = tried.memory.get(event)
    assert (ended.ended, ended.content) == ("retired", tried.memory.get(event).content)
    assert [one.verb for one in tried.memory.history(event)] == ["experience", "forget", "forget", "forget"]
    assert tried.memory.explain(event).sources
    tried.memory.items.unarchive(event)
    assert event not in live(tried, "l1")


def test_a_machines_word_fades_sooner_and_what_is_used_or_useful_later(tried: Tried) -> None:
    tried.memory.ingest(
        {"attempt": "Recompiled everything twice", "source_type": "run", "source_ref": "r"}, user_id=USER
    )
    [machine] = [one.id for one in tried.memory.get_all(user_id=USER, kinds=["l1"], limit=1)]
    useful = tried.events["token/1"]
    tried.memory.feedback(useful, "useful", actor="bob")
    tried.clock.pass_days(60)
    assert actions(forget(tried)) == {machine: "downweight"}
    shown = tried.memory.search("violin scales", user_id=USER, limit=1)[0].item.id
    tried.clock.pass_days(60)
    done = actions(forget(tried))
    assert done[machine] == "archive"
    assert done[tried.events["token/0"]] == "downweight"
    assert not {useful, shown} & done.keys()
    assert tried.memory.get(shown).data["use"]["count"] == 1


def test_what_supports_a_living_principle_and_what_is_pinned_stay(tried: Tried) -> None:
    pattern = tried.pattern("token")
    principle = tried.principle("Refresh tokens first", [pattern.id])
    tried.memory.items.pin(principle.id)
    tried.memory.items.pin(tried.events["bread/0"])
    tried.clock.pass_days(1000)
    done = forget(tried)
    kept = {principle.id, pattern.id, tried.events["bread/0"], *(one for one, _ in pattern.members)}
    assert kept <= live(tried, "l1") | live(tried, "pattern") | live(tried, "principle")
    found = actions(done)
    assert {found[one] for one in (pattern.id, tried.events["token/0"])} == {"downweight"}
    assert not {principle.id, tried.events["bread/0"]} & found.keys()
    assert "supports principle" in next(row.reason for row in done.rows if row.id == pattern.id)
    assert forget(tried).rows == ()
    tried.memory.items.unpin(principle.id)
    done = forget(tried)
    assert {principle.id, pattern.id, tried.events["token/0"]} <= {
        row.id for row in done.rows if row.action == "archive"
    }


def test_a_living_pattern_keeps_the_events_that_it_cannot_do_without_and_counts_the_others(tried: Tried) -> None:
    pattern = tried.pattern("scales")
    tried.clock.pass_days(300)
    tried.memory.feedback(pattern.id, "useful", actor="bob")
    done = forget(tried)
    archived = {row.id for row in done.rows if row.action == "archive"}
    left = [one for one, _ in pattern.members if one not in archived]
    assert len(left) == 2
    assert {row.reason.partition("; ")[2] for row in done.rows if row.id in left} == {
        f"is the last evidence of pattern {pattern.id}"
    }
    tried.try_(("scales", 8))
    tried.memory.aggregate(user_id=USER)
    now = tried.again(pattern.id)
    assert {one for one, _ in now.members} == {*(one for one, _ in pattern.members), tried.events["scales/8"]}


def test_the_same_call_again_is_one_entry_and_others_lanes_are_left_alone(tried: Tried) -> None:
    tried.memory.ingest({"attempt": "Hers", "source_type": "manual", "source_ref": "h"}, user_id="bert")
    tried.memory.ingest({"attempt": "All", "source_type": "manual", "source_ref": "s"}, namespace="team")
    tried.clock.pass_days(1000)
    first = forget(tried, idempotency_key="k")
    tried.clock.now += timedelta(days=1)
    tried.memory.search("scales", user_id=USER)
    assert forget(tried, idempotency_key="k") == first
    assert {item.status for item in tried.memory.get_all(user_id="bert")} == {"active"}
    assert [row.kind for row in tried.memory.forget(namespace="team").rows] == ["l1"]
    assert forget(tried, wait=False).pending
    assert tried.memory.forget(user_id="nobody", dry_run=True).rows == ()
