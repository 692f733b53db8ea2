"""What is said twice in a result is shown once: an item and the message it is from, a message and its repeats."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from phronesis.core.items import CORRECTED, Item
from phronesis.core.statements import plain_form
from phronesis.recall.evidence import known_evidence
from phronesis.storage.database import Unit
from phronesis.storage.relations import origins_of


def said_in(unit: Unit, lane_id: int, items: Sequence[Item], *, as_of: int | None) -> dict[str, frozenset[str]]:
    """Give, by item, the messages of the lane (ids of items) that items other than messages were taken from.

    One whose words, or whose message's, were corrected since stands for none of them, but for itself: they say two
    things, whichever is found first.
    """
    corrected = {item.id for item in items if CORRECTED in item.data}
    return {
        item: frozenset({item}) if item in corrected or corrected & found else found
        for item, found in _origins(unit, lane_id, items, as_of=as_of).items()
    }


def _origins(unit: Unit, lane_id: int, items: Sequence[Item], *, as_of: int | None) -> dict[str, frozenset[str]]:
    taken = [item.id for item in items if item.kind != "message"]
    found = origins_at(unit, lane_id, taken, as_of) if taken else {}
    return {item: frozenset(messages) for item, messages in found.items()}


def origins_at(unit: Unit, lane_id: int, ids: Sequence[str], as_of: int | None) -> dict[str, list[str]]:
    """Give the ids of the items that each of some items was taken from, as was known ``as_of`` a time."""
    if as_of is None:
        return origins_of(unit, lane_id, ids)
    out: dict[str, list[str]] = {}
    for item, rows in known_evidence(unit, lane_id, ids, as_of=as_of).items():
        found = sorted(row.source_item_id for row in rows if row.polarity == "source" and row.source_item_id)
        if found:
            out[item] = found
    return out


def once(ranked: Sequence[str], said: Mapping[str, Collection[str]]) -> list[str]:
    """Give ``ranked`` (ids of items, best first) without what adds no message to those before it.

    Of an item and its one message the better stays, at its place: on conversations with both, that found as much as
    showing both, and more than showing messages alone. What was taken from no message is its own source.
    """
    shown: set[str] = set()
    out: list[str] = []
    for one in ranked:
        sources = set(said.get(one) or (one,))
        if not sources <= shown:
            shown |= sources
            out.append(one)
    return out


def repeats(ranked: Iterable[Item]) -> dict[str, list[Item]]:
    """Give, by the id of the best of them, the messages that one speaker said in the same words, the newest first."""
    found: dict[tuple[object, ...], list[Item]] = {}
    for item in ranked:
        if item.kind == "message":
            words = (item.user_id, item.namespace, item.role, item.name, item.quarantine, plain_form(item.content))
            found.setdefault(words, []).append(item)
    return {
        one[0].id: sorted(one, key=lambda item: item.occurred_at or item.recorded_at, reverse=True)
        for one in found.values() if len(one) > 1
    }  # fmt: skip
