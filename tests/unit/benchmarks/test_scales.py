"""Each benchmark of size runs, at a size that takes a second, and tells figures that can be."""

from collections.abc import Callable
from typing import Any

import pytest

from phronesis.errors import InputError
from phronesis_benchmarks.compose_scale import run_compose_scale
from phronesis_benchmarks.experience_scale import run_experience_scale
from phronesis_benchmarks.http_load import run_http_load
from phronesis_benchmarks.reasoning_scale import run_reasoning_scale
from phronesis_benchmarks.scale import run_scale

RUNS: dict[str, tuple[Callable[[str], Any], tuple[str, ...]]] = {
    "scale": (lambda url: run_scale(items=100, calls=5, url=url), ("search.p50", "compose.p95", "verify_equal")),
    "experience": (
        lambda url: run_experience_scale(events=80, calls=4, url=url),
        ("patterns", "aggregate.wall", "grouped.p50", "query.p50"),
    ),
    "reasoning": (
        lambda url: run_reasoning_scale(items=6, claims=2, runs=2, calls=5, url=url),
        ("claims_per_second", "learn.p50", "encoding.p95", "judged"),
    ),
    "compose": (
        lambda url: run_compose_scale(items=100, sections=40, calls=5, url=url),
        ("retrieve.p50", "sections", "memory_places"),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_a_small_run_measures_every_figure(sqlite_url: str, name: str) -> None:
    run, figures = RUNS[name]
    report = run(sqlite_url)
    for figure in figures:
        value = report
        for part in figure.split("."):
            value = getattr(value, part)
        assert value > 0, figure
    assert report.to_dict()["database"] == report.database == "sqlite"
    assert report.to_markdown().count("\n|") > 2


def test_what_cannot_be_measured_is_refused() -> None:
    for wrong in ({"clients": 0}, {"seconds": 10_000.0}, {"memories": 10**9}):
        with pytest.raises(InputError) as refusal:
            run_http_load(**wrong)
        assert refusal.value.field == next(iter(wrong))
    with pytest.raises(InputError, match="items"):
        run_scale(items=10, calls=5)
