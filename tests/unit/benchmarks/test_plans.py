"""Plans are compared with labelled messages, each planned at its own time."""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Self

import pytest
from click.testing import CliRunner

from phronesis.core.retrieval_plan import RetrievalPlan, TimeWindow
from phronesis_benchmarks.commands import bench
from phronesis_benchmarks.plans import days_of, load_messages, run_plans

NOW = "2026-03-11T09:00:00+00:00"


class Planner:
    """Looks for "manual" and 手册, and takes "today" and 今天 for times: stands in for the memory."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock

    @classmethod
    def open(cls, _url: str, *, clock: Callable[[], datetime], **_policy: object) -> Self:
        return cls(clock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        return None

    def plan(self, message: str) -> RetrievalPlan:
        at = self._clock()
        midnight = at.replace(hour=0, minute=0)
        window = TimeWindow(midnight, at) if "today" in message or "今天" in message else None
        needed = "manual" in message or "手册" in message
        return RetrievalPlan(
            "p", message, "lookup" if needed else "recall", "en", (), time=window, resources_needed=needed
        )


def message(text: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": text,
        "message": text,
        "now": NOW,
        "language": "en",
        "resources_needed": False,
        "time": None,
        "intent": "recall",
    } | fields


MESSAGES = (
    message("what is in the manual?", resources_needed=True, intent="lookup"),
    message("where did I put the manual?"),
    message("what did I say today?", time=["2026-03-11", "2026-03-12"]),
    message("手册怎么说？", language="zh", resources_needed=True, intent="how_to"),
    message("我今天说了什么？", language="zh", time=["2026-03-11", "2026-03-12"]),
    message("昨天呢？", language="zh", time=["2026-03-10", "2026-03-11"]),
)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("phronesis_benchmarks.plans.Memory", Planner)
    return written(tmp_path, *MESSAGES)


def written(folder: Path, *rows: dict[str, Any]) -> Path:
    """Write labelled messages, with an empty line between."""
    path = folder / "messages.jsonl"
    path.write_text("\n\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "utf-8")
    return path


def test_shares_are_counted_by_language_and_in_all(data: Path) -> None:
    seen: list[str] = []
    english, chinese, every = run_plans([data], on_progress=lambda what, *_: seen.append(what)).scores
    assert (english.language, chinese.language, every.language) == ("en", "zh", "all")
    assert (english.messages, chinese.messages, every.messages) == (3, 3, 6)
    assert (english.resources, english.precision, english.recall) == (2 / 3, 0.5, 1.0)
    assert (chinese.resources, chinese.precision, chinese.recall) == (1.0, 1.0, 1.0)
    assert (english.time, english.time_given, english.time_null) == (1.0, 1.0, 1.0)
    assert (chinese.time, chinese.time_given, chinese.time_null) == (2 / 3, 0.5, 1.0)
    assert (english.intent, chinese.intent, every.intent) == (2 / 3, 2 / 3, 2 / 3)
    assert every.time == 5 / 6
    assert seen == ["messages.jsonl"] * 6


@pytest.mark.parametrize(
    ("since", "until", "days"),
    [
        ("2026-03-02T00:00:00+00:00", "2026-03-09T00:00:00+00:00", ("2026-03-02", "2026-03-09")),
        ("2026-03-02T00:00:00+00:00", "2026-03-11T09:00:00+00:00", ("2026-03-02", "2026-03-12")),
        ("2026-03-02T08:00:00+08:00", "2026-03-09T08:00:00+08:00", ("2026-03-02", "2026-03-09")),
    ],
)
def test_a_window_is_the_days_it_touches(since: str, until: str, days: tuple[str, str]) -> None:
    window = TimeWindow(datetime.fromisoformat(since), datetime.fromisoformat(until))
    assert days_of(window) == tuple(map(date.fromisoformat, days))
    assert days_of(None) is None


def test_a_message_is_read_as_it_is_labelled(tmp_path: Path) -> None:
    [read] = load_messages(written(tmp_path, MESSAGES[4]))
    assert read.now == datetime(2026, 3, 11, 9, tzinfo=UTC)
    assert read.time == (date(2026, 3, 11), date(2026, 3, 12))


def test_the_command_tells_it(data: Path) -> None:
    run = CliRunner()
    assert "| messages.jsonl | all | 6 | 0.833 |" in run.invoke(bench, ["plans", "--data", str(data)]).stdout
    told = json.loads(run.invoke(bench, ["plans", "--data", str(data), "--json"]).stdout)
    assert [one["language"] for one in told["scores"]] == ["en", "zh", "all"]
