"""Taking the marks off a heading: what is left is what a person would say."""

import re
from html import unescape
from typing import Final

from phronesis.core.resources.outlining import MAX_TITLE, plain_title

_LONGEST: Final = 8 * MAX_TITLE
"""Characters of a written heading that are looked at, addresses of links included."""

_PLAIN: Final = re.compile(r"[^\\`*_\[\]<>&{}!:~]*")
_TAG: Final = re.compile(r"</?[A-Za-z][^<>]{0,500}>|<!--[^>]{0,500}-->")
_IMAGE: Final = re.compile(r"!\[([^\[\]]{0,300})\]\([^()\s]{0,600}\)")
_LINK: Final = re.compile(r"\[([^\[\]]{1,300})\](?:\([^()]{0,600}\)|\[[^\[\]]{0,300}\])")
_ANCHOR: Final = re.compile(r"[ \t]\{[#.:][^{}]{0,200}\}[ \t]*$")
_ROLE: Final = re.compile(r":[a-z][a-z0-9:+-]{0,40}:`")
_TARGET: Final = re.compile(r"`([^`<>]{1,300}) <[^`<>]{1,600}>`_{0,2}")
_STARS: Final = re.compile(r"\*{1,3}(?=\S)|(?<=\S)\*{1,3}|(?<!\w)_{1,2}(?=\w)|(?<=\w)_{1,2}(?!\w)")
_NEEDLESS: Final = re.compile(r"\\([_*~])")
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")


def markdown_title(written: str) -> str:
    """Give a heading of Markdown without links, pictures, emphasis, code marks, tags and anchors."""
    if _PLAIN.fullmatch(written):
        return plain_title(written)
    text = _ANCHOR.sub("", written[:_LONGEST])
    text = _LINK.sub(r"\1", _IMAGE.sub(r"\1", _TAG.sub("", text)))
    text = "".join(
        part if n % 2 else _STARS.sub("", part) for n, part in enumerate(_ESCAPE.sub(r"\1", text).split("`"))
    )
    return plain_title(unescape(text))


def without_escapes(markdown: str) -> str:
    """Give Markdown that a program made without the escapes that a person would not write."""
    return _NEEDLESS.sub(r"\1", markdown)


def rst_title(written: str) -> str:
    """Give a heading of reStructuredText without roles, references and emphasis."""
    if _PLAIN.fullmatch(written):
        return plain_title(written)
    text = _TARGET.sub(r"\1", _ROLE.sub("`", written[:_LONGEST]))
    text = "".join(part if n % 2 else _STARS.sub("", part) for n, part in enumerate(text.split("`")))
    return plain_title(_ESCAPE.sub(r"\1", text))
