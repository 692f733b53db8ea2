from phronesis.core.text import latin_letter, skeleton


def test_a_name_is_read_as_what_it_looks_like() -> None:
    cases: list[str] = ["system", "SYSTEM", "ｓｙｓｔｅｍ", "sуstеm", "sýstem", "s\u200bystem"]
    for name in cases:
        assert skeleton(name) == "system", name


def test_letters_of_other_scripts_stay_what_they_are() -> None:
    assert [latin_letter(char) for char in "中ﬁ"] == ["中", "ﬁ"]
