"""What is said becomes what is held: added, said again, said more fully, taken back, disputed, taken the place of."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
NEAR = proposal("I live in Lyon, near the station", "home_city", "lyon, near the station")
TEA = proposal("I like tea", "likes", "tea")
COFFEE = proposal("I like coffee", "likes", "coffee")
NO_TEA = proposal("I hate tea", "dislikes", "tea")
PHRASES = (PARIS, NEAR, LYON, TEA, COFFEE, NO_TEA)


class Talk:
    """A memory whose clock a test moves, and whose extractor knows some phrases."""

    def __init__(self, folder: Path, *phrases: Any, **more: Any) -> None:
        self.now = START
        self.folder = folder
        prepare = scripted(phrases or PHRASES, **more)
        handlers = [replace(handler, prepare=prepare) for handler in conversation.handlers()]
        self.memory: Memory = open_with(f"sqlite:///{folder / 'memory.db'}", handlers, clock=lambda: self.now)

    def say(
        self, text: str, *, role: str = "user", after: timedelta = DAY, user: str | None = "ada", **more: Any
    ) -> Any:
        self.now += after
        message = {"role": role, "content": text, **more.pop("message", {})}
        return self.memory.add([message], user_id=user, **more)

    def held(self, key: str, user: str | None = "ada") -> list[Any]:
        scope: dict[str, Any] = {"user_id": user} if user is not None else {}
        return sorted(item.value for item in self.memory.get_all(limit=100, **scope) if item.key == key)

    def one(self, made: Any) -> Item:
        (item,) = [item for item in made.items if item.kind != "message"]
        return self.memory.get(item.id)

    def support(self, item: Item) -> list[Any]:
        return [row for row in self.memory.explain(item.id).evidence if row["polarity"] == "support"]


@pytest.fixture
def opening(tmp_path: Path) -> Iterator[Callable[..., Talk]]:
    talks: list[Talk] = []

    def open_talk(*phrases: Any, **more: Any) -> Talk:
        talks.append(Talk(tmp_path, *phrases, **more))
        return talks[-1]

    yield open_talk
    for talk in talks:
        verified = talk.memory.admin.rebuild(verify=True)
        assert verified.equal, verified.differences
        talk.memory.close()


@pytest.fixture
def talk(opening: Callable[..., Talk]) -> Talk:
    return opening()


@contextmanager
def judging(folder: Path, *rows: dict[str, Any], target: str | None = None) -> Iterator[Talk]:
    judged = [{"i": 0, "target": target, **row} for row in rows]
    talk = Talk(folder, *PHRASES, judged=judged)
    try:
        yield talk
        assert talk.memory.admin.rebuild(verify=True).equal
    finally:
        talk.memory.close()


@pytest.mark.parametrize(
    ("act", "known", "held"),
    [
        *(("ADD", True, ["lyon", "paris"]), ("SUPERSEDE", True, ["lyon"]), ("RETRACT", True, [])),
        *(("NONE", True, ["paris"]), ("UPDATE", True, ["lyon"])),
        *(("NONE", False, ["lyon"]), ("GUESS", True, ["lyon"])),
    ],
)
def test_a_models_judgement_is_taken_where_it_fits(tmp_path: Path, act: str, known: bool, held: list[str]) -> None:
    with judging(tmp_path) as talk:
        paris = talk.one(talk.say("I live in Paris"))
    with judging(tmp_path, {"act": act}, target=paris.id if known else None) as talk:
        talk.now += DAY
        talk.say("I live in Lyon")
        assert talk.held("home_city") == held


def test_a_judgement_about_somebody_else_or_another_key_is_not_taken(tmp_path: Path) -> None:
    bob = proposal("Bob lives in Rome", "home_city", "rome", subject="Bob")
    first = Talk(tmp_path, bob, TEA)
    rome, tea = first.one(first.say("Bob lives in Rome")), first.one(first.say("I like tea"))
    first.memory.close()
    for target in (rome.id, tea.id):
        with judging(tmp_path, {"act": "UPDATE"}, target=target) as talk:
            talk.now += 9 * DAY
            talk.say("I live in Lyon")
            assert talk.memory.get(rome.id) == rome
            assert talk.memory.get(tea.id) == tea


@pytest.mark.parametrize("question", ["What did I prefer before? Where did I live before?", "我之前住在哪里? live"])
def test_a_question_for_the_past_shows_what_was_before(talk: Talk, question: str) -> None:
    talk.say("I live in Paris")
    talk.say("I live in Lyon")
    shown = talk.memory.search(question, user_id="ada", kinds=["profile"])
    assert [(each.item.value, each.item.ended) for each in shown] == [("lyon", None), ("paris", "superseded")]
    assert shown[1].sources[0].quote == "I live in Paris"
    assert len(talk.memory.search(question, user_id="ada", kinds=["profile"], limit=1)) == 1
    plain = talk.memory.search("Where do I live?", user_id="ada", kinds=["profile"])
    assert [each.item.value for each in plain] == ["lyon"]


@pytest.mark.parametrize(("doubtful", "marked"), [(False, True), (None, False)])
def test_a_text_in_much_the_same_words_marks_the_older_one(
    opening: Callable[..., Talk], doubtful: bool | None, marked: bool
) -> None:
    """A proposal of a version that did not say how sure it is marks nothing: old entries replay as they were."""
    first = proposal("We deploy from main on Fridays", "decision", "deploy from main on Fridays", doubtful=doubtful)
    later = proposal("We deploy from main on Mondays", "decision", "deploy from main on Mondays", doubtful=doubtful)
    talk = opening(first, later)
    one, other = talk.one(talk.say(first["quote"])), talk.one(talk.say(later["quote"]))
    found = [(edge["from_id"], edge["to_id"]) for edge in talk.memory.explain(one.id).edges]
    assert found == ([(one.id, other.id)] if marked else [])
    assert talk.held("decision") == ["deploy from main on Fridays", "deploy from main on Mondays"]
