"""A year of one user, told to a scripted model: the traits at each date are those of the table written before."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from phronesis.memory import Memory
from phronesis.traits.laws.records import ReflectionCycle
from told_traits import USER, Told, telling

STORY = json.loads(Path(__file__).with_name("trait_year.json").read_text(encoding="utf-8"))
STEPS = STORY["steps"]


def tell(told: Told, step: Mapping[str, Any]) -> ReflectionCycle:
    told.clock.now = moment(step)
    for n, (name, text) in enumerate(step["memories"].items()):
        session = f"{step['date']}-{n % 2}"
        told.ids[name] = told.memory.add(text, user_id=USER, kind="episodic", session_id=session).items[0].id
    cycle = told.reflect(special=step.get("special"), **step.get("answer", {}))
    assert (cycle.status, cycle.refused) == ("completed", ())
    return cycle


def moment(step: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(step["date"]).replace(hour=20, tzinfo=UTC)


def standing(told: Told, step: Mapping[str, Any], **when: Any) -> dict[str, Any]:
    """What the store says of the traits that a row of the table names."""
    out: dict[str, Any] = {}
    for name, (stage, _) in step["expected"].items():
        found = told.trait(name, **when)
        confidence = None if found.confidence is None else pytest.approx(found.confidence, abs=6e-5)
        out[name] = [found.stage, None if stage == "dissolved" else confidence]
    return out


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    with telling(f"sqlite:///{tmp_path_factory.mktemp('year') / 'year.db'}") as opened:
        for step in STEPS:
            tell(opened, step)
            assert standing(opened, step) == step["expected"], step["date"]
            alive = {name for name, (stage, _) in step["expected"].items() if stage != "dissolved"}
            listed = opened.memory.get_user_traits(USER, "trend")
            shown = {*(one.id for one in listed), *(side.id for one in listed for side in one.sides)}
            assert shown == {opened.ids[name] for name in alive}
        yield opened


@pytest.fixture(scope="module")
def times(told: Told) -> list[datetime]:
    """When each step's reflection ran."""
    cycles = told.memory.traits.reflections(USER, limit=len(STEPS))
    return [one.started_at for one in reversed(cycles) if one.started_at is not None]


def test_the_traits_at_each_date_are_those_of_the_table_and_come_again_from_the_log(told: Told, tmp_path: Path) -> None:
    assert len(told.memory.traits.reflections(USER, limit=100)) == len(STEPS)
    assert {"trend", "candidate", "emerging", "established", "core", "dissolved"} == {
        stage for step in STEPS for stage, _ in step["expected"].values()
    }
    asked = len(told.asked)
    assert told.differences() == ()
    told.memory.export(tmp_path / "log.jsonl")
    with Memory.open(f"sqlite:///{tmp_path / 'other.db'}", policy={"embedder": "none"}, clock=told.clock) as other:
        other.import_(tmp_path / "log.jsonl")
        assert other.get_user_traits(USER, "trend") == told.memory.get_user_traits(USER, "trend")
        assert other.traits.reflections(USER) == told.memory.traits.reflections(USER)
    assert len(told.asked) == asked


def test_a_reading_of_then_tells_the_same_story(told: Told, times: list[datetime]) -> None:
    for step, then in zip(STEPS, times, strict=True):
        assert standing(told, step, as_of=then) == step["expected"], step["date"]
        shown = {one.id: one.stage for one in told.memory.get_user_traits(USER, "emerging", as_of=then)}
        sides = {"quiet_work", "talks_friends"}
        wanted = {
            told.ids[name]: stage
            for name, (stage, _) in step["expected"].items()
            if stage in ("emerging", "established", "core") and name not in sides
        }
        assert shown == wanted


def test_history_and_explanation_reach_what_was_said(told: Told) -> None:
    jog = told.trait("jog")
    events = told.memory.history(jog.id)
    stages = [event.fields["stage"][1] for event in events if "stage" in event.fields]
    assert stages == ["candidate", "emerging", "established", "core", "established", "emerging"]
    explained = told.memory.explain(jog.id)
    said = {source.entry_id for source in explained.sources}
    assert {told.memory.get(told.ids[f"a{n}"]).entry_id for n in range(1, 14)} == said
    edits = [event for event in told.memory.history(told.ids["quiet"]) if event.op == "update"]
    split = next(event for event in edits if "content" in event.fields)
    assert split.fields["content"] == ("Says little in meetings", "Says little in meetings, talks a lot among friends")
    assert split.reason == "Work on one side, friends on the other."


def test_both_sides_are_shown_each_with_its_evidence(told: Told, times: list[datetime]) -> None:
    when = times[9]
    (quiet,) = [one for one in told.memory.get_user_traits(USER, as_of=when) if one.id == told.ids["quiet"]]
    assert [(side.content, side.context) for side in quiet.sides] == [
        ("Says little in meetings", "work"),
        ("Talks a lot among friends", "social"),
    ]
    names = {item: name for name, item in told.ids.items()}
    assert [{names[row.memory_id] for row in side.evidence} for side in quiet.sides] == [
        {"b1", "b2", "b3", "b4"},
        {"c1", "c2", "c3", "c4"},
    ]
    assert told.memory.get_user_traits(USER, context="social", as_of=when)[0].id == quiet.id
    last = told.trait("quiet")
    assert last.content == "Talks a lot among friends"
    assert [side.id for side in last.sides] == [told.ids["talks_friends"]]


def test_upgrades_keep_their_children_and_have_their_evidence(told: Told) -> None:
    rigour, careful, exact = (told.trait(name) for name in ("rigour", "careful", "exact"))
    assert (rigour.subtype, rigour.facet) == ("core", "value")
    assert careful.parent_ids == exact.parent_ids == (rigour.id,)
    assert told.trait("tests").parent_ids == (careful.id,)
    inherited = {row.memory_id for row in rigour.evidence}
    assert {row.memory_id for trait in (careful, exact) for row in trait.evidence} < inherited
