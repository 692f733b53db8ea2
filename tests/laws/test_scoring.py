"""Scoring: published weights, scores from 0 to 1, abstention, dates and bonuses at their boundaries."""

import math
from datetime import UTC, date, datetime
from struct import pack
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.items import Item
from phronesis.core.lexical_index import ScopeIndex
from phronesis.core.results import Evidence
from phronesis.recall.scoring import lane_arrays, weights
from phronesis.recall.scoring.lane_arrays import make_layout, read_marks
from phronesis.recall.scoring.ranking import FEATURES, at_the_time, coarse_scores, rank, supported_places
from phronesis.recall.scoring.signals import (
    DayRange,
    LaneInput,
    Properties,
    Question,
    Wording,
    asks_when,
    date_fit,
    read_signals,
    voice_of,
)
from phronesis.recall.scoring.text_properties import MAX_DATES, Marks
from phronesis.recall.scoring.weights import (
    A12,
    B12,
    FEATURE_NAMES,
    FEW,
    SECTIONS,
    WEAK_SCORE,
    Formula,
    Scale,
    Support,
    abstains,
    at_least,
    diversify,
    multiplier,
    on_scale,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = date(2026, 3, 10).toordinal()


def rows(*numbers: int) -> Any:
    return np.array(numbers, dtype=np.int64)


def floats(*numbers: float) -> Any:
    return np.array(numbers, dtype=np.float32)


# Formulas and scales.


def test_the_formulas_are_the_published_ones() -> None:
    assert [sum(one.weights.values()) for one in (A12, B12)] == pytest.approx([15.826, 14.075])
    assert dict(SECTIONS.weights) == {"words": 0.6, "dense": 1.75, "mention": 0.607}
    assert [one.dense for one in (A12, B12, SECTIONS)] == [False, True, True]
    assert [one.weak_score for one in (A12, B12, SECTIONS)] == [2.3, 3.4, 6.0]
    assert [one.coarse for one in (A12, B12, SECTIONS)] == [0.7, 0.7, pytest.approx(1.75 / 0.6)]
    assert (B12.crowding, A12.crowding) == (0.0, weights.CROWDING)
    assert lane_arrays.bonus_constants() == {
        "recency": 0.15,
        "half_life_days": 30.0,
        "importance": 0.15,
        "trait_boost": {"emerging": 0.05, "established": 0.15, "core": 0.25},
    }


def test_a_scale_is_logistic_and_never_overflows() -> None:
    assert Scale(2.0, -4.0).score(2.0) == 0.5
    assert Scale(2.0, -4.0).score(3.0) == pytest.approx(0.880797, abs=1e-6)
    assert Scale(1.0, 0.0).score(-1e6) == pytest.approx(0.0)
    assert [round(one.scale.score(0.0), 6) for one in (A12, B12)] == [0.009757, 0.003018]
    assert weights.EXPERIENCE.score(0.54) == pytest.approx(0.1, abs=0.001)
    assert A12.scale.score(5.0) == pytest.approx(0.2141, abs=1e-3)
    assert B12.scale.score(5.0) == pytest.approx(0.2306, abs=1e-3)


@pytest.mark.parametrize(
    ("best", "abstained", "support", "expected"),
    [
        (0.5, False, 0.0, 0.5),
        (0.1, False, 0.0, 0.1),
        (0.05, False, 0.0, 0.1),
        (0.05, True, 0.0, 0.05),
        (0.1, True, 0.0, 0.099999),
        (0.5, True, 0.0, 0.099999),
        (0.2, False, 0.3, 0.3),
        (0.3, False, 0.3, 0.3),
        (0.2, False, 7.0, 1.0),
        (0.0, True, 0.0, 0.0),
    ],
)
def test_the_best_score_is_below_the_threshold_only_where_a_search_abstains(
    best: float, *, abstained: bool, support: float, expected: float
) -> None:
    assert best * multiplier(best, abstained=abstained, support=support) == pytest.approx(expected)
    scaled = on_scale([evidence(best), evidence(best / 2)], abstained=abstained, support=support)
    assert [one.score for one in scaled] == [pytest.approx(expected), pytest.approx(expected / 2, abs=1e-6)]


def evidence(score: float) -> Evidence:
    return Evidence(Item(id="i", kind="fact", content="x", entry_id="e", recorded_at=NOW, updated_at=NOW), score)


def test_results_without_any_signal_get_the_least_score_that_supports() -> None:
    assert [one.score for one in on_scale([evidence(0.0)] * 2, abstained=False)] == [0.1, 0.1]
    assert [one.score for one in on_scale([evidence(0.0)], abstained=False, support=0.4)] == [0.4]
    assert on_scale([], abstained=False) == ()
    assert [one.score for one in at_least([evidence(0.2), evidence(0.1)], 0.2)] == [0.2]
    assert len(at_least([evidence(0.2)], None)) == 1


# Dates.


def test_a_time_that_is_all_that_is_asked_weighs_most() -> None:
    assert [float(at_the_time(Question([], others=n))) for n in (0, 1, 2, 4)] == [5.5, 5.5, 3.5, 2.5]


# Arrays.


def layout(sessions: list[int], lengths: list[float], alive: list[bool] | None = None) -> Any:
    size = len(sessions)
    return make_layout(
        sessions=rows(*sessions),
        positions=np.arange(size)[::-1].copy(),
        offsets=np.zeros(size, np.int64),
        alive=np.array(alive or [True] * size),
        lengths=floats(*lengths),
    )


def test_places_follow_session_and_position() -> None:
    made = layout([7, 7, 3, -1], [1, 2, 3, 4], [True, True, True, True])
    assert made.rows.tolist() == [2, 1, 0, 3]
    assert made.place_of.tolist() == [2, 1, 0, 3]
    assert (made.first.tolist(), made.last.tolist(), made.begins.tolist()) == ([0, 1, 1, 3], [0, 2, 2, 3], [0, 1, 3])
    assert (made.apart, len(made), float(made.lengths.sum())) == (False, 4, 10.0)
    dead = layout([7, 7, 3, -1], [1, 2, 3, 4], [True, False, True, True])
    assert (dead.place_of.tolist(), dead.apart) == ([1, -1, 0, 2], True)
    assert made.shifted(floats(1, 2, 3, 4), 1).tolist() == [0, 3, 0, 0]
    assert made.shifted(floats(1, 2, 3, 4), -1).tolist() == [0, 0, 2, 0]
    assert made.shifted(floats(1, 2, 3, 4), 9).tolist() == [0, 0, 0, 0]
    there, inside = made.neighbours(rows(0, 1, 2), 1)
    assert (there.tolist(), inside.tolist()) == ([0, 2, 0], [False, True, False])


def test_windows_grow_outwards_up_to_150_terms_and_pairs_up_to_60() -> None:
    made = layout([1] * 12, [10.0] * 12)
    assert (made.windows.start[6], made.windows.stop[6], made.windows.lengths[6]) == (2, 11, 90.0)
    assert (made.windows.start[0], made.windows.stop[0]) == (0, 5)
    full = layout([1] * 5, [50.0] * 5)
    assert (full.windows.start.tolist(), full.windows.stop.tolist()) == ([0, 0, 1, 2, 2], [3, 3, 4, 5, 5])
    over = layout([1] * 3, [50.0, 51.0, 50.0])
    assert (over.windows.start[1], over.windows.stop[1]) == (0, 2)
    assert layout([1] * 2, [30.0, 30.0]).pairs.joined.tolist() == [False, True]
    assert layout([1] * 2, [30.0, 31.0]).pairs.lengths.tolist() == [31.0, 30.0]
    assert layout([1, 2], [1.0, 1.0]).pairs.joined.tolist() == [False, False]
    assert len(layout([], []).pairs.lengths) == 0


# Features of places in a talk: the texts have 1 … 5 terms, the question's word is in the third.


def talk(**given_input: Any) -> tuple[LaneInput, Any]:
    index = ScopeIndex()
    documents = [[1], [2, 3], [9, 4, 5], [6] * 4, [7] * 5]
    index.add(
        [
            (n, b"".join(pack("<QH", term, one.count(term)) for term in sorted(set(one))))
            for n, one in enumerate(documents)
        ]
    )
    properties = Properties(
        flags=rows(32 | 4, 32 | 16, 32 | 8, 32, 0),
        days=rows(*(DAY + n for n in range(5))),
        importance=rows(0, 0, 0, 10, 10),
        stages=rows(0, 0, 0, 0, 3),
        dated=rows(1, 3),
        begins=rows(DAY + 40, DAY),
        ends=rows(DAY + 41, DAY),
    )
    made = make_layout(
        sessions=rows(1, 1, 1, 1, 1),
        positions=np.arange(5),
        offsets=np.zeros(5, np.int64),
        alive=np.ones(5, np.bool_),
        lengths=floats(1, 2, 3, 4, 5),
    )
    return LaneInput(index=index, layout=made, properties=properties, **given_input), np.arange(5)


def feature(name: str, question: Question, **given_input: Any) -> list[float]:
    lane, places = talk(**given_input)
    [signals] = read_signals([lane], question)
    return [round(float(one), 3) for one in FEATURES[name](signals, places)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("coverage", [0, 0, 1, 0, 0]),
        ("coverage_next", [0, 1, 0, 0, 0]),
        ("words", [-0.5, -0.5, 2, -0.5, -0.5]),
        ("previous", [0, -0.5, -0.5, 2, -0.5]),
        ("second_previous", [0, 0, -0.5, -0.5, 2]),
        ("length", [0.693, 1.099, 1.386, 1.609, 1.792]),
        ("previous_asks", [0, 1, 0, 0, 0]),
        ("photo", [0, 0, 1, 0, 0]),
        ("when_time", [0, 1, 0, 0, 0]),
        ("date_covered", [0, 0, 1, 0, 0]),
        ("date_in_text", [0, 0, 0, 1, 0]),
        ("dense", [0, 0, 0, 0, 0]),
        ("dense_next", [0, 0, 0, 0, 0]),
        ("speaker", [0, 0, 0, 0, 0]),
        ("mention", [0, 0, 0, 0, 0]),
        ("key", [0, 0, 0, 0, 0]),
    ],
)
def test_each_feature_reads_its_place_or_the_one_beside_it(name: str, expected: list[float]) -> None:
    assert feature(name, Question([9], times=[DayRange(DAY, DAY)], asks_when=True)) == expected


