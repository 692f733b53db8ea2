"""Where a page of a listing ended, as a text that callers hand back: signed, and good for that listing alone.

A cursor holds the place of the last item shown, no words: when it was recorded, its place in that session, its id. That
place never changes, so what comes or goes between two pages neither repeats an item nor skips one.
"""

import base64
import binascii
import hmac
import json
from collections.abc import Mapping
from typing import Any, Final

from phronesis.core.canonical import encode
from phronesis.core.plain import as_json
from phronesis.errors import InputError
from phronesis.storage.database import Unit
from phronesis.storage.eligible import Place
from phronesis.storage.lanes import find_secret
from phronesis.truth.parts import keyed

_FORM: Final = 1
"""Of what is within; rises when it changes."""

_SIGNED: Final = 16
"""Bytes of the signature: as many as a UUID has, more than anybody can try."""

_MOST: Final = 512
"""Characters of a cursor at most; those that are given have about 200."""


def write_cursor(unit: Unit, place: Place, listing: Mapping[str, Any]) -> str:
    """Give the cursor of a page that ended at ``place``; ``listing`` is all that decides what is listed."""
    secret = find_secret(unit) or b""  # a tenant that holds an item has one
    body = encode([_FORM, place.recorded_at, place.position, place.id, _name(secret, listing)])
    return base64.urlsafe_b64encode(_signature(secret, body) + body).decode("ascii").rstrip("=")


def read_cursor(unit: Unit, cursor: str, listing: Mapping[str, Any]) -> Place:
    """Give the place that a cursor of this listing holds; InputError for any other text."""
    secret = find_secret(unit)
    signed = _decoded(cursor) if secret is not None and len(cursor) <= _MOST else None
    if secret is None or signed is None or not hmac.compare_digest(signed[0], _signature(secret, signed[1])):
        raise InputError(
            "cursor is none that this memory gave to this tenant; give next_cursor as it came, or leave cursor out to"
            " begin with the newest",
            field="cursor",
        )
    form, recorded_at, position, item_id, name = json.loads(signed[1])
    if form != _FORM or name != _name(secret, listing):
        raise InputError(
            "cursor is of another listing; give the scope, kinds, filters and times of the page that it came with, or"
            " leave cursor out to begin with the newest",
            field="cursor",
        )
    return Place(recorded_at, position, item_id)


def _name(secret: bytes, listing: Mapping[str, Any]) -> str:
    return keyed(secret, "listing", encode(as_json(listing)))[: 2 * _SIGNED]


def _signature(secret: bytes, body: bytes) -> bytes:
    return bytes.fromhex(keyed(secret, "cursor", body))[:_SIGNED]


def _decoded(cursor: str) -> tuple[bytes, bytes] | None:
    """Give signature and body; None for what is no such text, or is one written in another way than ours."""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    if base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=") != cursor:
        return None
    return raw[:_SIGNED], raw[_SIGNED:]
