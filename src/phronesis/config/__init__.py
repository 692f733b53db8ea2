"""Configuration: the settings of a process, and the policy of a team."""

from phronesis.config.model_roles import ChatRole, EmbedRole, ExtractRole, Gateway, RerankRole
from phronesis.config.policy import ROLES, ModelPrice, Policy, SpendingLimits, effective_policy
from phronesis.config.policy_sections import (
    SENSITIVE_TOPICS,
    AbstractRules,
    ClaimIndex,
    ExperienceRules,
    SensitiveRules,
    TraitRules,
)
from phronesis.config.server import Serving
from phronesis.config.settings import (
    DEFAULT_TENANT,
    PolicySource,
    Settings,
    api_keys,
    check_tenant,
    default_url,
    index_key,
    load_settings,
    remote_key,
)

__all__ = [
    "DEFAULT_TENANT",
    "ROLES",
    "SENSITIVE_TOPICS",
    "AbstractRules",
    "ChatRole",
    "ClaimIndex",
    "EmbedRole",
    "ExperienceRules",
    "ExtractRole",
    "Gateway",
    "ModelPrice",
    "Policy",
    "PolicySource",
    "RerankRole",
    "SensitiveRules",
    "Serving",
    "Settings",
    "SpendingLimits",
    "TraitRules",
    "api_keys",
    "check_tenant",
    "default_url",
    "effective_policy",
    "index_key",
    "load_settings",
    "remote_key",
]
