"""Home, jobs, health and quarantine: what waits for a person, what failed, and the policy in force."""

import platform
from datetime import timedelta
from itertools import groupby
from typing import Annotated, Any, Final

from fastapi import Form, Response

from phronesis.core.api_keys import Role
from phronesis.core.items import SUSPECT_WORDS, due_of
from phronesis.core.reports import RECORDED_KINDS
from phronesis.errors import Conflict, EntryFailed
from phronesis.interfaces.web.rendering import back_with_notice, make_router, page
from phronesis.interfaces.web.session import Administering, FormText, Notice, Visiting, Visitor, Writing
from phronesis.log.inputs import STATED_KINDS

# Home: what was learned lately, contradictions, and what waits for a decision.

SPANS: Final = {"day": timedelta(days=1), "week": timedelta(days=7), "month": timedelta(days=30)}
"""Time spans for which the page lists what was learned."""

SHOWN: Final = 12
"""Items per list."""

DECIDED: Final = 3
"""Texts in quarantine, and entries that failed, on which one decides on the first page."""

router = make_router()


@router.get("/")
def home(visitor: Visiting, span: str = "day") -> Response:
    """Show a scope at a glance."""
    chosen = span if span in SPANS else "day"
    since = visitor.memory.admin.components.clock() - SPANS[chosen]
    seen = visitor.memory.admin.overview(**visitor.looking.scope, since=since, limit=SHOWN)
    return page(
        visitor,
        "home.html",
        seen=seen,
        learned={kind: n for kind, n in seen.counts.items() if kind not in RECORDED_KINDS},
        recorded={kind: n for kind, n in seen.counts.items() if kind in RECORDED_KINDS},
        held=visitor.memory.quarantine.list(**visitor.looking.scope, limit=DECIDED) if seen.quarantined else (),
        due=[(item, due_of(item)) for item in visitor.memory.items.due(**visitor.looking.owner, limit=SHOWN)],
        disputes=sorted(seen.disputes, key=lambda pair: pair.one.kind not in STATED_KINDS),
        stated=STATED_KINDS,
        span=chosen,
        spans=tuple(SPANS),
    )


# Jobs: entries that failed or wait, and reflections that are due.


@router.get("/jobs")
def jobs(visitor: Visiting) -> Response:
    """Show a tenant's work, what failed first."""
    return page(visitor, "jobs.html", jobs=visitor.memory.admin.jobs(limit=100))


@router.get("/jobs/waiting")
def waiting(visitor: Visiting) -> Response:
    """Show what the first page says of it: a part of that page, so that it need not wait for it."""
    return page(visitor, "jobs_waiting.html", jobs=visitor.memory.admin.jobs(limit=DECIDED))


@router.post("/jobs/retry")
def retry(visitor: Writing, id: FormText, next: FormText = "/jobs") -> Response:
    """Interpret an entry again that failed, once its cause is fixed."""
    done = "retried"
    try:
        visitor.memory.admin.retry(id, actor=visitor.actor)
    except EntryFailed:  # recorded as a new failure, which the page shows
        done = "again"
    return back_with_notice(visitor, next, Notice(done))


@router.get("/health")
def health(visitor: Visiting) -> Response:
    """Show what a tenant holds; the checks, which may take a while, are asked for by the page."""
    return page(visitor, "health.html", report=None, **_store_facts(visitor))


@router.get("/health/checks")
def checks(visitor: Visiting) -> Response:
    """Examine the store: a part of the page, or the whole of it for who came without scripts.

    For admins: it writes a row to see whether it can, asks every model for an answer, and tells what the server is made
    of.
    """
    visitor.caller.require_role(Role.ADMIN)
    report = visitor.memory.admin.doctor()
    sections = groupby(report.policy, lambda value: value.path.partition(".")[0])
    parts = [(name, tuple(fields)) for name, fields in sections]
    if visitor.partial:
        return page(visitor, "health_checks.html", report=report, sections=parts)
    return page(visitor, "health.html", report=report, sections=parts, **_store_facts(visitor))


def _store_facts(visitor: Visitor) -> dict[str, Any]:
    components = visitor.memory.admin.components
    seen = visitor.memory.admin.overview(**visitor.looking.scope, limit=1)  # its counts alone are shown
    encoder = components.doctor.embedders.default
    facts = (
        ("database", components.database.dialect),
        ("encoder", "" if encoder is None else encoder.name),
        ("python", platform.python_version()),
    )
    return {"counts": seen.counts, "quarantined": seen.quarantined, "facts": facts}


# The quarantine: text that reads like an order to a model, shown as data until an admin releases or rejects it.

HELD_SHOWN: Final = 50
"""Texts per page; the next ones appear as these are decided."""

BULK: Final = 1_000
"""Maximum texts decided by one form."""


@router.get("/quarantine")
def quarantine(visitor: Visiting) -> Response:
    """Show what is held, the newest first."""
    held = visitor.memory.quarantine.list(**visitor.looking.scope, limit=HELD_SHOWN + 1)
    return page(
        visitor, "quarantine.html", held=held[:HELD_SHOWN], more=len(held) > HELD_SHOWN, suspected=SUSPECT_WORDS
    )


@router.post("/quarantine/release")
def release(visitor: Administering, id: FormText, next: FormText = "/quarantine") -> Response:
    """Let a text go: it is found and shown again, as data where its source is not trusted."""
    result = visitor.memory.quarantine.release(id, actor=visitor.actor)
    return back_with_notice(visitor, next, Notice("release", (result.entry_id,)))


@router.post("/quarantine/reject")
def reject(
    visitor: Administering, id: Annotated[list[str], Form(max_length=BULK)], next: FormText = "/quarantine"
) -> Response:
    """End texts, one or all that were chosen."""
    entries: list[str] = []
    for one in id:
        try:
            entries.append(visitor.memory.quarantine.reject(one, actor=visitor.actor).entry_id)
        except Conflict:  # already decided
            if len(id) == 1:
                raise
    notice = Notice("reject", tuple(reversed(entries)), count=len(entries), failed=len(id) - len(entries))
    return back_with_notice(visitor, next, notice)
