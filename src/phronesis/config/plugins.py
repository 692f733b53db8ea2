"""Plug-ins: the objects that installed distributions, this one included, register under a group of entry points."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from phronesis.errors import PluginBroken

ENGINES: Final = "phronesis.engines"
"""Engines: objects of `phronesis.engine.plugin.Engine`."""

SOURCES: Final = "phronesis.sources"
"""Source adapters of experience: classes of the port `phronesis.experience.sources.port.Source`."""

FACTS: Final = "phronesis.facts"
"""Fields of work: classes of the port `phronesis.reasoning.laws.facts.FactsBuilder`."""

INDEXES: Final = "phronesis.indexes"
"""Indexes of claims outside the database: what makes a `phronesis.index.projections.OutsideIndex`."""


@cache
def find_plugins(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name, sorted; they are looked up once in a process.

    PluginBroken: two distributions use one name.
    """
    found: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=group), key=lambda point: point.name):
        other = found.setdefault(point.name, point)
        if other.value != point.value:
            raise PluginBroken(
                f"{_owner(other)} and {_owner(point)} both bring '{point.name}' ({group}); uninstall one of them"
            )
    return found


def load_plugin(point: EntryPoint) -> Any:
    """Return the object that an entry point names; PluginBroken names the distribution if that fails."""
    try:
        return point.load()
    except Exception as error:  # whatever a stranger's module raises
        raise broken(point, f"cannot be loaded ({type(error).__name__}: {error})") from error


def broken(point: EntryPoint, what: str) -> PluginBroken:
    """Return the error of a plug-in; ``what`` completes the sentence that begins with its name."""
    return PluginBroken(
        f"the plug-in '{point.name}' of {_owner(point)} ({point.group}: {point.value}) {what};"
        f" repair it, or uninstall {_owner(point)}"
    )


def _owner(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "an unknown distribution"
