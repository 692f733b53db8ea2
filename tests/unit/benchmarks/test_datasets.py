import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from phronesis.errors import InputError
from phronesis_benchmarks.datasets import Conversation, load_locomo
from phronesis_benchmarks.metrics import Ranking, paired_difference, score, summarise


def test_a_turn_has_its_speaker_role_and_session_date(conversation: Conversation) -> None:
    turn = conversation.turns[1]
    assert (turn.speaker, turn.role, turn.session_id) == ("Otto", "assistant", "session_2")
    assert conversation.turns[0].role == "user"
    assert turn.occurred_at == datetime(2024, 5, 14, 20, 30, tzinfo=UTC)
    assert turn.line() == "Otto: Nice. I sold the red bicycle yesterday."


def test_evidence_is_split_unpadded_and_without_repeats(conversation: Conversation) -> None:
    assert [question.evidence for question in conversation.questions] == [("D2:2",), ("D10:1", "D2:1"), ("D2:1",)]


def test_corrections_replace_the_evidence(locomo_file: Path, tmp_path: Path) -> None:
    fixes = tmp_path / "errors.json"
    row = {"question_id": "locomo_0_qa0", "question": "Which bicycle was sold?", "correct_evidence": ["D10:2"]}
    fixes.write_text(json.dumps([row]), encoding="utf-8")
    questions = load_locomo(locomo_file, fixes)[0].questions
    assert [question.evidence for question in questions][:2] == [("D10:2",), ("D10:1", "D2:1")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{not json", "not JSON"),
        ("[]", "must hold a list"),
        ("[1]", "sample 0 .* not in LoCoMo's form"),
        ('[{"qa": []}]', "KeyError: 'conversation'"),
        (
            '[{"sample_id": "x", "conversation": {}, "qa": [{"question": "q", "category": 9, "evidence": []}]}]',
            "KeyError: 9",
        ),
    ],
)
def test_a_wrong_file_says_what_is_wrong(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "data.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        load_locomo(path)
    assert caught.value.field == "data"


def ranking(question_id: str, ranked: Sequence[str], evidence: Sequence[str], category: str = "x") -> Ranking:
    return Ranking("talk", question_id, category, tuple(ranked), tuple(evidence), score(ranked, evidence))


def test_scores_by_hand() -> None:
    # Evidence a, b, c; a at rank 2, b at rank 6, c not found.
    found = score(["z1", "a", "z2", "z3", "z4", "b"], ["a", "b", "c"])
    assert found["recall@1"] == 0
    assert found["recall@5"] == pytest.approx(1 / 3)
    assert found["recall@10"] == pytest.approx(2 / 3)
    assert (found["hit@1"], found["hit@5"]) == (0, 1)
    assert found["mrr"] == 0.5
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert found["ndcg@10"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(7)) / ideal)


def test_the_interval_is_that_of_a_proportion_and_repeats_with_its_seed() -> None:
    rows = [ranking(f"q{n}", ["a"] if n % 2 else ["z"], ["a"]) for n in range(400)]
    estimate = summarise(rows, seed=1)["all"]["hit@1"]
    half_width = 1.96 * math.sqrt(0.25 / 400)
    assert estimate.mean == 0.5
    assert estimate.low == pytest.approx(0.5 - half_width, abs=0.01)
    assert estimate.high == pytest.approx(0.5 + half_width, abs=0.01)
    assert estimate == summarise(rows, seed=1)["all"]["hit@1"]
    assert estimate != summarise(rows, seed=2)["all"]["hit@1"]


def test_a_paired_difference_pairs_by_question() -> None:
    first = [ranking("q1", ["a"], ["a"]), ranking("q2", ["z"], ["a"]), ranking("q9", ["a"], ["a"])]
    second = [ranking("q2", ["a"], ["a"]), ranking("q1", ["a"], ["a"])]
    difference = paired_difference(first, second, "recall@10", seed=0)
    assert (difference.mean, difference.count) == (0.5, 2)
    assert 0 <= difference.low <= difference.high <= 1
