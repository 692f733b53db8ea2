"""A number is a phone's by its structure and its name, not by its length."""

from phronesis.core.personal_numbers import is_phone


def test_a_phone_is_one() -> None:
    cases: list[tuple[str, str]] = [
        ("+1 (415) 555-0134", "you reach me at "),
        ("13812345678", "我的号码是"),
        ("4155550134", "my phone is "),
        ("55501", "my number is "),
        ("reception", "my phone is "),
    ]
    for value, before in cases:
        assert is_phone(value, before), value


def test_another_number_is_none() -> None:
    cases: list[tuple[str, str]] = [
        ("078-05-1120", "my number is "),
        ("13812345678", "我的订单号是"),
        ("4155550134", "the order number is "),
        ("4155550134", "it costs "),
        ("2026-05-01", "call me on "),
    ]
    for value, before in cases:
        assert not is_phone(value, before), value
