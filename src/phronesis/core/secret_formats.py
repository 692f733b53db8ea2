"""The kinds of secrets and personal numbers that policies name, and the formats of credentials that issuers publish.

Each format has a literal that every instance contains. The pattern is tried only where the literal occurs, over a
bounded number of characters, so the time is linear in the text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

NUMBERS: Final = tuple(
    """
    aadhaar_number card_code card_number codice_fiscale cpf_number hong_kong_id iban identity_number licence_number
    passport_number resident_id social_security_number
    """.split()
)
"""Kinds of personal numbers: cards, accounts and papers."""
SECRETS: Final = tuple(
    """
    access_token adobe_key age_key alibaba_key anthropic_key api_key artifactory_token atlassian_token aws_key azure_key
    databricks_token digitalocean_token docker_token doppler_token dynatrace_token easypost_key figma_token fly_token
    github_token gitlab_token google_key grafana_token groq_key harness_token heroku_key huggingface_token
    json_web_token linear_key mapbox_token newrelic_key notion_token npm_token nuget_key onepassword_token openai_key
    openshift_token password perplexity_key pin planetscale_token postman_key prefect_key private_key pulumi_token
    pypi_token readme_key replicate_token rubygems_key secret sendgrid_key sentry_token shopify_token slack_token
    slack_webhook sourcegraph_token square_token stripe_key supabase_token tailscale_key telegram_token tencent_key
    terraform_token twilio_key vault_token xai_key
    """.split()
)
"""Kinds of secrets: keys, tokens, passwords."""
_ALNUM: Final = "A-Za-z0-9"
_NAME: Final = "A-Za-z0-9_"
_URLSAFE: Final = "A-Za-z0-9_-"
_HEX: Final = "0-9a-f"
MAX_TOKEN: Final = 2048
"""Maximum length of a token in characters; each part of a JSON Web Token may have twice as many."""


@dataclass(frozen=True, slots=True)
class Span:
    """The position of a credential or number in a text, and its kind."""

    start: int
    end: int
    kind: str


_PREFIXED: Final = (
    # kind, prefixes, characters after the prefix, how many at least
    ("aws_key", "AKIA ASIA ABIA ACCA", "A-Z0-9", 16),
    ("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", _ALNUM, 20),
    ("github_token", "github_pat_", _NAME, 20),
    ("gitlab_token", "glpat- gldt- glrt- glptt- gloas- glcbt- glimt- glsoat- glagent- glft-", _URLSAFE, 16),
    ("slack_token", "xoxa- xoxb- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp-", f"{_ALNUM}.-", 10),
    ("slack_webhook", "hooks.slack.com/services/", f"{_ALNUM}/", 20),
    ("stripe_key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", _ALNUM, 10),
    ("anthropic_key", "sk-ant-", _URLSAFE, 16),
    ("openai_key", "sk-proj- sk-svcacct- sk-admin- sk-or-v1-", _URLSAFE, 16),
    ("openai_key", "sk-", _ALNUM, 16),
    ("google_key", "AIza", _URLSAFE, 30),
    ("google_key", "GOCSPX- ya29.", _URLSAFE, 20),
    ("huggingface_token", "hf_", _ALNUM, 28),
    ("npm_token", "npm_", _ALNUM, 30),
    ("pypi_token", "pypi-AgE", _URLSAFE, 16),
    ("sendgrid_key", "SG.", f".{_URLSAFE}", 30),
    ("twilio_key", "SK", _HEX, 32),
    ("digitalocean_token", "dop_v1_ doo_v1_ dor_v1_", _HEX, 40),
    ("databricks_token", "dapi", _HEX, 32),
    ("shopify_token", "shpat_ shpca_ shppa_ shpss_", "0-9a-fA-F", 32),
    ("square_token", "sq0atp- sq0csp-", _URLSAFE, 20),
    ("grafana_token", "glsa_ glc_", f"{_NAME}=+/", 30),
    ("vault_token", "hvs. hvb. hvr.", _URLSAFE, 20),
    ("linear_key", "lin_api_", _ALNUM, 30),
    ("notion_token", "ntn_ secret_", _ALNUM, 40),
    ("groq_key", "gsk_", _ALNUM, 40),
    ("xai_key", "xai-", _ALNUM, 40),
    ("perplexity_key", "pplx-", _ALNUM, 40),
    ("replicate_token", "r8_", _ALNUM, 30),
    ("figma_token", "figd_", _URLSAFE, 30),
    ("postman_key", "PMAK-", f"{_HEX}-", 40),
    ("docker_token", "dckr_pat_", _URLSAFE, 20),
    ("supabase_token", "sbp_", _HEX, 40),
    ("atlassian_token", "ATATT3x", f"={_URLSAFE}", 40),
    ("newrelic_key", "NRAK-", _ALNUM, 20),
    ("sentry_token", "sntrys_ sntryu_", f"{_NAME}=+/", 40),
    ("doppler_token", "dp.pt. dp.st.", f".{_URLSAFE}", 20),
    ("tailscale_key", "tskey-", _URLSAFE, 20),
    ("rubygems_key", "rubygems_", _HEX, 40),
    ("age_key", "AGE-SECRET-KEY-1", "A-Z0-9", 40),
    ("alibaba_key", "LTAI", _ALNUM, 12),
    ("tencent_key", "AKID", _ALNUM, 30),
    ("artifactory_token", "AKCp", _ALNUM, 60),
    ("onepassword_token", "ops_eyJ", f"{_ALNUM}+/=", 200),
    ("adobe_key", "p8e-", "0-9a-fA-F", 32),
    ("dynatrace_token", "dt0c01. dt0s01. dt0s16.", f".{_ALNUM}", 60),
    ("easypost_key", "EZAK EZTK", _ALNUM, 50),
    ("fly_token", "fm1r_ fm1a_ fm2_ fo1_", f"{_NAME}+/=-", 40),
    ("gitlab_token", "GR1348941", _URLSAFE, 20),
    ("heroku_key", "HRKU-AA", _URLSAFE, 30),
    ("mapbox_token", "sk.eyJ", f".{_URLSAFE}", 40),
    ("newrelic_key", "NRII- NRIQ-", _URLSAFE, 30),
    ("nuget_key", "oy2", "a-z0-9", 43),
    ("openshift_token", "sha256~", _URLSAFE, 40),
    ("planetscale_token", "pscale_tkn_ pscale_pw_ pscale_oauth_", f".={_URLSAFE}", 32),
    ("prefect_key", "pnu_", _ALNUM, 36),
    ("pulumi_token", "pul-", _HEX, 40),
    ("readme_key", "rdme_", _ALNUM, 60),
    ("slack_webhook", "hooks.slack.com/workflows/ hooks.slack.com/triggers/", f"{_ALNUM}/", 20),
    ("sourcegraph_token", "sgp_", _NAME, 40),
)
"""Tokens with an issuer's prefix (its documentation, and GitHub's list of secrets it scans for)."""
_AUTHORIZATION: Final = (
    rf"(?i:authorization)\\?[\"']?\s{{0,4}}[:=]\s{{0,4}}\\?[\"']?(?i:basic|token|digest|apikey)[ ]{{1,4}}"
    rf"(?P<secret>[{_ALNUM}._~+/-]{{8,{MAX_TOKEN}}}={{0,2}})"
)
_LOGIN: Final = (
    r"(?:--user| -u)[ ]{1,4}[\"']?[\w.@+-]{1,80}:(?P<secret>(?=[^\s\"']{0,80}[A-Za-z])(?=[^\s\"']{0,80}[\d!@#%^&*~])"
    r"[^\s\"'$<>{}]{6,200})"
)
"""What curl and its kin are given: a user and a password with more than letters; ``-u 1000:1000`` names two users."""
_SHAPED: Final = (
    # kind, literal, pattern from the literal on; the group "secret" is what is taken out, else all of it
    ("json_web_token", "eyj", rf"eyJ[{_URLSAFE}]{{8,4096}}\.eyJ[{_URLSAFE}]{{8,4096}}(?:\.[{_URLSAFE}]{{0,4096}})?"),
    ("password", "://", r"://[^\s/?#:@\"'<>]{0,100}:(?P<secret>[^\s/?#@\"'<>]{1,200})@"),
    ("azure_key", "accountkey=", r"(?i:AccountKey)=(?P<secret>[A-Za-z0-9+/]{40,100}={0,2})"),
    ("azure_key", "sharedaccesskey=", r"(?i:SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{40,100}={0,2})"),
    ("azure_key", "q~", r"(?<=[A-Za-z0-9_~.]{3}\d)Q~[A-Za-z0-9_~.-]{31,34}"),
    ("telegram_token", ":aa", rf"(?<=\d{{8}}):AA[{_URLSAFE}]{{32,34}}(?![{_URLSAFE}])"),
    ("access_token", "bearer ", rf"(?i:bearer)[ ]{{1,4}}(?P<secret>[{_ALNUM}._~+/-]{{16,{MAX_TOKEN}}}={{0,2}})"),
    ("access_token", "authorization", _AUTHORIZATION),
    ("access_token", "_authtoken", rf"(?i:_authToken)\s?=\s?[\"']?(?P<secret>[{_ALNUM}._~+/-]{{16,{MAX_TOKEN}}})"),
    ("harness_token", "pat.", rf"pat\.[{_URLSAFE}]{{22}}\.[0-9a-f]{{24}}\.[{_ALNUM}]{{20}}"),
    ("terraform_token", ".atlasv1.", rf"(?<=[{_ALNUM}]{{14}})\.atlasv1\.[{_ALNUM}_=-]{{60,70}}"),
    ("password", "--user ", _LOGIN),
    ("password", " -u ", _LOGIN),
)
_PRIVATE_KEY: Final = "-----begin "
_PEM_HEAD: Final = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_PEM_TAIL: Final = "-----END "
_PEM_LINE: Final = re.compile(r"(?:\\r|\\n|[\s\"'+,]){0,64}+[A-Za-z0-9+/=:, -]{16,}+")
"""A line of the body of a key whose end is missing."""
_UNREAL: Final = re.compile(
    r"[$%<{]|\*\*\*|\.\.\.|(?i:^(?:x+|pass(?:word|wd)?|pwd|secret|token|your[-_].*|redacted|hidden|masked)$)"
)
"""Placeholders of credentials: a variable, a mask, or a name."""
_TURN: Final = re.compile(r"[a-z](?=[A-Z])|[A-Z](?=[A-Z][a-z])")
_TURNS: Final = 5
_WORD: Final = re.compile(r"[A-Z]?[a-z]{3,}")
_WORDS: Final = 0.6
_MIXED_LENGTH: Final = 30
"""Minimum length of a token of letters alone; their case must change often, but not only between words."""
_compiled: Final = cache(re.compile)


def _rows() -> Iterator[tuple[str, str, str]]:
    for kind, prefixes, characters, least in _PREFIXED:
        for prefix in prefixes.split():
            body = rf"(?<![A-Za-z0-9]){re.escape(prefix)}[{characters}]{{{least},{MAX_TOKEN}}}+(?![A-Za-z0-9])"
            yield kind, prefix.lower(), body
    yield from _SHAPED


_ROWS: Final = tuple(_rows())
KINDS: Final = tuple(sorted({row[0] for row in _ROWS} | {"private_key"}))
"""Kinds of credentials that have a format of their own."""


def lower_in_place(text: str) -> str:
    """Return a text in lower case with positions unchanged."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(one.lower() if one.isascii() else one for one in text)


