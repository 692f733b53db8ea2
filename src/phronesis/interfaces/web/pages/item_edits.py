"""Add an item; edit, archive, pin, retract or erase one or many from every list; undo."""

from collections.abc import Callable, Sequence
from typing import Annotated, Final

from fastapi import Form, Response
from pydantic import AfterValidator, BaseModel, ConfigDict

from phronesis.core.api_keys import Role
from phronesis.core.ids import short_id
from phronesis.core.items import PROSPECTIVE, Item
from phronesis.core.results import EditResult
from phronesis.errors import Conflict, InputError, NotFound
from phronesis.interfaces.web.rendering import back_with_notice, item_address, key_text, make_router, own_path, page
from phronesis.interfaces.web.session import Administering, FormText, Notice, Visiting, Visitor, Words, Writing
from phronesis.log.inputs import STATED_KINDS

ACTIONS: Final = frozenset({"archive", "unarchive", "pin", "unpin", "retract"})
"""Actions of the buttons: verbs of those names."""

MAX_CHOSEN: Final = 500
"""Maximum items of one form."""

MAX_LISTED: Final = 20
"""Items that are listed before they are erased."""

Ids = Annotated[list[str], Form(max_length=MAX_CHOSEN)]

router = make_router()


@router.get("/memories/{item_id}/card")
def card(visitor: Visiting, item_id: str) -> Response:
    """Show an item as it is in a list: a part of a page."""
    return page(visitor, "item_card.html", item=visitor.memory.get(item_id))


@router.get("/memories/{item_id}/form")
def form(visitor: Visiting, item_id: str) -> Response:
    """Show the form that edits an item in a list: a part of a page."""
    visitor.caller.require_role(Role.WRITE)
    return page(visitor, "item_form.html", item=visitor.memory.get(item_id))


@router.post("/memories/{item_id}/edit")
def edit(
    visitor: Writing,
    item_id: str,
    *,
    version: Annotated[int, Form()],
    content: FormText,
    value: Annotated[str | None, Form()] = None,
    reason: FormText = "",
    next: FormText = "",
) -> Response:
    """Return an item new words or another value; refused when somebody else changed it meanwhile."""
    held = visitor.memory.get(item_id)
    words, new_value = corrected(held, content.replace("\r\n", "\n"), (value or "").strip(), visitor.words)
    result = visitor.memory.update(
        item_id,
        content=words,
        value=new_value,
        expected_version=version,
        reason=reason.strip() or None,
        actor=visitor.actor,
    )
    return answer_change(visitor, next or item_address(item_id), "edited", [result], [held])


def corrected(item: Item, content: str, value: str, words: Words) -> tuple[str, str | None]:
    """Return the text and the value of an item after a person's correction; the value is None where it is not new.

    A new value takes the place of the old one in the text too, unless the text was changed as well.
    """
    if not value or value == item.value:
        return content, None
    if content == item.content:
        was = item.value if isinstance(item.value, str) else ""
        content = content.replace(was, value) if was and was in content else f"{key_text(item, words)}: {value}"
    return content, value


@router.post("/memories/{item_id}/over")
def end(visitor: Writing, item_id: str, next: FormText = "") -> Response:
    """End a fact that is so no longer."""
    now = visitor.memory.admin.components.clock()
    result = visitor.memory.update(item_id, valid_to=now, actor=visitor.actor)
    return answer_change(visitor, next or item_address(item_id), "over", [result], [])


@router.post("/memories/{item_id}/{action}")
def act(visitor: Writing, item_id: str, action: str, next: FormText = "") -> Response:
    """Archive an item, pin it, retract it, or the other way round."""
    if action not in ACTIONS:
        raise NotFound(f"action: there is no {action}", field="action")
    result = getattr(visitor.memory.items, action)(item_id, actor=visitor.actor)
    held = [] if result.items else [visitor.memory.get(item_id)]
    return answer_change(visitor, next or item_address(item_id), action, [result], held)


@router.post("/memories/change")
def change_chosen(visitor: Writing, id: Ids, action: FormText = "", next: FormText = "/memories") -> Response:
    """Archive or pin all items that were chosen, or the other way round."""
    if action not in ACTIONS:
        raise NotFound(f"action: there is no {action}", field="action")
    verb = getattr(visitor.memory.items, action)
    return _change_each(visitor, next, action, id, lambda one: verb(one, actor=visitor.actor))


@router.post("/rollback")
def rollback(visitor: Writing, id: Ids, next: FormText = "/", cascade: Annotated[bool, Form()] = False) -> Response:
    """Roll back changes, or entries with all their changes; this can be undone too."""
    verb = visitor.memory.rollback
    return _change_each(visitor, next, "rollback", id, lambda one: verb(one, cascade=cascade, actor=visitor.actor))


