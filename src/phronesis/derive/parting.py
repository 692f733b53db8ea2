"""Names part again when what made them one falls, and join again when it comes back.

Whatever changes a naming item (a rollback, a retraction, an edit, the archive, a release) comes by here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry
from phronesis.core.items import Item
from phronesis.core.statements import STATED
from phronesis.derive.names import NAMED, NAMING, Names, joined_by
from phronesis.storage.lane_view import LaneView


def with_names(view: LaneView, entry: Entry, changes: Changes, held: Mapping[str, Item]) -> Changes:
    """Give the changes with what they mean for names: entities that join others, and items that move between them.

    ``held`` are the items that the changes touch, as they are.
    """
    after = _after(changes, held)
    moved = {item_id for item_id, item in after.items() if joined_by(item) != joined_by(held[item_id])}
    if not moved:
        return changes
    made = {item.id: item for item in changes.items if item.key in NAMING}
    naming = [*made.values(), *(item for item_id in moved for item in (held[item_id], after[item_id]))]
    names = Names(view, [name for item in naming for pair in joined_by(item) for name in pair], entry_id=entry.id)
    spelled = {entity.name for entity in names.known}
    known = {item.id: item for item in view.stated(spelled, NAMING, STATED)}
    joining = sorted(({**known, **made, **after}).values(), key=lambda item: (item.recorded_at, item.id))
    names.regroup(pair for item in joining for pair in joined_by(item))
    patches = list(_moved(view.about(spelled), names, changes))
    told = {entity.id: entity for entity in (*changes.entities, *names.changed)}
    # Writing over an entity never takes an alias away: one that is nobody's alias any more is dropped and written anew.
    alone = [entity.id for entity in names.changed if entity.canonical_id is None]
    return replace(
        changes, entities=tuple(told.values()), patches=(*changes.patches, *patches),
        dropped_entities=tuple(dict.fromkeys((*changes.dropped_entities, *alone))),
    )  # fmt: skip


def _after(changes: Changes, held: Mapping[str, Item]) -> dict[str, Item]:
    """Give the naming items that the changes patch, as they will be."""
    after: dict[str, Item] = {}
    for patch in changes.patches:
        item = after.get(patch.item_id) or held.get(patch.item_id)
        if item is not None and item.key in NAMING:
            after[item.id] = item.with_fields(patch.fields)
    return after


def _moved(about: Iterable[Item], names: Names, changes: Changes) -> Iterable[Patch]:
    """Put items that stand under another name than was said under the first of the family it is of now."""
    taken = {patch.item_id for patch in changes.patches if "subject" in patch.fields}
    for item in about:
        said = item.data.get(NAMED)
        if said is not None and item.id not in taken and (now := names.root(str(said)).name) != item.subject:
            yield Patch(item.id, {"subject": now}, f"{said} is {now} now")