def places(low: str, literal: str) -> Iterator[int]:
    """Return the positions of a literal in a text."""
    at = low.find(literal)
    while at >= 0:
        yield at
        at = low.find(literal, at + len(literal))


def find_formats(text: str, low: str) -> list[Span]:
    """Return the credentials of a text that have a format of their own; ``low`` is the text in small letters."""
    found = list(_private_keys(text, low)) if _PRIVATE_KEY in low else []
    for kind, literal, pattern in _ROWS:
        for at in places(low, literal):
            match = _compiled(pattern).match(text, at)
            if match is None:
                continue
            start, end = match.span("secret" if "secret" in match.re.groupindex else 0)
            if literal == "authorization" or _is_issued(text[start:end], kind):
                found.append(Span(start, end, kind))
    return found


def _is_issued(value: str, kind: str) -> bool:
    """Return whether a value was issued: random values have digits, and placeholders have marks."""
    if kind == "password":
        return _UNREAL.search(value) is None
    if not any(map(str.isdigit, value)):
        words = sum(map(len, _WORD.findall(value)))
        return len(value) >= _MIXED_LENGTH and len(_TURN.findall(value)) >= _TURNS and words < _WORDS * len(value)
    return kind != "access_token" or any(map(str.isalpha, value))


def _private_keys(text: str, low: str) -> Iterator[Span]:
    """Return each block of a private key, to its end line, or to the last line that may belong to its body."""
    done, last = 0, text.rfind(_PEM_TAIL)
    for at in places(low, _PRIVATE_KEY):
        head = _PEM_HEAD.match(text, at) if at >= done else None
        if head is None:
            continue
        tail = text.find(_PEM_TAIL, head.end()) if last >= head.end() else -1
        if tail >= 0:
            close = text.find("-----", tail + len(_PEM_TAIL), tail + 80)
            done = tail + len(_PEM_TAIL) if close < 0 else close + 5
        else:
            done = head.end()
            while (line := _PEM_LINE.match(text, done)) is not None and line.end() > done:
                done = line.end()
        yield Span(at, done, "private_key")