@router.post("/memories/erase")
def erase(
    visitor: Administering, id: Ids, typed: Annotated[str | None, Form()] = None, next: FormText = "/memories"
) -> Response:
    """Erase items for good, once the id of the one, or the number of several, was typed."""
    ids = list(dict.fromkeys(id))
    wanted = short_id(ids[0]) if len(ids) == 1 else str(len(ids))
    if typed is None or typed.strip() != wanted:
        listed = [visitor.memory.get(one) for one in ids[:MAX_LISTED]]
        shown = {"ids": ids, "listed": listed, "wanted": wanted, "wrong": typed is not None, "next": own_path(next)}
        return page(visitor, "erase.html", status=200 if typed is None else 400, **shown)
    certificates = []
    for one in ids:
        try:
            certificates.append(visitor.memory.erase(id=one, actor=visitor.actor))
        except NotFound:  # erased with another of these, since both came from one message
            if len(ids) == 1:
                raise
    return page(visitor, "erased.html", certificates=certificates, next=own_path(next))


def _change_each(
    visitor: Visitor, next_page: str, action: str, ids: Sequence[str], change: Callable[[str], EditResult]
) -> Response:
    """Change each of several; one that is gone, or that the action does not fit, leaves the others their change."""
    results: list[EditResult] = []
    for one in dict.fromkeys(ids):
        try:
            results.append(change(one))
        except (Conflict, InputError, NotFound):
            if len(ids) == 1:
                raise
    return answer_change(visitor, next_page, action, results, [], failed=len(set(ids)) - len(results))


def answer_change(
    visitor: Visitor,
    next_page: str,
    action: str,
    results: Sequence[EditResult],
    held: Sequence[Item],
    *,
    failed: int = 0,
) -> Response:
    """Return the response to an action: the cards that it changed, or a redirect without scripts; and the notice.

    ``held`` are shown where no result has an item: nothing was changed.
    """
    entries = tuple(one.entry_id for one in reversed(results) if one.items)
    items = {item.id: item for result in results for item in result.items} or {item.id: item for item in held}
    notice = Notice(action, entries, count=len(results), failed=failed)
    if visitor.partial:
        return page(visitor, "changed.html", items=list(items.values()), notice=notice)
    return back_with_notice(visitor, next_page, notice)


UNLEARNED: Final = "remembered_from"
"""Name in an item's metadata of the text from which nothing was learned, and that a person remembered anyway."""


class NewMemory(BaseModel):
    """The form. An empty ``kind``: the text is a message, from which facts are extracted.

    ``unlearned`` is the id of a text from which nothing was learned, ``at`` when it was said.
    """

    model_config = ConfigDict(str_strip_whitespace=True)

    token: str
    content: str = ""
    kind: str = ""
    subject: str = ""
    key: str = ""
    value: str = ""
    due: str = ""
    user: str = ""
    namespace: str = ""
    at: str = ""
    unlearned: str = ""
    next: Annotated[str, AfterValidator(own_path)] = "/memories"


@router.get("/memories/new")
def new_memory(visitor: Visiting, kind: str = "", content: str = "", next: str = "/memories") -> Response:
    """Show the form, with what the page that leads here knows already."""
    visitor.caller.require_role(Role.WRITE)
    owner = {"user": visitor.looking.user_id or "", "namespace": visitor.looking.namespace or ""}
    return _form_page(visitor, NewMemory(token="", content=content, kind=kind, next=next, **owner))


@router.post("/memories/new")
def add(visitor: Visiting, given: Annotated[NewMemory, Form()]) -> Response:
    """Remember a text, or one item of a kind; a field that is wrong is named beside the form."""
    visitor.check(given.token)
    own = ("subject", "key", "value", *(["due"] if given.kind in PROSPECTIVE else ())) if given.kind else ()
    stated = {name: text for name in own if (text := getattr(given, name))}
    try:
        result = visitor.memory.add(
            given.content.replace("\r\n", "\n"),
            kind=given.kind or None,
            user_id=given.user or None,
            namespace=given.namespace or None,
            occurred_at=given.at or None,
            metadata={UNLEARNED: given.unlearned} if given.unlearned else None,
            actor=visitor.actor,
            **stated,
        )
    except InputError as error:
        return _form_page(visitor, given, wrong=error)
    learned = given.kind or any(item.kind != "message" for item in result.items)
    notice = Notice("added" if learned else "nothing_learned", (result.entry_id,) if result.items else ())
    return back_with_notice(visitor, given.next, notice)


def _form_page(visitor: Visitor, given: NewMemory, *, wrong: InputError | None = None) -> Response:
    return page(
        visitor,
        "new_memory.html",
        status=400 if wrong else 200,
        given=given,
        kinds=sorted(STATED_KINDS),
        wrong=wrong,
    )
