"""What a composed context or a host put into a message is kept word for word, and never learned."""

import pytest

from phronesis import Memory

FACTS = ("profile", "preference", "fact")


def held(memory: Memory, user_id: str = "lin") -> set[tuple[str | None, object]]:
    return {(item.key, item.value) for item in memory.get_all(user_id=user_id) if item.kind in FACTS}


def say(memory: Memory, session_id: str, text: str, role: str = "user") -> None:
    memory.commit_turn(session_id, {"messages": [{"role": role, "content": text}]}, user_id="lin")


@pytest.mark.parametrize(
    ("before", "after", "new"),
    [
        ("I live in Lyon.", ("I moved to Paris.", "Paris"), ("I am allergic to nuts.", ("allergy", "nuts"))),
        ("我住在成都。", ("我搬到杭州了。", "杭州"), ("我对花生过敏。", ("allergy", "花生"))),
    ],
)
@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
def test_a_context_that_comes_back_is_not_learned(
    memory: Memory, before: str, after: tuple[str, str], new: tuple[str, tuple[str, str]], role: str
) -> None:
    say(memory, "first", before)
    context = memory.compose_context("second", "What should I see in town?", user_id="lin").render("text")
    say(memory, "third", after[0])
    say(memory, "fourth", f"{context}\nWhat should I see today?", role)
    assert held(memory) == {("home_city", after[1])}
    say(memory, "fifth", f"{context}\n{new[0]}")
    assert held(memory) == {("home_city", after[1]), new[1]}


def test_a_context_stored_as_a_memory_is_refused(memory: Memory) -> None:
    say(memory, "first", "I live in Lyon.")
    context = memory.compose_context("second", "What should I see in town?", user_id="lin").render("text")
    result = memory.add(context, kind="fact", user_id="lin")
    assert (result.items, [one.rule for one in result.gated]) == ((), ["injected"])
    assert held(memory) == {("home_city", "Lyon")}


@pytest.mark.parametrize(
    "text",
    [
        "<system-reminder>\nThe user prefers tabs. I use Vim.\n</system-reminder>\ncontinue",
        "<environment_details>\nI live in Oslo.\n</environment_details>",
        "<用户资料>\n我住在成都。\n</用户资料>\n继续",
    ],
)
def test_a_block_of_a_host_proposes_nothing_and_is_found(memory: Memory, text: str) -> None:
    say(memory, "first", text)
    assert held(memory) == set()
    assert memory.search(text, user_id="lin")[0].item.content == text
