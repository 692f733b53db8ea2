"""``NEI``, the normalised experience input that describes one attempt, and its validation (EMB-01)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Final, TypedDict

from phronesis.core.serialization import plain
from phronesis.core.text import check_id, check_text
from phronesis.core.timestamps import Moment, isoformat, parse_past
from phronesis.errors import InputError
from phronesis.experience.laws.constraints import as_texts
from phronesis.experience.laws.event_draft import ARTIFACT_TYPES, LABELS, VIEWS, Artifact, Label

MANUAL: Final = "manual"
"""The source type of a person's own notes, unless ``field_origin`` says otherwise; other sources are machines."""

ORIGINS: Final = ("human", "model", "rule")

EXPERIENCE: Final = "experience"
SOURCE: Final = "source"
"""The verbs of entries: experiences given as records, and a raw text that an adapter parses."""

EVENTS: Final = "events"
"""The payload's list of experiences, each a separate part that can be erased alone."""

MAX_EVENTS: Final = 1_000
"""Events of one call: they are one entry, whose transaction holds the lane's lock while they are applied."""

MAX_SEQ: Final = 2**31 - 1
"""The highest place in an episode: the limit of its column."""

REMEDY: Final = "an experience says what was tried (attempt) and where that can be looked up (source_ref)"


class SourcePayload(TypedDict, total=False):
    """The verbs ``experience`` (events as given) and ``source`` (a text from which they are extracted)."""

    events: list[dict[str, Any]]
    source_type: str
    text: str
    name: str
    source_ref: str
    occurred_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NEI:
    """One attempt from any source. ``attempt`` and ``source_ref`` are required.

    ``label`` is success, failure or unknown; unknown is decided by rules from explicit signals in ``observations`` and
    ``hints``, and otherwise stays unknown. ``payload`` and ``hints`` are stored unchanged (``resources.get_source``);
    ``hints`` may name ``artifacts`` (names, or ``{type, name}`` with type lemma, file, error_type or concept),
    ``constraints`` of the attempt (texts, or ``{"must_not": phrases}``), and ``failed`` or ``succeeded``.
    ``episode_id`` and ``seq`` order attempts towards one goal. ``field_origin`` names the author of each text: human,
    model or rule; by default human for ``source_type`` manual, else model. An attempt counts as a person's if it is
    manual and all its texts are human; otherwise it is a machine's, and a possible prompt injection is put into
    quarantine. An agent that reports its own run uses ``source_type`` run. ``external_id`` is your own name for the
    event: `get` finds it; an experience whose name another item of the user or namespace already has creates no event.
    """

    attempt: str = ""
    situation: str | None = None
    goal: str | None = None
    result: str | None = None
    reflection: str | None = None
    label: Label = "unknown"
    source_type: str = MANUAL
    source_ref: str = ""
    payload: Any = None
    observations: Any = None
    hints: Mapping[str, Any] | None = None
    episode_id: str | None = None
    seq: int | None = None
    occurred_at: Moment | None = None
    field_origin: Mapping[str, str] = field(default_factory=dict)
    external_id: str | None = None

    def to_mapping(self) -> dict[str, Any]:
        """Return the given fields, without those left out."""
        said = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in said.items() if value not in (None, "", {})}


FIELDS: Final = tuple(f.name for f in fields(NEI))


def checked_nei(given: object, *, now: datetime) -> dict[str, Any]:
    """Validate an experience and return it as an entry stores it. InputError names the field and the remedy."""
    said = _given_fields(given)
    for name in ("attempt", "source_ref"):
        if said.get(name) in (None, ""):
            raise InputError(f"{name} is missing: {REMEDY}", field=name)
    out: dict[str, Any] = {}
    for name in VIEWS:
        text = said.get(name)
        if text is not None and text != "":
            out[name] = check_text(text, field=name)
    out["source_ref"] = check_text(said["source_ref"], field="source_ref")
    out["source_type"] = check_id(said.get("source_type", MANUAL), field="source_type")
    out["label"] = said.get("label", "unknown")
    if out["label"] not in LABELS:
        raise InputError(f"label must be one of {', '.join(LABELS)}; got {out['label']!r:.40}", field="label")
    for name in ("payload", "observations"):
        if said.get(name) is not None:
            out[name] = plain(said[name], field=name)
    return out | _parse_place(said, now) | _parse_hints(said) | _origins(said, out)


