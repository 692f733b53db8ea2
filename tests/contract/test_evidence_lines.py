"""Which lines a composed context has: none where nothing bears, each fact once, what concerns safety always."""

import pytest

from phronesis import Memory


def say(memory: Memory, session_id: str, *messages: tuple[str, str]) -> None:
    turn = {"messages": [{"role": role, "content": text} for role, text in messages]}
    memory.commit_turn(session_id, turn, user_id="lin")


def lines(memory: Memory, asked: str) -> list[str]:
    return [one.item.content for one in memory.compose_context("new", asked, user_id="lin").evidence]


def test_nothing_is_shown_where_nothing_bears(memory: Memory) -> None:
    for n in range(6):
        say(memory, f"s{n}", ("user", "The harbour opens at nine."), ("assistant", "OK."), ("user", "好的"))
        say(memory, f"s{n}", ("user", "The ferry to Porto was late again."), ("assistant", "Noted."))
    assert lines(memory, "What is the boiling point of ethanol?") == []
    assert lines(memory, "OK?") == []
    assert lines(memory, "When does the harbour open?")[0].startswith("The harbour opens at nine")


def test_what_somebody_near_the_user_must_not_eat_stands_in_core_memory(memory: Memory) -> None:
    say(memory, "s", ("user", "My daughter Leo is allergic to penicillin. Leo is six."))
    say(memory, "s", ("user", "我女儿朵朵对花生过敏。"))
    text = memory.compose_context("new", "Plan a party.", user_id="lin").render("text")
    assert "Leo · allergy: penicillin" in text
    assert "朵朵 · 过敏：花生" in text
    assert "six" not in text


def test_documents_do_not_outrank_what_the_user_told(memory: Memory) -> None:
    for n in range(30):
        page = f"# Offices\n\nWhere do I live? The home city of employee {n}: people live in city {n}."
        memory.resources.ingest(text=page, uri=f"https://example.org/{n}", title=f"Where do I live {n}")
    say(memory, "s", ("user", "I live in Lyon."))
    found = memory.retrieve(memory.plan("Where do I live?", user_id="lin"))
    assert found[0].item.kind != "section"
    package = memory.compose_context("new", "Where do I live?", user_id="lin")
    assert "Home city: Lyon" in package.render("text")
    kinds = [one.item.kind for one in package.evidence]
    assert kinds == sorted(kinds, key=lambda kind: kind == "section")


@pytest.mark.parametrize("budget", [200, 4_000])
def test_what_a_small_budget_cuts_from_core_memory_is_evidence(memory: Memory, budget: int) -> None:
    for n, town in enumerate(("Lyon", "Porto", "Gdansk", "Turin", "Bergen", "Graz", "Malmo", "Cadiz")):
        memory.add(
            f"I keep a spare key with the baker of {town}, number {n}.",
            kind="profile",
            key=f"spare_key_{n}",
            value=f"baker of {town}",
            importance=6,
            user_id="lin",
        )
    memory.add(
        "I always take the aisle seat.",
        kind="preference",
        key="favorite.seat",
        value="aisle",
        importance=2,
        user_id="lin",
    )
    package = memory.compose_context(
        "new", "Which seat do I prefer, aisle or window?", user_id="lin", token_budget=budget
    )
    assert package.token_count <= budget
    assert package.render("text").partition("# User message")[0].count("aisle") == 1
