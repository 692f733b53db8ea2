"""Ten defects that other memories of traits are known to have; each is a test here, on both databases."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp

import pytest

from phronesis.errors import VersionConflict
from told_traits import USER, Told, again, against, behavior, telling, trend, upgrade, words


@pytest.fixture
def told(database_url: str) -> Iterator[Told]:
    with telling(database_url) as opened:
        yield opened
        assert opened.differences() == ()


def test_decay_does_not_compound(told: Told) -> None:
    """Thirty daily reflections left .098 of a confidence where one after thirty days left .861."""
    told.behave("tea")
    for _ in range(30):
        told.reflect(days=1)
    faded = 0.4 * exp(-0.005 * 30)
    assert told.trait("tea").confidence == pytest.approx(faded, abs=1e-6)
    told.remember("more")
    told.reflect(reinforcements=[again("tea", "more")])
    assert told.trait("tea").confidence == pytest.approx(faded + (1 - faded) * 0.15, abs=1e-6)


def test_recalling_a_trait_does_not_make_it_surer(told: Told) -> None:
    """Each recall added .02 to the confidence: what is asked for often became what is true."""
    told.behave("tea", cycles=1)
    before = told.trait("tea")
    for _ in range(5):
        assert words("tea") in [one.item.content for one in told.memory.search(words("tea"), user_id=USER)]
        told.memory.compose_context("s", words("tea"), user_id=USER)
        told.memory.get_user_traits(USER)
    assert told.trait("tea") == before
    told.reflect()
    after = told.trait("tea")
    assert (after.reinforcement_count, after.stage, after.data["strength"]) == (
        1,
        before.stage,
        before.data["strength"],
    )
    assert after.usefulness == pytest.approx(10 * 0.02)
    assert after.confidence == pytest.approx(before.confidence, abs=1e-9)


def test_no_trend_is_stuck_after_its_window(told: Told) -> None:
    """A second reinforcement that came after the window left a trend that neither ended nor rose."""
    told.remember("a", "b")
    told.reflect(new_trends=[trend("late", "a", window_days=14), trend("timely", "b", window_days=14)])
    told.remember("a1", "b1", days=5)
    told.reflect(reinforcements=[again("late", "a1"), again("timely", "b1")])
    told.remember("b2", days=5)
    told.reflect(reinforcements=[again("timely", "b2")])
    assert told.stands("timely") == ("candidate", 0.3)
    told.remember("a2", days=5)  # the window ended a day ago
    cycle = told.reflect(reinforcements=[again("late", "a2")])
    assert (cycle.traits_dissolved, cycle.traits_promoted) == (1, 0)
    assert told.trait("late").stage == "dissolved"
    assert told.shown() == ["timely"]


def test_a_contradiction_lowers_the_stage_with_the_confidence(told: Told) -> None:
    """The confidence fell below a border, and the stage stayed what it was."""
    told.behave("tea", cycles=2)
    assert told.stands("tea")[0] == "established"
    told.remember("no", days=0.01)
    told.reflect(contradictions=[against("tea", "no")])
    stage, confidence = told.stands("tea")
    assert confidence == pytest.approx(0.8 * (1 - 0.6 * 0.75 * 0.75), abs=1e-4)
    assert stage == "emerging"


def test_a_trait_can_be_split_by_situation(told: Told) -> None:
    """The split was designed, and nothing ever asked for it."""
    told.behave("silence", cycles=1)
    told.remember("x", days=0.01)
    told.reflect(contradictions=[against("silence", "x")])
    sides = [
        {"as": "work", "content": "Is silent at work", "context": "work", "evidence_ids": []},
        {"as": "friends", "content": "Talks with friends", "context": "social", "evidence_ids": ["x", "y"]},
    ]
    both = "Is silent at work and talks with friends"
    told.remember("y", days=0.01)
    special = {"silence": {"action": "split", "new_content": both, "reasoning": "it depends", "split": sides}}
    cycle = told.reflect(contradictions=[against("silence", "y")], special=special)
    assert (cycle.status, cycle.refused, cycle.traits_modified) == ("completed", (), 1)
    found = told.trait("silence")
    assert [(side.content, side.context) for side in found.sides] == [
        ("Is silent at work", "work"), ("Talks with friends", "social"),
    ]  # fmt: skip
    assert found.content == both
    assert [side.confidence for side in found.sides] == [pytest.approx(found.confidence, abs=1e-6), 0.4]


def test_a_version_is_checked_and_not_only_kept(told: Told) -> None:
    """The version rose with every change, and nobody compared it: the later writer won without knowing."""
    told.behave("tea", cycles=1)
    seen = told.trait("tea").version
    told.memory.correct_trait(told.ids["tea"], content="Drinks tea", expected_version=seen)
    with pytest.raises(VersionConflict) as refused:
        told.memory.correct_trait(told.ids["tea"], context="work", expected_version=seen)
    assert refused.value.details["version"] == seen + 1
    with pytest.raises(VersionConflict):
        told.memory.update(told.ids["tea"], content="Drinks it all", expected_version=seen)
    with pytest.raises(VersionConflict):
        told.memory.update(told.ids["tea"], metadata={"n": 1}, expected_version=seen)
    assert told.trait("tea").content == "Drinks tea"
    told.memory.update(told.ids["tea"], content="Drinks green tea", expected_version=seen + 1)
    assert told.trait("tea").content == "Drinks green tea"


@dataclass
class _Finding:
    topic: str


class _Watchful:
    """A guard that knows one matter, in a trait's words or in those of what shows it."""

    version = "watchful/1"

    def of_trait(self, content: str, evidence: Sequence[str]) -> _Finding | None:
        return _Finding("health") if any("malady" in text for text in (content, *evidence)) else None


