"""What shows a behaviour is told from what else is known; without an encoder memories are compared by spelling."""

from dataclasses import replace

import numpy as np

from phronesis.traits.by_rules.reading import Reading, read
from phronesis.traits.by_rules.showing import (
    KNOWN,
    SHOWN,
    shows,
    weighed,
)
from phronesis.traits.by_rules.similarity import LEAST, by_pieces, cosines_of_pieces
from phronesis.traits.by_rules.voices import voice_of
from seen_memories import memories, memory


def readings(*texts: str, kind: str = "episodic") -> list[Reading]:
    seen = memories(*texts, kind=kind)
    return [read(one, voice_of(seen)) for one in seen]


DONE = (
    "Sewed the hem of the blue coat before breakfast",
    "Took the early ferry and drew the gulls on the railing",
    "晚饭后绕着湖走了两圈",
    "周末又去河边拍鸟",
)
FACTS = (
    "The office has moved to the third floor",
    "Her sister's birthday is in May",
    "办公室搬到三楼了",
    "妹妹在邮局上班",
)


def test_what_is_done_has_higher_odds_than_what_is_so() -> None:
    cases: list[str] = ["episodic", "fact"]
    for kind in cases:
        given = weighed(readings(*DONE, *FACTS, kind=kind))
        for done in given[:4]:
            assert all(done.odds > known.odds for known in given[4:] if known.code == done.code), done.text


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


def test_a_memory_of_nothing_is_weighed() -> None:
    [one] = weighed([read(memory(0, ""), voice_of([]))])
    assert np.isfinite(one.odds)
