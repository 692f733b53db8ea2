"""Centred vectors: nothing of what all have in common is left, nor of what languages differ in."""

import numpy as np
import pytest

from phronesis.experience.laws.ranking import Centre

CHANCE = np.random.default_rng(5)
COMMON = np.array([5.0, 0, 0, 0, 0, 0], np.float32)
LANGUAGES = (0,) * 6 + (1,) * 6
SPOKEN = np.array([[0, 3.0 * one, 0, 0, 0, 0] for one in LANGUAGES], np.float32)


def said(size: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return (CHANCE.normal(size=(size, 6)) * [0, 0, 1, 1, 1, 1]).astype(np.float32) + COMMON


UNRELATED = said(12) + SPOKEN
EVEN = np.tile(said(6), (2, 1)) + SPOKEN
"""The same six texts in two languages."""


def test_vectors_are_of_length_one_and_those_of_nothing_stay_so() -> None:
    events = said(30)
    events[4] = 0
    centred = Centre.of(events, UNRELATED, LANGUAGES).centred(events)
    lengths = np.linalg.norm(centred, axis=1)
    assert lengths[4] == 0
    assert np.delete(lengths, 4) == pytest.approx(1.0)
    assert centred.dtype == np.float32


def test_one_lesson_in_two_languages_is_the_same() -> None:
    english = said(8)
    chinese = english + np.array([0, 3.0, 0, 0, 0, 0], np.float32)
    both = np.concatenate((english, chinese))
    likeness = []
    for languages in ((), LANGUAGES):
        centred = Centre.of(both, EVEN, languages).centred(both)
        likeness.append((centred[:8] * centred[8:]).sum(axis=1))
    assert likeness[0].max() < 0.8
    assert likeness[1].min() > 0.99
