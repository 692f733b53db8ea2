"""Experience: what was tried and what is learned from it, as lists, as answers to a question, and as a graph."""

from typing import Final

from fastapi import Response
from fastapi.responses import JSONResponse

from phronesis.core.experience.answers import Answer
from phronesis.core.plain import as_json
from phronesis.interfaces.web.rendering import address, page
from phronesis.interfaces.web.routing import make_router
from phronesis.interfaces.web.visiting import Visiting, Visitor
from phronesis.interfaces.web.walking import LAYERS, newest, walk

PAGE: Final = 20
ANSWERS: Final = 8

router = make_router()


@router.get("/experience")
def experience(
    visitor: Visiting,
    *,
    layer: str = "",
    situation: str = "",
    goal: str = "",
    constraint: str = "",
    cursor: str = "",
) -> Response:
    """List what was learned of attempts, and answer what worked where somebody asks."""
    chosen = layer if layer in LAYERS else LAYERS[0]
    asked = {"situation": situation.strip(), "goal": goal.strip(), "constraint": constraint.strip()}
    listed = visitor.memory.get_all(**visitor.looking.scope, kinds=[chosen], limit=PAGE, cursor=cursor or None)
    further = address("/experience", layer=chosen, cursor=listed.next_cursor, **visitor.looking.named)
    return page(
        visitor, "experience.html", layers=LAYERS, layer=chosen, listed=listed, further=further, asked=asked,
        answer=_answer(visitor, asked),
    )  # fmt: skip


@router.get("/experience/walk")
def walked(visitor: Visiting, id: str = "", artifacts: bool = False) -> Response:  # noqa: A002 - the query's name
    """Show the graph around an item, by default around the newest."""
    starts = [id] if id else newest(visitor.memory, visitor.looking.scope)
    seen = walk(visitor.memory, starts, steps=2, artifacts=artifacts) if starts else None
    return page(visitor, "walk.html", seen=seen, layers=LAYERS, start=id, artifacts=artifacts)


@router.get("/experience/graph")
def graph(visitor: Visiting, id: str, artifacts: bool = False) -> Response:  # noqa: A002 - the query's name
    """Give what is joined to an item, as JSON: a bounded part of the graph."""
    return JSONResponse(as_json(walk(visitor.memory, [id], artifacts=artifacts)))


def _answer(visitor: Visitor, asked: dict[str, str]) -> Answer | None:
    if not asked["situation"] and not asked["goal"]:
        return None
    constraints = [asked["constraint"]] if asked["constraint"] else []
    return visitor.memory.query(
        situation=asked["situation"],
        goal=asked["goal"],
        constraints=constraints,
        limit=ANSWERS,
        **visitor.looking.owner,
    )
