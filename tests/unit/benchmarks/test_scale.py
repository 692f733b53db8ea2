from pathlib import Path

import pytest

from phronesis.errors import InputError
from phronesis_benchmarks.scale import run_scale


@pytest.mark.slow
def test_a_small_run_measures_every_figure(tmp_path: Path) -> None:
    report = run_scale(items=100, calls=5, url=f"sqlite:///{tmp_path / 'scale.db'}")
    assert report.verify_equal
    assert (report.database, report.items) == ("sqlite", 100)
    assert min(report.ingest_per_second, report.search.p50, report.compose.p95, report.import_milliseconds) > 0
    assert report.compose.p50 <= report.compose.p95
    table = report.to_markdown()
    assert "| compose_context | " in table
    assert "| get_all, 100 items of any page | " in table
    assert "equal: True" in table
    assert report.to_dict()["search"]["p50"] == report.search.p50


@pytest.mark.parametrize(("items", "calls"), [(10, 5), (100, 3)])
def test_what_cannot_be_measured_is_refused(items: int, calls: int) -> None:
    with pytest.raises(InputError) as caught:
        run_scale(items=items, calls=calls)
    assert caught.value.field == "items"
