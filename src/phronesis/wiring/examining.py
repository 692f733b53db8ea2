"""Examining a store that perhaps cannot be opened: what stands in the way is a finding like any other."""

from phronesis.config import PolicySource
from phronesis.core.results import Check, DoctorReport
from phronesis.derive.doctor import check_of, writable_again
from phronesis.errors import InputError, PhronesisError, StorageReadOnly
from phronesis.wiring import open_memory

_SQLITE = "sqlite:///"


def examine(url: str | None, *, policy: PolicySource | None = None, tenant: str | None = None) -> DoctorReport:
    """Give what ``doctor`` finds; of a store that cannot be opened, why, and how to mend it.

    A policy's mistakes are a finding each, with the line; the store is not looked at then. InputError: the url or the
    tenant itself is wrong.
    """
    try:
        with open_memory(url, policy=policy, tenant=tenant, clock=None) as memory:
            return memory.doctor()
    except InputError as error:
        if not (error.field or "").startswith("policy"):
            raise
        return DoctorReport([_mistaken(str(line)) for line in error.details.get("mistakes", (error.message,))])
    except PhronesisError as error:
        found = check_of(error, "open", "mend what is told; until then the store cannot be used")
        if isinstance(error, StorageReadOnly) and url is not None and url.startswith(_SQLITE):
            found = Check("open", ok=False, detail=found.detail, remedy=found.remedy, level="error", code=found.code,
                          command=writable_again(url.removeprefix(_SQLITE)))  # fmt: skip
        return DoctorReport([found])


def _mistaken(line: str) -> Check:
    remedy = "correct it there; what a policy may say is in docs/policies.md"
    return Check("policy", ok=False, detail=line, remedy=remedy, level="error", code="policy.invalid")
