"""What every source does with its drafts in the end: texts that every database can hold, and not without number."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

from phronesis.core.experience.drafts import Draft
from phronesis.core.text import storable

MAX_DRAFTS: Final = 2_000
"""Drafts of one text: more than a person looks through. The last one's observations say ``left_out``: True."""

MAX_TEXT: Final = 4_000
"""Characters of a draft's text: longer ones are cut, the source itself is kept beside."""


def finished(drafts: Iterable[Draft]) -> list[Draft]:
    """Give the drafts as they can be stored."""
    every = iter(drafts)
    out = [_stored(draft) for draft in islice(every, MAX_DRAFTS)]
    if next(every, None) is not None:
        body = out[-1].to_body()
        out[-1] = Draft.from_body({**body, "observations": {**body.get("observations", {}), "left_out": True}})
    return out


def _stored(draft: Draft) -> Draft:
    body: dict[str, Any] = _clean(draft.to_body())
    return Draft.from_body(body)


def _clean(value: Any) -> Any:
    """Replace what no database holds, cut what is too long, and leave out numbers that JSON does not know."""
    if isinstance(value, str):
        return storable(value[:MAX_TEXT])
    if isinstance(value, Mapping):
        return {_clean(str(key)): _clean(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(one) for one in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return str(value)
    return value
