"""The group memory.entities: people, places and things, and which names are one."""

from collections.abc import Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Final

from phronesis.core.ids import make_scope, parse_id
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.relations import normal_name
from phronesis.core.results import EditResult
from phronesis.core.serialization import Records
from phronesis.core.text import check_id, check_text
from phronesis.errors import InputError
from phronesis.log import inputs
from phronesis.memory.runtime import Verbs
from phronesis.store.lane_view import LaneView

if TYPE_CHECKING:
    from phronesis.conversation import direct_statements
    from phronesis.core import reports
    from phronesis.engine.edits import Call
    from phronesis.store.lanes import Lane
else:
    direct_statements = lazy_module("phronesis.conversation.direct_statements")
    reports = lazy_module("phronesis.core.reports")

MAX_LISTED: Final = 10_000
"""Maximum number of entities in one answer."""

MAX_CHOSEN: Final = 1_000
"""Maximum number of entities, or of items, in one call."""


class Entities(Verbs):
    """The group ``memory.entities``: list, get, merge and split."""

    def get(self, id: str, *, user_id: str | None = None) -> "reports.EntityRecord":  # noqa: A002 - as of items
        """Return an entity, also by the id of one of its names, with what is known of it, when and by whom it was said.

        NotFound if there is none.
        """
        return self._found(id, user_id)[1]

    def merge(
        self,
        ids: Sequence[str],
        *,
        user_id: str | None = None,
        reason: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> EditResult:
        """Make several entities one: their names become aliases of the fullest.

        Questions about one name find the items of all, and statements about any are compared with them all; what was
        held stays as it is. `rollback` of the entry, or `entities.split`, undoes it.

        NotFound if there is no such entity; InputError unless they are at least two of one user or namespace.
        """
        call = self._runtime.call(actor, idempotency_key, wait)
        found = {record.id: lane for lane, record in (self._found(one, user_id) for one in _ids(ids, "ids"))}
        lanes = {lane.lane_id for lane in found.values()}
        if len(found) < 2 or len(lanes) != 1:  # noqa: PLR2004 - one is no merge
            raise InputError("ids must be of two entities or more, of one user or one namespace", field="ids")
        return self._written(call, lanes.pop(), direct_statements.MERGE, {"ids": sorted(found)}, reason)

    def split(
        self,
        id: str,  # noqa: A002 - as of items
        *,
        user_id: str | None = None,
        alias: str | None = None,
        items: Sequence[str] | None = None,
        name: str | None = None,
        reason: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> EditResult:
        """Make an entity two: by ``alias`` a name leaves it, by ``items`` those are about another.

        The statements that gave it the alias are retracted, and names that it had by that one alone leave too.
        ``items`` get the subject ``name``, that of another entity or a new one; default: the entity's name with a
        number. `rollback` of the entry undoes it.

        NotFound if there is no such entity; InputError unless either is given, the alias is one that was stated, or the
        items are about it.
        """
        call = self._runtime.call(actor, idempotency_key, wait)
        if (alias is None) == (items is None):
            raise InputError("give either alias or items", field="alias")
        lane, record = self._found(id, user_id)
        payload: dict[str, object] = {"entity_id": record.id}
        with self._runtime.components.database.transaction(self._runtime.tenant, "read") as unit:
            view = LaneView(unit, lane)
            if alias is not None:
                payload["alias"] = check_text(alias, field="alias")
                if not direct_statements.joining_items(view, record.name, alias):
                    raise InputError(f"nothing states that {record.name!r:.80} is {alias!r:.80}", field="alias")
            else:
                payload["item_ids"] = chosen = _ids(items or (), "items")
                payload["name"] = _name(view, record, name)
                if not set(chosen) <= {one.item.id for one in record.evidence}:
                    raise InputError(f"items must be about {record.name!r:.80}", field="items")
        return self._written(call, lane.lane_id, direct_statements.SPLIT, payload, reason)

    def list(
        self,
        query: str | None = None,
        *,
        user_id: str | None = None,
        namespace: str | None = None,
        kind: str | None = None,
        limit: int = 100,
    ) -> "list[reports.EntityRecord]":
        """Return the entities that the scope sees, the most mentioned first.

        ``query`` is a part of one of their names; ``kind`` person, place, organisation, project, thing or unknown.
        """
        scope = make_scope(user_id=user_id, namespace=namespace)
        if kind is not None and kind not in reports.ENTITY_KINDS:
            raise InputError(f"kind must be one of {', '.join(reports.ENTITY_KINDS)}", field="kind")
        wanted = normal_name(query or "")
        found = self._runtime.components.entities.list_entities(self._runtime.tenant, scope)
        named = [
            one
            for one in found
            if kind in (None, one.kind) and any(wanted in normal_name(name) for name in (one.name, *one.aliases))
        ]
        return Records(named[: inputs.limit(limit, most=MAX_LISTED)])

    def _found(self, given: str, user_id: str | None) -> "tuple[Lane, reports.EntityRecord]":
        owner = None if user_id is None else check_id(user_id, field="user_id")
        return self._runtime.components.entities.get(self._runtime.tenant, parse_id(given, field="id"), owner=owner)

    def _written(
        self, call: "Call", lane_id: int, verb: str, payload: Mapping[str, object], reason: str | None
    ) -> EditResult:
        why = None if reason is None else check_text(reason, field="reason")
        written = self._runtime.write(call, lane_id, verb, {**payload, "reason": why})
        browser = self._runtime.components.browser
        items = () if written.pending else tuple(browser.made_by(self._runtime.tenant, written.entry))
        return EditResult(written.entry.id, items, pending=written.pending, gated=written.redacted)


def _ids(given: Sequence[str], field: str) -> Sequence[str]:
    if isinstance(given, str) or not 0 < len(given) <= MAX_CHOSEN:
        raise InputError(f"{field} must be a list of 1 to {MAX_CHOSEN} ids", field=field)
    return list(dict.fromkeys(parse_id(one, field=field) for one in given))


def _name(view: LaneView, record: "reports.EntityRecord", given: str | None) -> str:
    """Return the subject of the items that leave an entity: the given one, or the first that is free."""
    if given is None:
        numbered = (f"{record.name} ({n})" for n in count(2))
        return next(name for name in numbered if not view.entities([normal_name(name)]))
    name = check_id(given, field="name")
    if normal_name(name) in {normal_name(one) for one in (record.name, *record.aliases)}:
        raise InputError(f"name: {name!r:.80} is a name of the entity itself", field="name")
    return name
