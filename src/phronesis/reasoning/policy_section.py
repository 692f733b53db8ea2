"""The policy's section of the reasoning bank, and of the index of its claims."""

from typing import Annotated, Final, Literal, Self
from urllib.parse import urlsplit

import pydantic

from phronesis.config.model_roles import VARIABLE, Part, check_url, installed_name, variable_name
from phronesis.config.plugins import FACTS, INDEXES

NATIVE: Final = "native"
"""The index of claims that is the database itself."""

GENERIC: Final = ("auto", "generic")
"""Builders of FACTS that need no plug-in."""

_COLLECTION: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{1,47}[A-Za-z0-9]$"
"""Chroma's collection names (3 to 512 of these characters), with room for a suffix."""


class ClaimIndex(Part):
    """The index that ``mem_search`` asks. An outside one holds a copy; the database stays what is true."""

    backend: Annotated[str, installed_name(INDEXES, NATIVE)] = pydantic.Field(
        default=NATIVE,
        description="native: the database itself; chroma: a collection of Chroma, kept in step; or the name of an"
        " index that an installed package brings.",
        examples=[NATIVE, "chroma"],
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
    api_key_env: Annotated[str | None, variable_name("CHROMA_TOKEN")] = pydantic.Field(
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
        plain = None if value is None else check_url(value, example="http://127.0.0.1:8000")
        if plain is not None and urlsplit(plain).path:
            raise ValueError("must end with host and port: Chroma's client takes no path")
        return plain

    @pydantic.model_validator(mode="after")
    def _check_place(self) -> Self:
        given = (self.path is not None) + (self.url is not None)
        if self.backend == NATIVE and given:
            raise ValueError("needs backend: chroma beside path or url; native is the database itself")
        if self.backend != NATIVE and given != 1:
            raise ValueError(f"needs path or url, one of them, when its backend is {self.backend}")
        if self.api_key_env is not None and self.url is None:
            raise ValueError("takes api_key_env beside url alone: a folder asks for no token")
        return self


class ReasoningRules(Part):
    """The reasoning bank: how runs are read, and how much a learn looks at."""

    facts: Annotated[str, installed_name(FACTS, *GENERIC)] = pydantic.Field(
        default="auto",
        description="Whose FACTS a run has; auto: a catalyst's where its output names one.",
        examples=[*GENERIC, "catalysis"],
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

    @property
    def may_fail(self) -> bool:
        """Whether FACTS are those of a plug-in, or the index is outside the database."""
        return self.facts not in GENERIC or super().may_fail


class ReasoningPolicy(Part):
    """The policy as the reasoning engine reads it."""

    reasoning: ReasoningRules = pydantic.Field(
        default_factory=ReasoningRules,
        title="Reasoning",
        description="What is learned from runs.",
        examples=[
            {
                "facts": "catalysis",
                "candidates": 24,
                "review": "background",
                "index": {"backend": "chroma", "url": "http://127.0.0.1:8000"},
            }
        ],
    )
