"""What abstraction looks at: a lane's patterns with their events, and the principles that there are."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from phronesis.core.entries import Entry
from phronesis.core.experience.records import CROSSED, L1, PATTERN, PRINCIPLE, L1Event, event_of
from phronesis.core.experience.topics import SeenPattern
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.derive.experience.aggregating import AGGREGATE
from phronesis.derive.experience.contradicting import with_loose
from phronesis.storage.lane_view import LaneView
from phronesis.storage.log import entries_of_verb

ABSTRACT: Final = "abstract"


@dataclass(frozen=True, slots=True)
class Seen:
    """The patterns of a lane, and its principles with the evidence for them.

    ``stands_on`` are the last abstraction and the aggregations since: each stands on those before it, so that what an
    erasure prepares again reaches all that came of it.
    """

    patterns: Sequence[SeenPattern]
    principles: Mapping[str, Item]
    evidence: Mapping[str, Sequence[EvidenceRow]]
    stands_on: Sequence[str]


def see(view: LaneView, entry: Entry) -> Seen:
    """Give what an abstraction looks at: crossed patterns hold events of others, which would count twice."""
    patterns = [one for one in view.find(kinds=(PATTERN,)) if not one.data.get("cluster_info", {}).get(CROSSED)]
    rows = view.evidence([one.id for one in patterns])
    events = _events(view, (row.source_key for held in rows.values() for row in held))
    found = [_pattern(one, rows.get(one.id, ()), events) for one in patterns]
    principles = {one.id: one for one in view.find(kinds=(PRINCIPLE,), live=False) if one.live or put_away(one)}
    log = view.log or view.unit
    last = entries_of_verb(log, view.lane_id, ABSTRACT, before=entry.seq)[-1:]
    since = entries_of_verb(log, view.lane_id, AGGREGATE, before=entry.seq, after=last[0].seq if last else 0)
    earlier = [row.entry_id for row in (*last, *since)]
    return Seen(with_loose(view, [one for one in found if one.events]), principles, view.evidence(principles), earlier)


def put_away(principle: Item) -> bool:
    """Tell whether a person, or forgetting, put a principle away: it is not made anew, nor changed.

    What a rollback took back is archived and retracted at once, and may be made again.
    """
    if principle.ended is None:
        return not principle.live
    return principle.ended == "retracted" and principle.status == "active"


def _events(view: LaneView, ids: Iterable[str]) -> dict[str, L1Event]:
    found = view.items(ids)
    return {one: event_of(item) for one, item in found.items() if item.kind == L1 and item.live}


def _pattern(item: Item, rows: Sequence[EvidenceRow], events: Mapping[str, L1Event]) -> SeenPattern:
    typical = sorted(rows, key=lambda row: (-row.weight, row.source_key))
    held = {
        polarity: [events[row.source_key] for row in typical if row.polarity == polarity and row.source_key in events]
        for polarity in ("support", "contra")
    }  # fmt: skip
    signature = item.data.get("signature", {})
    return SeenPattern(
        id=item.id, outcome=item.label or "unknown", summary=item.data.get("summary", ""),
        recommendation=item.data.get("recommendation", ""), terms=tuple(signature.get("terms", ())),
        artifacts=tuple(signature.get("artifacts", ())), families=tuple(signature.get("families", ())),
        situation=signature.get("situation", ""), goal=signature.get("goal", ""), events=tuple(held["support"]),
        counter=tuple(held["contra"]), trust=int(item.trust),
    )  # fmt: skip
