"""Pages of documents: ingest one, read its sections as HTML without foreign content, and compare its versions."""

from collections.abc import Sequence
from functools import cache
from itertools import zip_longest
from typing import Annotated, Any, Final

from fastapi import File, Response, UploadFile
from fastapi.responses import RedirectResponse
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

from phronesis.core.entries import DOCUMENT, SECTION, DocumentRow
from phronesis.core.items import Item
from phronesis.errors import NotFound
from phronesis.interfaces.http.dependencies import ingest_upload
from phronesis.interfaces.web.pages.memories import list_kind
from phronesis.interfaces.web.rendering import address, back, back_with_notice, item_address, make_router, page
from phronesis.interfaces.web.session import FormText, Notice, Visiting, Visitor, Writing
from phronesis.resources.documents import Resource
from phronesis.resources.readers.port import DOCX, HTML, MARKDOWN, NOTEBOOK, PDF, PLAIN, PPTX, RST, XLSX

_MARKDOWN: Final = frozenset({MARKDOWN, NOTEBOOK, HTML, DOCX, PPTX, XLSX})
"""Formats whose readers give Markdown."""

_PROSE: Final = frozenset({"", PLAIN, PDF, RST})
"""Formats whose text is shown as it stands; all others are code or data."""

_TARGETS: Final = ("https://", "http://", "mailto:")
"""What a link may lead to. The path of a file beside the document is no path on this server."""


def section_html(text: str, media_type: str | None) -> Markup:
    """Return a section as HTML: no markup of its own, no pictures, and no links but to pages and e-mail addresses."""
    form = (media_type or "").partition(";")[0].strip()
    if form in _MARKDOWN:
        return Markup('<div class="prose">{}</div>').format(Markup(_parser().render(text)))  # noqa: S704 - html is off
    shown = '<p class="pre">{}</p>' if form in _PROSE else '<pre tabindex="0"><code>{}</code></pre>'
    return Markup(shown).format(text)  # noqa: S704 - one of two constants


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    for kind, rule in (("image", _picture), ("link_open", _link), ("heading_open", _head), ("heading_close", _head)):
        parser.add_render_rule(kind, rule)
    return parser


def _picture(renderer: RendererHTML, tokens: Sequence[Token], n: int, options: Any, env: Any) -> str:
    words = renderer.renderInlineAsText(tokens[n].children, options, env)
    return f'<span class="badge">{escape(words)}</span>' if words else ""


def _link(renderer: RendererHTML, tokens: Sequence[Token], n: int, options: Any, env: Any) -> str:
    token = tokens[n]
    if str(token.attrs.get("href", "")).lower().startswith(_TARGETS):
        token.attrSet("rel", "noreferrer noopener nofollow external")
    else:
        token.attrs.pop("href", None)
    return renderer.renderToken(tokens, n, options, env)


def _head(renderer: RendererHTML, tokens: Sequence[Token], n: int, options: Any, env: Any) -> str:
    tokens[n].tag = f"h{min(6, int(tokens[n].tag[1]) + 2)}"  # below those of the page and of the section
    return renderer.renderToken(tokens, n, options, env)


SECTIONS: Final = 100
"""Sections per page."""

VERSIONS: Final = 20
"""Versions of a document, the newest, in which a section is sought."""

router = make_router()


@router.get("/resources")
def resources(visitor: Visiting, cursor: str = "") -> Response:
    """List the documents that are held, the newest first."""
    documents, shown = visitor.memory.admin.components.documents, list_kind(visitor, "/resources", DOCUMENT, cursor)
    return page(visitor, "resources.html", **shown, most=documents.max_bytes, urls=documents.urls != "off")


