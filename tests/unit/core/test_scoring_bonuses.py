"""What lifts a result: bounds, and that a bonus never lowers a score nor turns equals round."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.recall.scoring.packed_features import (
    BONUSES,
    IMPORTANCE,
    RECENCY,
    TRAIT_BOOSTS,
    bonus_shares,
)
from unit.core.lanes import floats

BASES = st.floats(-60, 60, width=32)
EACH = {"recency": RECENCY, "importance": IMPORTANCE, "trait_boost": max(TRAIT_BOOSTS.values())}


def final(base: float, **bonuses: float) -> float:
    shares = bonus_shares(floats(base), {name: floats(bonuses.get(name, 0.0)) for name in BONUSES})
    return base + sum(float(share[0]) for share in shares.values())


@pytest.mark.parametrize("base", [0.5, 4.0])
def test_above_nought_it_is_the_formula_of_the_requirement(base: float) -> None:
    given_bonuses = {"recency": 0.1, "importance": 0.05, "trait_boost": 0.25}
    assert final(base, **given_bonuses) == pytest.approx(base * (1 + 0.1 + 0.05 + 0.25))


@given(BASES, st.sampled_from(BONUSES), st.data())
def test_more_of_a_bonus_never_lowers_a_score(base: float, name: str, data: st.DataObject) -> None:
    others = {other: data.draw(st.floats(0, most)) for other, most in EACH.items() if other != name}
    less, more = sorted(data.draw(st.tuples(st.floats(0, EACH[name]), st.floats(0, EACH[name]))))
    slack = 1e-5 * abs(base)
    assert base <= final(base, **others, **{name: less}) + slack
    assert final(base, **others, **{name: less}) <= final(base, **others, **{name: more}) + slack
