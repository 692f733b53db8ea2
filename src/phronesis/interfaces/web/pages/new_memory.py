"""The page on which a person adds a memory."""

from typing import Annotated, Final

from fastapi import Form, Response
from pydantic import AfterValidator, BaseModel

from phronesis.core.api_keys import Role
from phronesis.core.items import PROSPECTIVE
from phronesis.errors import InputError
from phronesis.interfaces.web.notices import Notice
from phronesis.interfaces.web.rendering import page
from phronesis.interfaces.web.routing import back_with_notice, make_router, own_path
from phronesis.interfaces.web.session import Visiting, Visitor
from phronesis.log.inputs import STATED_KINDS

KINDS: Final = tuple(sorted(STATED_KINDS))

NOTHING_LEARNED: Final = "nothing_learned"

router = make_router()


class NewMemory(BaseModel):
    """The form. An empty ``kind``: the text is a message, from which facts are extracted."""

    token: str
    content: str = ""
    kind: str = ""
    subject: str = ""
    key: str = ""
    value: str = ""
    due: str = ""
    user: str = ""
    namespace: str = ""
    next: Annotated[str, AfterValidator(own_path)] = "/memories"


@router.get("/memories/new")
def new_memory(visitor: Visiting, kind: str = "", content: str = "", next: str = "/memories") -> Response:  # noqa: A002
    """Show the form, with what the page that leads here knows already."""
    visitor.caller.needs(Role.WRITE)
    looking = visitor.looking
    given = NewMemory(
        token="",
        content=content,
        kind=kind,
        user=looking.user_id or "",
        namespace=looking.namespace or "",
        next=next,
    )
    return _form_page(visitor, given, status=200)


@router.post("/memories/new")
def add(visitor: Visiting, given: Annotated[NewMemory, Form()]) -> Response:
    """Remember a text, or one item of a kind; a field that is wrong is named beside the form."""
    visitor.check(given.token)
    own = {"subject": given.subject, "key": given.key, "value": given.value} if given.kind else {}
    if given.kind in PROSPECTIVE:
        own["due"] = given.due
    stated = {name: text.strip() for name, text in own.items() if text.strip()}
    try:
        result = visitor.memory.add(
            given.content.replace("\r\n", "\n").strip(),
            kind=given.kind or None,
            user_id=given.user.strip() or None,
            namespace=given.namespace.strip() or None,
            actor=visitor.actor,
            **stated,  # type: ignore[arg-type]
        )
    except InputError as error:
        return _form_page(visitor, given, status=400, wrong=error)
    learned = given.kind or any(item.kind != "message" for item in result.items)
    entries = (result.entry_id,) if result.items else ()
    notice = Notice("added" if learned else NOTHING_LEARNED, entries)
    return back_with_notice(visitor, given.next, notice)


def _form_page(visitor: Visitor, given: NewMemory, *, status: int, wrong: InputError | None = None) -> Response:
    return page(
        visitor, "new_memory.html", status=status, given=given, kinds=KINDS, prospective=PROSPECTIVE, wrong=wrong
    )
