"""Handlers of the verbs ``experience`` and ``source``, which turn attempts into L1 events (EMB-01 to EMB-05).

The log keeps a source's raw text, and an outcome its parsed drafts, so that ``rederive`` can parse it again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from phronesis.core.changes import Changes
from phronesis.core.entries import Entry, Outcome, is_erased, payload_of
from phronesis.core.ids import item_id
from phronesis.core.items import DEFAULT_IMPORTANCE, Item, Trust
from phronesis.core.relations import Edge, Origin
from phronesis.core.timestamps import parse_moment
from phronesis.engine.content_guards import suspected_texts, suspicion_outcomes
from phronesis.engine.entry_applier import is_taken
from phronesis.engine.handler import Handler, Outcomes, Prepare, PrepareContext
from phronesis.experience.laws.event_draft import (
    EVENTS,
    EXPERIENCE,
    MANUAL,
    SOURCE,
    VERSION,
    VIEWS,
    Artifact,
    Draft,
    SourcePayload,
    artifacts_in,
    artifacts_of,
    constraints_of,
)
from phronesis.experience.laws.evidence_fold import DECIDED
from phronesis.experience.laws.outcome_labels import label_of
from phronesis.experience.laws.records import ABOUT, CONTRADICTS, L1, PATTERN, PRINCIPLE, SUPPORTS
from phronesis.experience.sources.port import RawText, Sources
from phronesis.log.inputs import EXTERNAL_ID
from phronesis.store.lane_view import LaneView

# Removal of evidence: a pattern or event that is no longer held neither supports nor contradicts a principle.


def drop_missing_evidence(view: LaneView, _entry: Entry, changes: Changes, held: Mapping[str, Item]) -> Changes:
    """Return the changes, with removals of evidence whose pattern or event, among ``held``, is no longer held."""
    if not (gone := _ended_ids(changes, held)):
        return changes
    rows = [row for row in view.evidence_from(sorted(gone)) if row.source_key in gone]
    found = view.items(row.item_id for row in rows)
    going = [row for row in rows if row.item_id in found and found[row.item_id].kind == PRINCIPLE]
    if not going:
        return changes
    principles = {row.item_id for row in going}
    edges = [edge for edge in view.edges_from(sorted(gone), SUPPORTS, CONTRADICTS) if edge.to_id in principles]
    return replace(
        changes, dropped_evidence=(*changes.dropped_evidence, *going), dropped_edges=(*changes.dropped_edges, *edges)
    )


def _ended_ids(changes: Changes, held: Mapping[str, Item]) -> set[str]:
    """Return the patterns and events that were live before the changes and are not after them."""
    fields: dict[str, dict[str, object]] = {}
    for patch in changes.patches:
        fields.setdefault(patch.item_id, {}).update(patch.fields)
    live = {one: held[one] for one in fields if one in held and held[one].kind in (PATTERN, L1) and held[one].live}
    return {one for one, item in live.items() if not item.with_fields(fields[one]).live}


DRAFTS: Final = "drafts"
"""The role of the outcome with an adapter's drafts: ``{"drafts": […]}``."""

HUMAN: Final = "human"
"""The origin of a text that a person wrote; ``model`` and ``rule`` are machines."""


@dataclass(frozen=True, slots=True)
class SourcedDraft:
    """One draft with its place in the entry, its source, and the caller's name for it."""

    n: int
    draft: Draft
    source_type: str
    source_ref: str
    external_id: str | None = None

    @property
    def human(self) -> bool:
        """Whether a person wrote all of it: a note with a text by a model or a rule counts as a machine's (law 8)."""
        origins = self.draft.field_origin
        return self.source_type == MANUAL and all(origins.get(view) == HUMAN for view in self.draft.texts)


