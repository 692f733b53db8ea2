"""What every write takes beside its body: the key that makes it repeatable, whether to wait, and for which version."""

import re
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Depends, Header, Query

from phronesis.errors import InputError
from phronesis.interfaces.admission import Caller

Key = Annotated[
    str | None,
    Header(alias="Idempotency-Key", max_length=256, description="The same key and body again: the same result, once."),
]
Match = Annotated[
    str | None, Header(alias="If-Match", max_length=64, description="The item's ETag; another version is a 412.")
]
_TAG: Final = re.compile(r'"?(\d{1,9})"?')


@dataclass(frozen=True, slots=True)
class How:
    """How a write is to be done."""

    idempotency_key: str | None
    wait: bool

    def by(self, caller: Caller) -> dict[str, Any]:
        """Give the arguments that every verb that writes takes."""
        return {"actor": caller.actor, "idempotency_key": self.idempotency_key, "wait": self.wait}


async def _how(
    idempotency_key: Key = None,
    wait: Annotated[bool, Query(description="false: stored at once, interpreted later.")] = True,
) -> How:
    return How(idempotency_key, wait)


Written = Annotated[How, Depends(_how)]


def version_of(tag: str | None) -> int | None:
    """Give the version that an If-Match header names; None for none, or for any (``*``)."""
    if tag is None or tag.strip() == "*":
        return None
    found = _TAG.fullmatch(tag.strip().removeprefix("W/"))
    if found is None:
        raise InputError('If-Match must be an ETag as it came, such as "3"', field="If-Match")
    return int(found[1])


def etag(version: int) -> dict[str, str]:
    """Give the header that names an item's version."""
    return {"ETag": f'"{version}"'}
