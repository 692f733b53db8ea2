"""Pages of runs: output, feedback, results of learning, and the structure of the modifier."""

from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Depends, Form, Response

from phronesis.errors import InputError, MissingExtra
from phronesis.interfaces.web.pages.memories import list_kind
from phronesis.interfaces.web.rendering import address, back_with_notice, make_router, page
from phronesis.interfaces.web.session import FormText, Notice, Visiting, Visitor, Writing

SPARE_ROWS: Final = 2
"""Empty rows for products in the form, in addition to recorded ones."""

router = make_router()


@dataclass(frozen=True, slots=True)
class ProductRows:
    """The product rows of a feedback form; rows without a name are ignored."""

    name: Annotated[list[str], Form()]
    value: Annotated[list[str], Form()]
    fraction: Annotated[list[str], Form()]

    def products(self) -> list[dict[str, str | float | None]]:
        """Return the products; InputError for a value that is not a number."""
        return [
            {"name": one.strip(), "value": _number(much, "value"), "fraction": _number(share, "fraction")}
            for one, much, share in zip(self.name, self.value, self.fraction, strict=False)
            if one.strip()
        ]


@router.get("/runs")
def runs(visitor: Visiting, cursor: str = "") -> Response:
    """List runs, newest first, a page at a time."""
    return page(visitor, "runs.html", **list_kind(visitor, "/runs", "run", cursor))


@router.get("/runs/view")
def run(visitor: Visiting, id: str) -> Response:
    """Show a run with all that came of it."""
    record = visitor.memory.runs.get(id, **visitor.looking.owner)
    drawing, missing, reviews = None, "", visitor.memory.admin.components.reviews
    if record.review is not None and reviews is not None:
        try:
            drawing = reviews.drawing(record.review)
        except MissingExtra as error:
            missing = str(error)
    products = (record.feedback or {}).get("products") or ()
    return page(
        visitor,
        "run.html",
        run=record,
        review=record.review,
        drawing=drawing,
        missing=missing,
        rows=[*products, *({} for _ in range(SPARE_ROWS))],
        learns=[_learn_of(visitor, entry) for entry in reversed(record.learned)],
    )


@router.post("/runs/feedback")
def feedback(
    visitor: Writing,
    *,
    id: FormText,
    made: Annotated[ProductRows, Depends()],
    pros: FormText = "",
    cons: FormText = "",
    other: FormText = "",
) -> Response:
    """Say what a run came to."""
    given = {"products": made.products(), "pros": pros.strip(), "cons": cons.strip(), "other": other.strip()}
    visitor.memory.runs.feedback(id, given, **visitor.looking.owner, actor=visitor.actor)
    return _show_again(visitor, id, "feedback")


@router.post("/runs/learn")
def learn(visitor: Writing, id: FormText) -> Response:
    """Learn from a run."""
    visitor.memory.learn(id, **visitor.looking.owner, actor=visitor.actor)
    return _show_again(visitor, id, "learned")


@router.post("/runs/review")
def review(visitor: Writing, id: FormText) -> Response:
    """Look up the modifier of a run at PubChem, which this server asks: half a minute at most is waited for."""
    found = visitor.memory.runs.review(id, **visitor.looking.owner, refresh=True)
    return _show_again(visitor, id, f"review_{found.reason}" if found.status == "unresolved" else "reviewed")


def _learn_of(visitor: Visitor, entry_id: str) -> dict[str, Any]:
    """Return a learn: its result, the items it changed, and whether it was rolled back since."""
    memory, components = visitor.memory, visitor.memory.admin.components
    tenant, book = memory.admin.tenant, components.runs
    changed = components.browser.made_by(tenant, book.entry(tenant, entry_id))
    events = memory.history(changed[0].id) if changed else ()
    undone = any(event.verb == "rollback" and entry_id in event.reason for event in events)
    return {"result": book.learned(tenant, entry_id), "changed": changed, "taken_back": undone}


def _number(written: str, field: str) -> float | None:
    if not written.strip():
        return None
    try:
        return float(written)
    except ValueError as error:
        raise InputError(
            f"{field}: {written!r:.40} is no number; leave it empty when it was not measured", field=field
        ) from error


def _show_again(visitor: Visitor, run_id: str, action: str) -> Response:
    return back_with_notice(visitor, address("/runs/view", id=run_id, **visitor.looking.named), Notice(action))
