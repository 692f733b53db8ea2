"""Policy sections of the spine: fusion, ranking, sensitive topics, privacy, core memory, the server."""

import ipaddress
import re
from typing import Annotated, Any, Final, Literal, get_args

import pydantic
from pydantic_core import PydanticCustomError

from phronesis.config.model_roles import Part
from phronesis.core.items import KINDS
from phronesis.core.private_kinds import NUMBERS, SECRETS
from phronesis.core.serialization import MAX_DEPTH
from phronesis.errors import InputError
from phronesis.recall.scoring.weights import (
    FEATURE_NAMES,
    FLOOR,
    MEMORY_SHARE,
    PER_DOCUMENT,
    PER_DOMAIN,
    Formula,
    FusionRules,
)

# Fusion of memory and resource evidence.


class FusionPolicy(Part):
    """Diversity: how much of one list may be of one document, host or folder, and the ratio of memory to resources."""

    per_document: int = pydantic.Field(
        default=PER_DOCUMENT, ge=1, le=100, description="Sections of one document in a list, at most."
    )
    per_domain: int = pydantic.Field(
        default=PER_DOMAIN, ge=1, le=100, description="Sections of one host, or of one folder of files, at most."
    )
    memory_share: float = pydantic.Field(
        default=MEMORY_SHARE,
        ge=0,
        le=1,
        description="The part of the places, from 0 to 1, that is conversation memory where both sides have what is"
        " relevant; the rest is resources. A plan may say otherwise.",
    )
    floor: float = pydantic.Field(
        default=FLOOR,
        ge=0,
        le=1,
        description="Relevance, from 0 to 1, below which a result has no claim to the places of its side.",
    )

    relevance: Literal["scores", "decide"] = pydantic.Field(
        default="scores",
        description="Whether a context shows what the scores select, or nothing of it where the model of the role"
        " decide finds that none bears on the message: one call for each context with evidence.",
    )

    def rules(self) -> FusionRules:
        """Return the limits as fusion rules."""
        return FusionRules(self.per_document, self.per_domain, self.memory_share, self.floor)


# Ranking weights fitted to a team's own conversations.


def _is_feature(value: str) -> str:
    if value not in FEATURE_NAMES:
        raise PydanticCustomError("extra_forbidden", "unknown feature")
    return value


class Weighing(Part):
    """A weight for each feature that counts; what is left out counts nothing."""

    name: str = pydantic.Field(default="own", description="What searches call it when they explain.")
    provenance: str = pydantic.Field(description="What the weights were fitted on, and how.")
    weights: dict[Annotated[str, pydantic.AfterValidator(_is_feature)], pydantic.FiniteFloat] = pydantic.Field(
        description="By feature: " + ", ".join(FEATURE_NAMES) + ".",
        json_schema_extra={"propertyNames": {"enum": list(FEATURE_NAMES)}},
    )

    crowding: Annotated[pydantic.FiniteFloat, pydantic.Field(ge=0)] = pydantic.Field(
        default=0.0, description="What a result loses for each better one of its session or document; 0: nothing."
    )

    def formula(self, *, dense: bool) -> Formula:
        """Return the formula."""
        return Formula(self.name, self.weights, self.provenance, dense=dense, crowding=self.crowding)


class Ranking(Part):
    """The formulas that searches rank by. What is left out is the one that comes with Phronesis."""

    words: Weighing | None = pydantic.Field(default=None, title="Words", description="Where there is no encoder.")
    dense: Weighing | None = pydantic.Field(default=None, title="Dense", description="Where there is one.")


# Topics about which nothing may be derived.

SensitiveTopic = Literal[
    "mental_health",
    "physical_health",
    "politics",
    "religion",
    "sexual_orientation",
    "finances",
    "criminal_record",
    "addiction",
    "abuse",
]
"""A topic about which no trait is inferred."""

SENSITIVE_TOPICS: Final[tuple[SensitiveTopic, ...]] = get_args(SensitiveTopic)
"""All sensitive topics, in display order."""


def _has_a_letter(value: str) -> str:
    if not any(map(str.isalnum, value)):
        raise ValueError("must hold a letter or a digit")
    return value


Phrase = Annotated[str, pydantic.Field(min_length=1, max_length=200), pydantic.AfterValidator(_has_a_letter)]


