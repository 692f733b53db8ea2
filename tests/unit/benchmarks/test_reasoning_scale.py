from pathlib import Path

import pytest

from phronesis_benchmarks.reasoning_scale import run_reasoning_scale


@pytest.mark.slow
def test_a_small_run_measures_every_figure(tmp_path: Path) -> None:
    seen: list[str] = []
    report = run_reasoning_scale(
        items=30,
        claims=6,
        runs=3,
        calls=5,
        url=f"sqlite:///{tmp_path / 'bank.db'}",
        on_progress=lambda what, *_: seen.append(what),
    )
    assert (report.database, report.items, report.claims) == ("sqlite", 30, 6)
    assert list(report.searches) == ["words", "words, scoped", "vectors", "vectors, scoped"]
    assert min(report.claims_per_second, report.learn.p50, report.encoding.p95, report.judged) > 0
    assert report.to_dict()["searches"]["vectors"]["p50"] == report.searches["vectors"].p50
    table = report.to_markdown()
    assert "| learn on 24 candidates | " in table
    assert "rebuild_claim_index: " in table
    assert "adding items" in seen
