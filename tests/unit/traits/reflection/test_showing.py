"""What shows a behaviour is told from what else is known; without an encoder memories are compared by spelling."""

from itertools import product

import numpy as np

from phronesis.traits.memory_features import MemoryFeatures, chances_of, read_all, shows, with_odds
from phronesis.traits.similarity import cosines_of_pieces
from seen_memories import memories


def readings(*texts: str) -> list[MemoryFeatures]:
    return read_all(memories(*texts))


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


def test_what_is_done_is_likelier_a_behaviour_than_what_is_so() -> None:
    def chance(text: str) -> float:
        chances = chances_of(text)
        assert chances is not None
        return chances["shown"]

    for done, known in product(DONE, FACTS):
        assert chance(done) > chance(known) or done.isascii() != known.isascii(), (done, known)


def test_without_a_reader_plain_words_tell_what_is_no_behaviour() -> None:
    given = with_odds(readings("Went for a run", "If only I had time to run", "要是有空就去夜跑"), lambda _: None)
    assert [shows(one) for one in given] == [True, False, False]
    assert [one.apart for one in given] == [False, True, True]


def test_many_memories_are_told_from_the_users_mean() -> None:
    def judge(text: str) -> dict[str, float]:
        return {"shown": 0.99 if "luck" in text else 0.5, "apart": 0.0, "private": 0.0}

    few, many = ([f"{what} {n}" for what in ("A boiler", "Luck: luck") for n in range(size)] for size in (2, 20))
    assert all(map(shows, with_odds(readings(*few), judge)))
    assert [shows(one) for one in with_odds(readings(*many), judge)] == [*[False] * 20, *[True] * 20]


def test_memories_are_near_by_how_their_rarer_words_are_spelt() -> None:
    near = cosines_of_pieces(
        ["baked two loaves", "baking a loaf", "the lift is broken", "", "去爬了香山", "又去爬山了"]
    )
    assert near[0, 1] > 0.05 > near[0, 2]
    assert near[4, 5] > 0.05 > near[4, 2]
    assert not near[3, :3].any()
    assert np.allclose(near, near.T)
    assert np.allclose(np.diagonal(near), 1.0)
