"""A classifier over the reader's states: one telling token suffices, and it belongs to one encoder."""

import numpy as np
import pytest

from phronesis.engine.sensitive_topics import load_topics
from phronesis.models.reader.reader import TextClassifier, encoder_fingerprint, load_text_classifier
from phronesis.reasoning.claim_gate import load_judge
from phronesis.traits.by_rules.memory_features import load_showing


def small() -> TextClassifier:
    """Return a classifier for which the first number of a state speaks for a class."""
    weights = {
        "mix.w": np.array([[4.0], [0.0]], np.float32),
        "mix.b": np.zeros(1, np.float32),
        "token.w": np.array([[3.0]], np.float32),
        "token.b": np.full(1, -5.0, np.float32),
        "whole.w": np.zeros((2, 1), np.float32),
    }
    return TextClassifier(["told"], weights, "abc")


def test_one_telling_token_suffices() -> None:
    classifier = small()
    silent = np.tile(np.array([[0.0, 1.0]], np.float32), (6, 1))
    telling = silent.copy()
    telling[3, 0] = 1.0
    assert classifier(silent)["told"] < 0.1
    assert classifier(telling)["told"] > 0.9


def test_what_is_stored_is_read_again() -> None:
    again = load_text_classifier(small().to_bytes())
    assert (again.classes, again.encoder) == (["told"], "abc")
    states = np.array([[0.3, 0.1], [0.6, 0.0]], np.float32)
    assert again(states)["told"] == pytest.approx(small()(states)["told"], abs=1e-3)


def test_the_installed_classifiers_were_fitted_over_the_installed_encoder() -> None:
    for classifier in (load_topics(), load_showing(), load_judge()):
        assert classifier.encoder == encoder_fingerprint(), classifier.classes
