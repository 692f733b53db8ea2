"""Configuration: the settings of a process, and the policy of a team."""

from phronesis.config.model_roles import ChatRole, EmbedRole, ExtractRole, Gateway, Part, RerankRole
from phronesis.config.policy import ROLES, ModelPrice, Policy, SpendingLimits, effective_policy
from phronesis.config.policy_sections import SENSITIVE_TOPICS, SensitiveRules
from phronesis.config.server import Serving
from phronesis.config.settings import (
    DEFAULT_TENANT,
    PolicySource,
    Settings,
    api_keys,
    check_tenant,
    default_url,
    load_settings,
    read_key,
)

__all__ = [
    "DEFAULT_TENANT",
    "ROLES",
    "SENSITIVE_TOPICS",
    "ChatRole",
    "EmbedRole",
    "ExtractRole",
    "Gateway",
    "ModelPrice",
    "Part",
    "Policy",
    "PolicySource",
    "RerankRole",
    "SensitiveRules",
    "Serving",
    "Settings",
    "SpendingLimits",
    "api_keys",
    "check_tenant",
    "default_url",
    "effective_policy",
    "load_settings",
    "read_key",
]
