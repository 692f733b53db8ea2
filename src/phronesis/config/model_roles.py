"""Policy sections of models: gateways (servers or in-process packages) and the roles that models fill."""

import re
from collections.abc import Callable, Container, Mapping
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import urlsplit

import pydantic
from pydantic_core import PydanticCustomError

from phronesis.config.plugins import find_plugins

DEFAULT_URLS: Final = {"ollama": "http://127.0.0.1:11434/v1", "openai": "https://api.openai.com/v1"}
"""Default URL of each kind of gateway (source: the two servers' own documentation)."""
IN_PROCESS: Final = ("fastembed", "sentence-transformers")
"""Kinds of gateway without a server: packages that encode and rerank in this process."""
VARIABLE: Final = r"^[A-Za-z_][A-Za-z0-9_]*$"
"""POSIX shells' names of variables."""
_KEY_LIKE: Final = re.compile(r"(?<![A-Za-z0-9])(?=[A-Za-z0-9]*[0-9])[A-Za-z0-9]{20,}")
"""Unbroken letters and digits, as API keys end (``hf_…``, ``gsk_…``, hexadecimal ones), unlike variable names."""
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""A gateway's name. No slash: outcomes name ``gateway/model``, and models contain slashes."""


class Part(pydantic.BaseModel):
    """A part of the policy. What is unknown or of another type is an error, so that a slip is no silent default."""

    # pydantic's errors show their input, which may be a misplaced key.
    model_config = pydantic.ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, hide_input_in_errors=True
    )

    @property
    def may_fail(self) -> bool:
        """Whether it names what may not be there, so that a store is opened whole to find out."""
        return any(value.may_fail for _, value in self if isinstance(value, Part))


def one_of(names: Container[str]) -> pydantic.AfterValidator:
    """Return the check of a mapping's key that must be one of ``names``, as a field must be known."""

    def check(value: str) -> str:
        if value not in names:
            raise PydanticCustomError("extra_forbidden", "unknown name")
        return value

    return pydantic.AfterValidator(check)


def list_members(members: Mapping[str, Mapping[str, Any]]) -> Callable[[dict[str, Any]], None]:
    """Return what lists a mapping's members in its schema, for completion in editors, with what is said of each."""

    def change(schema: dict[str, Any]) -> None:
        rule = schema.pop("additionalProperties")
        schema.pop("propertyNames", None)
        schema["properties"] = {name: {**rule, **more} for name, more in members.items()}
        schema["additionalProperties"] = False

    return change


def _is_gateway_name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError("must be a name of 1 to 64 letters, digits, '_', '.' or '-'")
    return value


GatewayName = Annotated[
    str, pydantic.AfterValidator(_is_gateway_name), pydantic.WithJsonSchema({"pattern": f"^{_NAME.pattern}$"})
]


def check_url(value: str, *, example: str) -> str:
    """Return a server's URL without a trailing slash; ValueError if it is not a URL or contains credentials."""
    # No message shows the URL: it may contain a password.
    if not value.isprintable() or " " in value:
        raise ValueError("must be a URL without blanks and control characters")
    try:
        parts = urlsplit(value)
        usable = bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.scheme not in {"http", "https"}:
        raise ValueError(f"must be a URL of http or https with a host, such as {example}")
    if "@" in parts.netloc:
        raise ValueError("must not carry a user or password: put the key into a variable, and name it: api_key_env")
    if "?" in value or "#" in value:
        raise ValueError("must end with its path, such as /v1: without '?' or '#' and what follows them")
    return value.rstrip("/")


def plain_url(example: str) -> pydantic.AfterValidator:
    """Return the check of a field that holds a server's URL."""
    return pydantic.AfterValidator(lambda value: None if value is None else check_url(value, example=example))


def variable_name(example: str) -> pydantic.AfterValidator:
    """Return the check of a field that names an environment variable, and holds no key."""

    def check(value: str | None) -> str | None:
        # No message shows the value: it may be a pasted key.
        if value is not None and (not re.fullmatch(VARIABLE, value) or _KEY_LIKE.search(value)):
            raise ValueError(
                f"must be the name of an environment variable, such as {example}: letters, digits and '_', and no"
                " key; if a key stands there, put it into a variable, and a new one if others have seen this file"
            )
        return value

    return pydantic.AfterValidator(check)


