"""What the chances of tags come to."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.conversation.extracting.tagging.network import Floats, Network, TagProbabilities, Vocabulary
from phronesis.conversation.extracting.tagging.opinion import TaggedValue, best_path, tagged_in

TAGS = (
    "O",
    "B-profile/home_city",
    "I-profile/home_city",
    "B-profile/sibling",
    "I-profile/sibling",
    "B-#S",
    "I-#S",
    "B-fact/attribute",
    "I-fact/attribute",
    "B-#K",
    "I-#K",
)
NETWORK = Network(Vocabulary({}, {}, 1), TAGS, {})


def tagged(text: str, marks: Mapping[str, str], signs: Mapping[str, tuple[float, float, float]]) -> list[TaggedValue]:
    """Give what is found where the words of ``marks`` are tagged so for certain."""
    scores = np.full((len(text), len(TAGS)), -20.0, np.float32)
    scores[:, 0] = 0
    said = np.zeros((len(text), 3), np.float32)
    for words, name in marks.items():
        place = text.index(words)
        for n in range(len(words)):
            scores[place + n, 0] = -20
            scores[place + n, TAGS.index(f"{'I' if n else 'B'}-{name}")] = -0.1
        said[place : place + len(words)] = signs.get(words, (0, 0, 0))
    return tagged_in(text, NETWORK.vocabulary.encode(text), TagProbabilities(scores, said), NETWORK)


def test_a_value_is_the_speakers_unless_it_is_anothers() -> None:
    [own] = tagged("我住杭州", {"杭州": "profile/home_city"}, {})
    assert (own.kind, own.key, own.subject, own.value, own.start, own.end) == (
        "profile",
        "home_city",
        "user",
        "杭州",
        2,
        4,
    )
    assert own.chance == pytest.approx(np.exp(-0.1))
    [hers] = tagged("老王住杭州", {"老王": "#S", "杭州": "profile/home_city"}, {"杭州": (0, 0, 1)})
    assert hers.subject == "老王"


def test_signs_say_that_it_no_longer_holds_or_is_done() -> None:
    [gone] = tagged("不住杭州了", {"杭州": "profile/home_city"}, {"杭州": (1, 0, 0)})
    assert (gone.retracts, gone.done) == (True, False)
    [done] = tagged("不住杭州了", {"杭州": "profile/home_city"}, {"杭州": (0, 1, 0)})
    assert (done.retracts, done.done) == (False, True)


@given(st.lists(st.lists(st.floats(-9, 0), min_size=5, max_size=5), min_size=1, max_size=12))
def test_the_path_makes_sense_and_none_that_does_is_likelier_by_one_change(rows: list[list[float]]) -> None:
    names = ("O", "B-x", "I-x", "B-y", "I-y")
    scores: Floats = np.array(rows, dtype=np.float32)

    def lawful(path: list[int]) -> bool:
        return all(
            not names[tag].startswith("I-") or (n > 0 and names[path[n - 1]][2:] == names[tag][2:])
            for n, tag in enumerate(path)
        )

    def total(path: list[int]) -> float:
        return float(sum(scores[n, tag] for n, tag in enumerate(path)))

    best = best_path(scores, names)
    assert lawful(best)
    changed = ([*best[:n], tag, *best[n + 1 :]] for n in range(len(best)) for tag in range(len(names)))
    assert all(total(other) <= total(best) + 1e-3 for other in changed if lawful(other))