class SensitiveRules(Part):
    """What no trait may be inferred from. What somebody says of it is remembered, as all else is."""

    topics: tuple[SensitiveTopic, ...] = pydantic.Field(
        default=SENSITIVE_TOPICS,
        strict=False,
        max_length=len(SENSITIVE_TOPICS),
        description="Matters from which no trait is inferred; what is not named here is as any other.",
    )
    also: tuple[Phrase, ...] = pydantic.Field(
        default=(),
        strict=False,
        max_length=256,
        description="Further words and phrases that keep a trait from being inferred, whole words in any case.",
    )
    allow: tuple[Phrase, ...] = pydantic.Field(
        default=(),
        strict=False,
        max_length=256,
        description="Words and phrases that are no sign of a topic, such as a product's name or a field of work.",
    )


# Privacy: whether secrets and personal numbers are stored, and whether contexts show them.

Action = Literal["redact", "keep", "refuse"]

PRIVATE_KINDS: Final = (*SECRETS, *NUMBERS)
"""The recognised kinds of secrets and personal numbers, by name."""


def _is_kind(value: str) -> str:
    if value not in PRIVATE_KINDS:
        raise PydanticCustomError("extra_forbidden", "unknown kind")
    return value


def _kinds_schema(schema: dict[str, Any]) -> None:
    """List the kinds in the schema, for completion in editors."""
    rule = schema.pop("additionalProperties")
    schema.pop("propertyNames", None)
    schema["properties"] = dict.fromkeys(PRIVATE_KINDS, rule)
    schema["additionalProperties"] = False


class PrivacyRules(Part):
    """What becomes of secrets and personal numbers that a write holds.

    redact: a marker such as ``[secret: github token]`` is stored in its place. keep: it is stored as it is. refuse: the
    write is an error, and nothing of it is stored.
    """

    secrets: Action = pydantic.Field(
        default="redact", description="Keys, tokens, passwords, private keys, as their formats and fields show them."
    )
    personal_numbers: Action = pydantic.Field(
        default="redact", description="Numbers of cards, bank accounts (IBAN) and identity papers."
    )
    kinds: dict[Annotated[str, pydantic.AfterValidator(_is_kind)], Action] = pydantic.Field(
        default_factory=dict,
        description="By kind, such as card_number or github_token; it counts before the two above.",
        json_schema_extra=_kinds_schema,
    )
    contexts: Literal["mask", "show"] = pydantic.Field(
        default="mask", description="Whether composed contexts show a marker for what is stored of these, or show it."
    )

    @property
    def actions(self) -> dict[str, Action]:
        """The action for each kind that is not redacted."""
        usual = dict.fromkeys(SECRETS, self.secrets) | dict.fromkeys(NUMBERS, self.personal_numbers) | self.kinds
        return {kind: action for kind, action in usual.items() if action != "redact"}


# Core memory.

_KEY: Final = r"[a-z][a-z0-9_]{0,63}(\.([^\s.*][^.*]{0,63}|\*))?"
"""A key of docs/memory-types.md, or a family of them; the word within a family may be in any language."""


def _is_kind_or_key(value: str) -> str:
    if value in KINDS or re.fullmatch(_KEY, value):
        return value
    raise ValueError("must be a kind, such as decision, or a key of the memory types, such as allergy or favorite.*")


def _is_item_kind(value: str) -> str:
    if value not in KINDS:
        raise ValueError(f"must be one of {', '.join(KINDS)}")
    return value


class CoreRules(Part):
    """Core memory: what stands in every context of a user."""

    kinds: tuple[Annotated[str, pydantic.AfterValidator(_is_item_kind)], ...] = pydantic.Field(
        default=("profile", "preference"),
        strict=False,
        max_length=len(KINDS),
        description="Kinds of memories that are shown, as far as they are about the user.",
    )
    pin: tuple[Annotated[str, pydantic.AfterValidator(_is_kind_or_key)], ...] = pydantic.Field(
        default=(),
        strict=False,
        max_length=64,
        description="Keys and kinds that come before all others, such as allergy, favorite.* or decision.",
    )
    items: int = pydantic.Field(
        default=60, ge=1, le=1000, description="Memories that are considered; the slot's budget decides how many fit."
    )
    due: int = pydantic.Field(
        default=8,
        ge=0,
        le=100,
        description="Tasks and intentions that are shown because they are due, most urgent first.",
    )


# The server: address, authentication and limits.

LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "::1")
"""Names by which a browser on this machine addresses a server on loopback."""


def _is_host(value: str) -> str:
    if not value.isascii() or not value.isprintable() or any(sign in value for sign in " /@?#"):
        raise ValueError("must be a host's name or address, such as memory.example.com, without scheme and path")
    return value.lower()


