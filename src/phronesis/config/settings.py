"""Settings: the only module that reads the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args
from urllib.parse import urlsplit

import pydantic

from phronesis.config.locations import default_url
from phronesis.config.policy import EmbedderName, Policy
from phronesis.config.policy_sections import Origin, describe_value
from phronesis.core.lazy_loading import lazy_module, load_once
from phronesis.core.text import check_id
from phronesis.errors import InputError

if TYPE_CHECKING:
    from phronesis.config import brain_file
else:
    brain_file = lazy_module("phronesis.config.brain_file")

DEFAULT_TENANT: Final = "default"
_TENANT_CHARACTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
_TENANT_LENGTH: Final = 64
PUBCHEM_URL: Final = "https://pubchem.ncbi.nlm.nih.gov/rest/pug"
"""PubChem's PUG REST, unless ``PHRONESIS_PUBCHEM_URL`` names a mirror or gateway."""
_FILE_ENDINGS: Final = (".yml", ".yaml")
"""File endings of a policy given as a string; a ``Path`` may have any."""
PolicySource = Mapping[str, Any] | Policy | str | Path
"""Forms in which a policy can be given: its fields, a Policy, or the path of a brain.yml."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The database URL and behaviour of the store; ``origin`` is the origin of the policy."""

    url: str
    tenant: str = DEFAULT_TENANT
    policy: Policy = field(default_factory=Policy)
    pubchem_url: str = PUBCHEM_URL
    origin: Origin = field(default_factory=Origin)


def load_settings(
    url: str | None, *, tenant: str | None, policy: PolicySource | None = None, form: type[Policy] = Policy
) -> Settings:
    """Return the settings: arguments win over the environment, the environment over the user's data folder.

    ``form`` is the policy with the sections of the engines (`phronesis.wiring.read_settings`).

    Reads ``PHRONESIS_URL``, ``PHRONESIS_POLICY`` (the path of a brain.yml, when no policy is given),
    ``PHRONESIS_EMBEDDER`` (when the policy names no embedder) and ``PHRONESIS_PUBCHEM_URL``. InputError names the field
    that is wrong.
    """
    if url is not None and not isinstance(url, str):
        raise InputError(f"url must be a string such as sqlite:///memory.db, not {type(url).__name__}", field="url")
    chosen_policy, origin = _load_policy(policy, form)
    chosen = url or os.environ.get("PHRONESIS_URL") or default_url()
    if chosen.startswith("postgresql+psycopg://"):
        chosen = chosen.replace("postgresql+psycopg://", "postgresql://", 1)
    checked = check_tenant(tenant if tenant is not None else DEFAULT_TENANT)
    return Settings(chosen, checked, chosen_policy, _pubchem_url(), origin)


def _pubchem_url() -> str:
    given = os.environ.get("PHRONESIS_PUBCHEM_URL", "").strip() or PUBCHEM_URL
    try:
        parts = urlsplit(given)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and not (parts.query or parts.fragment)
    except ValueError:
        good = False
    if not good or not given.isascii() or not given.isprintable() or " " in given:
        raise InputError(
            f"PHRONESIS_PUBCHEM_URL must be the URL that PUG REST's paths are added to, such as {PUBCHEM_URL}",
            field="PHRONESIS_PUBCHEM_URL",
        )
    return given


def _load_policy(given: object, form: type[Policy]) -> tuple[Policy, Origin]:
    if isinstance(given, Policy):
        return given, Origin()
    values, origin = _policy_values(given)
    embedder = os.environ.get("PHRONESIS_EMBEDDER")
    if embedder and "embedder" not in values:
        if embedder not in get_args(EmbedderName):
            known = ", ".join(get_args(EmbedderName))
            raise InputError(
                f"PHRONESIS_EMBEDDER must be one of {known}, not {describe_value(embedder)}", field="policy.embedder"
            )
        values = {**values, "embedder": embedder}
        origin = replace(origin, variables={("embedder",): "PHRONESIS_EMBEDDER"})
    return brain_file.make_policy(values, origin, form) if values else _usual_policy(form), origin


@load_once
def _usual_policy(form: type[Policy]) -> Policy:
    """Return the policy of a store without a brain.yml."""
    return form()


def _policy_values(given: object) -> tuple[Mapping[str, Any], Origin]:
    if given is None:
        named = os.environ.get("PHRONESIS_POLICY")
        return brain_file.read_brain_file(Path(named)) if named else ({}, Origin())
    if isinstance(given, Mapping):
        return dict(given), Origin()
    if isinstance(given, Path):
        return brain_file.read_brain_file(given)
    if isinstance(given, str) and given.endswith(_FILE_ENDINGS):
        return brain_file.read_brain_file(Path(given))
    what = "another text" if isinstance(given, str) else type(given).__name__
    raise InputError(f"policy must be a mapping, a Policy or the path of a brain.yml, not {what}", field="policy")


def api_keys(policy: Policy) -> Mapping[str, pydantic.SecretStr | None]:
    """Return the key of each gateway, None if it has none, from the environment variables that the policy names.

    InputError: the variable of a gateway in use is not set, or its value cannot be a key.
    """
    used = {role.gateway: name for name, role in reversed(policy.roles_with_models().items())}
    keys: dict[str, pydantic.SecretStr | None] = {}
    for name, gateway in policy.gateways.items():
        variable = gateway.api_key_env
        if name in used:
            key = read_key(
                variable,
                what=f"gateway {name!r} of the role {used[name]!r}",
                field=f"policy.gateways.{name}.api_key_env",
            )
        else:
            key = None if variable is None else _usable_key(variable)
        keys[name] = pydantic.SecretStr(key) if key else None
    return keys


def read_key(variable: str | None, *, what: str, field: str) -> str | None:
    """Return the key in the environment variable that a field of the policy names; None if it names none.

    InputError: the variable is not set, or its value cannot be a key. ``what`` is what takes the key.
    """
    key = None if variable is None else _usable_key(variable)
    if variable is not None and key is None:
        raise InputError(
            f"{what} takes its key from the environment variable {variable}, which is not set or holds more than a key;"
            " set it, or take api_key_env away if none is needed",
            field=field,
        )
    return key


def _usable_key(variable: str) -> str | None:
    """Return the key in a variable; None if there is none that a header can carry."""
    key = os.environ.get(variable, "").strip()
    return key if key and key.isascii() and key.isprintable() else None


def check_tenant(name: object) -> str:
    """Validate a tenant's name: 1–64 letters, digits, ``_``, ``.`` or ``-``. Session settings use it unquoted."""
    text = check_id(name, field="tenant")
    if len(text) > _TENANT_LENGTH or not set(text) <= _TENANT_CHARACTERS:
        raise InputError("tenant must be 1 to 64 letters, digits, '_', '.' or '-'", field="tenant")
    return text
