"""Policy sections of the claim index, fusion, ranking, experience, resources and traits."""

from typing import TYPE_CHECKING, Annotated, Final, Literal, Self, get_args
from urllib.parse import urlsplit

import pydantic
from pydantic_core import PydanticCustomError

from phronesis.config.model_roles import VARIABLE, Part, plain_url, variable_name
from phronesis.core.lazy_loading import lazy_module
from phronesis.recall.scoring.feature_names import FEATURE_NAMES
from phronesis.recall.scoring.fusion_rules import FLOOR, MEMORY_SHARE, PER_DOCUMENT, PER_DOMAIN, FusionRules

if TYPE_CHECKING:
    from phronesis.recall.scoring import weights as fitted
else:
    fitted = lazy_module("phronesis.recall.scoring.weights")

# Claim index: search claims in the database, or in an external index.

_COLLECTION: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{1,47}[A-Za-z0-9]$"
"""Chroma's collection names (3 to 512 of these characters), with room for a suffix."""


class ClaimIndex(Part):
    """The index that ``mem_search`` asks. An outside one holds a copy; the database stays what is true."""

    backend: Literal["native", "chroma"] = pydantic.Field(
        default="native", description="native: the database itself; chroma: a collection of Chroma, kept in step."
    )
    path: str | None = pydantic.Field(
        default=None, min_length=1, description="Chroma's folder, for one process alone; or give url."
    )
    url: str | None = pydantic.Field(
        default=None, description="Where a Chroma server is.", examples=["http://127.0.0.1:8000"]
    )
    collection: str = pydantic.Field(
        default="phronesis", pattern=_COLLECTION, description="Chroma's collection; a mark of the encoder follows it."
    )
    api_key_env: str | None = pydantic.Field(
        default=None,
        description="The name of the environment variable that holds the server's token; never the token itself.",
        json_schema_extra={"pattern": VARIABLE},
    )
    timeout: float = pydantic.Field(
        default=5.0, gt=0, le=600, description="Seconds that a call of the server may take."
    )

    @pydantic.field_validator("url")
    @classmethod
    def _is_plain_url(cls, value: str | None) -> str | None:
        plain = plain_url(value, example="http://127.0.0.1:8000")
        if plain is not None and urlsplit(plain).path:
            raise ValueError("must end with host and port: Chroma's client takes no path")
        return plain

    @pydantic.field_validator("api_key_env")
    @classmethod
    def _names_a_variable(cls, value: str | None) -> str | None:
        return variable_name(value, example="CHROMA_TOKEN")

    @pydantic.model_validator(mode="after")
    def _says_where_it_is(self) -> Self:
        given = (self.path is not None) + (self.url is not None)
        if self.backend == "native" and given:
            raise ValueError("needs backend: chroma beside path or url; native is the database itself")
        if self.backend == "chroma" and given != 1:
            raise ValueError("needs path or url, one of them, when its backend is chroma")
        if self.api_key_env is not None and self.url is None:
            raise ValueError("takes api_key_env beside url alone: a folder asks for no token")
        return self


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

    def formula(self, *, dense: bool) -> "fitted.Formula":
        """Return the formula."""
        return fitted.Formula(self.name, self.weights, self.provenance, dense=dense, crowding=self.crowding)


class Ranking(Part):
    """The formulas that searches rank by. What is left out is the one that comes with Phronesis."""

    words: Weighing | None = pydantic.Field(default=None, title="Words", description="Where there is no encoder.")
    dense: Weighing | None = pydantic.Field(default=None, title="Dense", description="Where there is one.")


# The experience base: thresholds for principles, forgetting, and background maintenance.

ForgettableKind = Literal["l1", "pattern", "principle"]
"""A kind of experience item that is subject to forgetting."""


class ForgetRules(Part):
    """When experience that nobody needs is downweighted, archived and deleted."""

    kinds: tuple[ForgettableKind, ...] = pydantic.Field(
        default=get_args(ForgettableKind),
        strict=False,
        max_length=len(get_args(ForgettableKind)),
        description="Kinds that are forgotten: events (l1), patterns, principles; what is not named here is kept.",
    )
    half_life_days: float = pydantic.Field(
        default=180.0,
        gt=0,
        le=36_500,
        description="After how many days without use what a person told is retained by half; a machine's word in half.",
    )
    downweight_below: float = pydantic.Field(
        default=0.5, ge=0, le=1, description="The retention, from 0 to 1, below which something counts half in answers."
    )
    archive_below: float = pydantic.Field(
        default=0.25,
        ge=0,
        le=1,
        description="The retention below which it leaves ordinary reads; by id it can be read.",
    )
    delete_after_days: float = pydantic.Field(
        default=365.0, ge=0, le=36_500, description="After how many days in the archive it ends for good."
    )
    keep_sources: tuple[Annotated[str, pydantic.Field(min_length=1, max_length=64)], ...] = pydantic.Field(
        default=(),
        strict=False,
        max_length=64,
        description="Source types that are never forgotten, such as manual or lean.",
    )

    @pydantic.model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.archive_below > self.downweight_below:
            raise ValueError(
                "archive_below must not be above downweight_below: what is archived was downweighted first"
            )
        return self


class AbstractRules(Part):
    """Principles: what patterns of one topic come to."""

    min_members: int = pydantic.Field(
        default=3, ge=2, le=1000, description="Events of a pattern that makes a principle by itself."
    )
    min_patterns: int = pydantic.Field(
        default=2, ge=1, le=1000, description="Patterns that make a principle together, of however few events."
    )
    change: float = pydantic.Field(
        default=0.25,
        ge=0,
        le=10,
        description="Share by which the events behind a principle must have changed in number for it to be said anew;"
        " another pattern and new counterexamples always count.",
    )


