"""Render the sections of documents: Markdown as HTML without foreign content, code and plain text as they are."""

from collections.abc import MutableMapping, Sequence
from functools import cache
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

from phronesis.resources.readers.port import DOCX, HTML, MARKDOWN, NOTEBOOK, PDF, PLAIN, PPTX, RST, XLSX

_MARKDOWN: Final = frozenset({MARKDOWN, NOTEBOOK, HTML, DOCX, PPTX, XLSX})
"""Formats whose readers give Markdown."""

_PROSE: Final = frozenset({"", PLAIN, PDF, RST})
"""Formats whose text is shown as it stands; all others are code or data."""

_TARGETS: Final = ("https://", "http://", "mailto:")
"""What a link may lead to. The path of a file beside the document is no path on this server."""

_HEADING: Final = 3
"""The highest level of a heading in a section, below those of the page and of the section."""


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


def _picture(
    renderer: RendererHTML, tokens: Sequence[Token], n: int, options: Any, env: MutableMapping[str, Any]
) -> str:
    words = renderer.renderInlineAsText(tokens[n].children, options, env)
    return f'<span class="badge">{escape(words)}</span>' if words else ""


def _link(renderer: RendererHTML, tokens: Sequence[Token], n: int, options: Any, env: MutableMapping[str, Any]) -> str:
    token = tokens[n]
    if str(token.attrs.get("href", "")).lower().startswith(_TARGETS):
        token.attrSet("rel", "noreferrer noopener nofollow external")
    else:
        token.attrs.pop("href", None)
    return renderer.renderToken(tokens, n, options, env)


def _head(renderer: RendererHTML, tokens: Sequence[Token], n: int, options: Any, env: MutableMapping[str, Any]) -> str:
    tokens[n].tag = f"h{min(6, int(tokens[n].tag[1]) + _HEADING - 1)}"
    return renderer.renderToken(tokens, n, options, env)