def _is_origin(value: str) -> str:
    scheme, sign, host = value.partition("://")
    if scheme not in {"http", "https"} or not sign or not host or "/" in host or "*" in host:
        raise ValueError("must be an origin, such as https://app.example.com: scheme and host, no path, no '*'")
    return value.lower()


_Host = Annotated[str, pydantic.Field(min_length=1, max_length=255), pydantic.AfterValidator(_is_host)]
_Origin = Annotated[str, pydantic.Field(min_length=1, max_length=300), pydantic.AfterValidator(_is_origin)]


class Serving(Part):
    """How ``phronesis serve`` serves. Without keys it is reached from this machine alone, whatever stands here."""

    host: _Host = pydantic.Field(default="127.0.0.1", description="The address it listens at.")
    port: int = pydantic.Field(
        default=8765, ge=0, le=65535, description="The port it listens at; 0: one that is free, which it prints."
    )
    keys_required: bool = pydantic.Field(
        default=False,
        description="Whether everybody needs an API key, even while there is none; true wherever others reach it.",
    )
    key_seconds: float = pydantic.Field(
        default=1.0,
        ge=0,
        le=60,
        description="How long a key that was taken is taken again unasked: so long may one that was revoked still be.",
    )
    allowed_hosts: tuple[_Host, ...] = pydantic.Field(
        default=(),
        strict=False,
        max_length=64,
        description="Names that the server answers to (the Host header). None: those of this machine where it is bound"
        " to loopback, else any. A name that is not this machine's own means that others reach it, through a proxy.",
    )
    cors_origins: tuple[_Origin, ...] = pydantic.Field(
        default=(),
        strict=False,
        max_length=64,
        description="Origins whose pages may call the API from a browser, with a key; none: no page of another site.",
    )
    max_body: int = pydantic.Field(
        default=16_000_000, ge=1_000, le=200_000_000, description="Bytes that a request may carry."
    )
    max_members: int = pydantic.Field(
        default=200_000,
        ge=100,
        le=10_000_000,
        description="Members that the objects and lists of a JSON body may have together.",
    )
    max_depth: int = pydantic.Field(
        default=MAX_DEPTH + 8,
        ge=8,
        le=200,
        description=f"Levels that a JSON body may be nested; each value in it may have {MAX_DEPTH}.",
    )
    requests_per_minute: int | None = pydantic.Field(
        default=None,
        ge=1,
        le=1_000_000,
        description="Calls of one key, or of one address without a key, at any face; none: any.",
    )
    burst: int = pydantic.Field(
        default=60, ge=1, le=100_000, description="Calls that may come at once before the rate counts."
    )
    shutdown_seconds: int = pydantic.Field(
        default=20, ge=1, le=600, description="How long requests that run may take when the server is asked to stop."
    )
    docs: bool = pydantic.Field(default=True, description="Whether /docs and /openapi.json are served.")
    access_log: bool = pydantic.Field(
        default=True, description="Whether each request is a line of JSON on stderr, without any words of it."
    )

    mcp_tools: tuple[Annotated[str, pydantic.Field(min_length=1, max_length=64)], ...] = pydantic.Field(
        default=("default",),
        strict=False,
        max_length=64,
        description="Which tools models are offered at /mcp: default (the eight that a model needs), all, or names.",
    )

    @property
    def on_loopback(self) -> bool:
        """Return whether it listens on loopback only; others may still reach it through a proxy."""
        return is_loopback(self.host)

    @property
    def reached_by_others(self) -> bool:
        """Return whether other machines may reach it: it listens to others, or has a name that others use."""
        return not self.on_loopback or any(not is_loopback(name) for name in self.allowed_hosts)

    @property
    def answers_to(self) -> tuple[str, ...]:
        """The hosts that a request may name, without port; empty: any."""
        if self.allowed_hosts:
            return self.allowed_hosts
        return (*LOOPBACK_NAMES, self.host) if self.on_loopback else ()

    def overridden(self, options: dict[str, Any]) -> "Serving":
        """Return a copy with a command's options applied; None means that an option was not given."""
        given = {name: value for name, value in options.items() if value is not None}
        try:
            return Serving.model_validate({**self.model_dump(), **given})
        except pydantic.ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = str(first["loc"][0])
            raise InputError(f"{field}: {first['msg'].removeprefix('Value error, ')}", field=field) from error


def is_loopback(host: str) -> bool:
    """Return whether a name or address is this machine's own."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
