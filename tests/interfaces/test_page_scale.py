"""The benchmark of pages asks for every page that can be opened."""

import re

import pytest
from fastapi import FastAPI

from app_routes import routes
from phronesis.interfaces.authentication import Admission
from phronesis.interfaces.web.mounting import mount
from phronesis.memory import Memory
from phronesis_benchmarks.page_scale import run_page_scale

NOT_TIMED = {"/login", "/resources/view", "/style"}
"""Where no store is read, and the page of a document: the benchmark's store has none."""


@pytest.mark.slow
def test_every_page_is_timed_over_a_store_that_is_made_up() -> None:
    report = run_page_scale(memories=1_000, calls=1)
    assert report.database == "sqlite"
    assert all(0 < one.p50 < 60 and 0 < one.first < 60 for one in report.pages)
    table = report.to_markdown()
    assert table.count("\n") == len(report.pages) + 3
    assert re.search(r"\| home \| \d+ \| \d+ \|", table)
    assert report.to_dict()["pages"][0].keys() == {"page", "path", "first", "p50"}
    asked = {re.sub("/memories/.+", "/memories/{item_id}", one.path.partition("?")[0]) for one in report.pages}
    assert asked == _paths() - NOT_TIMED


def _paths() -> set[str]:
    app = FastAPI(openapi_url=None)
    with Memory.open("sqlite://", policy={"embedder": "none"}) as memory:
        mount(app, Admission(memory, keys_required=False))
    return {one.path for one in routes(app.routes) if "GET" in (one.methods or ())}