@router.post("/resources")
def take_in(
    visitor: Writing,
    file: Annotated[UploadFile | None, File()] = None,
    *,
    text: FormText = "",
    url: FormText = "",
    uri: FormText = "",
    title: FormText = "",
    user: FormText = "",
    namespace: FormText = "",
) -> Response:
    """Take a document in: a file, a text, or a page where the policy lets it be fetched."""
    form = {"uri": uri, "title": title, "user_id": user, "namespace": namespace}
    about: dict[str, Any] = {name: value.strip() or None for name, value in form.items()}
    about |= {name: value for name, value in (("text", text), ("url", url)) if value.strip()}
    if file is not None and file.filename:
        told = ingest_upload(visitor.memory, file, **about, actor=visitor.actor)
    else:
        told = visitor.memory.resources.ingest(**about, actor=visitor.actor)
    if told.document is None:
        return back("/resources")
    notice = Notice("ingested" if told.sections else "unchanged")
    return back_with_notice(visitor, address("/resources/view", id=told.document.id), notice)


@router.get("/resources/view")
def resource(visitor: Visiting, id: str, *, version: int = 0, compare: int = 0, start: int = 0) -> Response:
    """Show a document in reading order, as it is or as a ``version`` was, or what a version changed (``compare``)."""
    held = visitor.memory.resources.get(id)
    newest = _version(held, held.document.data.get("number", 0)) or held.versions[-1]
    chosen = _version(held, version) or newest
    shown = held if chosen is newest else visitor.memory.resources.get(id, as_of=chosen.recorded_at)
    first = max(0, start)
    more = first + SECTIONS if len(shown.sections) > first + SECTIONS else None
    return page(
        visitor,
        "resource.html",
        document=held.document,
        held=held,
        chosen=chosen,
        newest=newest,
        sections=shown.sections[first : first + SECTIONS],
        section_html=section_html,
        total=len(shown.sections),
        further=address("/resources/view", id=id, version=version or None, start=more) if more else None,
        compared=_version(held, compare),
        differences=_version_changes(visitor, held, compare),
    )


@router.get("/resources/section")
def section(visitor: Visiting, id: str) -> Response:
    """Show a section, as a citation names it, in the newest version of its document that has it."""
    item = visitor.memory.get(id)
    if item.kind != SECTION:
        return back(item_address(item.id))
    document_id = str(item.data["document_id"])
    place, version = _place(visitor, document_id, item.id)
    start = place // SECTIONS * SECTIONS
    to = address("/resources/view", id=document_id, version=version, start=start or None)
    return RedirectResponse(f"{to}#s-{item.id}", status_code=303)


def _place(visitor: Visitor, document_id: str, section_id: str) -> tuple[int, int | None]:
    """Return the place of a section among those of a version, and that version; None is the newest."""
    held = visitor.memory.resources.get(document_id)
    for version in (None, *reversed(held.versions[-VERSIONS:])):
        shown = held if version is None else visitor.memory.resources.get(document_id, as_of=version.recorded_at)
        found = [n for n, one in enumerate(shown.sections) if one.id == section_id]
        if found:
            return found[0], None if version is None else version.number
    raise NotFound(f"id: no version of document {document_id} has section {section_id}", field="id")


def _version(held: Resource, number: int) -> DocumentRow | None:
    return next((one for one in held.versions if one.number == number), None)


def _version_changes(visitor: Visitor, held: Resource, number: int) -> list[dict[str, Any]]:
    """Return the sections that a version changed, in reading order: headings, text before and after (None: not there).

    Sections are paired by their headings. For the first version the list is empty, since everything is new.
    """
    numbers = [one.number for one in held.versions]
    if number not in numbers[1:]:
        return []
    place = numbers.index(number)
    before, after = (
        visitor.memory.resources.get(held.document.id, as_of=one.recorded_at).sections
        for one in held.versions[place - 1 : place + 1]
    )
    kept = {one.id for one in before} & {one.id for one in after}
    gone, come = _by_path(before, kept), _by_path(after, kept)
    return [
        {"path": path, "before": old, "after": new}
        for path in dict.fromkeys([*come, *gone])
        for old, new in zip_longest(gone.get(path, ()), come.get(path, ()))
    ]


def _by_path(sections: Sequence[Item], kept: set[str]) -> dict[tuple[str, ...], list[str]]:
    out: dict[tuple[str, ...], list[str]] = {}
    for one in sections:
        if one.id not in kept:
            out.setdefault(tuple(one.data.get("path", ())), []).append(one.content)
    return out
