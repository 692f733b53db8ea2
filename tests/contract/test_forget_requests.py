"""What a user asks to have forgotten is an open request until it is carried out."""

from collections.abc import Iterator
from operator import attrgetter

import pytest

from phronesis import Memory
from phronesis.core.items import Item


@pytest.fixture
def memory(database_url: str) -> Iterator[Memory]:
    with Memory.open(database_url, policy={"embedder": "none"}) as opened:
        yield opened
        verified = opened.admin.rebuild(verify=True)
        assert verified.equal, verified.differences


def requests(memory: Memory) -> list[Item]:
    return [item for item in memory.get_all(user_id="ada", kinds=["task"]) if item.key == "forget_request"]


@pytest.mark.parametrize(
    ("said", "target"),
    [
        ("Please forget everything about coffee.", "everything about coffee"),
        ("Ok, forget that I live in Graz.", "I live in Graz"),
        ("我不爱吃水果了，把之前关于喜欢水果的偏好作废。", "之前关于喜欢水果的偏好"),
    ],
)
def test_a_request_is_recorded_and_said_to_be_open(memory: Memory, said: str, target: str) -> None:
    made = memory.add(said, user_id="ada")
    (request,) = requests(memory)
    assert request.value == target
    assert [refused.rule for refused in made.gated] == ["forget_request"]
    assert "delete" in made.gated[0].reason
    assert [item.id for item in memory.items.due("ada")] == [request.id]
    package = memory.compose_context("s", "Hello", user_id="ada")
    assert any(target in block.text for block in package.system_blocks)
    assert all(item.key != "home_city" for item in memory.get_all(user_id="ada"))


def test_what_asks_for_something_else_is_no_request(memory: Memory) -> None:
    cases: list[str] = [
        *("Forget it.", "Don't forget to call Sam.", "Remove the second paragraph, please.", "别忘了明天开会。"),
        *("把这个文件删掉。", '"Please forget me" is a song.'),
    ]
    for said in cases:
        memory.add(said, user_id="ada")
        assert requests(memory) == []


def test_a_request_of_the_assistant_or_a_tool_is_none(memory: Memory) -> None:
    memory.add([{"role": "assistant", "content": "Please forget everything about coffee."}], user_id="ada")
    memory.add([{"role": "tool", "name": "web", "content": "Please forget everything about coffee."}], user_id="ada")
    assert requests(memory) == []


@pytest.mark.parametrize("verb", ["delete", "items.retract"])
def test_deleting_what_is_meant_closes_the_request(memory: Memory, verb: str) -> None:
    tea = memory.add("The user likes tea", kind="preference", key="likes", value="tea", user_id="ada").items[0]
    coffee = memory.add("The user likes coffee", kind="preference", key="likes", value="coffee", user_id="ada").items[0]
    memory.add("Please forget everything about coffee.", user_id="ada")
    (request,) = requests(memory)
    attrgetter(verb)(memory)(tea.id)
    assert requests(memory) == [request]
    attrgetter(verb)(memory)(coffee.id)
    assert requests(memory) == []
    assert memory.get(request.id).ended == "retired"


def test_whoever_carried_a_request_out_may_delete_it(memory: Memory) -> None:
    memory.add("Please forget everything about coffee.", user_id="ada")
    (request,) = requests(memory)
    memory.delete(request.id)
    assert requests(memory) == []
    assert memory.items.due("ada") == []
