"""LoCoMo is read, systems are run and scored on it, and weights are fitted to it."""

import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from phronesis import Memory
from phronesis.errors import InputError
from phronesis.models.embedder import HashingEmbedder
from phronesis_benchmarks.cached_embedder import CachedEmbedder
from phronesis_benchmarks.datasets import Conversation, load_locomo
from phronesis_benchmarks.locomo import run_locomo
from phronesis_benchmarks.metrics import Ranking, paired_difference, score, summarise
from phronesis_benchmarks.plot import write
from phronesis_benchmarks.refit import run_refit


def locomo_sample() -> dict[str, Any]:
    """Return two sessions with the quirks of the real file: joined, padded, mistyped and unknown ids, a photo."""
    return {
        "sample_id": "talk-1",
        "conversation": {
            "speaker_a": "Ines",
            "speaker_b": "Otto",
            "session_10_date_time": "9:05 am on 2 June, 2024",
            "session_10": [
                {"speaker": "Otto", "dia_id": "D10:1", "text": "My canary sings every morning."},
                {"speaker": "Ines", "dia_id": "D10:2", "text": "", "blip_caption": "a yellow canary in a cage"},
            ],
            "session_2_date_time": "8:30 pm on 14 May, 2024",
            "session_2": [
                {"speaker": "Ines", "dia_id": "D2:1", "text": "I planted basil on the balcony."},
                {"speaker": "Otto", "dia_id": "D2:2", "text": "Nice. I sold the red bicycle yesterday."},
                {"speaker": "Otto", "dia_id": "D2:3", "text": " "},
            ],
            "session_11_date_time": "8:30 pm on 14 July, 2024",
        },
        "qa": [
            {"question": "Which bicycle was sold?", "answer": "The red one", "evidence": ["D2:2"], "category": 4},
            {"question": "Who keeps a canary?", "answer": "Otto", "evidence": ["D10:01; D2:1", "D2:1"], "category": 1},
            {"question": "When was it planted?", "answer": 2024, "evidence": ["D:2:1", "D", "D9:9"], "category": 2},
            {"question": "Which car?", "adversarial_answer": "none", "evidence": ["D2:1"], "category": 5},
            {"question": "Does Otto like birds?", "answer": "Yes", "evidence": [], "category": 3},
        ],
    }


@pytest.fixture
def locomo_file(tmp_path: Path) -> Path:
    path = tmp_path / "talks.json"
    path.write_text(json.dumps([locomo_sample()]), encoding="utf-8")
    return path


@pytest.fixture
def conversation(locomo_file: Path) -> Conversation:
    return load_locomo(locomo_file)[0]


def test_turns_and_evidence_are_read_with_the_quirks_of_the_file(conversation: Conversation) -> None:
    turn = conversation.turns[1]
    assert (turn.speaker, turn.role, turn.session_id) == ("Otto", "assistant", "session_2")
    assert turn.occurred_at == datetime(2024, 5, 14, 20, 30, tzinfo=UTC)
    assert turn.line() == "Otto: Nice. I sold the red bicycle yesterday."
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


def test_a_run_measures_ours_by_both_verbs_and_the_peers(locomo_file: Path) -> None:
    done: list[str] = []
    embedder = CachedEmbedder(HashingEmbedder())
    report = run_locomo(
        locomo_file, peers=["bm25", "bm25"], embedder=embedder, on_progress=lambda what, *_: done.append(what)
    )
    names = ["phronesis-add", "phronesis-commit_turn", "phronesis-commit_turn-later", "bm25"]
    assert [outcome.name for outcome in report.outcomes] == names
    assert {outcome.encoded_while_timed for outcome in report.outcomes} == {0}
    assert (report.setting.turns, report.setting.questions, report.setting.dropped) == (4, 3, 3)
    assert [outcome.rankings[0].ranked[0] for outcome in report.outcomes] == ["D2:2"] * 4
    assert dict.fromkeys(done) == dict.fromkeys([embedder.name, *(outcome.name for outcome in report.outcomes)])


# The plot of the README says what the table of the benchmarks says.


DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "benchmarks.md").read_text("utf-8")


def test_it_is_drawn_from_the_table(tmp_path: Path) -> None:
    (tmp_path / "benchmarks.md").write_text(PAGE, "utf-8")
    assert write(tmp_path).read_text("utf-8") == (DOCS / "images" / "recall.svg").read_text("utf-8"), (
        "make it anew: python -m phronesis_benchmarks.plot docs"
    )


def test_a_fit_comes_back_as_a_policy_that_ranks(locomo_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "weights.json"
    told: list[tuple[str, int, int]] = []
    report = run_refit([locomo_file], words=True, l2=1.0, out=out, on_progress=lambda *step: told.append(step))
    assert told == [("talks", 1, 1)]
    policy = json.loads(out.read_text("utf-8")) | {"embedder": "none"}
    with Memory.open("sqlite://", tenant="t", policy=policy) as memory:
        memory.add("green tea", user_id="u")
        explained = memory.search("tea", user_id="u", explain=True).explain or {}
    assert explained["formula"]["name"] == "own"
    assert explained["formula"]["weights"] == report.fitted.weights
    dense = run_refit([locomo_file], embedder=HashingEmbedder())
    assert set(dense.to_policy()["ranking"]) == {"dense"}
