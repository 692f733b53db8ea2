"""The policy's section of documents: what is fetched and read, and another server that is asked."""

from typing import Annotated, Final, Literal

import pydantic

from phronesis.config.model_roles import VARIABLE, Part, plain_url, variable_name

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

    url: Annotated[str, plain_url("https://kb.example.com")] = pydantic.Field(
        description="Where the server is, without /api/v1/retrieve.", examples=["https://kb.example.com"]
    )
    api_key_env: Annotated[str | None, variable_name("KB_KEY")] = pydantic.Field(
        default=None,
        description="The name of the environment variable that holds the key; never the key itself.",
        json_schema_extra={"pattern": VARIABLE},
    )
    timeout: float = pydantic.Field(
        default=5.0, gt=0, le=600, description="Seconds that an answer may take; a context waits that long at most."
    )

    @property
    def may_fail(self) -> bool:
        """Return True: it is another server."""
        return True


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


class ResourcePolicy(Part):
    """The policy as the resources engine reads it."""

    resources: ResourceRules = pydantic.Field(
        default_factory=ResourceRules,
        title="Resources",
        description="Which documents are taken in, and from where.",
        examples=[
            {
                "urls": "summary",
                "files": "copy",
                "file_roots": ["/srv/handbooks"],
                "remote": {"url": "https://kb.example.com", "api_key_env": "KB_KEY"},
            }
        ],
    )