def test_what_is_sensitive_is_refused_alone_and_its_words_are_not_kept(told: Told) -> None:
    """A list of words let paraphrases pass, and blocked what only sounded alike."""
    handler = told.memory.stages.writer.interpreter.stepper.registry["reflect"]
    object.__setattr__(handler, "prepare", replace(handler.prepare, guard=_Watchful()))  # type: ignore[type-var]
    told.behave("tea", cycles=1)
    told.behave("walks", cycles=1)
    told.remember("a", "b", "c", days=0.01)
    told.remember("malady", days=0.01)
    cycle = told.reflect(
        new_trends=[{"content": "Quokka of late has the malady", "evidence_ids": ["a"]}, trend("fine", "a")],
        new_behaviors=[
            {"content": "Quokka lives with a malady", "evidence_ids": ["a", "b", "c"]},
            {"content": "Quokka rests a lot", "evidence_ids": ["a", "b", "malady"]},
        ],
        reinforcements=[again("tea", "b")],
        upgrades=[{"from_trait_ids": ["tea", "walks"], "new_content": "Quokka fights a malady",
                   "new_subtype": "preference", "reasoning": "both do"},
                  upgrade("calm", "tea", "walks", reasoning="Quokka and the malady")],
    )  # fmt: skip
    assert cycle.status == "completed"
    assert {(one.operation, one.rule, one.content) for one in cycle.refused} == {
        (name, "sensitive", "") for name in ("new_trends", "new_behaviors", "upgrades")
    }
    assert len(cycle.refused) == 5
    assert cycle.refused[0].reason == "it speaks of health"
    assert (cycle.traits_created, cycle.traits_reinforced) == (1, 1)
    told.remember("no-1", days=0.01)
    told.reflect(contradictions=[against("tea", "no-1")])
    told.remember("no-2", days=0.01)
    for said in (
        {"action": "modify", "new_content": "Quokka drinks for the malady", "reasoning": "so it is"},
        {"action": "modify", "new_content": "Drinks less tea", "reasoning": "Quokka has the malady"},
        {"action": "split", "new_content": "", "reasoning": "", "split": [
            {"content": "Drinks tea", "context": "work"}, {"content": "Quokka malady", "context": "social"}]},
    ):  # fmt: skip
        cycle = told.reflect(contradictions=[against("tea", "no-2")], special={"tea": said})
        told.remember("no-more", days=0.01)
        assert ("special_reflection", "sensitive") in [(one.operation, one.rule) for one in cycle.refused]
        assert told.trait("tea").content == words("tea")
    told.memory.flush()
    assert "Quokka" not in _everything_in(told)


