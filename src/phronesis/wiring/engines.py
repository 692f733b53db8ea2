"""The engines of the installed distributions, found by entry point, and the settings with their policies."""

from functools import cache

from phronesis.config import PolicySource, Settings, load_settings
from phronesis.config.plugins import ENGINES, broken, find_plugins, load_plugin
from phronesis.engine.plugin import Engine, EngineSet
from phronesis.errors import PluginBroken


@cache
def find_engines() -> EngineSet:
    """Return the engines of all installed distributions.

    PluginBroken: one cannot be loaded or clashes with another, or the metadata of this package is out of date.
    """
    found = []
    for point in find_plugins(ENGINES).values():
        engine = load_plugin(point)
        if not isinstance(engine, Engine):
            raise broken(point, f"is no Engine but a {type(engine).__name__}")
        if engine.name != point.name:
            raise broken(point, f"has the name '{engine.name}', which must be that of its entry point")
        found.append(engine)
    if not found:
        raise PluginBroken(
            "the metadata of the installed phronesis names no engine: it is of an older version; install it again (in a"
            " checkout: pip install -e .)"
        )
    return EngineSet.of(found)


def read_settings(url: str | None, *, tenant: str | None, policy: PolicySource | None = None) -> Settings:
    """Return the settings, whose policy has the sections of all engines; see ``load_settings``."""
    return load_settings(url, tenant=tenant, policy=policy, form=find_engines().policy)
