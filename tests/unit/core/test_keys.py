"""API keys: the form of a token, what is kept of it, and who may do what."""

import base64

import pytest

from phronesis.core.api_keys import SECRET_BYTES, Role, Token, check_role, hash_secret, opens, parse_token
from phronesis.errors import InputError, Unauthenticated

KEY_ID = "01a205fb-710c-7149-96b1-2d76b6d16db7"
TOKEN = Token("acme", KEY_ID, bytes(range(SECRET_BYTES)))


def test_a_token_is_read_as_it_was_written() -> None:
    assert parse_token(str(TOKEN)) == TOKEN
    assert str(TOKEN).startswith("phr_")
    assert str(TOKEN).isascii()


def test_a_token_does_not_show_its_secret_when_it_is_printed() -> None:
    assert str(TOKEN).rpartition(".")[2] not in repr(TOKEN)


def test_what_is_no_token_is_refused_and_not_repeated() -> None:
    cases: list[str] = [
        "",
        "phr_",
        "sk-live-1234",
        str(TOKEN)[4:],
        str(TOKEN) + "A",
        str(TOKEN) + "=",
        str(TOKEN)[:-4],
        str(TOKEN).replace(KEY_ID, KEY_ID.upper()),
        str(TOKEN).replace(KEY_ID, "1"),
        str(TOKEN).replace("YWNtZQ", "YWNtZR"),  # other bits that decode to the same bytes
        str(TOKEN).replace("YWNtZQ", base64.urlsafe_b64encode("租户".encode()).decode()),
        "phr_" + "a" * 1000,
        str(TOKEN).replace("phr_", "phr_钥"),
    ]
    for text in cases:
        with pytest.raises(Unauthenticated, match="no API key of Phronesis") as refusal:
            parse_token(text)
        assert not text or len(text) < 8 or text not in str(refusal.value), text


def test_only_the_secret_itself_opens() -> None:
    kept = hash_secret(TOKEN.secret)
    assert opens(kept, TOKEN.secret)
    assert not opens(kept, bytes(SECRET_BYTES))
    assert TOKEN.secret not in kept


def test_roles_are_ordered_and_known_by_name() -> None:
    assert Role.READ < Role.WRITE < Role.ADMIN
    assert [check_role(name) for name in ("read", "Write", Role.ADMIN)] == list(Role)
    assert Role("admin") is Role.ADMIN  # type: ignore[arg-type]
    for wrong in ("owner", "", None, 3):
        with pytest.raises(InputError, match="read, write, admin"):
            check_role(wrong)
