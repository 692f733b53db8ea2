"""Where the claims of the reasoning bank are searched: in the database itself, or in an index outside it."""

from typing import Final, Literal, Self
from urllib.parse import urlsplit

import pydantic

from phronesis.config.gateways import VARIABLE, Part, plain_url, variable_name

_COLLECTION: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{1,47}[A-Za-z0-9]$"
"""What Chroma takes as a name (3 to 512 of these characters), with room for what is put behind it."""


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
