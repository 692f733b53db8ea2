"""Corrections of traits by people: entries that win over what is inferred later (requirement NM-15).

What a person wrote, no reflection writes over; evidence goes on counting, and time passing. A trait that a person takes
back or deletes is not found again by the same memories, nor in the same words: `phronesis.derive.reflecting.round`.
"""

from collections.abc import Mapping
from typing import Any, Final

from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry, is_erased
from phronesis.core.text import check_text
from phronesis.core.traits.seen import CONTEXTS
from phronesis.core.traits.strength import TRAIT
from phronesis.derive.editor import Form
from phronesis.derive.edits import edited_fields, is_stale
from phronesis.derive.handler import Handler, Outcomes
from phronesis.derive.reflecting.contradictions import CORRECTED
from phronesis.derive.reflecting.round import MAX_CONTENT
from phronesis.errors import InputError
from phronesis.storage.lane_view import LaneView

CORRECT: Final = "correct_trait"
FACETS: Final = ("personality", "value")

_FIELDS: Final = {"content": "content", "context": "data.context", "facet": "data.facet"}


def correction_payload(*, content: object = None, context: object = None, facet: object = None) -> dict[str, Any]:
    """Give what is recorded of a correction; InputError names the field."""
    given: dict[str, Any] = {}
    if content is not None:
        words = check_text(content, field="content").strip()
        if not words or len(words) > MAX_CONTENT:
            raise InputError(f"content must be one sentence of 1 to {MAX_CONTENT} characters", field="content")
        given["content"] = words
    for name, value, known in (("context", context, CONTEXTS), ("facet", facet, FACETS)):
        if value is not None and value not in known:
            raise InputError(f"{name} must be one of {', '.join(known)}, not {value!r:.40}", field=name)
        if value is not None:
            given[name] = value
    return given


def apply_correction(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Take what a person says of a trait, and note that a person said it."""
    payload = entry.payload
    trait = None if is_erased(payload) else view.item(payload["item_id"])
    if trait is None or trait.kind != TRAIT or is_stale(trait, payload, outcomes):
        return Changes()
    fields = {field: payload[name] for name, field in _FIELDS.items() if name in payload} | edited_fields(
        trait, payload
    )
    said = sorted({*trait.data.get(CORRECTED, ()), *(name for name in _FIELDS if name in payload)})
    if said:
        fields[f"data.{CORRECTED}"] = said
    return Changes(patches=[Patch(trait.id, fields, payload.get("reason") or "corrected")])


def _new_words(content: str) -> Mapping[str, Any]:
    return correction_payload(content=content)


HANDLERS: Final = (Handler(verb=CORRECT, apply=apply_correction),)
FORMS: Final[Mapping[str, Form]] = {TRAIT: Form(CORRECT, _new_words)}
"""New words of a trait by ``update`` are a correction."""
