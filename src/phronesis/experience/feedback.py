"""The verb ``feedback``: check and apply judgements on what was learned (EMB-15; docs/decisions/15).

A judgement is a row of evidence on the item, one per actor; one on an event also reaches its patterns and their
principles. A merge or split is stored as must-link and cannot-link edges between events.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypedDict

from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry, is_erased, payload_of
from phronesis.core.ids import parse_id
from phronesis.core.items import Item
from phronesis.core.relations import Edge, EvidenceRow
from phronesis.engine.handler import Handler, Outcomes
from phronesis.errors import InputError
from phronesis.experience.event_views import constraints_from_edges, item_edge
from phronesis.experience.laws.event_draft import LABELS
from phronesis.experience.laws.evidence_fold import (
    LABEL,
    MATTER_OF,
    matter_of,
    membership,
    origin_of,
    pattern_judgements,
)
from phronesis.experience.laws.neighbour_graph import ImpliedPairs, link_events, separate_parts
from phronesis.experience.laws.records import (
    APART,
    CONTRADICTS,
    FEEDBACK,
    L1,
    MEMBER_OF,
    PATTERN,
    PRINCIPLE,
    SIMILAR,
    SUPPORTS,
    TOGETHER,
)
from phronesis.experience.maintenance_schedule import KIND as MARK
from phronesis.experience.maintenance_schedule import MERGE, SPOKEN
from phronesis.store.lane_view import LaneView


class FeedbackPayload(TypedDict, total=False):
    """The verb ``feedback``: the item, the kind of judgement, and its value."""

    target_id: str
    kind: Any
    value: Any
    reason: str
    regroups: list[str]


SPLIT: Final = "split"

SUCCESS: Final = "success"


def apply_feedback(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """Apply a judgement as far as its target still exists."""
    payload = payload_of(entry, FeedbackPayload)
    target = None if is_erased(entry.payload) else view.item(payload["target_id"])
    if target is None:
        return Changes()
    if payload["kind"] in (MERGE, SPLIT):
        return _make_links(view, entry, target, payload)
    return _add_judgement(view, entry, target, payload)


def _add_judgement(view: LaneView, entry: Entry, target: Item, payload: FeedbackPayload) -> Changes:
    kind = payload["kind"]
    row = EvidenceRow(
        item_id=target.id,
        polarity=kind,
        source_key=entry.actor,
        entry_id=entry.id,
        recorded_at=entry.recorded_at,
        source_entry_id=entry.id,
        grade=payload["value"] if kind == LABEL else None,
        origin=origin_of(entry.actor),
    )
    rows = [row, *_rows_above(view, target, row)]
    held = view.evidence(one.item_id for one in rows)
    coming, going = list[EvidenceRow](), list[EvidenceRow]()
    for one in rows:
        before = [old for old in held.get(one.item_id, ()) if _is_same_voice(old, one)]
        if [(old.polarity, old.grade, old.weight) for old in before] != [(one.polarity, one.grade, one.weight)]:
            coming.append(one)
            going += before
    reasons = {target.id: _reason(payload)}
    patches = [Patch(one.item_id, {}, reasons.get(one.item_id, f"{kind} of {target.id}")) for one in coming]
    return Changes(patches=patches, evidence=coming, dropped_evidence=going)


def _is_same_voice(old: EvidenceRow, new: EvidenceRow) -> bool:
    """Return whether two rows are judgements of one actor on one matter: the later replaces the earlier."""
    same = (old.part, old.source_key, matter_of(old.polarity)) == (new.part, new.source_key, matter_of(new.polarity))
    return same and (not new.part or old.source_item_id == new.source_item_id)


def _rows_above(view: LaneView, target: Item, row: EvidenceRow) -> list[EvidenceRow]:
    """Return the rows that the patterns and principles above receive, on the part that the item is to them."""
    if matter_of(row.polarity) == "use" or target.kind not in (PATTERN, L1):
        return []
    said = replace(row, part=target.id, source_item_id=target.id)
    above = _live(view, [target.id], PRINCIPLE, SUPPORTS, CONTRADICTS)
    direct = [replace(said, item_id=one) for one in above if row.polarity != LABEL]
    if target.kind == PATTERN:
        return direct
    patterns = _live(view, [target.id], PATTERN, MEMBER_OF, CONTRADICTS)
    out = [echo for one in patterns for echo in pattern_judgements(row, one)]
    for pattern, rows in view.evidence(patterns).items():
        out += _principle_rows(view, patterns[pattern], rows, row)
    return out + direct


def _principle_rows(
    view: LaneView, pattern: Item, rows: Sequence[EvidenceRow], row: EvidenceRow
) -> Iterable[EvidenceRow]:
    """Return the rows that principles receive for a judgement on a member, weighted by its share of the pattern."""
    weights = {one.source_key: one.weight for one in membership(rows) if one.polarity == "support"}
    if row.item_id not in weights:
        return
    grade = row.grade
    if row.polarity == LABEL:
        grade = "support" if (row.grade == SUCCESS) == (pattern.label == SUCCESS) else "contra"
    share = weights[row.item_id] / (sum(weights.values()) or 1.0)
    for principle in _live(view, [pattern.id], PRINCIPLE, SUPPORTS, CONTRADICTS):
        yield replace(
            row,
            item_id=principle,
            part=pattern.id,
            source_key=f"{row.item_id}:{row.source_key}",
            source_item_id=row.item_id,
            grade=grade,
            weight=round(share, 6),
        )


def _live(view: LaneView, ids: Sequence[str], kind: str, *types: str) -> dict[str, Item]:
    found = view.items(edge.to_id for edge in view.edges_from(ids, *types))
    return {one: item for one, item in found.items() if item.kind == kind and item.live}


def _reason(payload: FeedbackPayload) -> str:
    told = payload.get("reason")
    return f"{payload['kind']}: {told}" if told else str(payload["kind"])


def _make_links(view: LaneView, entry: Entry, target: Item, payload: FeedbackPayload) -> Changes:
    """Return the must-link and cannot-link edges of a merge or split; edges that it contradicts are removed."""
    origin = origin_of(entry.actor)
    events = {one for one, item in view.items(payload[SPOKEN]).items() if item.kind == L1}
    before = constraints_from_edges(view, events)
    into, gone = list[Edge](), list[Edge]()
    if payload["kind"] == MERGE:
        after = link_events(events, before)
        others = [one for one in view.items(payload["value"]) if one != target.id]
        # which pattern continues when it takes another's events
        into = [item_edge(SIMILAR, one, target.id, entry.id, grade=TOGETHER, origin=origin) for one in others]
        gone = [edge for edge in view.edges_from([target.id, *others], SIMILAR) if edge.grade == TOGETHER]
    else:
        parts = [[one for one in given if one in events] for given in payload["value"]]
        after = separate_parts([part for part in parts if part], before)

    def edges(now: ImpliedPairs, then: ImpliedPairs) -> list[Edge]:
        pairs = [(*pair, TOGETHER) for pair in sorted(now.together - then.together)]
        pairs += [(*pair, APART) for pair in sorted(now.apart - then.apart)]
        return [item_edge(SIMILAR, one, other, entry.id, grade=grade, origin=origin) for one, other, grade in pairs]

    # A judgement on a pattern is part of its history and conflicts with no other judgement.
    told = item_edge(SIMILAR, target.id, entry.id, entry.id, grade=payload["kind"], origin=origin)
    told = replace(told, to_kind="entry")
    named = (target.id, *(edge.from_id for edge in into), *sorted(events))
    patches = [Patch(one, {}, _reason(payload)) for one in named]
    made, dropped = edges(after, before), edges(before, after)
    return Changes(patches=patches, edges=[told, *into, *made], dropped_edges=[*dropped, *gone])


HANDLERS: Final = (Handler(verb=FEEDBACK, apply=apply_feedback),)


def events_to_regroup(payload: Any) -> tuple[str, ...]:
    """Return the events that the next aggregation regroups because of an entry's payload."""
    return tuple(payload.get(SPOKEN) or ())