def _given_fields(given: object) -> dict[str, Any]:
    if isinstance(given, NEI):
        return given.to_mapping()
    if not isinstance(given, Mapping):
        raise InputError(
            f"an experience is an NEI or a mapping of its fields, not {type(given).__name__}; {REMEDY}", field="nei"
        )
    unknown = sorted(str(name) for name in given if name not in FIELDS)
    if unknown:
        raise InputError(f"{unknown[0]:.60} is no field of an experience; it has {', '.join(FIELDS)}", field=unknown[0])
    return {name: value for name, value in given.items() if value is not None}


def _parse_place(said: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if "occurred_at" in said:
        out["occurred_at"] = isoformat(parse_past(said["occurred_at"], field="occurred_at", now=now))
    if "external_id" in said:
        out["external_id"] = check_id(said["external_id"], field="external_id")
    if "episode_id" in said:
        out["episode_id"] = check_id(said["episode_id"], field="episode_id")
    if "seq" in said:
        seq = said["seq"]
        if isinstance(seq, bool) or not isinstance(seq, int) or not 0 <= seq <= MAX_SEQ:
            raise InputError(
                f"seq must be a whole number from 0, the place in the episode; got {seq!r:.40}", field="seq"
            )
        if "episode_id" not in out:
            raise InputError("seq is the place in an episode: give episode_id too", field="episode_id")
        out["seq"] = seq
    return out


def _parse_hints(said: Mapping[str, Any]) -> dict[str, Any]:
    hints = said.get("hints")
    if hints is None:
        return {}
    if not isinstance(hints, Mapping):
        raise InputError(
            f"hints must be a mapping, such as {{'failed': True}}, not {type(hints).__name__}", field="hints"
        )
    artifacts_of(hints)
    constraints_of(hints)
    return {"hints": plain(hints, field="hints")} if hints else {}


def _origins(said: Mapping[str, Any], texts: Mapping[str, Any]) -> dict[str, Any]:
    given = said.get("field_origin")
    if not given:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(
            "field_origin must be a mapping of a text's field to human, model or rule", field="field_origin"
        )
    for name, origin in given.items():
        if name not in VIEWS or origin not in ORIGINS:
            raise InputError(
                f"field_origin has {name!r:.40}: {origin!r:.40}; it says of {', '.join(VIEWS)} whether a human, a model"
                " or a rule wrote it",
                field="field_origin",
            )
    return {"field_origin": {str(name): str(origin) for name, origin in given.items() if name in texts}}


def constraints_of(hints: Mapping[str, Any]) -> list[str]:
    """Return the constraints that hints name, as texts: they are part of the situation."""
    named = hints.get("constraints")
    return [] if named is None else as_texts(named, field="hints.constraints")


def artifacts_of(hints: Mapping[str, Any]) -> list[Artifact]:
    """Return the artifacts that hints name; a plain name is a concept."""
    named = hints.get("artifacts")
    if named is None:
        return []
    if isinstance(named, str) or not isinstance(named, list | tuple):
        raise InputError("hints.artifacts must be a list of names, or of {type, name}", field="hints.artifacts")
    out = []
    for one in named:
        kind: Any = one.get("type") if isinstance(one, Mapping) else "concept"
        name = one.get("name") if isinstance(one, Mapping) else one
        if kind not in ARTIFACT_TYPES:
            raise InputError(
                f"an artifact's type must be one of {', '.join(ARTIFACT_TYPES)}; got {kind!r:.40}",
                field="hints.artifacts",
            )
        out.append(Artifact(kind, check_id(name, field="hints.artifacts")))
    return list(dict.fromkeys(out))
