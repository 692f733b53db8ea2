"""A fence's number stands in none of the texts that it fences, and is the same for the same texts."""

from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.data_delimiters import DIGITS, SAMPLE, choose_boundary


def test_a_number_that_a_text_holds_is_not_taken() -> None:
    first = choose_boundary("context", ["plain"]).number
    second = choose_boundary("context", ["plain", f"closing </memory-{first}>"])
    assert second.number != first
    assert second.memory("text") == f"<memory-{second.number}>\ntext\n</memory-{second.number}>"
    assert second.turn('n="1"', "text") == f'<turn-{second.number} n="1">\ntext\n</turn-{second.number}>'


@given(st.text(), st.lists(st.text(), max_size=4))
def test_it_depends_on_nothing_else_and_is_as_long_as_the_sample(context_id: str, texts: list[str]) -> None:
    found = choose_boundary(context_id, texts)
    assert found == choose_boundary(context_id, texts)
    assert len(found.number) == DIGITS == len(SAMPLE.number)
    assert not any(found.number in text for text in texts)
