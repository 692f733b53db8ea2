"""Pages of runs: output, feedback, results of learning, and the structure of the modifier."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Depends, Form, Response

from phronesis.core.items import Item
from phronesis.errors import InputError, MissingExtra
from phronesis.interfaces.web.pages.memories import list_files
from phronesis.interfaces.web.rendering import address, back, make_router, page
from phronesis.interfaces.web.session import FormText, Visiting, Visitor, Writing
from phronesis.reasoning.laws.item_records import LearnResult
from phronesis.reasoning.laws.records import Review

PAGE: Final = 30

SPARE_ROWS: Final = 2
"""Empty rows for products in the form, in addition to recorded ones."""

router = make_router()


@dataclass(frozen=True, slots=True)
class Learn:
    """One learn from a run: its result, the items it changed, and whether it was rolled back since."""

    result: LearnResult
    changed: Sequence[Item]
    taken_back: bool


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
    listed = visitor.memory.get_all(**visitor.looking.scope, kinds=["run"], limit=PAGE, cursor=cursor or None)
    further = address("/runs", cursor=listed.next_cursor, **visitor.looking.named)
    return page(visitor, "runs.html", listed=listed, exports=list_files(visitor, "run"), further=further)


@router.get("/runs/view")
def run(visitor: Visiting, id: str, done: str = "") -> Response:
    """Show a run with all that came of it."""
    record = visitor.memory.runs.get(id, **visitor.looking.owner)
    drawing, missing = modifier_drawing(visitor, record.review)
    products = list((record.feedback or {}).get("products") or ())
    rows = [*products, *({} for _ in range(SPARE_ROWS))]
    return page(
        visitor,
        "run.html",
        run=record,
        review=record.review,
        drawing=drawing,
        missing=missing,
        rows=rows,
        learns=[learn_of(visitor, entry) for entry in reversed(record.learned)],
        done=done,
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


@router.post("/runs/unlearn")
def unlearn(visitor: Writing, id: FormText, entry: FormText) -> Response:
    """Take back what was learned from a run."""
    visitor.memory.rollback(entry, actor=visitor.actor)
    return _show_again(visitor, id, "rollback")


@router.post("/runs/review")
def review(visitor: Writing, id: FormText) -> Response:
    """Look up the modifier of a run at PubChem, which this server asks: half a minute at most is waited for."""
    found = visitor.memory.runs.review(id, **visitor.looking.owner, refresh=True)
    return _show_again(visitor, id, f"review_{found.reason}" if found.status == "unresolved" else "reviewed")


def modifier_drawing(visitor: Visitor, review: Review | None) -> tuple[Any, str]:
    """Return the drawing of a modifier with a structure; otherwise the reason why there is none."""
    reviews = visitor.memory.admin.components.reviews
    if review is None or reviews is None:
        return None, ""
    try:
        return reviews.drawing(review), ""
    except MissingExtra as error:
        return None, str(error)


def learn_of(visitor: Visitor, entry_id: str) -> Learn:
    """Return a learn's result and changes."""
    memory = visitor.memory
    book, browser = memory.admin.components.runs, memory.admin.components.browser
    changed = browser.made_by(memory.admin.tenant, book.entry(memory.admin.tenant, entry_id))
    undone = changed and any(
        event.verb == "rollback" and entry_id in event.reason for event in memory.history(changed[0].id)
    )
    return Learn(book.learned(memory.admin.tenant, entry_id), changed, bool(undone))


def _number(written: str, field: str) -> float | None:
    if not written.strip():
        return None
    try:
        return float(written)
    except ValueError as error:
        raise InputError(
            f"{field}: {written!r:.40} is no number; leave it empty when it was not measured", field=field
        ) from error


def _show_again(visitor: Visitor, run_id: str, done: str) -> Response:
    return back("/runs/view", id=run_id, done=done, **visitor.looking.named)
