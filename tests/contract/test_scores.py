"""Scores are from 0 to 1, and a search abstains just where the best is below its threshold."""

import pytest

from phronesis import Memory
from phronesis.errors import InputError

SAID = [
    "I live in Ghent with my sister Anna.",
    "My dog Biscuit is a beagle.",
    "The release is planned for May.",
    "我喜欢喝绿茶。",
    "The printer is out of toner.",
    "OK.",
    "Noted, thanks.",
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
        whole = memory.query(situation="Deploying service 7 to the staging cluster")
        least = whole.l1_evidence[0].score
        best = memory.query(situation="Deploying service 7 to the staging cluster", min_score=least)
        assert [one.item.id for one in best.l1_evidence] == [whole.l1_evidence[0].item.id]
        assert all(one.score >= least for one in best.l2_patterns)
        none = memory.query(situation="restarted pod", min_score=1.0)
        assert (none.abstained, len(none.l1_evidence), len(none.recommended_attempts)) == (True, 0, 0)


def test_a_session_may_be_left_out(sqlite_url: str) -> None:
    with Memory.open(sqlite_url, policy={"embedder": "none"}) as memory:
        memory.add("Where is the printer?", user_id="ann", session_id="now")
        memory.add("The printer is on floor 3.", user_id="ann", session_id="old")
        found = memory.search("Where is the printer?", user_id="ann", exclude_session="now")
        assert [one.item.session_id for one in found] == ["old"]
