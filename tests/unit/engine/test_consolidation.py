"""What is said becomes what is held: added, said again, said more fully, taken back, disputed, taken the place of."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from custom_store import open_with
from phronesis.conversation import handlers as conversation
from phronesis.core.items import Item
from phronesis.memory import Memory
from scripted import proposal, scripted

DAY = timedelta(days=1)
START = datetime(2026, 1, 10, 9, tzinfo=UTC)
PARIS = proposal("I live in Paris", "home_city", "paris")
LYON = proposal("I live in Lyon", "home_city", "lyon")
TEA = proposal("I like tea", "likes", "tea")
PHRASES = (PARIS, LYON, TEA)


class Talk:
    """A memory whose clock moves a day with each message, and whose extractor knows some phrases."""

    def __init__(self, folder: Path, *phrases: Any, **more: Any) -> None:
        self.now = START
        prepare = scripted(phrases or PHRASES, **more)
        handlers = [replace(handler, prepare=prepare) for handler in conversation.handlers()]
        self.memory: Memory = open_with(f"sqlite:///{folder / 'memory.db'}", handlers, clock=lambda: self.now)

    def say(self, text: str) -> Item | None:
        """Return what was learned of a message."""
        self.now += DAY
        made = self.memory.add([{"role": "user", "content": text}], user_id="ada").items
        return next((self.memory.get(item.id) for item in made if item.kind != "message"), None)

    def held(self, key: str) -> list[Any]:
        return sorted(item.value for item in self.memory.get_all(limit=100, user_id="ada") if item.key == key)


@contextmanager
def talking(folder: Path, *phrases: Any, **more: Any) -> Iterator[Talk]:
    talk = Talk(folder, *phrases, **more)
    with talk.memory:
        yield talk
        verified = talk.memory.admin.rebuild(verify=True)
        assert verified.equal, verified.differences


def judging(folder: Path, act: str, target: Item | None) -> AbstractContextManager[Talk]:
    return talking(folder, judged=[{"i": 0, "target": None if target is None else target.id, "act": act}])


@pytest.mark.parametrize(
    ("act", "known", "held"),
    [
        *(("ADD", True, ["lyon", "paris"]), ("SUPERSEDE", True, ["lyon"]), ("RETRACT", True, [])),
        *(("NONE", True, ["paris"]), ("UPDATE", True, ["lyon"])),
        *(("NONE", False, ["lyon"]), ("GUESS", True, ["lyon"])),
    ],
)
def test_a_models_judgement_is_taken_where_it_fits(tmp_path: Path, act: str, known: bool, held: list[str]) -> None:
    with talking(tmp_path) as talk:
        paris = talk.say("I live in Paris")
    with judging(tmp_path, act, paris if known else None) as talk:
        talk.now += DAY
        talk.say("I live in Lyon")
        assert talk.held("home_city") == held


def test_a_judgement_about_somebody_else_or_another_key_is_not_taken(tmp_path: Path) -> None:
    bob = proposal("Bob lives in Rome", "home_city", "rome", subject="Bob")
    with talking(tmp_path, bob, TEA) as talk:
        others = talk.say("Bob lives in Rome"), talk.say("I like tea")
    for target in others:
        with judging(tmp_path, "UPDATE", target) as talk:
            talk.now += 9 * DAY
            talk.say("I live in Lyon")
            assert [talk.memory.get(one.id) for one in others if one] == [*others]


@pytest.mark.parametrize("question", ["What did I prefer before? Where did I live before?", "我之前住在哪里? live"])
def test_a_question_for_the_past_shows_what_was_before(tmp_path: Path, question: str) -> None:
    with talking(tmp_path) as talk:
        talk.say("I live in Paris")
        talk.say("I live in Lyon")
        shown = talk.memory.search(question, user_id="ada", kinds=["profile"])
        assert [(each.item.value, each.item.ended) for each in shown] == [("lyon", None), ("paris", "superseded")]
        assert shown[1].sources[0].quote == "I live in Paris"
        assert len(talk.memory.search(question, user_id="ada", kinds=["profile"], limit=1)) == 1
        plain = talk.memory.search("Where do I live?", user_id="ada", kinds=["profile"])
        assert [each.item.value for each in plain] == ["lyon"]


@pytest.mark.parametrize(("doubtful", "marked"), [(False, True), (None, False)])
def test_a_text_in_much_the_same_words_marks_the_older_one(tmp_path: Path, doubtful: bool | None, marked: bool) -> None:
    """A proposal of a version that did not say how sure it is marks nothing: old entries replay as they were."""
    first = proposal("We deploy from main on Fridays", "decision", "deploy from main on Fridays", doubtful=doubtful)
    later = proposal("We deploy from main on Mondays", "decision", "deploy from main on Mondays", doubtful=doubtful)
    with talking(tmp_path, first, later) as talk:
        one, other = talk.say(first["quote"]), talk.say(later["quote"])
        assert one is not None
        assert other is not None
        found = [(edge["from_id"], edge["to_id"]) for edge in talk.memory.explain(one.id).edges]
        assert found == ([(one.id, other.id)] if marked else [])
        assert talk.held("decision") == ["deploy from main on Fridays", "deploy from main on Mondays"]
