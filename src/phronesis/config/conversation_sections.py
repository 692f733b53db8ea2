"""Policy sections of conversation memory: privacy, forgetting, extraction, conflicts, core memory, summaries."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

import pydantic
from pydantic_core import PydanticCustomError

from phronesis.config.model_roles import Part
from phronesis.config.policy_sections import SENSITIVE_TOPICS, ForgetRules, Phrase, SensitiveRules, SensitiveTopic
from phronesis.core.items import DEFAULT_IMPORTANCE, KINDS
from phronesis.core.private_kinds import NUMBERS, SECRETS
from phronesis.core.proposals import Conflict, Retention
from phronesis.core.statements import STATED
from phronesis.core.values import FAMILY, KEYS, is_known
from phronesis.forgetting.laws import CONVERSATION, Law, Rule

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


# Forgetting of conversation memory: kinds, periods and exemptions.

FadingKind = Literal[
    "message",
    "fact",
    "episodic",
    "event",
    "task",
    "intention",
    "decision",
    "preference",
    "profile",
    "procedure",
    "section",
    "document",
]
"""A kind of conversation memory."""

_NOT_FIGURES: Final = frozenset({"kinds", "keep_sources"})
"""Fields of the experience rules that are not figures of a kind."""

_Days = Annotated[float, pydantic.Field(gt=0, le=36_500)]
_Share = Annotated[float, pydantic.Field(ge=0, le=1)]


class FadingRules(Part):
    """Figures of one kind; what is left out is as for all kinds."""

    never: bool = pydantic.Field(default=False, description="Whether it is never forgotten.")
    half_life_days: _Days | None = pydantic.Field(
        default=None, description="After how many days without use it is retained by half, at its usual importance."
    )
    archive_below: _Share | None = pydantic.Field(
        default=None, description="The retention, from 0 to 1, below which it leaves ordinary reads."
    )
    delete_after_days: Annotated[float, pydantic.Field(ge=0, le=36_500)] | None = pydantic.Field(
        default=None, description="After how many days in the archive it ends for good."
    )


FADING_KINDS: Final[Mapping[FadingKind, FadingRules]] = {
    "message": FadingRules(half_life_days=180.0),
    "preference": FadingRules(half_life_days=730.0),
    "profile": FadingRules(never=True),
    "decision": FadingRules(never=True),
    "section": FadingRules(never=True),
    "document": FadingRules(never=True),
}
"""Defaults that differ by kind: verbatim messages are forgotten first."""


def _with_others(given: Any) -> Any:
    """Add the kinds that a policy does not name."""
    return {**FADING_KINDS, **given} if isinstance(given, Mapping) else given


class ForgettingRules(Part):
    """When memories that nobody needs are archived, and end. Experience has its own figures: ``experience.forget``."""

    background: bool = pydantic.Field(
        default=False, description="Whether the worker forgets by itself; false: only when asked."
    )
    hours: float = pydantic.Field(
        default=168.0, gt=0, le=8760, description="Hours between two looks of the worker at a lane."
    )
    half_life_days: _Days = pydantic.Field(
        default=365.0,
        description="After how many days without use half of something is retained, at the usual importance of its"
        " kind; two points more double it, an assistant's or tool's word has half.",
    )
    archive_below: _Share = pydantic.Field(
        default=0.25, description="The retention, from 0 to 1, below which something leaves ordinary reads."
    )
    delete_after_days: float = pydantic.Field(
        default=365.0, ge=0, le=36_500, description="After how many days in the archive it ends for good."
    )
    expired_after_days: float = pydantic.Field(
        default=30.0, ge=0, le=36_500, description="Days after its end at which a task or intention is archived."
    )
    keep_importance: int | None = pydantic.Field(
        default=9, ge=1, le=10, description="The importance from which nothing is forgotten; null: none."
    )
    keep: tuple[Annotated[str, pydantic.Field(min_length=1, max_length=128)], ...] = pydantic.Field(
        default=("allergy", "diet", "health"),
        strict=False,
        max_length=64,
        description="Keys and kinds that are never forgotten, such as allergy or favorite.*, beside those of core.pin.",
    )
    keep_sources: tuple[Annotated[str, pydantic.Field(min_length=1, max_length=64)], ...] = pydantic.Field(
        default=(), strict=False, max_length=64, description="Source types that are never forgotten."
    )
    at_once: int = pydantic.Field(
        default=10_000, ge=1, le=100_000, description="Items that one call moves at most; the next goes on."
    )
    kinds: Annotated[dict[FadingKind, FadingRules], pydantic.BeforeValidator(_with_others)] = pydantic.Field(
        default_factory=lambda: dict(FADING_KINDS),
        description="Figures of kinds that fade otherwise, or never; kinds that are not named keep these.",
    )

    def of_kind(self, kind: FadingKind) -> dict[str, float]:
        """Return a kind's figures, its own before those of all kinds; an exempt kind has those of all."""
        given = self.kinds.get(kind, FadingRules()).model_dump(exclude={"never"})
        return {name: getattr(self, name) if own is None else own for name, own in given.items()}

    def never(self, kind: FadingKind) -> bool:
        """Return whether a kind is never forgotten."""
        return self.kinds.get(kind, FadingRules()).never