def installed_name(group: str, *own: str) -> pydantic.AfterValidator:
    """Return the check of a policy's field that names a plug-in of a group, or one of ``own``, which need none."""

    def check(name: str) -> str:
        known = (*own, *find_plugins(group))
        if name not in known:
            raise ValueError(
                f"is {name!r:.80}, which no installed package brings; install one, or name one of {', '.join(known)}"
            )
        return name

    return pydantic.AfterValidator(check)


class Gateway(Part):
    """A server of models, or a package that runs them in this process, and the manners towards it."""

    kind: Literal["ollama", "openai", "decision", "fastembed", "sentence-transformers"] = pydantic.Field(
        description="ollama, or openai for any server that speaks as OpenAI's does; decision for one that answers"
        " POST /decide, for the role decide; fastembed or sentence-transformers for models that embed or rerank in this"
        " process."
    )
    base_url: Annotated[str | None, plain_url("http://127.0.0.1:8000/v1")] = pydantic.Field(
        default_factory=lambda given: DEFAULT_URLS.get(given["kind"]),
        description="Where the server is, up to and with /v1. By default where Ollama listens on this machine;"
        " OpenAI itself when the kind is openai and api_key_env is given.",
        examples=["http://127.0.0.1:8000/v1"],
    )
    api_key_env: Annotated[str | None, variable_name("OPENAI_API_KEY")] = pydantic.Field(
        default=None,
        description="The name of the environment variable that holds the key; never the key itself.",
        examples=["OPENAI_API_KEY"],
        json_schema_extra={"pattern": VARIABLE},
    )
    timeout: float = pydantic.Field(
        default=60.0, gt=0, le=3600, description="Seconds a call may take in all, with its tries."
    )
    tries: int = pydantic.Field(default=3, ge=1, le=10, description="How often a call is made before it has failed.")
    concurrency: int = pydantic.Field(default=2, ge=1, le=64, description="Calls that are under way at once.")

    @pydantic.model_validator(mode="after")
    def _check_base_url(self) -> Self:
        # Without this check, omitting the URL of an own server would send texts to OpenAI.
        if self.kind == "openai" and "base_url" not in self.model_fields_set and self.api_key_env is None:
            raise ValueError(
                "needs a base_url, such as http://127.0.0.1:8000/v1; for OpenAI itself give api_key_env instead"
            )
        if self.kind == "decision" and self.base_url is None:
            raise ValueError("needs a base_url, such as http://127.0.0.1:8090, when its kind is decision")
        if self.kind in IN_PROCESS and (self.base_url is not None or self.api_key_env is not None):
            raise ValueError(f"is no server when its kind is {self.kind}: leave out base_url and api_key_env")
        return self

    @property
    def in_process(self) -> bool:
        """Return whether its models run in this process."""
        return self.kind in IN_PROCESS

    def serves(self, role: str) -> bool:
        """Return whether its kind can take a role."""
        if self.kind == "decision":
            return role == "decide"
        return not self.in_process or role in {"rerank", "embed"}


# Roles: the tasks of models, and the model chosen for each.

ChatName = Literal[
    "extract",
    "plan",
    "summarise",
    "reflect",
    "special_reflection",
    "questions",
    "abstract",
    "learn",
    "migrate",
    "decide",
    "chat",
]
"""The roles in which a model completes a conversation."""
RULES: Final = "rules"
"""The name of the rule-based fallback, which every role has and which needs no server."""
BY_MODEL: Final = "<by a model>"
"""pydantic's name for the model form of a role, in the path of a field; no field has this name."""


def _is_model(value: str) -> str:
    if value != value.strip() or not value.isprintable():
        raise ValueError("must be a name without blanks around it and without control characters")
    return value


