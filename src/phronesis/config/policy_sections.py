"""Policy sections of the spine: fusion, ranking, sensitive topics, privacy, core memory; and errors in a policy."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal, get_args

import pydantic

from phronesis.config.model_roles import Part, list_members, one_of
from phronesis.core.context import USUAL_LIMITS, ActivityLimits
from phronesis.core.items import KINDS
from phronesis.core.secret_formats import NUMBERS, SECRETS
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
from phronesis.telemetry import Disclosure

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


class WeightFormula(Part):
    """A weight for each feature that counts; what is left out counts nothing."""

    name: str = pydantic.Field(default="own", description="What searches call it when they explain.")
    provenance: str = pydantic.Field(description="What the weights were fitted on, and how.")
    weights: dict[Annotated[str, one_of(FEATURE_NAMES)], pydantic.FiniteFloat] = pydantic.Field(
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

    words: WeightFormula | None = pydantic.Field(default=None, title="Words", description="Where there is no encoder.")
    dense: WeightFormula | None = pydantic.Field(default=None, title="Dense", description="Where there is one.")


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
    kinds: dict[Annotated[str, one_of(PRIVATE_KINDS)], Action] = pydantic.Field(
        default_factory=dict,
        description="By kind, such as card_number or github_token; it counts before the two above.",
        json_schema_extra=list_members({name: {} for name in PRIVATE_KINDS}),
    )
    contexts: Literal["mask", "show"] = pydantic.Field(
        default="mask", description="Whether composed contexts show a marker for what is stored of these, or show it."
    )

    @property
    def actions(self) -> dict[str, Action]:
        """The action for each kind that is not redacted."""
        usual = dict.fromkeys(SECRETS, self.secrets) | dict.fromkeys(NUMBERS, self.personal_numbers) | self.kinds
        return {kind: action for kind, action in usual.items() if action != "redact"}


# Activity: how much of what was shown and asked is recorded.

MAX_KEPT: Final = 1_000_000


class ActivityRules(Part):
    """How many contexts and requests are recorded: ids, figures and times, no text."""

    contexts: int = pydantic.Field(
        default=USUAL_LIMITS.contexts,
        ge=0,
        le=MAX_KEPT,
        description="Composed contexts that are kept of a tenant, the newest; 0 records none.",
    )
    requests: int = pydantic.Field(
        default=USUAL_LIMITS.requests,
        ge=0,
        le=MAX_KEPT,
        description="Requests of the HTTP API and calls of MCP tools that are kept of a tenant, the newest; 0 records"
        " none.",
    )
    days: int = pydantic.Field(
        default=USUAL_LIMITS.days, ge=1, le=3_650, description="Days for which either is kept at most."
    )

    def limits(self) -> ActivityLimits:
        """Return the limits of the log."""
        return ActivityLimits(contexts=self.contexts, requests=self.requests, days=self.days)


# Telemetry.


class TelemetryRules(Part):
    """What OpenTelemetry spans hold beside names, numbers and ids of items and sessions."""

    content: bool = pydantic.Field(default=False, description="The texts of queries, and of memories found or stored.")
    users: bool = pydantic.Field(default=False, description="Ids of users.")

    def disclosure(self) -> Disclosure:
        """Return what spans may hold."""
        return Disclosure(content=self.content, users=self.users)


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


FieldPath = tuple[str, ...]
"""The path to a field from the top: ``("roles", "extract", "model")``."""
MOST_TOLD: Final = 20
"""Maximum number of errors in one message."""
_SHOWN: Final = 40
"""Maximum characters of a name or value in a message."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """One error.

    ``what`` describes the field at ``path``, as in "must be …"; with ``inside`` it describes the enclosing section, as
    in "unknown field …". ``line`` is given when it is not the field's own.
    """

    path: FieldPath
    what: str
    inside: bool = False
    line: int | None = None

    def describe(self, root: FieldPath = ()) -> str:
        """Return the sentence, with the path under ``root``."""
        subject = ".".join((*root, *(self.path[:-1] if self.inside else self.path)))
        if not subject:
            return self.what
        return f"{subject}: {self.what}" if self.inside else f"{subject} {self.what}"


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a policy: a file and the lines of its fields; without a name, the arguments of a call.

    ``variables`` are the environment variables that set a field.
    """

    name: str | None = None
    lines: Mapping[FieldPath, int] = field(default_factory=dict)
    variables: Mapping[FieldPath, str] = field(default_factory=dict)

    def line(self, mistake: Mistake) -> int:
        """Return the line of the field, or of the nearest section around it."""
        if mistake.line is not None:
            return mistake.line
        path = mistake.path
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def refusal(self, mistakes: Sequence[Mistake]) -> InputError:
        """Return one InputError for all mistakes, one a line, in the order of the file; its field is the first's.

        ``details["mistakes"]`` holds the same lines.
        """
        if self.name is None:
            ordered = list(mistakes)
            told = [mistake.describe(("policy",)) for mistake in ordered]
        else:
            ordered = sorted(mistakes, key=self.line)
            told = [f"{self.name}, line {self.line(mistake)}: {mistake.describe()}" for mistake in ordered]
        if len(told) > MOST_TOLD:
            told = [*told[:MOST_TOLD], f"{self.name or 'policy'}: and {len(told) - MOST_TOLD} more mistakes"]
        return InputError("\n".join(told), field=".".join(("policy", *ordered[0].path)), details={"mistakes": told})


def describe_value(value: object) -> str:
    """Return a value for a message: a short plain value as it is, otherwise its type."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return str(value) if abs(value) < 10**15 else "so large a number"
        case str():
            return repr(value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…")
        case dict():
            return "a mapping"
        case list() | tuple() | set():
            return "a list"
        case _:
            return f"a {type(value).__name__}"