def law_of(own: ForgettingRules, experience: ForgetRules, *, pinned: Sequence[str]) -> Law:
    """Return the forgetting law of the policy's figures. ``pinned`` are keys and kinds that core memory shows first."""
    named = {name: getattr(experience, name) for name in ForgetRules.model_fields if name not in _NOT_FIGURES}
    sources = frozenset(experience.keep_sources)
    rules = {
        str(kind): Rule(**named, usual=DEFAULT_IMPORTANCE[kind], keep_sources=sources) for kind in experience.kinds
    }
    rules |= {kind: _rule(own, kind, pinned) for kind in CONVERSATION}
    return Law(rules=rules, most=own.at_once)


def _rule(own: ForgettingRules, kind: FadingKind, pinned: Sequence[str]) -> Rule:
    keep = frozenset((*own.keep, *pinned, *([kind] if own.never(kind) else [])))
    return Rule(
        **own.of_kind(kind),
        downweight_below=0.0,
        expired_after_days=own.expired_after_days,
        usual=DEFAULT_IMPORTANCE.get(kind, DEFAULT_IMPORTANCE["section"]),
        keep_importance=own.keep_importance,
        keep=keep,
        keep_sources=frozenset(own.keep_sources),
    )


TYPE_NAMES: Final = (*KEYS, *sorted(STATED))
"""What a rule can apply to: the keys of docs/memory-types.md, and the kinds that conversations state."""

MAX_RULES: Final = 256
"""Maximum rules of one section; there are 52 keys, and some families have words."""

_KEY: Final = r"[a-z][a-z0-9_]{0,63}(\.([^\s.*][^.*]{0,63}|\*))?"
"""A key of docs/memory-types.md, or a family of them; the word within a family may be in any language."""


def _is_type(value: str) -> str:
    if not is_known(value, STATED):
        raise PydanticCustomError("extra_forbidden", "unknown key or kind")
    return value


def _is_kind_or_key(value: str) -> str:
    if value in KINDS or re.fullmatch(_KEY, value):
        return value
    raise ValueError("must be a kind, such as decision, or a key of the memory types, such as allergy or favorite.*")


def _is_item_kind(value: str) -> str:
    if value not in KINDS:
        raise ValueError(f"must be one of {', '.join(KINDS)}")
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
    types: dict[_TypeName, Retention] = pydantic.Field(
        default_factory=dict,
        max_length=MAX_RULES,
        description="By key, family (favorite.*) or kind; the nearest to the key counts.",
        json_schema_extra=_types_schema,
    )


class ConflictRules(Part):
    """What stands where sources disagree about a key that holds one value.

    occurred: what was said later, by a source that is trusted no less; else both, disputed. trust: what the more
    trusted source says, then what was said later; of one trust and one instant both, disputed. keep_both: always both,
    disputed, until one of them is taken back or said to be replaced.
    """

    default: Conflict = pydantic.Field(default="occurred", description="Of what no other rule is for.")
    types: dict[_TypeName, Conflict] = pydantic.Field(
        default_factory=dict,
        max_length=MAX_RULES,
        description="By key, family (favorite.*) or kind; the nearest to the key counts.",
        json_schema_extra=_types_schema,
    )
    disputes: Literal["both", "best"] = pydantic.Field(
        default="both",
        description="What contexts show of a dispute: both sides, each saying what disputes it, or the best alone: of"
        " the more trusted source, then the later one.",
    )


class SensitiveMatters(SensitiveRules):
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