def test_features_of_what_was_not_asked_are_nothing() -> None:
    for name in ("date_covered", "date_in_text", "when_time"):
        assert feature(name, Question([9])) == [0.0] * 5
    assert feature("coverage_third_next", Question([6])) == [1, 0, 0, 0, 0]
    marked = floats(0, 1, 0, 0, 0)
    for name in ("speaker", "mention", "key"):
        assert feature(name, Question([9]), **{name: marked}) == [0, 1, 0, 0, 0]


def test_a_text_without_a_vector_is_guessed_from_its_words_within_bounds() -> None:
    cosines, there = floats(0.2, 0.4, 0, 0, 0), np.array([True, True, False, False, False])
    assert feature("dense", Question([9]), dense=cosines, embedded=there) == [-1, 1, 2, 0, 0]
    assert feature("dense_next", Question([9]), dense=cosines, embedded=there) == [1, 2, 0, 0, 0]


def ranked(question: Question, depth: int = 9, **given_input: Any) -> Any:
    lane, places = talk(**given_input)
    [signals] = read_signals([lane], question)
    [found] = rank([signals], [np.ones(len(places), np.bool_)], A12, depth=depth)
    return signals, found


def test_places_near_a_match_are_candidates_and_shares_add_up() -> None:
    signals, found = ranked(Question([9], asked_on=DAY + 4))
    assert found.places.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(sum(found.shares.values()), found.scores, rtol=1e-4)
    np.testing.assert_allclose(found.shares["recency"][[3, 4]] / abs(found.base[[3, 4]]), [0, 0.15], rtol=1e-4)
    np.testing.assert_allclose(found.shares["importance"] / abs(found.base), [0, 0, 0, 0.15, 0.15], rtol=1e-4)
    np.testing.assert_allclose(found.shares["trait_boost"][4], 0.25 * abs(found.base[4]), rtol=1e-4)
    assert ranked(Question([9]), depth=1)[1].places.tolist() == [2]
    # z of words, .3 of each neighbour's and .2 of each second one's.
    np.testing.assert_allclose(coarse_scores(signals), [-0.25, -0.15, 1.5, -0.15, -0.25], atol=1e-5)


