from pathlib import Path

import pytest

pytest.importorskip("phronesis.memory", reason="the public API is not there yet")

from phronesis_benchmarks.bench import run_locomo
from phronesis_benchmarks.cached_embedder import CachedEmbedder


def test_a_run_measures_ours_by_both_verbs_and_the_peers(locomo_file: Path, embedder: CachedEmbedder) -> None:
    done: list[str] = []
    report = run_locomo(
        locomo_file, peers=["bm25", "bm25"], embedder=embedder, on_progress=lambda what, *_: done.append(what)
    )
    names = ["phronesis-add", "phronesis-commit_turn", "phronesis-commit_turn-later", "bm25"]
    assert [outcome.name for outcome in report.outcomes] == names
    assert {outcome.encoded_while_timed for outcome in report.outcomes} == {0}
    assert (report.setting.turns, report.setting.questions, report.setting.dropped) == (4, 3, 3)
    assert [outcome.rankings[0].ranked[0] for outcome in report.outcomes] == ["D2:2"] * 4
    assert dict.fromkeys(done) == dict.fromkeys(["words", *(outcome.name for outcome in report.outcomes)])
