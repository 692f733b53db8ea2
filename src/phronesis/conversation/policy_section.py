"""The policy's sections of conversation memory: extraction, conflicts, sensitive topics, summaries."""

from typing import Annotated, Any, Final, Literal

import pydantic
from pydantic_core import PydanticCustomError

from phronesis.config.model_roles import Part
from phronesis.config.policy_sections import SENSITIVE_TOPICS, Phrase, SensitiveRules, SensitiveTopic
from phronesis.core.proposals import Conflict, Retention
from phronesis.core.statements import STATED
from phronesis.core.values import FAMILY, KEYS, is_known

TYPE_NAMES: Final = (*KEYS, *sorted(STATED))
"""What a rule can apply to: the keys of docs/memory-types.md, and the kinds that conversations state."""

MAX_RULES: Final = 256
"""Maximum rules of one section; there are 52 keys, and some families have words."""


def _is_type(value: str) -> str:
    if not is_known(value, STATED):
        raise PydanticCustomError("extra_forbidden", "unknown key or kind")
    return value


def _is_listed_type(value: str) -> str:
    if not is_known(value, STATED):
        raise ValueError(
            "must be a key of docs/memory-types.md, such as phone or favorite.*, or a kind that conversations state,"
            " such as event"
        )
    return value


def _types_schema(schema: dict[str, Any]) -> None:
    """List the keys and kinds in the schema, for completion in editors; a key of a family matches its pattern."""
    rule = schema.pop("additionalProperties")
    schema.pop("propertyNames", None)
    schema["properties"] = dict.fromkeys(TYPE_NAMES, rule)
    families = "|".join(name.removesuffix(FAMILY) for name in KEYS if name.endswith(FAMILY))
    schema["patternProperties"] = {rf"^({families})\..+$": rule}
    schema["additionalProperties"] = False


_Confidence = Annotated[float, pydantic.Field(ge=0, le=1)]

_TypeName = Annotated[str, pydantic.AfterValidator(_is_type)]


def _types_field() -> Any:
    return pydantic.Field(
        default_factory=dict,
        max_length=MAX_RULES,
        description="By key, family (favorite.*) or kind; the nearest to the key counts.",
        json_schema_extra=_types_schema,
    )


class Gates(Part):
    """What is taken up from conversations: how sure of it the memory must be, by who it comes from, and what never."""

    user: _Confidence = pydantic.Field(
        default=0.8, description="The least confidence, from 0 to 1, of what a person says of themselves or of others."
    )
    tool: _Confidence = pydantic.Field(default=0.9, description="Of what a tool answered.")
    inferred: _Confidence = pydantic.Field(
        default=0.6,
        description="Of what follows from somebody's words and was not said; its confidence is at most 0.6, so above"
        " that none is remembered.",
    )
    assistant: _Confidence = pydantic.Field(
        default=1.0,
        description="Of what the assistant says; its confidence is at most 0.6, as that of what is inferred.",
    )
    never: tuple[Annotated[str, pydantic.AfterValidator(_is_listed_type)], ...] = pydantic.Field(
        default=(),
        strict=False,
        max_length=MAX_RULES,
        description="Keys and kinds that conversations make no memory of, such as phone, favorite.* or event. What a"
        " caller states with add(kind=…) is taken.",
    )


class RetentionRules(Part):
    """What becomes of a value when another takes its place.

    versioned: it stays as a version, which reads of the past and questions for what was before show. overwrite: it is
    archived at once, and only the present value is shown. retracted: the new value says that it was wrong.
    """

    default: Retention = pydantic.Field(default="versioned", description="Of what no other rule is for.")
    types: dict[_TypeName, Retention] = _types_field()


class ConflictRules(Part):
    """What stands where sources disagree about a key that holds one value.

    occurred: what was said later, by a source that is trusted no less; else both, disputed. trust: what the more
    trusted source says, then what was said later; of one trust and one instant both, disputed. keep_both: always both,
    disputed, until one of them is taken back or said to be replaced.
    """

    default: Conflict = pydantic.Field(default="occurred", description="Of what no other rule is for.")
    types: dict[_TypeName, Conflict] = _types_field()
    disputes: Literal["both", "best"] = pydantic.Field(
        default="both",
        description="What contexts show of a dispute: both sides, each saying what disputes it, or the best alone: of"
        " the more trusted source, then the later one.",
    )


class SensitiveTopicRules(SensitiveRules):
    """What is kept of sensitive matters that come up in conversations. Traits have rules of their own.

    all: what is kept of anything else. messages_only: the message, which search finds; nothing is learned from it.
    nothing_derived: the log alone; no memory is made of the message either, no search finds it, no model is shown it.
    """

    store: Literal["all", "messages_only", "nothing_derived"] = pydantic.Field(
        default="all", description="What is kept of a message that speaks of one of the topics."
    )
    topics: tuple[SensitiveTopic, ...] = pydantic.Field(
        default=SENSITIVE_TOPICS,
        strict=False,
        max_length=len(SENSITIVE_TOPICS),
        description="The matters; what is not named here is as any other.",
    )
    also: tuple[Phrase, ...] = pydantic.Field(
        default=(),
        strict=False,
        max_length=256,
        description="Further words and phrases that make a message sensitive, whole words in any case.",
    )


class SummaryRules(Part):
    """The working summary of a session: by a model that has the role summarise, and by rules of what came since."""

    every_turns: int = pydantic.Field(
        default=8, ge=2, le=1000, description="After how many turns a model makes it anew."
    )
    max_tokens: int = pydantic.Field(default=400, ge=32, le=8192, description="Tokens of a model's lines at most.")
    noted: int = pydantic.Field(
        default=16, ge=0, le=200, description="Lines by rules of what came of the session: decisions, tasks, facts."
    )
    said: int = pydantic.Field(
        default=24, ge=0, le=200, description="Lines by rules of what the user said: the openings of their messages."
    )
    opening: int = pydantic.Field(
        default=160,
        ge=20,
        le=2000,
        description="Characters that are quoted of one of the newest third; half of it in the middle, then a quarter.",
    )


class ConversationPolicy(Part):
    """The policy as the conversation engine reads it."""

    extraction: bool = pydantic.Field(
        default=True, description="Whether messages are read for what they say; false keeps them word for word alone."
    )
    gates: Gates = pydantic.Field(
        default_factory=Gates,
        title="Gates",
        description="What is taken up from conversations, and what never.",
        examples=[{"user": 0.8, "tool": 0.9, "inferred": 1.0, "never": ["phone"]}],
    )
    retention: RetentionRules = pydantic.Field(
        default_factory=RetentionRules,
        title="Retention",
        description="What becomes of a value when another takes its place.",
        examples=[{"default": "versioned", "types": {"home_city": "overwrite", "favorite.*": "retracted"}}],
    )
    conflict: ConflictRules = pydantic.Field(
        default_factory=ConflictRules,
        title="Conflict",
        description="What stands where sources disagree.",
        examples=[{"types": {"employer": "trust", "fact": "keep_both"}, "disputes": "both"}],
    )
    sensitive: SensitiveTopicRules = pydantic.Field(
        default_factory=SensitiveTopicRules,
        title="Sensitive",
        description="What is kept of sensitive matters that come up in conversations.",
        examples=[{"store": "messages_only", "topics": ["physical_health", "finances"], "also": ["the merger"]}],
    )
    summary: SummaryRules = pydantic.Field(
        default_factory=SummaryRules,
        title="Summary",
        description="How the summary of a session is made.",
        examples=[{"every_turns": 8}],
    )
