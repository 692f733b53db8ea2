"""The names, files and addresses that a message speaks of, and which of its words are names in the scope."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from phronesis.core.entities import normal_name
from phronesis.core.naming import find_mentions
from phronesis.core.scope import Scope
from phronesis.recall.lanes import visible_lanes
from phronesis.recall.planning.reading import MAX_READ, excerpt, identifiers
from phronesis.recall.relational import names_in
from phronesis.storage.database import Database, Unit
from phronesis.storage.lanes import Lane
from phronesis.storage.relations import find_entities

MAX_NAMED: Final = 16
"""Entities of one plan by rules: a message that names more is a list."""

_QUOTED: Final = re.compile(r"[\"“「『]([^\"“”「」『』\n]{2,40})[\"”」』]")


KnownNames = Callable[[str, Scope, Collection[str]], Collection[str]]
"""Tells, for a tenant and a scope, which of some names (normal forms) are names there."""


@dataclass(frozen=True, slots=True)
class StoredNames:
    """The names that the lanes of a scope know. It never writes."""

    database: Database

    def __call__(self, tenant: str, scope: Scope, names: Collection[str]) -> set[str]:
        """Give those of ``names`` that are an entity's of a lane that the scope sees."""
        if not names:
            return set()
        with self.database.transaction(tenant, "read") as unit:
            return names_held(unit, visible_lanes(unit, scope), names)


def names_held(unit: Unit, lanes: Iterable[Lane], names: Iterable[str]) -> set[str]:
    """Give those of some names, in normal form, that are an entity's of any of these lanes."""
    wanted = sorted(names)
    return {one.normal for lane in lanes for one in find_entities(unit, lane.lane_id, wanted)}


def candidates(text: str) -> set[str]:
    """Give what might be a name in a message, in normal form."""
    return names_in(excerpt(text, MAX_READ))


def entities_in(text: str, known: Collection[str] = ()) -> tuple[str, ...]:
    """Give what a message names: files, addresses, titles, capitalised names, names of code, quotations, known names.

    A known name is left out where a longer one holds it.
    """
    read = excerpt(text, MAX_READ)
    found = [(one.start, one.surface) for one in find_mentions(read)]
    found += [(match.start(1), match[1].strip()) for match in _QUOTED.finditer(read)]
    found += identifiers(read)
    folded = normal_name(read)
    found += [(max(0, folded.find(name)), name) for name in _longest(known)]
    out: dict[str, str] = {}
    for _, surface in sorted(found, key=lambda one: (one[0], -len(one[1]))):
        if surface and not any(normal_name(surface) in earlier for earlier in out):
            out[normal_name(surface)] = surface
    return tuple(list(out.values())[:MAX_NAMED])


def _longest(names: Iterable[str]) -> Sequence[str]:
    ordered = sorted(names, key=lambda name: (-len(name), name))
    return [name for n, name in enumerate(ordered) if not any(name in longer for longer in ordered[:n])]
