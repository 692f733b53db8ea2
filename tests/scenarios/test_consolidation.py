"""What was learned from conversations is erased, taken back, carried over and rebuilt with the words it came from."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from custom_store import open_with
from phronesis.conversation import handlers as conversation
from phronesis.core.items import Item
from phronesis.memory import Memory
from scripted import proposal, scripted
from set_clock import Clock

PHRASES = (
    proposal("I live in Ouagadougou", "home_city", "ouagadougou"),
    proposal("I live in Antananarivo", "home_city", "antananarivo"),
    proposal("I adore rambutan juice", "likes", "rambutan juice"),
    proposal("Robert goes by Zebedee", "alias", "zebedee", subject="Robert"),
    proposal("Robert lives in Reykjavik", "home_city", "reykjavik", subject="Robert"),
    proposal("Zebedee moved to Ljubljana", "home_city", "ljubljana", subject="Zebedee"),
)
STORY = [phrase["quote"] for phrase in PHRASES]


def opened(url: str) -> Memory:
    handlers = [replace(handler, prepare=scripted(PHRASES)) for handler in conversation.handlers()]
    return open_with(url, handlers, clock=Clock(step=timedelta(hours=1)))


@pytest.fixture
def memory(database_url: str) -> Iterator[Memory]:
    with opened(database_url) as made:
        yield made
        result = made.admin.rebuild(verify=True)
        assert result.equal, result.differences


def say(memory: Memory, text: str, session: str | None = None) -> list[Item]:
    made: Any = memory.add([{"role": "user", "content": text}], user_id="alice", session_id=session)
    return list(made.items)


def held(memory: Memory) -> set[tuple[str | None, Any]]:
    return {(item.key, item.value) for item in memory.get_all(user_id="alice", limit=100) if item.kind != "message"}


def test_erasing_a_message_takes_what_was_learned_from_it_and_what_was_before_holds_again(memory: Memory) -> None:
    first = say(memory, "I live in Ouagadougou")
    second = say(memory, "I live in Antananarivo")
    certificate = memory.erase(id=second[0].id)
    assert certificate.clean, certificate.residue
    assert held(memory) == {("home_city", "ouagadougou")}
    assert memory.get(first[1].id).ended is None
    assert memory.explain(first[1].id).edges == ()


def test_erasing_what_was_learned_takes_every_message_that_says_it(memory: Memory) -> None:
    juice = say(memory, "I adore rambutan juice", "s1")[1]
    say(memory, "As I said, I adore rambutan juice", "s1")
    say(memory, "Again: I adore rambutan juice", "s2")
    memory.add("rambutan juice", user_id="alice", kind="preference", key="likes", value="rambutan juice")
    assert len(memory.explain(juice.id).sources) == 4
    certificate = memory.erase(id=juice.id)
    assert certificate.clean, certificate.residue
    assert memory.get_all(user_id="alice") == []


def test_erasing_the_first_to_say_it_leaves_it_to_the_second(memory: Memory) -> None:
    first = say(memory, "I adore rambutan juice", "s1")
    say(memory, "Really, I adore rambutan juice", "s2")
    memory.erase(session_id="s1", user_id="alice")
    assert held(memory) == {("likes", "rambutan juice")}
    (item,) = [item for item in memory.get_all(user_id="alice") if item.key == "likes"]
    assert item.id != first[1].id
    assert [source.session_id for source in memory.explain(item.id).sources] == ["s2"]


def test_the_story_is_the_same_on_another_machine_and_without_its_extractor(memory: Memory, tmp_path: Path) -> None:
    for text in [*STORY, "No, I live in Ouagadougou"]:
        say(memory, text)
    expected = {
        ("home_city", "ouagadougou"),
        ("likes", "rambutan juice"),
        ("alias", "zebedee"),
        ("home_city", "ljubljana"),
    }
    assert held(memory) == expected
    path = tmp_path / "story.jsonl"
    memory.export(path)
    with Memory.open(f"sqlite:///{tmp_path / 'other.db'}", policy={"embedder": "none"}) as other:
        other.import_(path)
        assert held(other) == expected
        assert other.admin.rebuild(verify=True).live_hash == memory.admin.rebuild(verify=True).live_hash
    assert memory.admin.rebuild().equal
