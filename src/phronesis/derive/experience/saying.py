"""Checks feedback before it is recorded: what it is about, and whether it can be carried out (EMB-15)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from phronesis.core.experience.drafts import LABELS
from phronesis.core.experience.records import L1, PATTERN
from phronesis.core.experience.voices import LABEL, MATTER_OF
from phronesis.core.ids import parse_id
from phronesis.core.items import Item
from phronesis.derive.experience.feedback import SPLIT, SUCCESS
from phronesis.derive.experience.marks import KIND as MARK
from phronesis.derive.experience.marks import MERGE, SPOKEN
from phronesis.derive.experience.patterns import membership
from phronesis.errors import InputError
from phronesis.storage.lane_view import LaneView

KINDS: Final = (*MATTER_OF, MERGE, SPLIT)

UNJUDGED: Final[Mapping[str, str]] = {
    MARK: "it only says up to where experience was looked at", "cycle": "roll its entry back to undo a reflection",
    "run": "use run_feedback",
}  # fmt: skip
"""Kinds of which nothing is said here, and what to do instead."""

MAX_PARTS: Final = 32
"""Parts of a split: each two of them are kept apart by a pair of their own."""

MAX_MERGED: Final = 100


def feedback_payload(
    view: LaneView, target: Item, kind: object, value: object, *, again: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Give what is recorded of feedback on an item; InputError names the field and the remedy.

    ``again`` is what was recorded under the call's idempotency key: the same call says the same, come what may.
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
        raise InputError(f"target_id: pattern {target.id} is {target.ended or target.status}; name one that lives",
                         field="target_id")  # fmt: skip
    return target


def _listed(value: object, field: str, what: str) -> list[Any]:
    if isinstance(value, str | bytes) or not isinstance(value, Sequence) or not value:
        raise InputError(f"{field} must be {what}", field=field)
    return list(value)


def _merge(view: LaneView, target: Item, value: object, again: Mapping[str, Any] | None) -> dict[str, Any]:
    given = _listed(value, "value", "a list of the ids of the patterns to be merged into the target")
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
                " from failures and unknowns. Correct the labels of its events first, if they are wrong", field="value"
            )  # fmt: skip
    return {"value": others, SPOKEN: sorted(_members(view, [target.id, *others]))}


def _split(view: LaneView, target: Item, value: object, again: Mapping[str, Any] | None) -> dict[str, Any]:
    what = "a list of lists of event ids, one for each part"
    given = [_listed(part, f"value[{n}]", what) for n, part in enumerate(_listed(value, "value", what))]
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