def test_a_key_a_name_a_window_or_a_time_supports_and_lifts() -> None:
    marked = floats(0, 1, 0, 0, 0)
    plain = coarse_scores(ranked(Question([99]))[0])
    assert not supported_places(ranked(Question([99]))[0]).any()
    for given_input, gain in (({"key": marked}, 100.0), ({"mention": marked}, 1.0)):
        signals, _ = ranked(Question([99]), **given_input)
        assert supported_places(signals).tolist() == [False, True, False, False, False]
        np.testing.assert_allclose(coarse_scores(signals) - plain, [0, gain, 0, 0, 0])
    spoken, _ = ranked(Question([99]), speaker=marked)
    assert not supported_places(spoken).any()
    assert supported_places(ranked(Question([99]), speaker=marked, by_name=True)[0])[1]
    day = DayRange(DAY + 40, DAY + 41)
    window, _ = ranked(Question([99], window=day))
    assert supported_places(window).tolist() == [False, True, False, False, False]
    np.testing.assert_allclose(coarse_scores(window) - plain, [0.0, 1.0, 0.0, 0.0, 0.0], atol=1e-6)
    time, found = ranked(Question([99], times=[day], others=1))
    assert supported_places(time).tolist() == [False, True, False, False, False]
    np.testing.assert_allclose(coarse_scores(time) - plain, [0.0, 5.5, 0.0, 0.0, 0.0], atol=1e-6)
    assert found.shares["happened"].tolist() == [5.5]
    half, _ = ranked(Question([99], times=[DayRange(DAY + 41, DAY + 50)]))
    assert half.happened is not None
    assert half.happened.tolist() == [0.0, 0.5, 0.0, 0.0, 0.0]