def test_evidence_that_is_not_there_reinforces_nothing(told: Told) -> None:
    """A trait was reinforced by ids that a model had made up."""
    told.behave("tea", cycles=1)
    before = told.trait("tea")
    other = told.memory.add("Somebody else's tea", user_id="other", kind="episodic").items[0].id
    message = told.memory.add("tea, tea, tea", user_id=USER, infer=False).items[0].id
    gone = told.memory.add("I never said this", user_id=USER, kind="episodic").items[0].id
    told.memory.retract(gone)
    told.remember("new", days=1)
    made_up = ["00000000-0000-0000-0000-000000000000", "no id", other, message, gone, told.ids["tea"]]
    cycle = told.reflect(
        reinforcements=[again("tea", *made_up), again("nobody", "new")],
        new_behaviors=[behavior("ghosts", *made_up), behavior("more", "new", *made_up)],
        new_trends=[trend("ghost", *made_up)],
        contradictions=[against("tea", *made_up)],
    )
    assert [(one.operation, one.rule) for one in cycle.refused] == [
        ("new_trends", "no_new_evidence"), ("new_behaviors", "no_new_evidence"),
        ("new_behaviors", "too_few_memories"), ("reinforcements", "no_new_evidence"),
        ("reinforcements", "no_such_trait"), ("contradictions", "no_new_evidence"),
    ]  # fmt: skip
    after = told.trait("tea")
    assert (after.version, after.reinforcement_count, after.evidence) == (
        before.version, before.reinforcement_count, before.evidence,
    )  # fmt: skip


def test_evidence_counts_once(told: Told) -> None:
    """The same memory, named again, reinforced again."""
    told.behave("tea")
    told.remember("new", "other", days=0.01)
    twice = [again("tea", "new", "new"), again("tea", "new"), again("tea", "tea-0", "tea-1")]
    cycle = told.reflect(reinforcements=twice)
    assert (cycle.traits_reinforced, [one.rule for one in cycle.refused]) == (1, ["no_new_evidence"] * 2)
    once = told.trait("tea")
    assert once.reinforcement_count == 1
    assert [row.memory_id for row in once.evidence].count(told.ids["new"]) == 1
    told.remember("unrelated", days=0.01)
    cycle = told.reflect(reinforcements=twice, contradictions=[against("tea", "new")])
    assert [one.rule for one in cycle.refused] == ["no_new_evidence"] * 4
    assert told.trait("tea").version == once.version


def test_a_new_behaviour_is_a_candidate_until_a_later_cycle(told: Told) -> None:
    """Its first confidence, .4, is above the border of the stage that it should begin in, so none ever was there."""
    told.behave("tea")
    assert told.stands("tea") == ("candidate", 0.4)
    told.reflect(days=0.01)
    assert told.stands("tea")[0] == "candidate"
    told.remember("new", days=0.01)
    told.reflect(reinforcements=[again("tea", "new", grade="D")])
    assert told.stands("tea") == ("emerging", 0.43)


def _everything_in(told: Told) -> str:
    with told.memory.stages.database.transaction(told.memory.tenant, "read") as unit:
        query = (
            "SELECT name FROM sqlite_master WHERE type = 'table'" if unit.dialect == "sqlite"
            else "SELECT table_name FROM information_schema.tables WHERE starts_with(table_schema, 'phronesis')"
        )  # fmt: skip
        names = [str(name) for name in unit.connection.exec_driver_sql(query).scalars()]
        rows = [str(unit.connection.exec_driver_sql(f"SELECT * FROM {name}").all()) for name in names]
    return "\n".join(rows)
