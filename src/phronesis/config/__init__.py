"""Configuration: the settings of a process, and the policy of a team."""

from phronesis.config.claim_index import ClaimIndex
from phronesis.config.effective import effective_policy
from phronesis.config.experience import AbstractRules, ExperienceRules
from phronesis.config.gateways import Gateway
from phronesis.config.policy import ROLES, ModelPrice, Policy, SpendingLimits
from phronesis.config.roles import ChatRole, EmbedRole, RerankRole
from phronesis.config.serving import Serving
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
from phronesis.config.traits import SENSITIVE_TOPICS, SensitiveRules, TraitRules

__all__ = [
    "DEFAULT_TENANT",
    "ROLES",
    "SENSITIVE_TOPICS",
    "AbstractRules",
    "ChatRole",
    "ClaimIndex",
    "EmbedRole",
    "ExperienceRules",
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
