"""The verb ``feedback``: what people and agents say of what was learned (EMB-15; decision 25).

A judgement is evidence on the item, one of each actor, and moves its weights at once; what is said of an event reaches
the patterns that hold it and the principles above these. Merges and splits are drawn as bonds between events, which the
next ``aggregate`` carries out and every later one keeps.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry, is_erased
from phronesis.core.experience.bonding import Drawn, merged, parted
from phronesis.core.experience.records import CONTRADICTS, L1, MEMBER_OF, PATTERN, PRINCIPLE, SUPPORTS
from phronesis.core.experience.voices import LABEL, echoes, matter_of, origin_of
from phronesis.core.items import Item
from phronesis.core.relations import Edge, EvidenceRow
from phronesis.derive.experience.bonds import SIMILAR, TOGETHER, bond, drawn_among
from phronesis.derive.experience.marks import FEEDBACK, MERGE, SPOKEN
from phronesis.derive.experience.patterns import membership
from phronesis.derive.handler import Handler, Outcomes
from phronesis.storage.lane_view import LaneView

SPLIT: Final = "split"

SUCCESS: Final = "success"


def apply_feedback(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """Take what was said, as far as it is about something that is there."""
    if is_erased(entry.payload):
        return Changes()
    target = view.item(entry.payload["target_id"])
    if target is None:
        return Changes()
    if entry.payload["kind"] in (MERGE, SPLIT):
        return _drawn(view, entry, target)
    return _judged(view, entry, target)


def _judged(view: LaneView, entry: Entry, target: Item) -> Changes:
    kind = entry.payload["kind"]
    row = EvidenceRow(
        item_id=target.id, polarity=kind, source_key=entry.actor, entry_id=entry.id, recorded_at=entry.recorded_at,
        source_entry_id=entry.id, grade=entry.payload["value"] if kind == LABEL else None,
        origin=origin_of(entry.actor),
    )  # fmt: skip
    rows = [row, *_above(view, target, row)]
    held = view.evidence(one.item_id for one in rows)
    coming, going = list[EvidenceRow](), list[EvidenceRow]()
    for one in rows:
        before = [old for old in held.get(one.item_id, ()) if _same_voice(old, one)]
        if [(old.polarity, old.grade, old.weight) for old in before] != [(one.polarity, one.grade, one.weight)]:
            coming.append(one)
            going += before
    reason = _reason(entry)
    patches = [
        Patch(one.item_id, {}, reason if one.item_id == target.id else f"{kind} of {target.id}") for one in coming
    ]
    return Changes(patches=patches, evidence=coming, dropped_evidence=going)


def _same_voice(old: EvidenceRow, new: EvidenceRow) -> bool:
    """Whether a row is what the same actor said before on the same matter: the later stands in its place."""
    same = (old.part, old.source_key, matter_of(old.polarity)) == (new.part, new.source_key, matter_of(new.polarity))
    return same and (not new.part or old.source_item_id == new.source_item_id)


def _above(view: LaneView, target: Item, row: EvidenceRow) -> list[EvidenceRow]:
    """Give what the patterns and principles above hear of it: on the part that the item is to them."""
    if matter_of(row.polarity) == "use":
        return []
    if target.kind not in (PATTERN, L1):
        return []
    said = replace(row, part=target.id, source_item_id=target.id)
    principles = _live(view, [target.id], PRINCIPLE, SUPPORTS, CONTRADICTS)
    direct = [replace(said, item_id=one) for one in principles if row.polarity != LABEL]
    if target.kind == PATTERN:
        return direct
    patterns = _live(view, [target.id], PATTERN, MEMBER_OF, CONTRADICTS)
    out = [echo for one in patterns for echo in echoes(row, one)]
    for pattern, rows in view.evidence(patterns).items():
        out += _on_principles(view, patterns[pattern], rows, row)
    return out + direct


def _on_principles(
    view: LaneView, pattern: Item, rows: Sequence[EvidenceRow], row: EvidenceRow
) -> Iterable[EvidenceRow]:
    """Give what principles hear of a member of one of their patterns; it weighs as much as its share of the pattern."""
    weights = {one.source_key: one.weight for one in membership(rows) if one.polarity == "support"}
    if row.item_id not in weights:
        return
    grade = row.grade
    if row.polarity == LABEL:
        grade = "support" if (row.grade == SUCCESS) == (pattern.label == SUCCESS) else "contra"
    share = weights[row.item_id] / (sum(weights.values()) or 1.0)
    for principle in _live(view, [pattern.id], PRINCIPLE, SUPPORTS, CONTRADICTS):
        yield replace(
            row, item_id=principle, part=pattern.id, source_key=f"{row.item_id}:{row.source_key}",
            source_item_id=row.item_id, grade=grade, weight=round(share, 6),
        )  # fmt: skip


def _live(view: LaneView, ids: Sequence[str], kind: str, *types: str) -> dict[str, Item]:
    found = view.items(edge.to_id for edge in view.edges_from(ids, *types))
    return {one: item for one, item in found.items() if item.kind == kind and item.live}


def _reason(entry: Entry) -> str:
    told = entry.payload.get("reason")
    return f"{entry.payload['kind']}: {told}" if told else str(entry.payload["kind"])


def _drawn(view: LaneView, entry: Entry, target: Item) -> Changes:
    """Draw the bonds that a merge or a split asks for; those that it contradicts go."""
    payload = entry.payload
    events = {one for one, item in view.items(payload[SPOKEN]).items() if item.kind == L1}
    before = drawn_among(view, events)
    into = []
    if payload["kind"] == MERGE:
        after = merged(events, before)
        others = [one for one in view.items(payload["value"]) if one != target.id]
        into = [_into(entry, one, target.id) for one in others]
        gone = [edge for edge in view.edges_from([target.id, *others], SIMILAR) if edge.grade == TOGETHER]
    else:
        after = parted(
            [part for given in payload["value"] if (part := [one for one in given if one in events])], before
        )
        gone = []
    edges, dropped = _difference(entry, before, after)
    reason = _reason(entry)
    # What is said of a pattern stands in its history, and conflicts with nothing else that is said of it.
    told = Edge(type=SIMILAR, from_kind="item", from_id=target.id, to_kind="entry", to_id=entry.id, entry_id=entry.id,
                grade=payload["kind"], origin=origin_of(entry.actor))  # fmt: skip
    named = (target.id, *(edge.from_id for edge in into), *sorted(events))
    patches = [Patch(one, {}, reason) for one in named]
    return Changes(patches=patches, edges=[told, *into, *edges], dropped_edges=[*dropped, *gone])


def _difference(entry: Entry, before: Drawn, after: Drawn) -> tuple[list[Edge], list[Edge]]:
    def edge(pair: tuple[str, str], together: bool) -> Edge:
        return bond(entry.id, *pair, together=together, origin=origin_of(entry.actor))

    coming = [edge(pair, True) for pair in sorted(after.together - before.together)]
    coming += [edge(pair, False) for pair in sorted(after.apart - before.apart)]
    going = [edge(pair, True) for pair in sorted(before.together - after.together)]
    going += [edge(pair, False) for pair in sorted(before.apart - after.apart)]
    return coming, going


def _into(entry: Entry, pattern: str, target: str) -> Edge:
    """Give the edge that says which pattern goes on, when another's events come to it."""
    return Edge(type=SIMILAR, from_kind="item", from_id=pattern, to_kind="item", to_id=target, entry_id=entry.id,
                grade=TOGETHER, origin=origin_of(entry.actor))  # fmt: skip


HANDLERS: Final = (Handler(verb=FEEDBACK, apply=apply_feedback),)


def scheduled_by(payload: Any) -> tuple[str, ...]:
    """Give the events that the next clustering groups anew because of an entry's payload."""
    return tuple(payload.get(SPOKEN) or ())
