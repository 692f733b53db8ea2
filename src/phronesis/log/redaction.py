"""Redact secrets and personal numbers from a payload before it is recorded, as the policy demands.

``engine.writer`` calls this for every write of text. Quotations and positions refer to the redacted text. Redaction is
deterministic for a payload and a policy, so that idempotency keys can be compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from phronesis.core.entries import ReadDocument, Section
from phronesis.core.proposals import Gated
from phronesis.core.redaction import find_private, marker, redact_value
from phronesis.core.secret_formats import NUMBERS, Span
from phronesis.errors import InputError
from phronesis.log.inputs import EXTERNAL_ID

Action = Literal["redact", "keep", "refuse"]

SECRET: Final = "secret"  # noqa: S105 - the name of a rule
PERSONAL_NUMBER: Final = "personal_number"
"""The rules under which a result reports redactions of personal numbers."""

MAX_TOLD: Final = 100
"""Maximum number of places that a result names; all are redacted."""

_AS_GIVEN: Final = frozenset(
    {"session_id", "agent_id", "run_id", "context_id", "outcomes", "memory_ids", "external_id", "data"}
)
"""Payload members that are not redacted: identifiers, and a document's bytes, whose sections are checked when parsed.
"""


@dataclass(frozen=True, slots=True)
class Redactor:
    """Redacts payloads by the policy. ``actions`` are those of kinds that are not redacted."""

    actions: Mapping[str, Action] = field(default_factory=dict)

    def __call__(self, payload: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[Gated, ...]]:
        """Return a payload as it is recorded, and what was redacted: the kind and the place, never the value.

        InputError names the field and the kind where the policy refuses it.
        """
        found: dict[tuple[str, str], None] = {}

        def note(kind: str, place: str) -> None:
            if self.actions.get(kind) == "refuse":
                raise InputError(
                    f"{place} holds what the policy refuses ({_section(kind)}: refuse): {kind.replace('_', ' ')};"
                    " leave it out, or have it redacted",
                    field=place,
                )
            found[kind, place] = None

        changed = {}
        for name, value in payload.items():
            if name in _AS_GIVEN:
                continue
            under = str(payload.get("key") or name) if name == "value" else name
            looked_at = _without_external_ids(value) if name == "messages" else value
            made = redact_value(looked_at, self._is_kept, note, name=under, place=name)
            made = value if made is looked_at else _with_external_ids(made, value)
            if made is not value:
                changed[name] = made
        if not found:
            return payload, ()
        return {**payload, **changed}, tuple(_gated_report(kind, place) for kind, place in list(found)[:MAX_TOLD])

    def places(self, payload: Mapping[str, Any]) -> tuple[Gated, ...]:
        """Return the parts of a recorded payload that the present policy would not record, including refused kinds."""
        kept: dict[str, Action] = {kind: action for kind, action in self.actions.items() if action == "keep"}
        return Redactor(kept)(payload)[1]

    def cleaned(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a redacted payload."""
        return self(payload)[0]

    def document(self, found: ReadDocument) -> ReadDocument:
        """Return a parsed document with markers in its text, and its sections at their new positions."""
        spans = [span for span in find_private(found.text) if not self._is_kept(span.kind)]
        if not spans:
            return found
        text, moved = _replace_spans(
            found.text, spans, [place for one in found.sections for place in (one.start, one.end)]
        )
        sections = tuple(
            Section(path=one.path, start=moved[2 * n], end=moved[2 * n + 1]) for n, one in enumerate(found.sections)
        )
        return ReadDocument(
            title=found.title, media_type=found.media_type, text=text, sections=sections, made_by=found.made_by
        )

    def _is_kept(self, kind: str) -> bool:
        return self.actions.get(kind) == "keep"


def _without_external_ids(messages: Any) -> Any:
    """Return messages without the external ids of their items, which are looked up verbatim."""
    if not any(EXTERNAL_ID in one for one in messages):
        return messages
    return [{name: value for name, value in one.items() if name != EXTERNAL_ID} for one in messages]


def _with_external_ids(redacted: Any, given: Any) -> Any:
    if not isinstance(given, list):
        return redacted
    return [
        one if EXTERNAL_ID not in given[n] else {**one, EXTERNAL_ID: given[n][EXTERNAL_ID]}
        for n, one in enumerate(redacted)
    ]


def _section(kind: str) -> str:
    return f"privacy.{'personal_numbers' if kind in NUMBERS else 'secrets'}"


def _gated_report(kind: str, place: str) -> Gated:
    rule = PERSONAL_NUMBER if kind in NUMBERS else SECRET
    reason = (
        f"{kind.replace('_', ' ')} in {place}: replaced by this marker before it was stored; {_section(kind)}: keep"
        " in the policy stores it"
    )
    return Gated(marker(kind), rule, reason, place)


def _replace_spans(text: str, spans: Sequence[Span], places: Sequence[int]) -> tuple[str, list[int]]:
    """Return a text with redaction markers, and the new positions of given places.

    A place inside a redacted part moves behind its marker.
    """
    out: list[str] = []
    length, at, moved = 0, 0, dict[int, int]()
    waiting = sorted(set(places), reverse=True)
    for span in [*spans, Span(len(text), len(text), "")]:
        while waiting and waiting[-1] <= span.start:
            place = waiting.pop()
            moved[place] = length + place - at
        shown = marker(span.kind) + "\n" * text.count("\n", span.start, span.end) if span.kind else ""
        out += [text[at : span.start], shown]
        length += span.start - at + len(shown)
        at = span.end
        while waiting and waiting[-1] < at:
            moved[waiting.pop()] = length
    return "".join(out), [moved[place] for place in places]