def prepare_experience(_bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
    """Return an outcome that marks prompt injections in what a machine reports."""
    told = {one.n: _content(one.draft) for one in _given_drafts(entry) if not one.human}
    return suspicion_outcomes(told)


def apply_experience(
    view: LaneView, entry: Entry, outcomes: Outcomes, *, version: int = VERSION, long_errors: bool = True
) -> Changes:
    """Create the events of an entry, by a version of the artifact rules; ``long_errors`` as in `label_of`."""
    return _make_changes(view, entry, outcomes, _given_drafts(entry, long_errors=long_errors), version)


@dataclass(frozen=True, slots=True)
class SourcePreparer:
    """Prepares raw texts by the adapter of their type."""

    sources: Sources

    def __call__(self, _bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        """Return the drafts, and marks of prompt injections in a machine's words."""
        payload = payload_of(entry, SourcePayload)
        source = self.sources[payload["source_type"]]
        raw = RawText(text=payload["text"], name=payload.get("name", ""), recorded_at=entry.recorded_at)
        drafts = [one.to_body() for one in source.read(raw)]
        found = Outcome(role=DRAFTS, made_by=source.version, body={"drafts": drafts})
        told = {one.n: _content(one.draft) for one in _read(entry, [found]) if not one.human}
        return [found, *suspicion_outcomes(told)]


def apply_source(view: LaneView, entry: Entry, outcomes: Outcomes, *, version: int = VERSION) -> Changes:
    """Create the events that an adapter parsed; ``version`` is that of the artifact rules."""
    if is_erased(entry.payload):
        return Changes()
    return _make_changes(view, entry, outcomes, _read(entry, outcomes.get(DRAFTS, ())), version)


def _given_drafts(entry: Entry, *, long_errors: bool = True) -> list[SourcedDraft]:
    """Return the experiences of an entry that are not erased."""
    return [
        SourcedDraft(n, _draft_of(nei, long_errors), nei["source_type"], nei["source_ref"], nei.get(EXTERNAL_ID))
        for n, nei in enumerate(payload_of(entry, SourcePayload).get(EVENTS) or ())
        if not is_erased(nei)
    ]


def _draft_of(nei: Mapping[str, Any], long_errors: bool) -> Draft:
    texts = {view: nei[view] for view in VIEWS if view in nei}
    origin: Origin = HUMAN if nei["source_type"] == MANUAL else "model"
    hints = nei.get("hints") or {}
    given = None if nei["label"] == "unknown" else nei["label"]
    decided = label_of(nei.get("observations"), hints, given=given, long_errors=long_errors)
    at = nei.get("occurred_at")
    return Draft(
        **texts,
        **decided.fields,
        field_origin={**dict.fromkeys(texts, origin), **nei.get("field_origin", {})},
        observations=nei.get("observations") or {},
        artifacts=tuple(artifacts_of(hints)),
        constraints=tuple(constraints_of(hints)),
        occurred_at=None if at is None else parse_moment(at, field="occurred_at"),
        episode_id=nei.get("episode_id"),
        seq=nei.get("seq"),
    )


def _read(entry: Entry, outcomes: Sequence[Outcome]) -> list[SourcedDraft]:
    """Return an adapter's drafts, each with its lines appended to the source's reference: ``build.log#L12-L15``."""
    payload = payload_of(entry, SourcePayload)
    whole = payload.get("source_ref") or f"entry:{entry.id}"
    dated = {"occurred_at": payload["occurred_at"]} if payload.get("occurred_at") is not None else {}
    out = []
    for n, body in enumerate(body for outcome in outcomes for body in outcome.body["drafts"]):
        draft = Draft.from_body({**dated, **body})
        first, last = draft.lines or (0, 0)
        lines = f"#L{first}" + (f"-L{last}" if last != first else "") if first else ""
        out.append(SourcedDraft(n, draft, payload["source_type"], whole + lines))
    return out


def _make_changes(
    view: LaneView, entry: Entry, outcomes: Outcomes, told: Sequence[SourcedDraft], version: int
) -> Changes:
    held = suspected_texts(outcomes)
    items, edges = [], []
    for sourced in told:
        if sourced.external_id is not None and is_taken(view, entry, sourced.external_id):
            continue  # it stays in the log alone
        draft = sourced.draft
        artifacts = artifacts_in(draft.texts.values(), known=tuple(draft.artifacts), version=version)
        item = held.quarantined_if_suspected(sourced.n, _item(view, entry, sourced, artifacts))
        items.append(item)
        edges += [
            Edge(type=ABOUT, from_kind="item", from_id=item.id, to_kind="artifact", to_id=one.id, entry_id=entry.id)
            for one in artifacts
        ]
    return Changes(items=items, edges=edges)


def _content(draft: Draft) -> str:
    told = [f"{view}: {text}" for view, text in draft.texts.items()]
    if draft.constraints:
        told.insert(1 if draft.situation else 0, f"constraints: {'; '.join(draft.constraints)}")
    return "\n".join(told)


def _item(view: LaneView, entry: Entry, told: SourcedDraft, artifacts: Sequence[Artifact]) -> Item:
    draft = told.draft
    at = draft.occurred_at or entry.recorded_at
    data = {
        **draft.texts,
        DECIDED: {"label": draft.label, "signals": list(draft.signals), "confidence": draft.confidence},
        "observations": draft.observations,
        "field_origin": dict(draft.field_origin),
        "signals": list(draft.signals),
        "artifacts": [one.id for one in artifacts],
        "family": draft.family,
        "constraints": list(draft.constraints),
        "lines": None if draft.lines is None else list(draft.lines),
        "span": None if draft.span is None else list(draft.span),
    }
    return Item(
        id=item_id(entry.id, L1, str(told.n)),
        kind=L1,
        content=_content(draft),
        entry_id=entry.id,
        recorded_at=entry.recorded_at,
        updated_at=entry.recorded_at,
        importance=DEFAULT_IMPORTANCE[L1],
        confidence=draft.confidence,
        trust=Trust.USER if told.human else Trust.TOOL,
        label=draft.label,
        source_type=told.source_type,
        source_ref=told.source_ref,
        external_id=told.external_id,
        run_id=draft.episode_id,
        position=draft.seq,
        occurred_at=at,
        valid_from=at,
        data={name: value for name, value in data.items() if value not in (None, [], {}, "")},
        **view.scope_fields(),
    )


def handlers(read: Prepare | None) -> tuple[Handler, ...]:
    """Return the handlers of experiences and sources; ``read`` prepares sources."""
    older = {1: partial(apply_source, version=1)}
    return (
        Handler(
            verb=EXPERIENCE,
            version=3,
            apply=apply_experience,
            prepare=prepare_experience,
            quick=True,
            separable=True,
            older={n: partial(apply_experience, version=n, long_errors=False) for n in (1, 2)},
        ),
        Handler(verb=SOURCE, version=VERSION, apply=apply_source, prepare=read, quick=True, older=older),
    )
