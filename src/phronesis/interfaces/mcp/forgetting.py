"""``forget``: what a user asks to be forgotten is found, shown, and archived when the memories are named."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from phronesis.core.ids import parse_id
from phronesis.core.item_text import statement
from phronesis.core.plain import Record
from phronesis.errors import InputError

if TYPE_CHECKING:
    from phronesis.core.items import Item
    from phronesis.interfaces.mcp.access import Caller

MOST_FOUND: Final = 20
"""Memories that one query names at most."""

CLOSE: Final = 0.5
"""Share of the best score that a memory needs to be named beside it."""

REQUEST: Final = "forget_request"
"""The key of a task that says what a user asked to have forgotten."""

DERIVED: Final = (
    "fact", "preference", "profile", "decision", "event", "intention", "procedure", "episodic",
)  # fmt: skip
"""What is taken from what a user says, and can be forgotten with it."""


@dataclass(frozen=True, slots=True)
class Forgotten(Record):
    """The memories that were archived, or with ``dry_run`` would be.

    ``abstained``: none of them clearly is what the query means; then nothing is archived by a query alone.
    ``entry_ids`` are what ``rollback`` takes back.
    """

    items: "Sequence[Item]"
    dry_run: bool
    abstained: bool = False
    entry_ids: Sequence[str] = ()
    pending: bool = False


def forget(caller: "Caller", given: dict[str, Any]) -> Forgotten:
    """Archive the memories of ``ids``, or those that a ``query`` finds; list them where ``dry_run`` asks for that.

    With them goes what says the same: what was derived from them, what they were taken from, and equal items of other
    kinds. A query without ``dry_run`` given is a dry run: what it finds is shown before anything is archived.

    Raises:
        InputError: neither ids nor a query. NotFound: one of the ids is no memory; nothing is archived then.
    """
    ids = [parse_id(one, field=f"ids[{n}]") for n, one in enumerate(given.get("ids") or ())]
    query, name = given.get("query"), given.get("external_id")
    owner: dict[str, Any] = {name: given[name] for name in ("user_id", "namespace") if name in given}
    if name is not None:
        ids.append(caller.memory.get(external_id=name, **owner).id)
    if not ids and not query:
        raise InputError("give a query (what is to be forgotten), ids of memories or an external_id", field="query")
    if ids:
        items, abstained = list({item.id: item for item in map(caller.memory.get, ids)}.values()), False
    else:
        items, abstained = _found(caller, str(query), owner)
    if not abstained:
        browser, tenant = caller.memory.stages.browser, caller.memory.tenant
        items = [*items, *browser.going_with(tenant, items, None if ids else query)]
    if given.get("dry_run", not ids) or abstained or not items:
        return Forgotten(items, dry_run=True, abstained=abstained)
    return _archived(caller, [item for item in items if item.status != "archived"], given)


def _found(caller: "Caller", query: str, owner: dict[str, Any]) -> "tuple[list[Item], bool]":
    """Give the user's own memories that a query names, and whether that is doubtful.

    Messages are sought apart: a search for both gives a message or what was taken from it, and both are to go. So are
    tasks, since an open request to forget says the query's words, and would hide what it is about. An open
    request to forget is named where nothing else is: what it asks for ends it, and so does archiving it.
    """
    from phronesis.index.tokens import question_terms  # noqa: PLC0415 - not before something is forgotten

    search = partial(caller.memory.search, query, **owner, limit=MOST_FOUND)
    results = [search(kinds=DERIVED), search(kinds=["task"]), search(kinds=["message"])]
    own = [[one for one in result if one.item.user_id == owner.get("user_id")] for result in results]
    requests = {one.item.entry_id: one.item for found in own for one in found if one.item.key == REQUEST}
    asked = set(question_terms(query))
    others = [
        [
            one for one in found if one.item.entry_id not in requests
            # What stands beside a message that says it is found too, and by words alone has none of them.
            and ("dense" in result.channels or asked & set(question_terms(f"{one.item.content} {statement(one.item)}")))
        ]
        for result, found in zip(results, own, strict=True)
    ]  # fmt: skip
    abstained = all(result.abstained or not found for result, found in zip(results, others, strict=True))
    near: dict[str, Item] = {}
    for result, every, found in zip(results, own, others, strict=True):
        best = max((one.score for one in every), default=0.0)
        least = max(best - (1 - CLOSE) * abs(best), getattr(result, "threshold", None) or -abs(best))
        clear = found if abstained else [one for one in found if one.score >= least and not result.abstained]
        near |= {one.item.id: one.item for one in clear}
    if near and not abstained:  # the message that asks for it says it too
        near |= {one.item.id: one.item for one in own[-1] if one.item.entry_id in requests}
    return (list(near.values()) or list(requests.values()))[:MOST_FOUND], abstained


def _archived(caller: "Caller", items: "Sequence[Item]", given: dict[str, Any]) -> Forgotten:
    how = {"wait": given.get("wait", True), "reason": given.get("reason") or "the user asked to forget it"}
    key = given.get("idempotency_key")
    done = [
        caller.memory.delete(
            item.id, **how, actor=caller.actor, idempotency_key=None if key is None else f"{key}:{item.id}"
        )
        for item in items
    ]
    gone = {found.id: found for item, one in zip(items, done, strict=True) for found in one.items or [item]}
    return Forgotten(
        [*gone.values()], dry_run=False,
        entry_ids=[one.entry_id for one in done], pending=any(one.pending for one in done),
    )  # fmt: skip
