from pathlib import Path

import pytest

from phronesis_benchmarks.experience_scale import run_experience_scale


@pytest.mark.slow
def test_a_small_run_measures_every_figure(tmp_path: Path) -> None:
    seen: list[str] = []
    report = run_experience_scale(
        events=80,
        calls=4,
        url=f"sqlite:///{tmp_path / 'experience.db'}",
        on_progress=lambda what, *_: seen.append(what),
    )
    assert (report.database, report.events) == ("sqlite", 80)
    assert 5 <= report.patterns <= 20  # ten topics of some eight events
    assert min(report.ingest.wall, report.aggregate.wall, report.added.p50, report.grouped.p50, report.query.p50) > 0
    assert report.together.first == pytest.approx(report.added.first + report.grouped.first)
    assert report.to_dict()["query"]["p95"] == report.query.p95
    table = report.to_markdown()
    assert "| one event more, with its vector | " in table
    assert f"into {report.patterns} patterns" in table
    assert set(seen) == {"adding events", "grouping them all", "adding one event", "asking"}
