"""A number is a phone's by its structure and its name, not by its length."""

from phronesis.core.phone_numbers import is_phone

PHONE_ONE: list[tuple[str, str]] = [
    ("+1 (415) 555-0134", "you reach me at "),
    ("13812345678", "我的号码是"),
    ("4155550134", "my phone is "),
    ("55501", "my number is "),
    ("reception", "my phone is "),
]


def test_a_phone_is_one() -> None:
    for value, before in PHONE_ONE:
        assert is_phone(value, before), value


ANOTHER_NUMBER_NONE: list[tuple[str, str]] = [
    ("078-05-1120", "my number is "),
    ("13812345678", "我的订单号是"),
    ("4155550134", "the order number is "),
    ("4155550134", "it costs "),
    ("2026-05-01", "call me on "),
]


def test_another_number_is_none() -> None:
    for value, before in ANOTHER_NUMBER_NONE:
        assert not is_phone(value, before), value
