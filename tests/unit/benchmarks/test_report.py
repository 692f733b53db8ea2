import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from phronesis_benchmarks.cached_embedder import EncodingCost
from phronesis_benchmarks.metrics import Ranking, score, summarise
from phronesis_benchmarks.outcome import IngestCost, Outcome, SearchCost
from phronesis_benchmarks.report import BenchReport, Setting
from phronesis_benchmarks.stopwatch import Duration

SETTING = Setting(
    data="talks.json",
    corrected=False,
    conversations=1,
    turns=1000,
    questions=2,
    dropped=3,
    embedder="words",
    encoding=EncodingCost(100, Duration(4.0, 5.0)),
    seed=7,
    phronesis="1.2.3",
    python="3.11.7",
    platform="Linux x86_64",
    cpus=2,
)


def outcome(name: str, ranked: Sequence[str]) -> Outcome:
    rankings = tuple(
        Ranking("talk", f"q{number}", category, tuple(ranked), ("a",), score(ranked, ["a"]))
        for number, category in enumerate(["temporal", "multi-hop"])
    )
    cost = IngestCost(1000, 10, Duration(2.0, 1.0), Duration(2.0, 1.0))
    return Outcome(
        name=name,
        label="a fake",
        durable=name == "ours",
        quality=summarise(rankings, seed=7),
        ingest={"session": cost, "message": cost},
        search=SearchCost(1.25, 3.5, 1.0),
        memory_mb=100.0,
        peak_mb=150.0,
        encoded_while_timed=0,
        rankings=rankings,
    )


@pytest.fixture
def report() -> BenchReport:
    return BenchReport(SETTING, (outcome("ours", ["a"]), outcome("other", ["z"])))


def rows(markdown: str, name: str) -> list[list[str]]:
    lines = [line for line in markdown.splitlines() if line.startswith(f"| {name} ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_tables_say_what_was_found_and_what_it_cost(report: BenchReport) -> None:
    quality, costs = rows(report.to_markdown(), "other")
    assert quality[:6] == ["other", "0.000", "0.000–0.000", "-1.000 (-1.000 to -1.000)", "0.000", "0.000"]
    assert costs == [
        "other",
        "a fake",
        "no",
        "500 [1,000] → 250",
        "500 [1,000] → 250",
        "1.2 ms",
        "3.5 ms",
        "150 MB (+50)",
    ]


def test_an_encoder_that_ran_while_timed_is_confessed(report: BenchReport) -> None:
    assert "too high" not in report.to_markdown()
    leaking = replace(outcome("other", ["a"]), encoded_while_timed=4, peak_mb=None)
    text = BenchReport(SETTING, (outcome("ours", ["a"]), leaking)).to_markdown()
    assert "ran inside measured intervals of other: their times are too high" in text
    assert rows(text, "other")[1][-1] == "unknown"


def test_the_json_form_holds_everything(report: BenchReport) -> None:
    plain = json.loads(json.dumps(report.to_dict()))
    assert plain["setting"]["encoding"]["texts_per_second"] == 25
    assert plain["setting"]["seed"] == 7
    assert [system["name"] for system in plain["systems"]] == ["ours", "other"]
    assert plain["recall@10_minus_first"]["other"]["mean"] == -1
    assert plain["systems"][0]["rankings"][1]["ranked"] == ["a"]
