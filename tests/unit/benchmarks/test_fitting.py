"""Fitting and leaving out the ranking's features: figures that can be checked by hand, and files that come back."""

import json
from pathlib import Path
from typing import Any

from phronesis import Memory
from phronesis_benchmarks.refit import run_refit
from unit.benchmarks.conftest import WordEmbedder, locomo_sample


def written(path: Path, sample: Any) -> Path:
    path.write_text(json.dumps([sample]), encoding="utf-8")
    return path


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