class ExperienceRules(Part):
    """The experience base: what was tried, the patterns in it, and the principles."""

    background: bool = pydantic.Field(
        default=True, description="Whether the worker groups events and draws principles; false: only when asked."
    )
    aggregate_events: int = pydantic.Field(
        default=20, ge=1, le=100_000, description="The worker groups events when this many are new."
    )
    aggregate_hours: float = pydantic.Field(
        default=24.0, gt=0, le=8760, description="It does so this many hours after the last time, when any is new."
    )
    abstract_hours: float = pydantic.Field(
        default=168.0, gt=0, le=8760, description="It draws principles no oftener than this, when a pattern moved."
    )
    abstract: AbstractRules = pydantic.Field(
        default_factory=AbstractRules, title="Abstract", description="When patterns make a principle."
    )
    forget: ForgetRules = pydantic.Field(
        default_factory=ForgetRules, title="Forget", description="What is forgotten, and when."
    )


UrlMode = Literal["off", "summary", "snapshot"]
FileMode = Literal["off", "metadata", "copy"]

ARTIFACT_TYPES: Final = ("memory_snapshot", "manual", "spec", "document", "code")
"""Types of tool artifacts that become documents (source: the runtime's plan, 2.3: memory_snapshot, manual)."""


def _is_type(value: str) -> str:
    if not value.replace("_", "").isalnum():
        raise ValueError("must be a name of letters, digits and '_', such as manual")
    return value


_Host = Annotated[str, pydantic.Field(min_length=1, max_length=253)]


class RemoteResources(Part):
    """Another server with resources, asked over HTTP at ``/api/v1/retrieve``; what it finds is trusted as documents."""

    url: str = pydantic.Field(
        description="Where the server is, without /api/v1/retrieve.", examples=["https://kb.example.com"]
    )
    api_key_env: str | None = pydantic.Field(
        default=None,
        description="The name of the environment variable that holds the key; never the key itself.",
        json_schema_extra={"pattern": VARIABLE},
    )
    timeout: float = pydantic.Field(
        default=5.0, gt=0, le=600, description="Seconds that an answer may take; a context waits that long at most."
    )

    @pydantic.field_validator("url")
    @classmethod
    def _is_plain_url(cls, value: str) -> str | None:
        return plain_url(value, example="https://kb.example.com")

    @pydantic.field_validator("api_key_env")
    @classmethod
    def _names_a_variable(cls, value: str | None) -> str | None:
        return variable_name(value, example="KB_KEY")


class ResourceRules(Part):
    """Documents, pages and files that are worth keeping. Nothing is fetched or read unless this says so."""

    urls: UrlMode = pydantic.Field(
        default="off",
        description="A URL that a turn refers to, or that is ingested: off; summary: its page is fetched and its"
        " summary kept; snapshot: all its text.",
    )
    files: FileMode = pydantic.Field(
        default="metadata",
        description="A file that a turn refers to: off; metadata: it is listed, with what the turn says of it; copy:"
        " its text is kept, where it lies under one of file_roots.",
    )
    file_roots: tuple[Annotated[str, pydantic.Field(min_length=1, max_length=1000)], ...] = pydantic.Field(
        default=(), strict=False, max_length=64, description="Folders from which files of turns may be copied."
    )
    artifacts: tuple[Annotated[str, pydantic.AfterValidator(_is_type)], ...] = pydantic.Field(
        default=ARTIFACT_TYPES,
        strict=False,
        max_length=64,
        description="Types of a turn's artifacts (metadata.type) that become documents; none: [].",
    )
    max_bytes: int = pydantic.Field(
        default=10_000_000, ge=1_000, le=100_000_000, description="Bytes of a document at most."
    )
    timeout: float = pydantic.Field(default=20.0, gt=0, le=600, description="Seconds that fetching a page may take.")
    allow_hosts: tuple[_Host, ...] = pydantic.Field(
        default=(),
        strict=False,
        max_length=1000,
        description="Hosts that may be fetched from, with those below them; none: all public ones.",
    )
    deny_hosts: tuple[_Host, ...] = pydantic.Field(
        default=(), strict=False, max_length=1000, description="Hosts that never are, with those below them."
    )
    private_addresses: bool = pydantic.Field(
        default=False,
        description="Whether addresses of this machine and of private networks may be fetched from: a page could have"
        " the memory ask a server that trusts it.",
    )
    remote: RemoteResources | None = pydantic.Field(
        default=None, title="Remote", description="A server that is asked beside the documents of this store."
    )


# Traits: when a reflection is due, and the topics that are never inferred.

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


class TraitRules(Part):
    """Traits: what a user's memories show again and again, found by reflecting on them."""

    importance: int = pydantic.Field(
        default=30,
        ge=1,
        le=100_000,
        description="A reflection is due when the importance of what was learned since the last one adds up to this.",
    )
    hours: float = pydantic.Field(
        default=24.0,
        gt=0,
        le=8760,
        description="A reflection is due this many hours after the last one, when something was learned since.",
    )
    background: bool = pydantic.Field(
        default=True, description="Whether the worker reflects when it is due; false: only when somebody asks."
    )
    sensitive: SensitiveRules = pydantic.Field(
        default_factory=SensitiveRules, title="Sensitive", description="What no trait may be inferred from."
    )
