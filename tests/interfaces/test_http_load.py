"""The measurement of a server: it starts one, calls it, counts, and stays within its bounds."""

from typing import Any

import pytest

from phronesis.errors import InputError
from phronesis.memory import Memory
from phronesis_benchmarks.http_load import run_http_load


@pytest.mark.slow
def test_a_server_is_measured(sqlite_url: str, call: Any) -> None:
    told = call(
        "bench",
        "http",
        "--url",
        sqlite_url,
        "--memories",
        "40",
        "--calls",
        "5",
        "--clients",
        "3",
        "--seconds",
        "1",
        "--json",
    ).json
    assert told["requests"] > 0
    assert told["errors"] == {}
    assert 0 < told["p50"] <= told["p99"]
    assert 0 < told["empty_p50"] < told["http_p50"]
    assert told["start"] > 0
    with Memory.open(sqlite_url, policy={"embedder": "none"}) as memory:
        assert not memory.admin.keys.any_active()
        assert len(memory.get_all(user_id="u0", limit=50)) >= 2


def test_it_is_bounded() -> None:
    cases: list[dict[str, Any]] = [{"clients": 0}, {"clients": 5_000}, {"seconds": 10_000.0}, {"memories": 10**9}]
    for wrong in cases:
        with pytest.raises(InputError) as refusal:
            run_http_load(**wrong)
        assert refusal.value.field == next(iter(wrong))
