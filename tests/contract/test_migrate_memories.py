"""Old memories become claims: nothing lost, nothing done twice, all of it taken back."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from minute_clock import Clock
from phronesis import Memory
from phronesis.errors import InputError, NotFound
from phronesis.reasoning.laws.claim_status import parse

OLD = {"kind": "reasoning", "run_id": "r4"}
TEXT = "Formate drops above Cu:Ti 3:1 [C4]. Avoid Cu:Ti above 3:1. Next, try 2:1."
ORDERS = "Next: try 2:1. We should test pyridine in the next run."


@pytest.fixture
def memory(database_url: str) -> Iterator[Memory]:
    with Memory.open(database_url, policy={"embedder": "none"}, tenant="acme", clock=Clock()) as opened:
        yield opened


def old(memory: Memory, text: str = TEXT, **given: Any) -> str:
    fields = {"kind": "procedure", "metadata": OLD, "namespace": "lab", **given}
    return memory.add(text, **fields).items[0].id


def test_an_item_becomes_claims_and_its_text_stays(memory: Memory) -> None:
    before = old(memory)
    memory.items.pin(before)
    other = old(memory, "Tea is hot.", metadata={"kind": "note"})
    mine = old(memory, namespace=None, user_id="lin")
    result = memory.admin.migrate(namespace="lab", scope="tio2_expert")
    assert result.counts == {"migrated": 1}
    (told,) = result.sources
    assert (told.source, told.by) == (f"mem:{before}", "migrate-rules/1")
    assert [one.why for one in told.taken_out] == ["kb_alias", "next_step"]
    (made,) = told.item_ids
    block = parse(memory.get(made).content)
    assert (block.topic, block.scope) == ("Formate drops above Cu:Ti 3:1", "tio2_expert")
    assert [(one.status, one.inference, one.constraint) for one in block.claims] == [
        ("hypothesis", "Formate drops above Cu:Ti 3:1", ""),
        ("hypothesis", "Avoid Cu:Ti above 3:1", "avoid[Cu:Ti above 3:1]"),
    ]
    assert block.claims[0].facts == {"source_run_ids": ["r4"], "migrated_from": f"mem:{before}"}
    put_away = memory.get(before)
    assert (put_away.status, put_away.content, put_away.pinned) == ("archived", TEXT, False)
    explained = memory.explain(made)
    assert [source.quote for source in explained.sources] == [TEXT]
    assert [(edge["type"], edge["to_id"]) for edge in explained.edges] == [("supersedes", before)]
    assert (memory.get(made).pinned, memory.get(made).metadata) == (True, OLD)
    assert [memory.get(one).status for one in (other, mine)] == ["active", "active"]
    found = memory.mem_search("formate above Cu:Ti 3:1", namespace="lab")
    assert [(one.item.id, {match.claim_id for match in one.matched_claims}) for one in found] == [(made, {"c1", "c2"})]
    assert memory.reasoning.rebuild_index().repaired == 0
    assert memory.admin.rebuild(verify=True).equal


def test_a_dry_run_shows_the_difference_and_writes_nothing(memory: Memory) -> None:
    before, orders = old(memory), old(memory, ORDERS)
    held = [item.to_dict() for item in memory.get_all(namespace="lab")]
    shown = memory.admin.migrate(namespace="lab", dry_run=True)
    assert (shown.dry_run, shown.counts) == (True, {"would_migrate": 1, "refused": 1})
    first, second = shown.sources
    assert first.diff.splitlines()[:4] == [
        f"--- mem:{before}",
        f"+++ mem:{before} as claims",
        "@@ -1 +1,3 @@",
        f"-{TEXT}",
    ]
    assert "+TOPIC=Formate drops above Cu:Ti 3:1" in first.diff
    assert (second.source, second.diff, [one.rule for one in second.violations]) == (f"mem:{orders}", "", ["no_claim"])
    assert [item.to_dict() for item in memory.get_all(namespace="lab")] == held
    assert [len(memory.history(one)) for one in (before, orders)] == [1, 1]
    done = memory.admin.migrate(namespace="lab")
    assert [one.diff for one in done.sources] == [one.diff for one in shown.sources]
    assert done.to_dict()["counts"] == {"migrated": 1, "refused": 1}


def test_rows_of_a_file_are_kept_word_for_word_and_taken_up_once(memory: Memory) -> None:
    rows: list[Any] = [
        {
            "id": "old-1",
            "memory": "Zinc raises CO.\n锌提高CO。",
            "created_at": "2025-01-02T03:04:05Z",
            "hash": "h",
            "metadata": {"title": "Zinc", "tags": ["a"]},
            "run_ids": ["r9"],
        },
        "Run r7 lost 3 % of its copper in acid.",
        {"mem_id": 12, "content": ORDERS},
    ]
    assert memory.admin.migrate(rows, namespace="lab", dry_run=True).counts == {"would_migrate": 2, "refused": 1}
    assert memory.get_all(namespace="lab") == []
    result = memory.admin.migrate(rows, namespace="lab")
    assert [(one.source, one.status) for one in result.sources] == [
        ("old-1", "migrated"),
        ("number 2", "migrated"),
        ("12", "refused"),
    ]
    made = memory.get(result.sources[0].item_ids[0])
    assert parse(made.content).topic == "Zinc"
    assert parse(made.content).claims[0].facts["source_run_ids"] == ["r9"]
    assert made.occurred_at == datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)
    (edge,) = memory.explain(made.id).edges
    kept = memory.get(edge["to_id"])
    assert (kept.content, kept.status, kept.source_ref) == ("Zinc raises CO.\n锌提高CO。", "archived", "old-1")
    assert dict(kept.metadata) == {"hash": "h", "title": "Zinc", "tags": ["a"]}
    assert [source.quote for source in memory.explain(made.id).sources] == [kept.content]
    assert parse(memory.get(result.sources[1].item_ids[0]).content).claims[0].status == "fact"
    again = memory.admin.migrate([*rows, {**rows[0], "hash": "other"}], namespace="lab", scope="global")
    assert [one.status for one in again.sources] == ["already", "already", "refused", "already"]
    assert [one.item_ids for one in again.sources[:2]] == [one.item_ids for one in result.sources[:2]]
    assert len(memory.get_all(namespace="lab")) == 2
    assert memory.admin.rebuild(verify=True).equal


def test_what_was_erased_since_is_told_and_the_others_go_on(memory: Memory) -> None:
    rows = ["Zinc raises CO.", "Copper dissolves in acid."]
    (first,) = memory.admin.migrate(rows[:1], namespace="lab").sources
    memory.erase(id=first.item_ids[0])
    result = memory.admin.migrate(rows, namespace="lab")
    assert [(one.status, one.entry_id, one.blocks) for one in result.sources[:1]] == [("erased", None, ())]
    assert [one.status for one in result.sources] == ["erased", "migrated"]
    assert memory.admin.migrate(rows, namespace="lab").counts == {"erased": 1, "already": 1}
    assert memory.admin.rebuild(verify=True).equal


def test_a_call_that_was_killed_goes_on(memory: Memory, database_url: str) -> None:
    made = [old(memory, f"Sample {n} dissolves in acid.") for n in range(4)]
    rows = [f"Sample {n} melts at {n} °C." for n in range(4)]

    def stop(_what: str, done: int, total: int) -> None:
        assert total == 4
        if done == 2:
            raise KeyboardInterrupt

    for given in ({}, {"memories": rows}):
        with pytest.raises(KeyboardInterrupt):
            memory.admin.migrate(**given, namespace="lab", on_progress=stop)  # type: ignore[arg-type]
    assert len(memory.get_all(namespace="lab", kinds=["reasoning"])) == 4
    # One was recorded and not applied: the process died between the two.
    source = memory.get(made[2])
    payload = {"item_id": source.id}
    from phronesis.core.ids import derived_id  # noqa: PLC0415 - the key is the migrator's own

    key = derived_id("migrate", f"{source.id}:{source.version}")
    memory.admin.components.writer.write(
        "acme",
        memory.admin.components.runs.entry("acme", source.entry_id).lane_id,
        verb="migrate",
        payload=payload,
        actor="agent",
        idempotency_key=key,
        wait=False,
    )
    with Memory.open(database_url, policy={"embedder": "none"}, tenant="acme") as other:
        assert other.admin.migrate(namespace="lab").counts == {"migrated": 1}
        assert other.admin.migrate(rows, namespace="lab").counts == {"already": 2, "migrated": 2}
        assert len(other.get_all(namespace="lab", kinds=["reasoning"])) == 8
        assert {other.get(one).status for one in made} == {"archived"}
        assert other.admin.rebuild(verify=True).equal


def test_it_is_taken_back_and_done_anew(memory: Memory) -> None:
    before = old(memory)
    (told,) = memory.admin.migrate(namespace="lab").sources
    memory.rollback(str(told.entry_id))
    assert [memory.get(one).status for one in (before, told.item_ids[0])] == ["active", "archived"]
    assert len(memory.mem_search("formate", namespace="lab")) == 0
    (again,) = memory.admin.migrate(namespace="lab").sources
    assert (again.status, again.item_ids != told.item_ids) == ("migrated", True)
    assert memory.admin.rederive(namespace="lab").changed == ()
    assert memory.admin.rebuild(verify=True).equal


@pytest.mark.parametrize("which", ["old", "new"])
def test_erasing_either_erases_the_words_everywhere(memory: Memory, which: str) -> None:
    before = old(memory, "Zyxomma leaches copper.")
    (told,) = memory.admin.migrate(namespace="lab").sources
    (row,) = memory.admin.migrate(["Zyxgomma leaches copper."], namespace="lab").sources
    assert memory.erase(id=before if which == "old" else told.item_ids[0]).clean
    assert memory.erase(id=row.item_ids[0]).clean
    for gone in (before, *told.item_ids, *row.item_ids):
        with pytest.raises(NotFound):
            memory.get(gone)
    assert memory.admin.rebuild(verify=True).equal


def test_which_items_are_meant(memory: Memory) -> None:
    fact, note = old(memory, "Zinc helps.", kind="fact", metadata={}), old(memory, "Tin helps.", metadata={"old": True})
    assert memory.admin.migrate(namespace="lab").counts == {}
    assert memory.admin.migrate(ids=[f"mem:{fact}"]).counts == {"migrated": 1}
    assert memory.admin.migrate(filters={"old": True}, namespace="lab").sources[0].source == f"mem:{note}"
    many = [old(memory, f"Metal {n} helps.", kind="decision") for n in range(3)]
    result = memory.admin.migrate(kinds=["decision"], namespace="lab")
    assert [one.source for one in result.sources] == [f"mem:{one}" for one in many]  # oldest first
    assert memory.admin.migrate(ids=many).counts == {"already": 3}


def test_wrong_calls_name_the_field(memory: Memory) -> None:
    fact = old(memory)
    made = memory.admin.migrate(namespace="lab").sources[0].item_ids[0]
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"memories": "text"}, "memories"),
        ({"memories": [7]}, "memories[0]"),
        ({"memories": [{}]}, "memories[0].content"),
        ({"memories": ["x", {"content": " "}]}, "memories[1].content"),
        ({"memories": [{"content": "x", "created_at": "2099-01-01"}]}, "memories[0].created_at"),
        ({"memories": [{"content": "x", "kind": "trait"}]}, "memories[0].kind"),
        ({"memories": [{"content": "x", "run_ids": "r1"}]}, "memories[0].run_ids"),
        ({"memories": [{"content": "x", "id": "i" * 300}]}, "memories[0].id"),
        ({"memories": [{"content": "x", "id": "i" * 250}]}, "memories[0].id"),
        ({"memories": [{"content": "x", "title": 7}]}, "memories[0].title"),
        ({"memories": ["x"], "ids": [fact]}, "memories"),
        ({"ids": [fact], "kinds": ["fact"]}, "ids"),
        ({"ids": fact}, "ids"),
        ({"ids": [made]}, "ids"),
        ({"ids": ["x"]}, "ids"),
        ({"kinds": ["trait"]}, "kinds"),
        ({"dry_run": "yes"}, "dry_run"),
        ({"scope": ""}, "scope"),
        ({"scope": "a\nb"}, "scope"),
    ]
    for given, field in wrong:
        with pytest.raises(InputError) as refused:
            memory.admin.migrate(**given, namespace="lab")
        assert refused.value.field == field, given
    assert len(memory.get_all(namespace="lab")) == 1
