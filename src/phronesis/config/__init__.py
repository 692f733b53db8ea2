"""Configuration: the settings of a process, and the policy of a team.

The names are imported on first use: a process that only needs `phronesis.config.locations` loads no pydantic.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from phronesis.config.model_roles import ExtractRole, Gateway, Part
    from phronesis.config.policy import ROLES, Policy, effective_policy
    from phronesis.config.policy_sections import SENSITIVE_TOPICS, SensitiveRules
    from phronesis.config.server import Serving
    from phronesis.config.settings import PolicySource, Settings, api_keys, check_tenant, load_settings, read_key

_NAMES: Final = {
    "model_roles": ("ExtractRole", "Gateway", "Part"),
    "policy": ("ROLES", "Policy", "effective_policy"),
    "policy_sections": ("SENSITIVE_TOPICS", "SensitiveRules"),
    "server": ("Serving",),
    "settings": ("PolicySource", "Settings", "api_keys", "check_tenant", "load_settings", "read_key"),
}
_HOMES: Final = {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names}

__all__ = [
    "ROLES",
    "SENSITIVE_TOPICS",
    "ExtractRole",
    "Gateway",
    "Part",
    "Policy",
    "PolicySource",
    "SensitiveRules",
    "Serving",
    "Settings",
    "api_keys",
    "check_tenant",
    "effective_policy",
    "load_settings",
    "read_key",
]


def __getattr__(name: str) -> Any:
    """Import a name on its first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value