def test_other_wordings_count_by_their_weight() -> None:
    signals, found = ranked(Question([99], further=[Wording([9, 98], 0.5), Wording([2], 1.0)]))
    assert signals.further is not None
    share = RARE / (RARE + UNKNOWN)
    np.testing.assert_allclose(signals.further.covered, [0, 1, 0.5 * share, 0, 0], rtol=1e-4)
    np.testing.assert_allclose(signals.further.z, [0, 2, 1, 0, 0], atol=1e-4)
    assert found.places.tolist() == [1, 2]
    np.testing.assert_allclose(found.shares["wordings"], [0.67 * 2 + 2.014, 0.67 + 1.007 * share], rtol=1e-4)
    assert ranked(Question([99]))[0].further is None


RARE, UNKNOWN = math.log(1 + 4.5 / 1.5), math.log(1 + 5.5 / 0.5)
"""The idf of a word that one of five texts has, and of one that none has."""


def test_what_the_scope_does_not_know_is_missing_from_the_question() -> None:
    signals, _ = ranked(Question([9, 99]))
    assert signals.known == pytest.approx(RARE / (RARE + UNKNOWN), rel=1e-4)
    assert ranked(Question([9]))[0].known == 1.0


def test_every_feature_has_its_name() -> None:
    assert tuple(FEATURES) == FEATURE_NAMES


NOTHING = Support(0.0, 0.0, {})


OUTLYING = Support(0.5, 0.0, {"dense": 3.1 * B12.weights["dense"]})


WEAK = Support(1.0, 0.2, {"dense": 0.1})


STRONG = Support(WEAK_SCORE[True] + 1, 0.2, {})


def test_abstains() -> None:
    cases: list[tuple[list[Support], Formula, bool, int, bool]] = [
        ([], A12, False, 0, True),
        ([NOTHING], A12, False, 3, True),
        ([OUTLYING], B12, False, 3, False),
        ([OUTLYING], B12, False, 500, False),
        ([WEAK], B12, False, 500, True),
        ([WEAK], B12, False, FEW - 1, False),
        ([STRONG], B12, False, 500, False),
        ([], A12, True, 500, False),
        ([STRONG], SECTIONS, False, 500, True),
    ]
    for found, formula, named, documents, expected in cases:
        assert abstains(found, formula, named=named, documents=documents) is expected, found


def test_what_a_question_asks_for_beyond_its_words() -> None:
    for text in ("When did Ana move?", "Which year was that?", "你什么时候搬家？", "戒烟多久了？"):
        assert asks_when(text), text
    for text in ("Which index did you recommend?", "How should I store the keys?", "助手推荐了哪本书？"):
        assert voice_of(text) == "assistant", text
    for text in ("What did I tell you about my knee?", "Where do I live?", "咱家的地址是什么？"):
        assert voice_of(text) == "user", text
    assert voice_of("Where does Ana live?") is None


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


DAYS = st.integers(0, 3_652_059)


WRITTEN = st.builds(
    Marks,
    st.integers(0, 255),
    DAYS,
    st.lists(st.tuples(DAYS, DAYS), max_size=MAX_DATES + 2),
    st.integers(0, 10),
    st.integers(0, 3),
)


@given(st.lists(WRITTEN, max_size=5))
def test_marks_come_back(written: list[Marks]) -> None:
    blobs = [one.pack() for one in written]
    assert [len(blob) for blob in blobs] == [7 + 8 * min(len(one.dates), MAX_DATES) for one in written]
    read = read_marks(blobs)
    for row, one in enumerate(written):
        assert (read.flags[row], read.days[row]) == (one.flags, one.day)
        assert (read.importance[row], read.stages[row]) == (one.importance, one.stage)
    assert read.dates == [(row, *days) for row, one in enumerate(written) for days in one.dates[:MAX_DATES]]
