"""Secrets and personal numbers in texts: what is found, by kind, and what is left as it is."""

import pytest

from growth import assert_linear, repeated
from phronesis.core import personal_numbers, redaction, secret_formats
from phronesis.core.personal_numbers import is_phone
from phronesis.core.redaction import find_private, mask, mask_value
from phronesis.core.secret_formats import NUMBERS, SECRETS

# Put together here, so that no scanner of this repository takes them for keys that were published.
ALNUM = "16C7e42F292c6912E7710c838347Ae178B4a"
HEX = "0123456789abcdef0123456789abcdef"


PRIVATE: list[tuple[str, str]] = [
    ("key AKIA" + "IOSFODNN7EXAMPLE in use", "key [secret: aws key] in use"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "aws_secret_access_key = [secret: api key]"),
    (f"ghp_{ALNUM}", "[secret: github token]"),
    ("github_pat_" + "11ABCDEFG0abcdefghijkl_MNOPQRSTUVWXYZ0123", "[secret: github token]"),
    ("glpat-" + "xYz12345AbCdEfGhIjKl", "[secret: gitlab token]"),
    ("xoxb-" + "123456789012-1234567890123-abcdefABCDEF12345678", "[secret: slack token]"),
    ("sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc", "[secret: stripe key]"),
    ("my API key is sk-" + "abcDEF1234567890abcDEF12.", "my API key is [secret: openai key]."),
    ("sk-ant-" + "api03-abcDEF123456_abcdefg-hij", "[secret: anthropic key]"),
    ("AIza" + "SyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY", "[secret: google key]"),
    ("SG." + "ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf-09kqeF8tAmbihYzrnopKc-1s5cr", "[secret: sendgrid key]"),
    (f"SK{HEX}", "[secret: twilio key]"),
    ("hf_" + "abcdefGHIJKL0123456789mnopQRSTuv", "[secret: huggingface token]"),
    ("npm_" + "abcdefghij0123456789ABCDEFGHIJKLMNOP", "[secret: npm token]"),
    ("pypi-" + "AgEIcHlwaS5vcmcCJDU1ZmY5ZTk", "[secret: pypi token]"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_Xg", "[secret: json web token]"),
    ("postgres://bob:s3cr3tpw@db.example.com/app", "postgres://bob:[secret: password]@db.example.com/app"),
    ("-H 'Authorization: Bearer abcDEF123456ghiJKL789'", "-H 'Authorization: Bearer [secret: access token]'"),
    ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [secret: access token]"),
    ("AccountKey=" + "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsu==", "AccountKey=[secret: azure key]"),
    (
        "//registry.example.org/:_authToken=" + "346a14f2-a672-4668-a892-956a462ab56e",
        "//registry.example.org/:_authToken=[secret: access token]",
    ),
    ("curl --user 'bob:h0pk1ns~21s' https://a.example", "curl --user 'bob:[secret: password]' https://a.example"),
    ("curl -X GET -u bob:s3cr3tpw https://a.example", "curl -X GET -u bob:[secret: password] https://a.example"),
    ("hf_" + "jCBaQngSHiHDRYOcsMcifUcysGyaiybUWz", "[secret: huggingface token]"),
    ("dt0c01." + "A" * 24 + "." + ALNUM * 2, "[secret: dynatrace token]"),
    ("EZAK" + ALNUM * 2, "[secret: easypost key]"),
    ("sha256~" + ALNUM + "abcdefg", "[secret: openshift token]"),
    ("pscale_pw_" + ALNUM, "[secret: planetscale token]"),
    ("sgp_" + ALNUM + ALNUM, "[secret: sourcegraph token]"),
    ("x7Gh2kL9mNq4Rt" + ".atlasv1." + ALNUM + ALNUM[:28], "x7Gh2kL9mNq4Rt[secret: terraform token]"),
    ("glsa_" + ALNUM * 20, "[secret: grafana token]"),
    ('<add key="Password" value="Cleartext1" />', '<add key="Password" value="[secret: password]" />'),
    ("my database password is hunter22 and", "my database password is [secret: password] and"),
    ("My password for the staging server is Xk9!fj2", "My password for the staging server is [secret: password]"),
    ("I changed my wifi password to hunter2024", "I changed my wifi password to [secret: password]"),
    ("the password's hunter22!", "the password's [secret: password]"),
    ("DB_PASSWORD=hunter22", "DB_PASSWORD=[secret: password]"),
    ('{"password": "hunter22", "user": "bob"}', '{"password": "[secret: password]", "user": "bob"}'),
    ('"{\\"api_key\\": \\"abc123def456ghi7\\"}"', '"{\\"api_key\\": \\"[secret: api key]\\"}"'),
    ("username: admin\npassword: swordfish", "username: admin\npassword: [secret: password]"),
    ('password = "correct-horse-battery-staple"', 'password = "[secret: password]"'),
    ('client_secret: "Zk3_9fjA2kd8Qx"', 'client_secret: "[secret: secret]"'),
    ("我的数据库密码是 hunter22，别忘了", "我的数据库密码是 [secret: password]，别忘了"),
    ("WiFi密码abc12345", "WiFi密码[secret: password]"),
    ("密码：123456", "密码：[secret: password]"),
    ("令牌是 a8Zk3920dkfjAsk29", "令牌是 [secret: access token]"),
    ("psql --db-password hunter22 -h db1", "psql --db-password [secret: password] -h db1"),
    ("machine a.org login bob password hunter22", "machine a.org login bob password [secret: password]"),
    ("**Password:** hunter22", "**Password:** [secret: password]"),
    ("Password - `hunter22`", "Password - `[secret: password]`"),
    ("My PIN is 4711", "My PIN is [secret: pin]"),
    ("card 4111 1111 1111 1111 exp 12/27 cvv 123", "card [card number] exp 12/27 cvv [card code]"),
    ("5500-0000-0000-0004", "[card number]"),
    ("Amex 378282246310005", "Amex [card number]"),
    ("银行卡 6222021234567890128", "银行卡 [card number]"),
    ("IBAN DE89 3704 0044 0532 0130 00 please", "IBAN [iban] please"),
    ("GB82WEST12345698765432.", "[iban]."),
    ("身份证11010519491231002X", "身份证[resident id]"),
    ("My social security number is 078-05-1120.", "My social security number is [social security number]."),
    ("ssn: 078051120", "ssn: [social security number]"),
    ("passport number is X1234567", "passport number is [passport number]"),
    ("CPF 529.982.247-25", "CPF [cpf number]"),
    ("2341 2341 2346", "[aadhaar number]"),
    ("HKID A123456(3)", "HKID [hong kong id]"),
    ("RSSMRA85T10A562S", "[codice fiscale]"),
]


def test_what_is_private_is_masked() -> None:
    for text, shown in PRIVATE:
        assert mask(text) == shown, text
        assert mask(shown) == shown, text


def test_a_private_key_is_masked_to_its_end_and_keeps_the_lines() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1234\nabcdEFGH5678abcdEFGH\n-----END RSA PRIVATE KEY-----"
    assert mask(f"a\n{key}\nb") == "a\n[secret: private key]\n\n\n\nb"
    cut = key.partition("\n-----END")[0]
    assert mask(f"{cut}\n\nOn Monday.") == "[secret: private key]\n\n\n\nOn Monday."


def test_what_only_looks_like_it_is_left() -> None:
    cases: list[str] = [
        "550e8400-e29b-41d4-a716-446655440000",
        "commit 48e165ad0b1f2a3c4d5e6f708192a3b4c5d6e7f8",
        "order 13812345678 shipped, tracking 1Z999AA10123456784",
        "ISBN 978-3-16-148410-0 and 9783161484100",
        "1716239022 1716239022123 1716239022123456 20260501100000",
        "2026-05-01T10:00:00.123456789Z 10.0.12.255 v2.14.3",
        'integrity "sha512-abc/DEF+123==", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"',
        "def login(user, password): return check(password, user.password_hash)",
        "class User:\n    username: str\n    password: SecretStr = Field(min_length=8)",
        'password = get_password("x1")\ntoken = tokenizer.next_token()\nself.secret = config.secret2.value',
        'password = os.environ["DB_PASSWORD1"]',
        '{"secret": "V1SecretVolumeSource", "token": "V1ServiceAccountTokenProjection"}',
        'if len(password) < 8: raise ValueError("password must be 8+ characters")',
        "password is required; the password is invalid! Password: 8+ characters, one digit",
        "password=${DB_PASSWORD} password=<your-password> password=%s password: {{ pw1 }} Password: ********",
        "api_key=YOUR_API_KEY OPENAI_API_KEY=sk-... api_key: process.env.OPENAI_API_KEY",
        "the token is expired; the token is base64 encoded; the password is sha256 hashed",
        "sk-learn and sk-estimator-doc-link and task-1234567890123456789",
        "max_tokens=4096 tokens: 1234 token: 1234 page_token: CAUQAA1234567890abcd",
        "my secret is that I love cake; the secret to success is 100% dedication",
        "secret: kubernetes-db-creds-v2",
        "密码是什么？密码错误，密码长度为8-16位",
        "0.4539578763621486 -4111111111111111 id: 4539578763621486",
        "the password hunter22 and the token abc123def456ghi7 stand in prose; password - 8 characters",
        "pinned: 2024, pin to 8080, spin: 1234, pass: 1024 fail: 3",
        "https://example.com/reset/12345 http://localhost:8080/a@b git@github.com:org/repo.git",
        "+1 555 123 4567, 555-12-34567, 010-12345678, 13812345678",
        "npm_config_registry=https://registry.npmjs.org hf_hub_download(repo_id=1)",
        "-----BEGIN CERTIFICATE-----",
        "523B 5238 5237 523A 5230 5352 5354 5353 5351 5366 6295 6293 6291 6286",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUA4111111111111111AAAFCAYAAACNbyblAAAAHElEQVQI12P4",
        "Culture=neutral, PublicKeyToken=31bf3856ad364e35",
        "docker run -u 1000:1000 -v /a:/b alpine",
        "订单号：621808431054237726",
        "order number 4111111111111111",
        "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",
        "password: ",
        "password=;next",
        "密码 hunters",
        'password: "open ended',
        "GB82WEST1234",
        "XX82WEST12345698765432",
        "GB83WEST12345698765432.",
        "GB82WEST12345698765432X",
        "000-12-3456 666-12-3456 900-12-3456",
        "529.982.247-26",
        "111.111.111-11",
        "身份证110105199413310028",
        "4111111111111112",
        'user_id: "4111111111111111"',
    ]
    for text in cases:
        assert mask(text) == text, text


def test_a_member_named_as_a_credential_holds_one() -> None:
    given = {
        "user": "bob",
        "password": "swordfish",
        "pin": 4711,
        "headers": [{"X-Api-Key": "k3y-abcdef123X"}],
        "env": [{"name": "DB_PASSWORD", "value": "swordfish"}],
        "ssn": "078051120",
        "passport_no": "none",
        "token": "swordfish",
    }
    assert mask_value(given) == {
        "user": "bob",
        "password": "[secret: password]",
        "pin": "[secret: pin]",
        "headers": [{"X-Api-Key": "[secret: api key]"}],
        "env": [{"name": "DB_PASSWORD", "value": "[secret: password]"}],
        "ssn": "[social security number]",
        "passport_no": "none",
        "token": "swordfish",
    }
    kept = {"password": "${PW}", "password_hash": "x", "token": "EOS", "count": 4111111111111111, "secret": True}
    assert mask_value(kept) is kept


@pytest.mark.parametrize("piece", ["password ", "密码", "eyJaaaaaaaa.", "41111111111111111", "ghp_"])
def test_the_time_goes_with_the_length(piece: str) -> None:
    assert_linear(find_private, repeated(piece), 64_000)


def test_a_policy_names_the_kinds_that_are_found() -> None:
    numbers = {*personal_numbers.KINDS, *redaction.NUMBER_KINDS, "card_code"}
    assert tuple(sorted(numbers)) == NUMBERS
    assert tuple(sorted({*secret_formats.KINDS, *redaction.SECRET_KINDS} - {"card_code"})) == SECRETS


# A number is a phone's by its structure and its name, not by its length.


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
