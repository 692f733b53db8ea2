"""Results of one session make room for others that are as good."""

from hypothesis import given
from hypothesis import strategies as st

from phronesis.recall.scoring.weights import diversify

RANKED = st.lists(st.tuples(st.floats(-5, 5, allow_nan=False), st.sampled_from("abc")), max_size=30).map(
    lambda rows: sorted(rows, key=lambda row: -row[0])
)


def test_each_better_one_of_its_session_takes_something_off() -> None:
    scores, sessions = [3.0, 2.95, 2.9, 2.88], ["a", "a", "a", "b"]
    picked = diversify(scores, sessions, crowding=0.05, limit=4)
    assert [position for position, _ in picked] == [0, 1, 3, 2]
    assert [round(loss, 6) for _, loss in picked] == [0, 0.05, 0, 0.1]


@given(RANKED, st.floats(0, 1))
def test_all_are_given_once_and_what_is_left_of_scores_falls(rows: list[tuple[float, str]], crowding: float) -> None:
    scores, groups = [score for score, _ in rows], [group for _, group in rows]
    picked = diversify(scores, groups, crowding=crowding, limit=len(rows))
    assert sorted(position for position, _ in picked) == list(range(len(rows)))
    left = [scores[position] - loss for position, loss in picked]
    assert left == sorted(left, reverse=True)
    for nth, (position, loss) in enumerate(picked):
        before = sum(groups[other] == groups[position] for other, _ in picked[:nth])
        assert loss == crowding * before
