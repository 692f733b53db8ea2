import sys
import time

import pytest

from phronesis_benchmarks.stopwatch import Duration, PeakMemory


def test_durations_add_up() -> None:
    assert Duration(1, 2) + Duration(3, 4) == Duration(4, 6)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_the_peak_is_seen_though_it_is_given_back() -> None:
    with PeakMemory() as memory:
        block = bytearray(b"x" * 60_000_000)
        time.sleep(0.1)
        del block
    assert memory.before is not None
    assert memory.peak is not None
    assert memory.peak - memory.before > 40