# Validation of feedback before it is recorded (EMB-15).

KINDS: Final = (*MATTER_OF, MERGE, SPLIT)

UNJUDGED: Final[Mapping[str, str]] = {
    MARK: "it only says up to where experience was looked at",
    "cycle": "roll its entry back to undo a reflection",
    "run": "use runs.feedback",
}
"""Kinds that take no feedback, and what to do instead."""

MAX_PARTS: Final = 32
"""Parts of a split: each pair of them is kept apart by an edge of its own."""

MAX_MERGED: Final = 100


def feedback_payload(
    view: LaneView, target: Item, kind: object, value: object, *, again: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the payload to record for feedback on an item. InputError names the field and the remedy.

    ``again`` is what was recorded under the call's idempotency key: the same call gives the same payload.
    """
    if kind not in KINDS:
        raise InputError(f"kind must be one of {', '.join(KINDS)}; got {kind!r:.40}", field="kind")
    payload = {"target_id": target.id, "kind": kind}
    if kind == LABEL:
        return payload | _label(target, value)
    if kind == MERGE:
        return payload | _merge(view, _pattern(target, "merge", again), value, again)
    if kind == SPLIT:
        return payload | _split(view, _pattern(target, "split", again), value, again)
    if value is not None:
        raise InputError(f"value: {kind} takes none; say why in reason", field="value")
    if target.kind in UNJUDGED:
        raise InputError(f"target_id: {target.id} is a {target.kind}; {UNJUDGED[target.kind]}", field="target_id")
    return payload


def _label(target: Item, value: object) -> dict[str, Any]:
    if target.kind != L1:
        raise InputError(
            f"target_id: only an event has a label, and {target.id} is a {target.kind}; label its events",
            field="target_id",
        )
    if value not in LABELS:
        raise InputError(f"value must be the label: {', '.join(LABELS)}; got {value!r:.40}", field="value")
    return {"value": value, SPOKEN: [target.id]}


def _pattern(target: Item, kind: str, again: Mapping[str, Any] | None) -> Item:
    if target.kind != PATTERN:
        raise InputError(f"target_id: {kind} is about a pattern, and {target.id} is a {target.kind}", field="target_id")
    if not target.live and again is None:
        raise InputError(
            f"target_id: pattern {target.id} is {target.ended or target.status}; name one that lives", field="target_id"
        )
    return target


def _check_list(value: object, field: str, what: str) -> list[Any]:
    if isinstance(value, str | bytes) or not isinstance(value, Sequence) or not value:
        raise InputError(f"{field} must be {what}", field=field)
    return list(value)


def _merge(view: LaneView, target: Item, value: object, again: Mapping[str, Any] | None) -> dict[str, Any]:
    given = _check_list(value, "value", "a list of the ids of the patterns to be merged into the target")
    if len(given) > MAX_MERGED:
        raise InputError(f"value names {len(given):,} patterns; merge up to {MAX_MERGED} at a time", field="value")
    ids = list(dict.fromkeys(parse_id(one, field=f"value[{n}]") for n, one in enumerate(given)))
    others = [one for one in ids if one != target.id]
    if not others:
        raise InputError("value names the target alone; name the other patterns that say the same", field="value")
    if again is not None:
        return {"value": others, SPOKEN: again.get(SPOKEN)}
    found = view.items(others)
    for n, one in enumerate(others):
        item = found.get(one)
        if item is None or item.kind != PATTERN or not item.live:
            raise InputError(f"value: there is no live pattern {one} beside the target", field=f"value[{n}]")
        if (item.label == SUCCESS) != (target.label == SUCCESS):
            raise InputError(
                f"value: {one} is of outcome {item.label}, the target of outcome {target.label}; successes stay apart"
                " from failures and unknowns. Correct the labels of its events first, if they are wrong",
                field="value",
            )
    return {"value": others, SPOKEN: sorted(_members(view, [target.id, *others]))}


def _split(view: LaneView, target: Item, value: object, again: Mapping[str, Any] | None) -> dict[str, Any]:
    what = "a list of lists of event ids, one for each part"
    given = [_check_list(part, f"value[{n}]", what) for n, part in enumerate(_check_list(value, "value", what))]
    if len(given) == 1:
        raise InputError("value has one part; a split needs two or more", field="value")
    if len(given) > MAX_PARTS:
        raise InputError(f"value has {len(given)} parts; split into up to {MAX_PARTS} at a time", field="value")
    members, placed = _members(view, [target.id]), dict[str, int]()
    for n, part in enumerate(given):
        for one in (parse_id(member, field=f"value[{n}]") for member in part):
            if one not in members and again is None:
                raise InputError(f"value[{n}]: {one} is no member of pattern {target.id}", field=f"value[{n}]")
            if placed.setdefault(one, n) != n:
                raise InputError(f"value[{n}]: {one} is in part {placed[one]} already", field=f"value[{n}]")
    parts = [[one for one, part in placed.items() if part == n] for n in range(len(given))]
    return {"value": parts, SPOKEN: sorted(placed)}


def _members(view: LaneView, patterns: Sequence[str]) -> set[str]:
    rows = (row for found in view.evidence(patterns).values() for row in membership(found))
    return {row.source_key for row in rows if row.polarity == "support"}
