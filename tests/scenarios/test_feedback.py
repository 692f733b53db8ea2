"""Feedback on what was learned: weights at once, labels, merges and splits, and taking each of them back (EMB-15)."""

from collections.abc import Iterator
from typing import Any

import pytest

from phronesis.errors import InputError, NotFound
from tried_events import USER, Tried, trying


@pytest.fixture
def tried(database_url: str) -> Iterator[Tried]:
    with trying(database_url) as opened:
        yield opened


def figures(tried: Tried) -> dict[str, Any]:
    """Confidence, usefulness and label of everything."""
    found = tried.memory.get_all(user_id=USER, kinds=["l1", "pattern", "principle"], limit=1000)
    return {
        one.id: (one.confidence, one.data.get("usefulness"), one.label, one.data.get("success_rate")) for one in found
    }


def moved(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    return {one for one in before | after if before.get(one) != after.get(one)}


# --- weights at once -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["useful", "not_useful", "correct", "incorrect"])
def test_a_judgement_moves_the_item_at_once_and_is_taken_back_by_a_rollback(tried: Tried, kind: str) -> None:
    pattern = tried.pattern("token")
    principle = tried.principle("Refresh tokens first", [pattern.id])
    tried.memory.feedback(pattern.id, "incorrect", actor="carol")  # so that correct has something to lift
    for target in (tried.events["bread/0"], pattern.id, principle.id):
        before = figures(tried)
        said = tried.memory.feedback(target, kind, reason="seen it", actor="bob")
        after = figures(tried)
        assert target in {item.id for item in said.items}
        assert said.scheduled == ()
        usefulness = after[target][1]
        if kind in ("useful", "not_useful"):
            assert moved(before, after) == {target}
            assert (usefulness > 0.5) == (kind == "useful")
            assert tried.again(target).usefulness == usefulness
        elif kind == "incorrect" or before[target][0] < 1.0:
            assert (after[target][0] > before[target][0]) == (kind == "correct")
        last = tried.memory.history(target)[-1]
        assert (last.actor, last.reason, last.verb) == ("bob", f"{kind}: seen it", "feedback")
        tried.memory.rollback(said.entry_id)
        assert figures(tried) == before


def test_the_same_actors_last_word_counts_and_a_person_outweighs_an_agent(tried: Tried) -> None:
    event = tried.events["token/0"]
    once = tried.memory.feedback(event, "incorrect").items[0].confidence
    assert tried.memory.feedback(event, "incorrect").items == ()  # said before
    assert tried.memory.feedback(event, "correct").items[0].confidence == 1.0
    tried.memory.feedback(event, "incorrect")
    assert tried.event("token/0").confidence == once
    assert tried.memory.feedback(event, "incorrect", actor="bob").items[0].confidence < 0.5 < once
    rows = [row for row in tried.memory.explain(event).evidence if row["polarity"] == "incorrect"]
    assert {(row["source_key"], row["origin"]) for row in rows} == {("agent", "model"), ("bob", "human")}


def test_an_event_judged_incorrect_weighs_less_in_its_pattern_and_in_the_principle_above_and_nothing_else_moves(
    tried: Tried,
) -> None:
    pattern, event = tried.pattern("token"), tried.events["token/0"]
    principle = tried.principle("Refresh tokens first", [pattern.id])
    other = tried.principle("Pin versions", [tried.pattern("kernel").id])
    before = figures(tried)
    said = tried.memory.feedback(event, "incorrect", reason="another machine", actor="bob")
    assert moved(before, figures(tried)) == {event, pattern.id, principle.id} == {item.id for item in said.items}
    assert figures(tried)[other.id] == before[other.id]
    now = tried.again(pattern.id)
    assert dict(now.members)[event] < dict(pattern.members)[event]
    assert now.confidence < pattern.confidence
    assert (pattern.success_rate["trials"], now.success_rate["trials"]) == (4, 3)
    assert tried.again(principle.id).confidence < principle.confidence
    tried.memory.feedback(event, "correct", actor="bob")  # the same person thinks again
    assert figures(tried) == before


def test_judgements_stay_through_aggregations_and_can_be_taken_back_after_them(tried: Tried) -> None:
    pattern, event = tried.pattern("token"), tried.events["token/0"]
    wrong = tried.memory.feedback(event, "incorrect", actor="bob")
    tried.memory.feedback(pattern.id, "useful", actor="bob")
    tried.try_(("token", 7))
    tried.memory.aggregate(user_id=USER)
    tried.memory.aggregate(user_id=USER, full=True)
    now = tried.pattern("token")
    assert now.id == pattern.id
    assert now.usefulness == 0.8
    assert dict(now.members)[event] == pytest.approx(0.4 * dict(pattern.members)[event], abs=0.05)
    tried.memory.rollback(wrong.entry_id)
    assert tried.pattern("token").confidence > now.confidence
    assert dict(tried.pattern("token").members)[event] > dict(now.members)[event]


# --- labels ----------------------------------------------------------------------------------------------------------


def test_another_label_changes_its_pattern_at_once_and_its_side_at_the_next_aggregation(tried: Tried) -> None:
    tried.try_(("token", 8), ("token", 9), label="success")
    tried.memory.aggregate(user_id=USER)
    [successes] = [one for one in tried.patterns() if one.outcome == "success" and tried.matters(one) == {"token"}]
    [pattern] = [one for one in tried.patterns() if one.outcome == "failure" and tried.matters(one) == {"token"}]
    principle = tried.principle("Refresh tokens first", [pattern.id])
    said = tried.memory.feedback(tried.events["token/0"], "label", value="success", reason="it did send", actor="bob")
    event = tried.event("token/0")
    assert (event.label, event.signals, event.confidence) == ("success", ("said by bob",), 1.0)
    fields = tried.memory.history(event.id)[-1].fields
    assert fields["label"] == ("failure", "success")
    assert said.scheduled == (event.id,)
    now = tried.again(pattern.id)
    assert event.id not in dict(now.members)
    assert event.id in {one["id"] for one in now.counterexamples}
    assert now.success_rate["successes"] == pattern.success_rate["successes"] + 1
    assert tried.again(principle.id).confidence < principle.confidence

    tried.memory.aggregate(user_id=USER)
    assert event.id in dict(tried.again(successes.id).members)
    assert event.id not in dict(tried.again(pattern.id).members)

    tried.memory.rollback(said.entry_id)
    assert tried.event("token/0").label == "failure"
    tried.memory.aggregate(user_id=USER)
    assert event.id in dict(tried.again(pattern.id).members)
    assert event.id not in dict(tried.again(successes.id).members)


# --- merges and splits -----------------------------------------------------------------------------------------------


def test_a_merge_waits_for_the_next_aggregation_keeps_the_targets_id_and_holds(tried: Tried) -> None:
    tried.try_(("kernel", 6))
    tried.memory.aggregate(user_id=USER)  # the other one has more members
    target, other = tried.pattern("token"), tried.pattern("kernel")
    assert len(other.members) > len(target.members)
    before = tried.groups()
    said = tried.memory.feedback(target.id, "merge", value=[other.id], reason="the same lesson", actor="bob")
    assert tried.groups() == before
    assert set(said.scheduled) == {one for one, _ in (*target.members, *other.members)}
    assert len(said.items) <= len(said.scheduled) + 2
    last = tried.memory.history(target.id)[-1]
    assert (last.actor, last.reason) == ("bob", "merge: the same lesson")

    came = tried.memory.aggregate(user_id=USER)
    assert ([one.id for one in came.changed], [one.id for one in came.retired]) == ([target.id], [other.id])
    assert tried.pattern("token", "kernel").id == target.id
    tried.try_(("scales", 7), ("kernel", 8))
    tried.memory.aggregate(user_id=USER, full=True)
    assert tried.pattern("token", "kernel").id == target.id

    tried.memory.rollback(said.entry_id)
    tried.memory.aggregate(user_id=USER)
    assert tried.pattern("token").id == target.id
    assert len(tried.pattern("kernel").members) == 6


def test_a_split_waits_for_the_next_aggregation_keeps_the_id_for_the_larger_part_and_holds(tried: Tried) -> None:
    tried.try_(("bread", 5))
    tried.memory.aggregate(user_id=USER)
    pattern = tried.pattern("bread")
    ids = [one for one, _ in pattern.members]
    small, large = ids[:2], ids[2:]
    before = tried.groups()
    said = tried.memory.feedback(pattern.id, "split", value=[small, large], actor="bob")
    assert tried.groups() == before
    came = tried.memory.aggregate(user_id=USER)
    assert [one.id for one in came.changed] == [pattern.id]
    assert {one for one, _ in tried.again(pattern.id).members} == set(large)
    assert {one for one, _ in came.new[0].members} == set(small)  # type: ignore[attr-defined]
    tried.try_(("bread", 6))
    tried.memory.aggregate(user_id=USER, full=True)
    for one in (pattern.id, came.new[0].id):
        members = {event for event, _ in tried.again(one).members}
        assert members >= set(small) or members >= set(large)
        assert not (members & set(small) and members & set(large))

    tried.memory.rollback(said.entry_id)
    tried.memory.aggregate(user_id=USER)
    assert len(tried.pattern("bread").members) == 6


def test_what_is_said_last_of_a_grouping_holds(tried: Tried) -> None:
    pattern = tried.pattern("bread")
    ids = [one for one, _ in pattern.members]
    tried.memory.feedback(pattern.id, "split", value=[ids[:2], ids[2:]])
    tried.memory.aggregate(user_id=USER)
    one, other = sorted((two for two in tried.patterns() if tried.matters(two) == {"bread"}), key=lambda two: two.id)
    tried.memory.feedback(one.id, "merge", value=[other.id])
    tried.memory.aggregate(user_id=USER, full=True)
    assert tried.pattern("bread").id == one.id
    tried.memory.feedback(one.id, "split", value=[ids[:1], ids[1:]])
    tried.memory.aggregate(user_id=USER, full=True)
    assert {event for event, _ in tried.pattern("bread").members} == set(ids[1:])


# --- what is refused -------------------------------------------------------------------------------------------------


def test_what_cannot_be_said_is_refused_with_the_field_and_the_remedy(tried: Tried) -> None:
    token, bread, event = tried.pattern("token"), tried.pattern("bread"), tried.events["token/0"]
    ids = [one for one, _ in bread.members]
    nobody = "00000000-0000-8000-8000-000000000000"
    wrong: list[tuple[str, str, Any, str, str]] = [
        (event, "great", None, "kind", "useful, not_useful"),
        (event, "useful", 3, "value", "takes none"),
        (event, "label", "maybe", "value", "success, failure, unknown"),
        (event, "label", None, "value", "success"),
        (token.id, "label", "success", "target_id", "label its events"),
        (event, "merge", [token.id], "target_id", "pattern"),
        (token.id, "merge", None, "value", "list"),
        (token.id, "merge", [], "value", "list"),
        (token.id, "merge", [token.id], "value", "the other patterns"),
        (token.id, "merge", [nobody], "value[0]", "no live"),
        (token.id, "merge", [event], "value[0]", "no live"),
        (token.id, "merge", ["x"], "value[0]", "UUID"),
        (token.id, "merge", [bread.id], "value", "outcome"),
        (token.id, "merge", [nobody] * 101, "value", "up to"),
        (bread.id, "split", [ids], "value", "two or more"),
        (bread.id, "split", [ids[:1], [event]], "value[1]", "no member"),
        (bread.id, "split", [ids[:1], ids[:2]], "value[1]", "in part 0"),
        (bread.id, "split", [ids[:1], "x"], "value[1]", "list"),
        (bread.id, "split", [[ids[0]]] * 33, "value", "up to 32"),
        (bread.id, "split", {"a": 1}, "value", "list"),
    ]
    for target, kind, value, field, told in wrong:
        with pytest.raises(InputError, match=told) as caught:
            tried.memory.feedback(target, kind, value=value)
        assert caught.value.field == field, (kind, value)
    with pytest.raises(NotFound):
        tried.memory.feedback(nobody, "useful")
    tried.memory.items.archive(token.id)
    with pytest.raises(InputError, match="archived"):
        tried.memory.feedback(token.id, "merge", value=[tried.pattern("kernel").id])


def test_erasing_an_event_takes_what_was_said_of_it(tried: Tried) -> None:
    event = tried.events["token/0"]
    tried.memory.feedback(event, "incorrect", reason="zanzibarian", actor="bob")
    tried.memory.erase(id=event)
    tried.memory.aggregate(user_id=USER)
    pattern = tried.pattern("token")
    assert len(pattern.members) == 3
    assert "zanzibarian" not in repr([event.to_dict() for event in tried.memory.history(pattern.id)])
    assert [row for row in tried.memory.explain(pattern.id).evidence if row["part"]] == []
