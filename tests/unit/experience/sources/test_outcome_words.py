"""Words say plainly that something worked or failed, or they do not."""

from hypothesis import given
from hypothesis import strategies as st

from phronesis.experience.laws.event_draft import LABELS
from phronesis.experience.laws.outcome_labels import said_outcome


@given(st.text())
def test_any_words_give_a_label(text: str) -> None:
    found = said_outcome(text)
    assert found.label in LABELS
    assert found.label == "unknown" or found.signals
