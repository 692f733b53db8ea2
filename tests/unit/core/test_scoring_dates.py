"""How well a day fits the time that is asked for."""

from datetime import date

import numpy as np
import pytest

from phronesis.recall.scoring.signals import DayRange, date_fit

MAY_10 = DayRange(date(2023, 5, 10).toordinal(), date(2023, 5, 10).toordinal())
MAY = DayRange(date(2023, 5, 1).toordinal(), date(2023, 5, 31).toordinal())
SPRING = DayRange(date(2023, 3, 1).toordinal(), date(2023, 5, 31).toordinal())
YEAR = DayRange(date(2023, 1, 1).toordinal(), date(2023, 12, 31).toordinal())


def test_a_day_fits_by_its_distance() -> None:
    cases: list[tuple[DayRange, date, float]] = [
        (MAY_10, date(2023, 5, 7), 1),
        (MAY_10, date(2023, 5, 18), 0.6),
        (MAY_10, date(2023, 6, 10), 0.6),
        (MAY_10, date(2023, 5, 1), 0.2),
        (MAY, date(2023, 5, 31), 1),
        (MAY, date(2023, 7, 2), 0),
        (SPRING, date(2023, 4, 2), 1),
        (YEAR, date(2024, 1, 1), 0),
    ]
    for asked, said, fit in cases:
        assert date_fit([asked], np.array([said.toordinal()])).tolist() == pytest.approx([fit]), asked
