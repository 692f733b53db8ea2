"""Retrieve: one plan, memory and resources, one list of evidence, explained."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from phronesis import Memory
from phronesis.core.evidence_pack import EvidencePack
from phronesis.core.ids import make_scope
from phronesis.core.retrieval_plan import MODES, Mode, RetrievalPlan, SubPlan, SubQuery, TimeWindow
from phronesis.errors import InputError
from scenarios.engines import Clock
from shelved import shelve

KETTLE = {
    "Descaling": "Fill the kettle with vinegar and boil it twice to remove limescale.",
    "Safety": "Never open the lid of the kettle while it boils.",
    "Cleaning": "Wipe the kettle with a damp cloth.",
    "Storage": "Keep the kettle dry when it is not used.",
}
BOILER = {
    "Descaling": "Have the boiler descaled by a technician once a year.",
    "保养": "每月用柠檬酸清洗水壶一次，去除水垢。",
}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(database_url: str, clock: Clock) -> Iterator[Memory]:
    with Memory.open(database_url, policy={"embedder": "hashing"}, clock=clock) as opened:
        for n, text in enumerate(TALK):
            opened.commit_turn("s1", {"messages": [{"role": "user", "content": text, "id": f"m{n}"}]}, user_id="alice")
        shelve(opened, "https://www.kettles.example/manual.md", "Kettle manual", KETTLE)
        shelve(opened, "file:///manuals/boiler.md", "Boiler manual", BOILER)
        opened.flush()
        yield opened


TALK = (
    "I bought a red kettle for the office kitchen.",
    "The kettle in the office is full of limescale again.",
    "My sister Anna moved to Lisbon.",
    "办公室的水壶又有水垢了。",
    "We eat pizza every Friday.",
)


def plan_of(
    text: str, *more: SubQuery, stores: str = "mr", modes: Sequence[Mode] = MODES, **given: Any
) -> RetrievalPlan:
    queries = (SubQuery(text), *more)
    kept = {name: given.pop(name) for name in ("kinds", "filters") if name in given}
    memory = SubPlan("memory", queries, modes, **kept) if "m" in stores else None
    resources = SubPlan("resources", queries, modes) if "r" in stores else None
    given = {"scope": make_scope(user_id="alice"), "limit": 6, **given}
    return RetrievalPlan("p1", text, "how_to", "en", queries, modes, memory=memory, resources=resources, **given)


def kinds_of(pack: EvidencePack) -> list[str]:
    return [one.item.kind for one in pack]


def texts(pack: EvidencePack) -> list[str]:
    return [one.item.content for one in pack]


def test_memory_and_a_manual_are_one_list(memory: Memory) -> None:
    pack = memory.retrieve(plan_of("How do I remove limescale from the kettle?"))
    assert not pack.abstained
    assert {"message", "section"} <= set(kinds_of(pack))
    assert KETTLE["Descaling"] in texts(pack)[:2]
    assert TALK[1] in texts(pack)[:3]
    assert all(0.0 <= one.score <= 1.0 and one.sources and one.why is not None for one in pack)
    assert [one.score for one in pack.evidence if one.item.kind == "section"] == sorted(
        (one.score for one in pack.evidence if one.item.kind == "section"), reverse=True
    )
    fates = {one["citation"]: one for one in pack.explain["candidates"]}
    assert [fates[one.item.citation]["place"] for one in pack] == list(range(1, len(pack) + 1))
    assert set(pack.explain["retrievers"]) == {"memory", "resources"}
    assert pack.to_dict()["evidence"][0]["item"]["id"] == pack[0].item.id


def test_other_wordings_find_what_the_message_does_not_say(memory: Memory) -> None:
    question = "Where does she live now?"
    alone = memory.retrieve(plan_of(question, stores="m", modes=["exact", "relational"]))
    assert not any("Lisbon" in text for text in texts(alone)[:1])
    helped = memory.retrieve(plan_of(question, SubQuery("Anna Lisbon", 0.5, "entity"), stores="m", modes=["exact"]))
    assert texts(helped)[0].startswith("My sister Anna moved to Lisbon")
    assert helped[0].why is not None
    assert helped[0].why["wordings"] > 0
    assert helped.explain["retrievers"]["memory"]["wordings"] == ["Anna Lisbon"]


def test_modes_decide_who_takes_part(memory: Memory) -> None:
    exact = memory.retrieve(plan_of("kettle", stores="m", modes=["exact"]))
    assert all("dense" not in (one.why or {}) for one in exact)
    encoder = memory.admin.components.vectorizer.serves(memory.admin.tenant)
    semantic = memory.retrieve(plan_of("kettle", stores="m", modes=["semantic"]))
    assert semantic.ignored_fields == ({} if encoder else {"memory": ("modes.semantic",)})
    assert (len(semantic) > 0) == encoder
    assert all((one.why or {}).get("covered") is None for one in semantic)
    by_name = memory.retrieve(plan_of("What of her?", stores="m", modes=["relational"], entities=("Anna",)))
    assert texts(by_name)[0].startswith("My sister Anna moved to Lisbon")
    passed_over = memory.retrieve(plan_of("What of her?", stores="m", modes=["exact"], entities=("Anna",)))
    assert passed_over.ignored_fields == {"memory": ("entities",)}


def test_a_window_lifts_what_was_said_in_it(memory: Memory, clock: Clock) -> None:
    clock.pass_days(40)
    memory.commit_turn(
        "s9", {"messages": [{"role": "user", "content": "The dentist called.", "id": "d"}]}, user_id="alice"
    )
    now = clock()
    window = TimeWindow(now - timedelta(days=2), now + timedelta(days=1), "this week")
    pack = memory.retrieve(plan_of("What happened this week?", time=window, limit=3))
    assert texts(pack)[0] == "The dentist called."
    assert "time" in pack.ignored_fields["resources"]
    assert "time" not in pack.ignored_fields.get("memory", ())
    before = TimeWindow(datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 2, 1, tzinfo=UTC), "January 2020")
    empty = memory.retrieve(plan_of("January 2020?", stores="m", modes=["exact"], time=before))
    assert empty.abstained


def test_what_was_known_then(memory: Memory, clock: Clock) -> None:
    clock.pass_days(1)
    then = clock()
    clock.pass_days(1)
    shelve(memory, "https://www.kettles.example/manual.md", "Kettle manual", {"Descaling": "Use citric acid alone."})
    text = "descaling the kettle"
    assert KETTLE["Descaling"] in texts(memory.retrieve(plan_of(text, stores="r", as_of=then)))
    now = texts(memory.retrieve(plan_of(text, stores="r")))
    assert "Use citric acid alone." in now
    assert KETTLE["Descaling"] not in now


# Scores are from 0 to 1, and a search abstains just where the best is below its threshold.


SAID = [
    *("I live in Ghent with my sister Anna.", "My dog Biscuit is a beagle.", "The release is planned for May."),
    *("我喜欢喝绿茶。", "The printer is out of toner.", "OK.", "Noted, thanks."),
]


@pytest.mark.parametrize("document", [False, True])
def test_scores_and_the_threshold_are_on_one_scale(sqlite_url: str, *, document: bool) -> None:
    with Memory.open(sqlite_url, policy={"embedder": "none"}) as memory:
        for text in SAID:
            memory.add(text, user_id="ann", session_id="s")
        if document:
            memory.resources.ingest(text="# Toner\n\nChange the toner of the printer in May.", title="Printer")
        abstained = set()
        for question in (
            "Where do I live?",
            "Who is Biscuit?",
            "绿茶",
            "printer toner",
            "quantum chromodynamics",
            "OK",
        ):
            found = memory.search(question, user_id="ann")
            packed = memory.retrieve(memory.plan(question, user_id="ann"))
            for listed in (found, packed):
                scores = [one.score for one in listed]
                assert scores == sorted(scores, reverse=True)
                assert all(0.0 <= score <= 1.0 for score in scores)
                assert listed.abstained == (max(scores, default=0.0) < listed.threshold), question
            abstained.add(found.abstained)
        assert abstained == {True, False}


def test_a_least_score_leaves_out_what_scores_less(sqlite_url: str) -> None:
    with Memory.open(sqlite_url, policy={"embedder": "none"}) as memory:
        for text in SAID:
            memory.add(text, user_id="ann", session_id="s", infer=False)
        found = memory.search("Where does Anna, my sister, live?", user_id="ann")
        assert len(found) > 1
        best = memory.search("Where does Anna, my sister, live?", user_id="ann", min_score=found[0].score)
        assert [one.item.id for one in best] == [found[0].item.id]
        none = memory.search("the printer", user_id="ann", min_score=1.0)
        assert (len(none), none.abstained) == (0, True)
        for wrong in (1.5, -0.1, "high", True, float("nan")):
            with pytest.raises(InputError, match="min_score"):
                memory.search("printer", user_id="ann", min_score=wrong)  # type: ignore[arg-type]


def test_answers_of_experience_are_on_the_same_scale(sqlite_url: str) -> None:
    with Memory.open(sqlite_url, policy={"embedder": "none"}) as memory:
        for n in range(24):
            memory.ingest(
                {
                    "situation": f"Deploying service {n} to the staging cluster",
                    "attempt": f"restarted pod {n} by hand",
                    "result": "still failing" if n % 2 else "healthy",
                    "label": "failure" if n % 2 else "success",
                    "source_type": "log",
                    "source_ref": f"log-{n}",
                }
            )
        memory.aggregate()
        seen = set()
        for situation, label in (
            ("Deploying service 7 to the staging cluster", None),
            ("restarted pod", None),
            ("baking sourdough bread in a cast-iron pot at home for the very first time", None),
            ("", "failure"),
        ):
            answer = memory.query(situation=situation, label=label)
            shown = (*answer.l1_evidence, *answer.l2_patterns, *answer.l3_principles)
            advised = (*answer.recommended_attempts, *answer.avoid)
            scores = [*(one.score for one in shown), *(one.score for one in advised)]
            assert all(0.0 <= score <= 1.0 for score in scores)
            assert answer.abstained == (max(scores, default=0.0) < answer.threshold), situation
            seen.add(answer.abstained)
        assert seen == {True, False}
        whole = memory.query(situation="Deploying service 7 to the staging cluster").l1_evidence
        best = memory.query(situation="Deploying service 7 to the staging cluster", min_score=whole[0].score)
        assert [one.item.id for one in best.l1_evidence] == [whole[0].item.id]
        none = memory.query(situation="restarted pod", min_score=1.0)
        assert (none.abstained, len(none.l1_evidence), len(none.recommended_attempts)) == (True, 0, 0)


def test_a_session_may_be_left_out(sqlite_url: str) -> None:
    with Memory.open(sqlite_url, policy={"embedder": "none"}) as memory:
        memory.add("Where is the printer?", user_id="ann", session_id="now")
        memory.add("I live in Ghent, where the printer is.", user_id="ann", session_id="now")
        memory.add("The printer is on floor 3.", user_id="ann", session_id="old")
        found = memory.search("Where is the printer of Ghent?", user_id="ann", exclude_session="now")
        assert [one.item.session_id for one in found] == ["old"]
        both = memory.search("Where is the printer?", user_id="ann", exclude_session="never")
        assert {one.item.session_id for one in both} == {"now", "old"}
