import math

import pytest

from phronesis_benchmarks.bm25 import Bm25System
from phronesis_benchmarks.datasets import Turn


def turn(number: int, text: str) -> Turn:
    return Turn(f"D1:{number}", "session_1", "Zoe", "user", text, None)


def test_scores_by_hand() -> None:
    # Two documents of 2 and 3 tokens ("zoe" included): "fig" occurs twice in the longer, "plum" once in the shorter.
    system = Bm25System()
    system.add([turn(1, "plum"), turn(2, "fig fig")])
    idf = math.log(1 + 1.5 / 1.5)
    short = idf / (1 + 1.2 * (0.25 + 0.75 * 2 / 2.5))
    long = idf * 2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2.5))
    assert long > short
    assert system.search("plum fig", 2) == ["D1:2", "D1:1"]
    assert 2 * short > long  # a word asked twice counts twice
    assert system.search("plum plum fig", 2) == ["D1:1", "D1:2"]
    assert short == pytest.approx(0.343, abs=0.001)