class Role(Part):
    """Which model, and at which server."""

    gateway: str = pydantic.Field(description="The name of one of the gateways.")
    model: Annotated[str, pydantic.AfterValidator(_is_model)] = pydantic.Field(
        min_length=1, max_length=200, description="The model's name at that server.", examples=["qwen3:4b"]
    )


class ChatRole(Role):
    """A role in which a model completes a conversation."""

    temperature: float | None = pydantic.Field(
        default=0.0,
        ge=0,
        le=2,
        description="0 repeats itself most; null leaves it to the server, as some models demand.",
    )
    max_tokens: int = pydantic.Field(default=2000, ge=16, le=32768, description="Tokens of an answer at most.")


class ExtractRole(ChatRole):
    """The role of reading messages."""

    max_tokens: int = pydantic.Field(
        default=4000, ge=16, le=32768, description="Tokens of an answer at most; a message takes about 250."
    )
    messages: int = pydantic.Field(
        default=24, ge=1, le=100, description="Messages that one call reads at most; a small model reads one better."
    )
    context: int = pydantic.Field(
        default=1200,
        ge=0,
        le=8000,
        description="Tokens, about, of the held memories and earlier messages that a call is shown beside them.",
    )


class RerankRole(Role):
    """The role of judging how well texts answer a question."""

    candidates: int = pydantic.Field(
        default=40, ge=2, le=200, description="How many of the best found texts are judged."
    )


class EmbedRole(Role):
    """The role of turning texts into vectors. It stands in for the policy's embedder."""

    prefix_scheme: Literal["none", "e5", "qwen3", "nomic"] = pydantic.Field(
        default="none", description="How the model wants queries and documents told apart: see its own description."
    )
    dimension: int | None = pydantic.Field(
        default=None,
        ge=1,
        le=16384,
        description="Numbers per vector, when the model can be asked for fewer than it has.",
    )


def _choice(value: Any) -> str:
    return RULES if isinstance(value, str) and value == RULES else BY_MODEL


_Rules = Annotated[Literal["rules"], pydantic.Tag(RULES)]
_BY_WORD = pydantic.Discriminator(_choice)
Extract = Annotated[Annotated[ExtractRole, pydantic.Tag(BY_MODEL)] | _Rules, _BY_WORD]
Chat = Annotated[Annotated[ChatRole, pydantic.Tag(BY_MODEL)] | _Rules, _BY_WORD]
Rerank = Annotated[Annotated[RerankRole, pydantic.Tag(BY_MODEL)] | _Rules, _BY_WORD]
Embed = Annotated[Annotated[EmbedRole, pydantic.Tag(BY_MODEL)] | _Rules, _BY_WORD]


class Roles(Part):
    """Who does what: a model, or the word ``rules`` for the twin by rules, which is the default."""

    extract: Extract = pydantic.Field(
        default=RULES, description="Finds what a conversation says that is worth keeping."
    )
    plan: Chat = pydantic.Field(default=RULES, description="Decides where to look for what a message asks.")
    summarise: Chat = pydantic.Field(default=RULES, description="Keeps the working summary of a session.")
    reflect: Chat = pydantic.Field(default=RULES, description="Finds trends and behaviours in what was remembered.")
    special_reflection: Chat = pydantic.Field(default=RULES, description="Reflects on what stands out.")
    questions: Chat = pydantic.Field(default=RULES, description="Asks what memories can answer.")
    abstract: Chat = pydantic.Field(default=RULES, description="Draws what is general from what was particular.")
    learn: Chat = pydantic.Field(default=RULES, description="Learns from what worked and what did not.")
    migrate: Chat = pydantic.Field(
        default=RULES, description="Rewrites old memories as claims; the model of learn where this one is not set."
    )
    decide: Chat = pydantic.Field(
        default=RULES, description="Chooses among a few options where rules are unsure, with a probability."
    )
    chat: Chat = pydantic.Field(default=RULES, description="Answers in phronesis chat.")
    rerank: Rerank = pydantic.Field(default=RULES, description="Judges how well what was found answers the question.")
    embed: Embed = pydantic.Field(default=RULES, description="Turns texts into vectors, instead of the embedder.")
