"""How the store is: what it holds, what is wrong with it and what to do, and the policy in force."""

import platform
from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

from fastapi import Response

from phronesis.core.keys import Role
from phronesis.core.results import PolicyValue
from phronesis.interfaces.web.rendering import page
from phronesis.interfaces.web.routing import make_router
from phronesis.interfaces.web.visiting import Visiting, Visitor

NO_LIST: Final = 1
"""Members of the lists that the page does not show: it asks an overview for its counts."""

router = make_router()


@router.get("/health")
def health(visitor: Visiting) -> Response:
    """Show what a tenant holds; the checks, which may take a while, are asked for by the page."""
    return page(visitor, "health.html", report=None, **_held(visitor))


@router.get("/health/checks")
def checks(visitor: Visiting) -> Response:
    """Examine the store: a part of the page, or the whole of it for who came without scripts.

    For admins: it writes a row to see whether it can, asks every model for an answer, and tells what the server is made
    of.
    """
    visitor.caller.needs(Role.ADMIN)
    report = visitor.memory.doctor()
    parts = [(name, tuple(fields)) for name, fields in groupby(report.policy, _section)]
    if visitor.partial:
        return page(visitor, "health_checks.html", report=report, sections=parts)
    return page(visitor, "health.html", report=report, sections=parts, **_held(visitor))


def _held(visitor: Visitor) -> dict[str, Any]:
    stages, seen = visitor.memory.stages, visitor.memory.overview(**visitor.looking.scope, limit=NO_LIST)
    encoder = stages.doctor.embedders.default
    facts: Sequence[tuple[str, str]] = (
        ("database", stages.database.dialect),
        ("encoder", "" if encoder is None else encoder.name),
        ("python", platform.python_version()),
    )
    return {"counts": seen.counts, "quarantined": seen.quarantined, "facts": facts}


def _section(value: PolicyValue) -> str:
    return value.path.partition(".")[0]
