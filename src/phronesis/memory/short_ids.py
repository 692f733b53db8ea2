"""Look up the id that a person names by its beginning or its end."""

from dataclasses import dataclass
from typing import Final

from phronesis.core.ids import id_part
from phronesis.errors import InputError, NotFound
from phronesis.store.database import Database
from phronesis.store.named_items import find_ids

MAX_CANDIDATES: Final = 10
"""Ids of an ambiguous part that the error names."""


@dataclass(frozen=True, slots=True)
class IdFinder:
    """The ids of one tenant: of items, entries, changes, entities and keys."""

    database: Database
    tenant: str

    def complete(self, text: str, *, field: str = "id") -> str:
        """Return the whole id of which ``text`` is the beginning or the end, from four digits on.

        A text that is no part of an id is returned as it is. NotFound if no id has this part; InputError if several
        have: ``details["candidates"]`` holds ``(id, kind, words)`` of the first ten.
        """
        part = id_part(text)
        if part is None:
            return text
        with self.database.transaction(self.tenant, "read") as unit:
            found = find_ids(unit, beginning=part[0], end=part[1], limit=MAX_CANDIDATES + 1)
        if not found:
            raise NotFound(f"no id here begins or ends with {text}", field=field)
        if len(found) > 1:
            many = f"more than {MAX_CANDIDATES}" if len(found) > MAX_CANDIDATES else len(found)
            raise InputError(
                f"{text} is the beginning or the end of {many} ids; give more of it",
                field=field,
                details={"candidates": [tuple(one) for one in found[:MAX_CANDIDATES]]},
            )
        return found[0].id
