"""Forgetting: what nobody needs fades, is archived and ends; what something stands on stays (EMB-16)."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from phronesis.errors import InputError
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


def test_nothing_is_forgotten_of_what_is_new(tried: Tried) -> None:
    assert forget(tried, dry_run=True) == ForgetResult(None, (), {}, dry_run=True)
    done = forget(tried)
    assert (done.rows, done.counts, done.dry_run) == ((), {}, False)


def test_a_dry_run_shows_exactly_what_the_real_one_does_and_changes_nothing(tried: Tried) -> None:
    seen = []
    for days in (110, 100, 60):
        tried.clock.pass_days(days)
        tried.memory.search("sourdough in the fridge", user_id=USER, limit=2)
        before = [tried.memory.get(one).to_dict() for one in sorted(tried.events.values())]
        foreseen = forget(tried, dry_run=True)
        assert [tried.memory.get(one).to_dict() for one in sorted(tried.events.values())] == before
        done = forget(tried)
        assert (foreseen.entry_id, done.entry_id is None) == (None, False)
        assert foreseen.rows == done.rows
        assert foreseen.counts == done.counts
        again = forget(tried)
        assert (again.rows, again.counts) == ((), {})
        seen.append(done.counts)
    first, second, third = seen
    assert set(first) == {"downweight"}
    assert "archive" in second
    assert "delete" in third


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
    tried.memory.unarchive(event)
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


def test_what_is_said_to_be_incorrect_is_downweighted_at_once_and_restored_when_that_is_taken_back(
    tried: Tried,
) -> None:
    event = tried.events["bread/0"]
    said = tried.memory.feedback(event, "incorrect", actor="bob")
    assert actions(forget(tried)) == {event: "downweight"}
    tried.memory.rollback(said.entry_id)
    [row] = forget(tried).rows
    assert (row.action, row.before["weight"], row.after["weight"]) == ("restore", 0.5, 1.0)


def test_what_supports_a_living_principle_and_what_is_pinned_stay(tried: Tried) -> None:
    pattern = tried.pattern("token")
    principle = tried.principle("Refresh tokens first", [pattern.id])
    tried.memory.pin(principle.id)
    tried.memory.pin(tried.events["bread/0"])
    tried.clock.pass_days(1000)
    done = forget(tried)
    kept = {principle.id, pattern.id, tried.events["bread/0"], *(one for one, _ in pattern.members)}
    assert kept <= live(tried, "l1") | live(tried, "pattern") | live(tried, "principle")
    found = actions(done)
    assert {found[one] for one in (pattern.id, tried.events["token/0"])} == {"downweight"}
    assert not {principle.id, tried.events["bread/0"]} & found.keys()
    assert "supports principle" in next(row.reason for row in done.rows if row.id == pattern.id)
    assert forget(tried).rows == ()
    tried.memory.unpin(principle.id)
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


def test_what_somebody_brings_back_counts_as_used(tried: Tried) -> None:
    tried.clock.pass_days(300)
    forget(tried)
    event = tried.events["bread/0"]
    assert tried.memory.get(event).status == "archived"
    tried.memory.unarchive(event)
    assert actions(forget(tried))[event] == "restore"
    assert forget(tried).rows == ()
    assert event in live(tried, "l1")


def test_a_rollback_brings_back_what_was_forgotten_and_what_had_been_seen(tried: Tried) -> None:
    tried.clock.pass_days(90)
    shown = tried.memory.search("violin scales", user_id=USER, limit=1)[0].item.id
    tried.clock.pass_days(30)
    before = {one: tried.memory.get(one) for one in tried.events.values()}
    done = forget(tried)
    assert done.counts["downweight"] > 0
    assert done.entry_id is not None
    tried.memory.rollback(done.entry_id)
    for one, item in before.items():
        now = tried.memory.get(one)
        assert (now.status, now.data, now.ended) == (item.status, item.data, item.ended)
    again = forget(tried)
    assert actions(again) == actions(done)
    assert tried.memory.get(shown).data["use"]["count"] == 1


def test_kinds_and_the_policy_narrow_it(database_url: str) -> None:
    policy = {"experience": {"forget": {"kinds": ["l1", "pattern"], "half_life_days": 1, "keep_sources": ["manual"]}}}
    with trying(database_url, policy) as tried:
        tried.memory.ingest({"attempt": "Recompiled", "source_type": "run", "source_ref": "r"}, user_id=USER)
        tried.clock.pass_days(100)
        assert {row.kind for row in forget(tried, kinds=["pattern"], dry_run=True).rows} == {"pattern"}
        assert forget(tried).counts == {"archive": 5}  # four patterns, and the run
        for wrong in ("l1", ["principle"], ["trait"], [], 3):
            with pytest.raises(InputError, match="pattern, l1") as caught:
                forget(tried, kinds=wrong)
            assert caught.value.field == "kinds"


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
