"""The benchmark of retrieving and composing, at a size that takes a second."""

from typing import Any

import pytest

from custom_store import registered
from phronesis import Memory
from phronesis_benchmarks.compose_scale import run_compose_scale
from shelved import HANDLERS, shelve


def ingest(memory: Memory, text: str, uri: str, title: str) -> None:
    parts = dict(part.split("\n\n", 1) for part in text.split("\n\n## ")[1:])
    shelve(memory, uri, title, parts, user_id="scale")


@pytest.mark.slow
def test_a_small_run_measures_both_stores(tmp_path: Any) -> None:
    steps: set[str] = set()
    with registered(HANDLERS):
        report = run_compose_scale(
            items=100,
            sections=40,
            calls=5,
            url=f"sqlite:///{tmp_path / 'c.db'}",
            ingest=ingest,
            on_progress=lambda step, _n, _of: steps.add(step),
        )
    assert (report.database, report.items, report.sections) == ("sqlite", 100, 40)
    assert report.retrieve.p50 > 0
    assert 0 < report.memory_places < 1
    assert {"retrieving", "composing", "ingesting documents"} <= steps
    assert set(report.to_dict()["compose"]) == {"first", "p50", "p95", "cpu_p50", "cpu_p95"}
    assert "| compose_context |" in report.to_markdown()
