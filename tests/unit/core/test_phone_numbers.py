"""A number is a phone's by its structure and its name, not by its length."""

import pytest

from phronesis.core.phone_numbers import is_phone


@pytest.mark.parametrize(
    ("value", "before"),
    [
        ("+1 (415) 555-0134", "you reach me at "), ("020 7946 0958", "I am at "), ("13812345678", "我的号码是"),
        ("4155550134", "my phone is "), ("55501", "my number is "), ("reception", "my phone is "), ("ext 214", "dial "),
    ],
)  # fmt: skip
def test_a_phone_is_one(value: str, before: str) -> None:
    assert is_phone(value, before)


@pytest.mark.parametrize(
    ("value", "before"),
    [
        ("078-05-1120", "my number is "), ("13812345678", "我的订单号是"), ("4155550134", "the order number is "),
        ("4155550134", "it costs "), ("2026-05-01", "call me on "), ("10.0.12.255", "reach it at "), ("1234", "call "),
        ("4111 1111 1111 1111", "my phone, sorry, card: "),
    ],
)  # fmt: skip
def test_another_number_is_none(value: str, before: str) -> None:
    assert not is_phone(value, before)
