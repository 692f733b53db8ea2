"""Fitting and leaving out the ranking's features: figures that can be checked by hand, and files that come back."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from phronesis import Memory
from phronesis.recall.scoring.weights import A12, B12
from phronesis_benchmarks.cached_embedder import CachedEmbedder
from phronesis_benchmarks.candidates import NAMES, CandidateQuestion, as_vector, collect
from phronesis_benchmarks.fitting import run_refit
from phronesis_benchmarks.refit import fit, refit
from unit.benchmarks.conftest import WordEmbedder, locomo_sample

ONE_HOT = np.eye(len(NAMES))


def asked(
    gold: str, *, group: str = "g", conversation: str = "c", split: str = "", right: str = "photo"
) -> CandidateQuestion:
    """Give a question whose evidence is told by one feature, among two candidates."""
    table = np.stack([ONE_HOT[NAMES.index(right)], ONE_HOT[NAMES.index("asks")]])
    return CandidateQuestion(group, conversation, split, (gold,), ("yes", "no"), ("s1", "s1"), table)


def test_the_feature_that_tells_the_evidence_gains_weight() -> None:
    weights = fit([asked("yes")], {"photo": 0.0, "asks": 0.0}, l2=0.1)
    assert weights[NAMES.index("photo")] > 0 > weights[NAMES.index("asks")]
    assert not weights[[n for n, name in enumerate(NAMES) if name not in {"photo", "asks"}]].any()


def test_a_test_part_is_never_fitted_on() -> None:
    dev = [asked("yes", conversation=f"c{n}", split="dev") for n in range(3)]
    report = refit([*dev, asked("no", conversation="d", split="test")], dense=False)
    assert report.fitted.weights["photo"] > A12.weights["photo"]
    assert set(report.figures["g"]) == {"shipped", "fitted, left out"}
    assert report.figures["g, test"]["fitted"]["recall@1"] == 0
    assert "3 questions of g" in report.fitted.provenance
    assert report.to_dict()["shipped"]["name"] == "A12"
    assert "| g, test | fitted | " in report.to_markdown()


def written(path: Path, sample: Any) -> Path:
    path.write_text(json.dumps([sample]), encoding="utf-8")
    return path


def test_what_is_collected_ranks_as_the_search_does(tmp_path: Path) -> None:
    from phronesis_benchmarks.datasets import load_locomo  # noqa: PLC0415 - beside its one use

    [conversation] = load_locomo(written(tmp_path / "talk.json", locomo_sample()))
    for embedder, formula in ((None, A12), (CachedEmbedder(WordEmbedder([])), B12)):
        for one, question in zip(collect("talk", [conversation], embedder), conversation.questions, strict=True):
            order = np.argsort(-(one.features @ as_vector(formula.weights)), kind="stable")
            policy = {"embedder": "none"} if embedder is None else None
            with Memory.open("sqlite://", tenant="t", policy=policy, embedder=embedder) as memory:
                for turns in conversation.sessions():
                    messages = [
                        {
                            "id": turn.id,
                            "role": turn.role,
                            "name": turn.speaker,
                            "content": turn.text,
                            "created_at": str(turn.occurred_at),
                        }
                        for turn in turns
                    ]
                    memory.commit_turn(turns[0].session_id, {"messages": messages}, user_id="u")
                memory.flush()
                found = memory.search(question.text, user_id="u", limit=200)
            assert [one.turns[n] for n in order] == [evidence.item.message_id for evidence in found]


def test_a_fit_comes_back_as_a_policy_that_ranks(tmp_path: Path) -> None:
    file, out = written(tmp_path / "talk.json", locomo_sample()), tmp_path / "weights.json"
    told: list[tuple[str, int, int]] = []
    report = run_refit([file], words=True, l2=1.0, out=out, on_progress=lambda *step: told.append(step))
    assert told == [("talk", 1, 1)]
    policy = json.loads(out.read_text("utf-8")) | {"embedder": "none"}
    with Memory.open("sqlite://", tenant="t", policy=policy) as memory:
        memory.add("green tea", user_id="u")
        explained = memory.search("tea", user_id="u", explain=True).explain or {}
    assert explained["formula"]["name"] == "own"
    assert explained["formula"]["weights"] == report.fitted.weights
    dense = run_refit([file], embedder=WordEmbedder([]))
    assert set(dense.to_policy()["ranking"]) == {"dense"}
