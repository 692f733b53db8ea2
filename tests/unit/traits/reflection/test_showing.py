"""What shows a behaviour is told from what else is known; without an encoder memories are compared by spelling."""

from dataclasses import replace

import numpy as np
import pytest

from phronesis.models.text_features import BUCKETS, rows_of
from phronesis.traits.by_rules.reading import Reading, read
from phronesis.traits.by_rules.showing import (
    KINDS,
    KNOWN,
    MARKS,
    RELATIVE_TO_USER,
    SHOWN,
    USUAL,
    Showing,
    marks_of,
    shows,
    weighed,
)
from phronesis.traits.by_rules.similarity import COLUMNS, LEAST, by_pieces, cosines_of_pieces
from phronesis.traits.by_rules.voices import voice_of
from seen_memories import memories, memory


def readings(*texts: str, kind: str = "episodic") -> list[Reading]:
    seen = memories(*texts, kind=kind)
    return [read(one, voice_of(seen)) for one in seen]


DONE = ("Sewed the hem of the blue coat before breakfast", "Took the early ferry and drew the gulls on the railing",
        "晚饭后绕着湖走了两圈", "周末又去河边拍鸟")  # fmt: skip
FACTS = (
    "The office has moved to the third floor",
    "Her sister's birthday is in May",
    "办公室搬到三楼了",
    "妹妹在邮局上班",
)


@pytest.mark.parametrize("kind", ["episodic", "fact"])
def test_what_is_done_has_higher_odds_than_what_is_so(kind: str) -> None:
    given = weighed(readings(*DONE, *FACTS, kind=kind))
    for done in given[:4]:
        assert all(done.odds > known.odds for known in given[4:] if known.code == done.code), done.text


def test_odds_are_told_from_what_is_usual_with_the_user() -> None:
    blank = Showing(np.zeros(BUCKETS, np.int8), 0.1, np.zeros(len(MARKS)), -3.0)
    [one] = weighed(readings("Sewed a hem"), {"en": blank})
    assert one.odds == pytest.approx(-3.0 - RELATIVE_TO_USER * (-3.0 - USUAL))
    assert weighed([]) == []


def test_a_kind_counts_by_how_it_differs_from_the_others() -> None:
    same = marks_of(readings("Sewed a hem", "Drew a gull"))
    assert not same[:, : len(KINDS)].any()
    apart = marks_of([*readings("Sewed a hem"), *readings("The lift is broken", kind="fact")])
    assert apart[0, MARKS.index("episodic")] == apart[1, MARKS.index("fact")] == 0.5
    assert marks_of([]).shape == (0, len(MARKS))


def test_odds_decide_where_they_are_weighed_and_marks_where_not() -> None:
    [one] = readings("Sewed a hem")
    assert shows(one, weighed=False)
    assert not shows(replace(one, marks=frozenset({"joke"})), weighed=False)
    assert not shows(replace(one, ended=True), weighed=False)
    assert shows(replace(one, odds=SHOWN + 0.1, marks=frozenset({"joke"})), weighed=True)
    assert not shows(replace(one, odds=SHOWN, surely={}), weighed=True)
    assert not shows(replace(one, odds=9.0, barred="kind"), weighed=True)
    known = replace(one, odds=SHOWN - KNOWN / 2, surely={"sewing": 1.0})
    assert shows(known, weighed=True)
    assert not shows(replace(known, marks=frozenset({"joke"})), weighed=True)


def test_weights_are_stored_and_given_again() -> None:
    weights = np.zeros(BUCKETS, np.int8)
    weights[rows_of("hem")] = 5
    model = Showing(weights, 0.5, np.arange(len(MARKS), dtype=np.float64), -1.0)
    marks = np.zeros(len(MARKS))
    marks[2] = 0.5
    assert model.odds("hem", marks) == pytest.approx(5 * 0.5 * len(rows_of("hem")) ** 0.5 + 1.0 - 1.0)
    assert model.odds("", marks) == 0.0


def test_memories_are_near_by_how_their_rarer_words_are_spelt() -> None:
    near = cosines_of_pieces(
        ["baked two loaves", "baking a loaf", "the lift is broken", "", "去爬了香山", "又去爬山了"]
    )
    assert near[0, 1] > 0.05 > near[0, 2]
    assert near[4, 5] > 0.05 > near[4, 2]
    assert not near[3, :3].any()
    assert np.allclose(near, near.T)
    assert np.allclose(np.diagonal(near), 1.0)


def test_words_that_say_little_are_left_out_and_few_memories_are_not_compared() -> None:
    told = ["Out of the shed", "Out of the bus", *(f"Number {chr(97 + n) * 5} here" for n in range(LEAST))]
    compare = by_pieces(readings(*told))
    assert compare is not None
    assert compare(["m000", "m002"])[0, 1] == 0.0
    assert by_pieces(readings(*told[: LEAST - 1])) is None


def test_many_pieces_share_columns() -> None:
    drawn = np.random.default_rng(7)
    words = ["".join(chr(97 + n) for n in drawn.integers(0, 26, 9)) for _ in range(900)]
    texts = [" ".join(words[n] for n in drawn.integers(0, 900, 12)) for _ in range(120)]
    near = cosines_of_pieces(texts)
    held = [set(text.split()) for text in texts]
    exact = np.array([[len(a & b) > 0 for b in held] for a in held])
    np.fill_diagonal(exact, val=False)
    assert COLUMNS < 1 << 14
    assert near[exact].mean() > 0.05
    assert abs(near[~exact & ~np.eye(120, dtype=np.bool_)].mean()) < 0.01


def test_a_memory_of_nothing_is_weighed() -> None:
    [one] = weighed([read(memory(0, ""), voice_of([]))])
    assert np.isfinite(one.odds)
