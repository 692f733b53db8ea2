"""What a composed context has shown is told apart when the assistant or a tool says it again (law 7)."""

import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import sqlalchemy as sa

from custom_store import open_with
from phronesis import Memory
from phronesis.conversation import handlers as conversation
from phronesis.conversation.extraction.extractor import LocalExtractor
from phronesis.core.entries import Entry, Outcome
from phronesis.core.proposals import PROPOSALS, Proposal
from phronesis.engine.handler import PrepareContext
from phronesis.log.payloads import texts_of
from phronesis.store.impressions import KEPT
from phronesis.store.log import read_outcomes
from phronesis.store.schema import shown_contexts

FACT = "My sister Anna is allergic to peanuts."
SAID_AGAIN = "Your sister Anna is allergic to peanuts. She lives in Lyon."


def propose_all(bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
    """An extractor that proposes each message as a fact; it may think, so it is not quick."""
    rows = [
        Proposal(n=n, quote=text, start=0, end=len(text), kind="fact", subject="user", key="k", content=text).to_dict()
        for n, text in texts_of(entry).items()
    ]
    return [*LocalExtractor(None)(bench, entry), Outcome(role=PROPOSALS, made_by="test", body={"proposals": rows})]


@pytest.fixture
def memory(database_url: str) -> Iterator[Memory]:
    handlers = conversation.handlers(propose_all)
    with open_with(database_url, handlers, tenant="acme") as opened:
        opened.add(FACT, user_id="lin", kind="fact", subject="Anna", key="allergy")
        yield opened


def turn(*messages: tuple[str, str]) -> dict[str, Any]:
    return {"messages": [{"role": role, "content": text} for role, text in messages]}


def echoes(memory: Memory, entry_id: str) -> list[dict[str, Any]]:
    with memory.admin.components.database.transaction(memory.admin.tenant, "read") as unit:
        rows = read_outcomes(unit, [entry_id])[entry_id]
    found: list[dict[str, Any]] = [
        row for one in rows if one["role"] == "echoes" for row in json.loads(one["body"])["echoes"]
    ]
    return found


def rows(memory: Memory) -> list[Any]:
    memory.admin.components.shown.settle(memory.admin.tenant)
    return stored(memory)


def stored(memory: Memory) -> list[Any]:
    with memory.admin.components.database.transaction(memory.admin.tenant, "read") as unit:
        query = sa.select(shown_contexts).where(shown_contexts.c.tenant_id == memory.admin.tenant)
        return list(unit.run(query.order_by(shown_contexts.c.context_id)))


@pytest.mark.both_databases
def test_what_was_shown_is_named(memory: Memory) -> None:
    package = memory.compose_context("s", "What is Anna allergic to?", user_id="lin")
    (fact,) = memory.get_all(user_id="lin")
    assert package.shown_ids() == [fact.id]
    done = memory.commit_turn("s", turn(("user", FACT), ("assistant", SAID_AGAIN)), user_id="lin")
    end = SAID_AGAIN.index(".") + 1
    assert echoes(memory, done.entry_id) == [
        {"n": 0, "of": [fact.id], "start": 0, "end": len(FACT)},
        {"n": 1, "of": [fact.id], "start": 0, "end": end},
    ]
    assert memory.admin.rebuild(verify=True).equal


def test_only_what_was_shown_before_counts(memory: Memory) -> None:
    done = memory.commit_turn("s", turn(("tool", SAID_AGAIN)), user_id="lin")
    memory.compose_context("s", "What is Anna allergic to?", user_id="lin")
    assert echoes(memory, done.entry_id) == []
    memory.admin.rederive(user_id="lin")
    again = memory.commit_turn("s", turn(("tool", SAID_AGAIN)), user_id="lin")
    assert len(echoes(memory, again.entry_id)) == 1
    assert memory.admin.rebuild(verify=True).equal


def test_an_older_context_counts_when_it_is_named(memory: Memory) -> None:
    first = memory.compose_context("s", "What is Anna allergic to?", user_id="lin")
    memory.add("Tea is hot.", user_id="lin", kind="fact", subject="tea")
    (fact,) = (item for item in memory.get_all(user_id="lin") if item.subject == "Anna")
    memory.items.archive(fact.id)  # the next contexts do not show it
    for _ in range(10):
        memory.compose_context("s", "Is tea hot?", user_id="lin")
    answer = turn(("tool", SAID_AGAIN))
    assert echoes(memory, memory.commit_turn("s", answer, user_id="lin").entry_id) == []
    named = memory.commit_turn("s", answer, user_id="lin", context_id=first.context_id)
    assert [row["of"] for row in echoes(memory, named.entry_id)] == [[fact.id]]
    unknown = memory.commit_turn("s", answer, user_id="lin", context_id="nonsense")
    assert echoes(memory, unknown.entry_id) == []


def test_it_is_bounded_and_says_no_words(memory: Memory) -> None:
    for _ in range(KEPT + 3):
        memory.compose_context("s", "What is Anna allergic to?", user_id="lin")
    kept = rows(memory)
    assert len(kept) == KEPT
    (fact,) = memory.get_all(user_id="lin")
    assert all(row.item_ids == [fact.id] for row in kept)
    assert "lin" not in repr(kept)
    memory.compose_context("empty", "Hello", user_id="nobody")
    assert len(rows(memory)) == KEPT


@pytest.mark.both_databases
def test_it_goes_with_its_session_and_its_user(memory: Memory) -> None:
    memory.add(FACT, user_id="bob", kind="fact", subject="Anna", key="allergy")
    for user, session in (("lin", "s"), ("lin", "t"), ("bob", "s")):
        memory.commit_turn(session, turn(("user", FACT)), user_id=user)
        memory.compose_context(session, "What is Anna allergic to?", user_id=user)
    assert len(rows(memory)) == 3
    assert memory.erase(session_id="s", user_id="lin").clean
    assert len(rows(memory)) == 2
    assert memory.erase(user_id="lin").clean
    assert len(rows(memory)) == 1
    assert memory.admin.rebuild(verify=True).equal


def test_an_erasure_leaves_the_echo_of_what_stays(memory: Memory) -> None:
    memory.compose_context("s", "What is Anna allergic to?", user_id="lin")
    done = memory.commit_turn("s", turn(("user", "A secret."), ("tool", SAID_AGAIN)), user_id="lin")
    secret = next(item for item in memory.get_all(user_id="lin") if item.content == "A secret.")
    before = echoes(memory, done.entry_id)
    assert memory.erase(id=secret.id).clean
    assert echoes(memory, done.entry_id) == before != []
    fact = memory.get(before[0]["of"][0])
    assert memory.erase(id=fact.id).clean
    assert echoes(memory, done.entry_id) == []
    assert memory.admin.rebuild(verify=True).equal


@pytest.mark.both_databases
def test_a_reader_waits_for_no_writer_and_what_it_showed_is_written_later(memory: Memory) -> None:
    begun, go = threading.Event(), threading.Event()

    def write() -> None:
        with memory.admin.components.database.transaction("acme", "derive") as unit:
            unit.run(sa.update(shown_contexts).where(shown_contexts.c.tenant_id == "acme").values(seq=0))
            begun.set()
            go.wait(20)

    writer = threading.Thread(target=write)
    writer.start()
    assert begun.wait(10)
    memory.compose_context("s", "What is Anna allergic to?", user_id="lin")  # or it would wait for ever
    go.set()
    writer.join()
    done = memory.commit_turn("s", turn(("tool", SAID_AGAIN)), user_id="lin")
    assert len(echoes(memory, done.entry_id)) == 1
    assert len(rows(memory)) == 1
