"""The reasoning bank: blocks are checked, stored, edited, found claim by claim, taken back."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from claim_blocks import CHINESE, COPPER, USER, added, block, indexed, judge, shown, stored, verified
from minute_clock import Clock
from phronesis import ClaimsRefused, Memory, ReasoningItem
from phronesis.errors import InputError, VersionConflict
from phronesis.reasoning.laws.claim_status import parse


@pytest.fixture
def memory(database_url: str) -> Iterator[Memory]:
    with Memory.open(database_url, policy={"embedder": "hashing"}, tenant="acme", clock=Clock()) as opened:
        yield opened


def test_a_block_is_kept_and_comes_back_parsed(memory: Memory) -> None:
    given = block(COPPER, CHINESE, more="REVIEWED_BY=lin")
    made = memory.reasoning.add(given, user_id=USER, actor="agent-1")
    assert isinstance(made, ReasoningItem)
    assert parse(made.content) == parse(given)
    assert (made.topic, made.scope, made.status, made.pending) == ("Cu and formate", "tio2_expert", "active", False)
    assert [claim.claim_id for claim in made.claims] == ["c1", "c2"]
    assert made.claims == parse(given).claims
    assert made.claims[0].extra == {"weight": 0.5}
    assert made.citation == f"mem:{made.id}"
    item = memory.get(made.id)
    assert item.label == "tio2_expert"
    assert (item.kind, item.content, item.user_id, item.importance) == ("reasoning", made.content, USER, 7)
    assert memory.reasoning.get(made.citation) == made
    assert made.to_dict()["claims"][0]["support"] == {"count": 3, "run_ids": ["r1"], "extra": {"note": "two by hand"}}
    assert verified(memory)


def test_an_unlawful_block_is_refused_whole_and_nothing_is_stored(memory: Memory) -> None:
    wrong = block({**COPPER, "status": "verified"}, {**CHINESE, "inference": "见[C12]。"}, CHINESE)
    with pytest.raises(ClaimsRefused) as refused:
        memory.reasoning.add(wrong, user_id=USER)
    rules = [(found.rule, found.claim_id) for found in refused.value.violations]
    assert rules == [("claim_status", "c1"), ("claim_id_unique", "c2"), ("kb_alias", "c2")]
    assert memory.reasoning.check(wrong) == list(refused.value.violations)
    assert memory.get_all(user_id=USER) == []
    assert memory.admin.rebuild(verify=True).entries == 0
    with pytest.raises(InputError):
        memory.reasoning.add(["no text"], user_id=USER)  # type: ignore[arg-type]


def test_checking_stores_nothing_and_knows_the_items_status(memory: Memory) -> None:
    assert memory.reasoning.check(block(COPPER)) == []
    assert [found.rule for found in memory.reasoning.check(block(COPPER), "deprecated")] == ["item_status"]
    assert [found.rule for found in memory.reasoning.check("words")] == ["protocol", "protocol"]
    assert memory.admin.rebuild(verify=True).entries == 0


def test_verdicts_add_to_what_was_written_and_a_named_run_counts_once(memory: Memory) -> None:
    item = added(memory, {**COPPER, "support": {"count": 1, "run_ids": ["r1"]}}, CHINESE)
    judge(memory, "r1", item.id, c1="contra", c2="contra")
    assert shown(memory, item.id) == ("hypothesis", (1, "r1"), (0,))
    judge(memory, "r5", item.id, c1="support")
    assert shown(memory, item.id) == ("conclusion", (2, "r1", "r5"), (0,))
    assert shown(memory, item.id, "c2") == ("fact", (0,), (1, "r1"))
    assert memory.reasoning.get(item.id).claims[0].claim_id == "c1"
    assert verified(memory)


def test_an_edit_changes_what_was_written_and_leaves_what_verdicts_made(memory: Memory) -> None:
    item = added(memory, COPPER, CHINESE)
    verdicts = [judge(memory, run, item.id, c1="support") for run in ("r7", "r8")]
    content = memory.get(item.id).content
    assert shown(memory, item.id) == ("conclusion", (5, "r1", "r7", "r8"), (0,))
    edited = content.replace("two runs", "four runs").replace("TOPIC=Cu and formate", "TOPIC=Copper")
    edited = edited.replace("SCOPE=tio2_expert", "SCOPE=global")
    result = memory.update(item.id, content=edited, metadata={"seen": True}, reason="more runs", actor="user")
    assert parse(result.items[0].content) == parse(edited)
    assert result.items[0].metadata == {"seen": True}
    assert memory.history(item.id)[-1].fields.keys() == {
        "content",
        "metadata",
        "label",
        "data.topic",
        "data.scope",
        "data.claims",
    }
    memory.rollback(verdicts[0])  # the edit stands on no verdict
    assert shown(memory, item.id) == ("conclusion", (4, "r1", "r8"), (0,))
    memory.rollback(result.entry_id)
    assert memory.reasoning.get(item.id).topic == "Cu and formate"
    assert shown(memory, item.id) == ("conclusion", (4, "r1", "r8"), (0,))
    assert memory.get(item.id).metadata == {}
    assert verified(memory)


def test_a_claim_that_is_left_out_is_deleted_and_its_history_stays(memory: Memory) -> None:
    item = added(memory, COPPER, CHINESE)
    judge(memory, "r7", item.id, c1="contra")
    entry = memory.update(item.id, content=block(CHINESE), reason="shown wrong").entry_id
    assert [claim.claim_id for claim in memory.reasoning.get(item.id).claims] == ["c2"]
    assert set(indexed(memory, item.id)) == {"prose", "claim:c2"}
    assert "OCHO" in str(memory.history(item.id)[-1].fields["data.claims"][0])
    memory.flush()
    found = memory.mem_search("copper titanium OCHO", user_id=USER)
    assert [claim.claim_id for one in found for claim in one.matched_claims] == ["c2"]
    memory.rollback(entry)
    assert shown(memory, item.id) == ("hypothesis", (3, "r1"), (1, "r7"))
    assert set(indexed(memory, item.id)) == {"prose", "claim:c1", "claim:c2"}
    memory.update(item.id, content=block())
    assert (memory.reasoning.get(item.id).claims, set(indexed(memory, item.id))) == ((), {"prose"})
    assert verified(memory)


def test_an_edit_goes_through_the_gate_and_other_edits_do_not(memory: Memory) -> None:
    item = added(memory, COPPER)
    with pytest.raises(ClaimsRefused) as refused:
        memory.update(item.id, content=block({**COPPER, "constraint": "must use Cu"}), metadata={"a": 1})
    assert [found.rule for found in refused.value.violations] == ["positive_constraint"]
    assert memory.reasoning.get(item.id).item == item
    assert memory.update(item.id, metadata={"a": 1}).items[0].metadata == {"a": 1}
    assert memory.history(item.id)[-1].verb == "update"
    with pytest.raises(VersionConflict):
        memory.update(item.id, content=block(CHINESE), expected_version=1)
    memory.update(item.id, content=block(CHINESE), expected_version=2, valid_to="2027-01-01T00:00:00Z")
    assert memory.history(item.id)[-1].verb == "update_reasoning"
    assert memory.get(item.id).valid_to == datetime(2027, 1, 1, tzinfo=UTC)
    fact = memory.add("Cu is a metal", user_id=USER, kind="fact").items[0]
    assert memory.update(fact.id, content="free words").items[0].content == "free words"
    assert verified(memory)


def test_claims_are_documents_of_their_own_and_follow_the_item(memory: Memory) -> None:
    item = added(memory, COPPER, CHINESE)
    expected = {
        "prose": "Cu and formate\nFormate comes from *OCHO on copper next to titanium. The rest is noise.\n"
        "avoid[Cu:Ti above 3:1]\n三比一时甲酸占比为 0.41。其他产物没有变化。",
        "claim:c1": "Formate comes from *OCHO on copper next to titanium.\nimidazole as modifier",
        "claim:c2": "三比一时甲酸占比为 0.41。",
    }
    assert indexed(memory, item.id) == expected
    rows = stored(memory, item.id)
    judge(memory, "r7", item.id, c1="support")
    assert stored(memory, item.id) == rows  # counts are no words: nothing is embedded again
    memory.items.archive(item.id)
    assert indexed(memory, item.id) == {}
    memory.items.unarchive(item.id)
    assert indexed(memory, item.id) == expected
    memory.rollback(item.entry_id, cascade=True)
    assert (indexed(memory, item.id), memory.get(item.id).status) == ({}, "archived")
    assert verified(memory)


def test_ordinary_reads_show_each_item_once_and_never_a_claim_alone(memory: Memory) -> None:
    item = added(memory, COPPER, CHINESE)
    memory.add("copper is a metal", user_id=USER)
    found = memory.search("copper OCHO titanium", user_id=USER)
    assert [one.item.id for one in found].count(item.id) == 1
    assert [one.id for one in memory.get_all(user_id=USER, kinds=["reasoning"])] == [item.id]
    (best,) = next(one.matched for one in found if one.item.id == item.id)
    assert best.id in {item.id, f"{item.id}::claim::c1"}
    (plain,) = next(one.matched for one in found if one.item.kind == "message")
    assert (plain.id, plain.part) == (found[[one.item.kind for one in found].index("message")].item.id, "whole")
    assert memory.explain(item.id).sources[0].entry_id == item.entry_id
    memory.items.pin(item.id)
    package = memory.compose_context("s", "copper and OCHO?", user_id=USER)
    assert "c1 (hypothesis, 3 for and 0 against): Formate comes from *OCHO" in package.text
    assert "RBMEM_CLAIMS_V1" not in package.text
    memory.items.unpin(item.id)
    package = memory.compose_context("s", "copper and OCHO?", user_id=USER)
    assert "c1 (hypothesis, 3 for and 0 against): Formate comes from *OCHO" in package.text
    assert "RBMEM_CLAIMS_V1" not in package.text


def test_its_sources_are_who_wrote_it_and_the_runs_that_support_it(memory: Memory) -> None:
    item = added(memory, COPPER)
    verdict = judge(memory, "r7", item.id, c1="support")
    judge(memory, "r8", item.id, c1="contra")
    sources = memory.explain(item.id).sources
    assert [(one.entry_id, one.source_ref) for one in sources] == [(item.entry_id, None), (verdict, "r7")]
    assert sources[0].quote == item.content  # as it was written, without later counts
    entry = memory.update(item.id, content=block(CHINESE)).entry_id
    assert [one.entry_id for one in memory.explain(item.id).sources] == [item.entry_id, entry, verdict]
