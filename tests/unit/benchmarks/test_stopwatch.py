import sys
import time
from pathlib import Path

import pytest

from phronesis_benchmarks.stopwatch import Duration, PeakMemory, Stopwatch, per_second, resident_megabytes


def test_sleeping_takes_wall_time_only() -> None:
    watch = Stopwatch()
    time.sleep(0.05)
    taken = watch.read()
    assert taken.wall >= 0.05
    assert taken.cpu < 0.05


def test_durations_add_up() -> None:
    assert Duration(1, 2) + Duration(3, 4) == Duration(4, 6)


def test_a_rate_never_divides_by_zero() -> None:
    assert per_second(10, 2.0) == 5
    assert per_second(10, 0.0) > 0


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_the_peak_is_seen_though_it_is_given_back() -> None:
    with PeakMemory() as memory:
        block = bytearray(b"x" * 60_000_000)
        time.sleep(0.1)
        del block
    assert memory.before is not None
    assert memory.peak is not None
    assert memory.peak - memory.before > 40


def test_without_proc_the_memory_is_unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("phronesis_benchmarks.stopwatch._STATM", tmp_path / "missing")
    assert resident_megabytes() is None
    with PeakMemory() as memory:
        pass
    assert memory.peak is None
