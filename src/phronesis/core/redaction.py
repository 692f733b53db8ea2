"""Locate secrets and personal numbers in a text, and replace them."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from phronesis.core.credential_fields import LITERALS, find_fields, named_kind
from phronesis.core.personal_numbers import find_numbers
from phronesis.core.private_kinds import NUMBERS, SECRETS
from phronesis.core.secret_formats import Span, find_formats, lower_in_place

_MARKER: Final = re.compile(
    rf"\[(?:(?:secret: )?(?:{'|'.join(one.replace('_', ' ') for one in (*SECRETS, *NUMBERS))}))\]"
)

Skip = Callable[[str], bool]
"""A predicate for kinds that are not redacted."""


def marker(kind: str) -> str:
    """Return the marker of a kind: ``[secret: github token]``, ``[card number]``."""
    name = kind.replace("_", " ")
    return f"[{name}]" if kind in NUMBERS else f"[secret: {name}]"


def markers(text: str) -> list[tuple[int, int]]:
    """Return the positions of markers in a text."""
    return [found.span() for found in _MARKER.finditer(text)] if "[" in text else []


def find_private(text: str) -> list[Span]:
    """Return the secrets and personal numbers in a text in order, without nesting.

    Overlapping ones are merged under the more specific kind: a token of a known issuer before the value of a field.
    Time is linear in the text.
    """
    low = lower_in_place(text)
    found = find_formats(text, low)
    found += find_numbers(text)
    if any(one in low for one in LITERALS):
        found += find_fields(text, low)
    if len(found) < 2:  # noqa: PLR2004 - nothing to join
        return found
    ranked = sorted(enumerate(found), key=lambda one: (one[1].start, one[0]))
    out: list[tuple[int, Span]] = []
    for rank, span in ranked:
        if not out or span.start >= out[-1][1].end:
            out.append((rank, span))
            continue
        before, last = out[-1]
        kind = last.kind if before < rank else span.kind
        out[-1] = (min(before, rank), Span(last.start, max(last.end, span.end), kind))
    return [span for _, span in out]


def redact(text: str, spans: Sequence[Span]) -> str:
    """Return a text with a marker in the place of each span; line breaks of redacted text are kept."""
    out, at = [], 0
    for span in spans:
        out += [text[at : span.start], marker(span.kind), "\n" * text.count("\n", span.start, span.end)]
        at = span.end
    return "".join([*out, text[at:]])


def mask(text: str) -> str:
    """Return a text without its secrets and personal numbers."""
    spans = find_private(text)
    return redact(text, spans) if spans else text


def mask_value(value: Any, name: str = "") -> Any:
    """Return plain JSON data without the secrets and personal numbers of its texts.

    ``name`` is the member name of the value.
    """
    return redact_value(value, lambda _kind: False, lambda _kind, _place: None, name=name)


def redact_value(value: Any, skip: Skip, note: Callable[[str, str], None], *, name: str = "", place: str = "") -> Any:
    """Return plain JSON data with a marker for each secret and personal number; the same object if there are none.

    A text under the name of a credential (``{"password": "swordfish"}``) is one. ``note`` is called with the kind and
    the place (``tool_calls[0].args.password``) of each.
    """
    if isinstance(value, str):
        return _redacted_text(value, skip, note, name=name, place=place)
    if isinstance(value, Mapping):
        named = next((one for one in (value.get("key"), value.get("name")) if isinstance(one, str)), None)
        changed = {}
        for key, member in value.items():
            under = str(named) if named is not None and key == "value" else str(key)
            made = redact_value(member, skip, note, name=under, place=f"{place}.{key}" if place else str(key))
            if made is not member:
                changed[key] = made
        return {**value, **changed} if changed else value
    if isinstance(value, list | tuple):
        made = [redact_value(one, skip, note, name=name, place=f"{place}[{n}]") for n, one in enumerate(value)]
        return value if all(one is other for one, other in zip(made, value, strict=True)) else made
    if isinstance(value, int) and not isinstance(value, bool) and name:
        kind = named_kind(name, str(value))
        if kind is not None and not skip(kind):
            note(kind, place)
            return marker(kind)
    return value


def _redacted_text(text: str, skip: Skip, note: Callable[[str, str], None], *, name: str, place: str) -> str:
    spans = [span for span in find_private(text) if not skip(span.kind)]
    kind = named_kind(name, text) if name and not spans else None
    if kind is not None and not skip(kind):
        spans = [Span(0, len(text), kind)]
    for span in spans:
        note(span.kind, place)
    return redact(text, spans) if spans else text
