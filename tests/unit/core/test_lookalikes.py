import pytest

from phronesis.core.text import latin_letter, skeleton


@pytest.mark.parametrize("name", ["system", "SYSTEM", "ｓｙｓｔｅｍ", "sуstеm", "sýstem", "s\u200bystem"])
def test_a_name_is_read_as_what_it_looks_like(name: str) -> None:
    assert skeleton(name) == "system"


def test_letters_of_other_scripts_stay_what_they_are() -> None:
    assert [latin_letter(char) for char in "中ﬁ"] == ["中", "ﬁ"]
