"""A year of one user, told to a scripted model: the traits at each date are those of the table written before."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from model_server import ModelServer
from phronesis.memory import Memory
from phronesis.traits.laws.records import Trait
from scenarios.engines import Clock
from scripted_reflections import Script, policy

STORY = json.loads(Path(__file__).with_name("trait_year.json").read_text(encoding="utf-8"))
USER = STORY["user"]
STEPS = STORY["steps"]


class Year:
    """The story as far as it is told."""

    def __init__(self, memory: Memory, clock: Clock, script: Script) -> None:
        self.memory, self.clock, self.script = memory, clock, script
        self.cycles: list[Any] = []

    def tell(self, step: Mapping[str, Any]) -> None:
        self.clock.now = moment(step)
        for n, (name, text) in enumerate(step["memories"].items()):
            session = f"{step['date']}-{n % 2}"
            added = self.memory.add(text, user_id=USER, kind="episodic", session_id=session)
            self.script.ids[name] = added.items[0].id
        self.script.answer, self.script.special = step.get("answer", {}), step.get("special", {})
        cycle = self.memory.reflect(USER, force=True)
        assert (cycle.status, cycle.refused) == ("completed", ())
        self.cycles.append(cycle)
        self.learn_names(step)

    def learn_names(self, step: Mapping[str, Any]) -> None:
        made = [wish for wishes in step.get("answer", {}).values() for wish in wishes]
        made += [side for said in step.get("special", {}).values() for side in said.get("split", ())]
        for wish in (wish for wish in made if "as" in wish):
            words = wish.get("content") or wish["new_content"]
            self.script.ids[wish["as"]] = next(
                one.id for one in self.memory.get_all(user_id=USER, kinds=["trait"]) if one.content == words
            )

    def at(self, name: str, when: datetime | None = None) -> Trait:
        found = self.memory.get(self.script.ids[name], as_of=when)
        assert isinstance(found, Trait)
        return found


def moment(step: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(step["date"]).replace(hour=20, tzinfo=UTC)


def standing(year: Year, step: Mapping[str, Any], when: datetime | None = None) -> dict[str, Any]:
    """What the store says of the traits that a row of the table names."""
    out: dict[str, Any] = {}
    for name, (stage, _) in step["expected"].items():
        found = year.at(name, when)
        confidence = None if found.confidence is None else pytest.approx(found.confidence, abs=6e-5)
        out[name] = [found.stage, None if stage == "dissolved" else confidence]
    return out


@pytest.fixture(scope="module")
def year(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Year]:
    script, clock = Script(), Clock()
    with ModelServer(script) as server:
        path = tmp_path_factory.mktemp("year") / "year.db"
        with Memory.open(f"sqlite:///{path}", policy=policy(server), clock=clock) as memory:
            told = Year(memory, clock, script)
            for step in STEPS:
                told.tell(step)
                assert standing(told, step) == step["expected"], step["date"]
                alive = {name for name, (stage, _) in step["expected"].items() if stage != "dissolved"}
                listed = {one.id for one in memory.get_user_traits(USER, "trend")}
                listed |= {side.id for one in memory.get_user_traits(USER, "trend") for side in one.sides}
                assert listed == {script.ids[name] for name in alive}
            yield told


def test_the_traits_at_each_date_are_those_of_the_table_and_come_again_from_the_log(year: Year) -> None:
    assert len(year.cycles) == len(STEPS)
    assert {"trend", "candidate", "emerging", "established", "core", "dissolved"} == {
        stage for step in STEPS for stage, _ in step["expected"].values()
    }
    asked = len(year.script.asked)
    result = year.memory.admin.rebuild(verify=True)
    assert result.equal, result.differences
    assert len(year.script.asked) == asked


def test_a_reading_of_then_tells_the_same_story(year: Year) -> None:
    for step, cycle in zip(STEPS, year.cycles, strict=True):
        then = cycle.started_at
        assert standing(year, step, then) == step["expected"], step["date"]
        shown = {one.id: one.stage for one in year.memory.get_user_traits(USER, "emerging", as_of=then)}
        sides = {"quiet_work", "talks_friends"}
        wanted = {
            year.script.ids[name]: stage
            for name, (stage, _) in step["expected"].items()
            if stage in ("emerging", "established", "core") and name not in sides
        }
        assert shown == wanted


def test_history_and_explanation_reach_what_was_said(year: Year) -> None:
    jog = year.at("jog")
    events = year.memory.history(jog.id)
    stages = [event.fields["stage"][1] for event in events if "stage" in event.fields]
    assert stages == ["candidate", "emerging", "established", "core", "established", "emerging"]
    explained = year.memory.explain(jog.id)
    said = {source.entry_id for source in explained.sources}
    assert {year.memory.get(year.script.ids[f"a{n}"]).entry_id for n in range(1, 14)} == said
    edits = [event for event in year.memory.history(year.script.ids["quiet"]) if event.op == "update"]
    split = next(event for event in edits if "content" in event.fields)
    assert split.fields["content"] == ("Says little in meetings", "Says little in meetings, talks a lot among friends")
    assert split.reason == "Work on one side, friends on the other."


def test_both_sides_are_shown_each_with_its_evidence(year: Year) -> None:
    when = year.cycles[9].started_at
    (quiet,) = [one for one in year.memory.get_user_traits(USER, as_of=when) if one.id == year.script.ids["quiet"]]
    assert [(side.content, side.context) for side in quiet.sides] == [
        ("Says little in meetings", "work"),
        ("Talks a lot among friends", "social"),
    ]
    names = {item: name for name, item in year.script.ids.items()}
    assert [{names[row.memory_id] for row in side.evidence} for side in quiet.sides] == [
        {"b1", "b2", "b3", "b4"},
        {"c1", "c2", "c3", "c4"},
    ]
    assert year.memory.get_user_traits(USER, context="social", as_of=when)[0].id == quiet.id
    last = year.at("quiet")
    assert last.content == "Talks a lot among friends"
    assert [side.id for side in last.sides] == [year.script.ids["talks_friends"]]


def test_upgrades_keep_their_children_and_have_their_evidence(year: Year) -> None:
    rigour, careful, exact = (year.at(name) for name in ("rigour", "careful", "exact"))
    assert (rigour.subtype, rigour.facet) == ("core", "value")
    assert careful.parent_ids == exact.parent_ids == (rigour.id,)
    assert year.at("tests").parent_ids == (careful.id,)
    inherited = {row.memory_id for row in rigour.evidence}
    assert {row.memory_id for trait in (careful, exact) for row in trait.evidence} < inherited
