"""What shows a behaviour is told from what else is known; without an encoder memories are compared by spelling."""

import numpy as np

from phronesis.traits.by_rules.reading import MemoryFeatures, read
from phronesis.traits.by_rules.showing import with_odds
from phronesis.traits.by_rules.similarity import cosines_of_pieces
from phronesis.traits.by_rules.voices import voice_of
from seen_memories import memories


def readings(*texts: str, kind: str = "episodic") -> list[MemoryFeatures]:
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
        given = with_odds(readings(*DONE, *FACTS, kind=kind))
        for done in given[:4]:
            assert all(done.odds > known.odds for known in given[4:] if known.code == done.code), done.text


def test_memories_are_near_by_how_their_rarer_words_are_spelt() -> None:
    near = cosines_of_pieces(
        ["baked two loaves", "baking a loaf", "the lift is broken", "", "去爬了香山", "又去爬山了"]
    )
    assert near[0, 1] > 0.05 > near[0, 2]
    assert near[4, 5] > 0.05 > near[4, 2]
    assert not near[3, :3].any()
    assert np.allclose(near, near.T)
    assert np.allclose(np.diagonal(near), 1.0)
