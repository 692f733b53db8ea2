"""The table of MCP tools, each a verb of ``Memory``, and ``forget``, which finds and archives memories.

Nothing here imports ``Memory``: a server lists its tools before its store is opened.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from phronesis.core.ids import parse_id
from phronesis.core.items import statement
from phronesis.core.serialization import Record
from phronesis.errors import InputError
from phronesis.interfaces.mcp import arguments, engine_arguments, result_text
from phronesis.interfaces.mcp.request_context import Caller
from phronesis.interfaces.mcp.tool_calls import Verb

if TYPE_CHECKING:
    from phronesis.core.items import Item

MOST_FOUND: Final = 20
"""Maximum memories that one query finds."""

CLOSE: Final = 0.5
"""Minimum score of a memory, as a share of the best score."""

REQUEST: Final = "forget_request"
"""Key of a task that is a user's request to forget."""

DERIVED: Final = ("fact", "preference", "profile", "decision", "event", "intention", "procedure", "episodic")
"""Kinds derived from what a user says, which are forgotten with it."""


@dataclass(frozen=True, slots=True)
class ArchivedMemories(Record):
    """The memories that were archived, or with ``dry_run`` would be; ``entry_ids`` are the entries to roll back.

    ``abstained``: none of them clearly matches the query; then a query alone archives nothing.
    """

    items: "Sequence[Item]"
    dry_run: bool
    abstained: bool = False
    entry_ids: Sequence[str] = ()
    pending: bool = False


def forget(caller: "Caller", given: dict[str, Any]) -> ArchivedMemories:
    """Archive the memories of ``ids``, or those that a ``query`` finds; list them only if ``dry_run`` is set.

    Memories that say the same are included: what was derived from them, what they were derived from, and equal items of
    other kinds. A query is a dry run unless ``dry_run`` is given: results are shown before anything is archived.

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
    named = {item.id: item for item in (caller.memory.get(one, user_id=owner.get("user_id")) for one in ids)}
    items, abstained = ([*named.values()], False) if ids else _find_own(caller, str(query), owner)
    if not abstained:
        browser, tenant = caller.memory.admin.components.browser, caller.memory.admin.tenant
        items = [*items, *browser.items_with_same_content(tenant, items, None if ids else query)]
    if given.get("dry_run", not ids) or abstained or not items:
        return ArchivedMemories(items, dry_run=True, abstained=abstained)
    return _archive_items(caller, [item for item in items if item.status != "archived"], given)


def _find_own(caller: "Caller", query: str, owner: dict[str, Any]) -> "tuple[list[Item], bool]":
    """Return the user's own memories that match a query, and whether the match is doubtful.

    Messages are searched separately: a joint search returns a message or what was derived from it, and both must go.
    Tasks are too, since an open request to forget contains the query's words and would hide its object. An open request
    is returned only if nothing else is found: forgetting its object ends it, and so does archiving it.
    """
    from phronesis.index.tokens import question_terms  # noqa: PLC0415 - imported only when needed

    search = partial(caller.memory.search, query, **owner, limit=MOST_FOUND)
    results = [search(kinds=DERIVED), search(kinds=["task"]), search(kinds=["message"])]
    own = [[one for one in result if one.item.user_id == owner.get("user_id")] for result in results]
    requests = {one.item.entry_id: one.item for found in own for one in found if one.item.key == REQUEST}
    asked = set(question_terms(query))
    others = [
        [one for one in found if one.item.entry_id not in requests and _states(one.item, result.channels, asked)]
        for result, found in zip(results, own, strict=True)
    ]
    abstained = all(result.abstained or not found for result, found in zip(results, others, strict=True))
    near: dict[str, Item] = {}
    for result, every, found in zip(results, own, others, strict=True):
        best = max((one.score for one in every), default=0.0)
        least = max(best - (1 - CLOSE) * abs(best), getattr(result, "threshold", None) or -abs(best))
        clear = found if abstained else [one for one in found if one.score >= least and not result.abstained]
        near |= {one.item.id: one.item for one in clear}
    if near and not abstained:  # the requesting message matches too
        near |= {one.item.id: one.item for one in own[-1] if one.item.entry_id in requests}
    return (list(near.values()) or list(requests.values()))[:MOST_FOUND], abstained


def _states(item: "Item", channels: Sequence[str], asked: set[str]) -> bool:
    """Return whether an item is about a query: one found beside a message that states the same may share no word."""
    from phronesis.index.tokens import question_terms  # noqa: PLC0415 - imported only when needed

    return "dense" in channels or bool(asked & set(question_terms(f"{item.content} {statement(item)}")))


def _archive_items(caller: "Caller", items: "Sequence[Item]", given: dict[str, Any]) -> ArchivedMemories:
    how = {"wait": given.get("wait", True), "reason": given.get("reason") or "the user asked to forget it"}
    delete, key = partial(caller.memory.delete, actor=caller.actor), given.get("idempotency_key")
    keys = [None if key is None else f"{key}:{item.id}" for item in items]
    done = [delete(item.id, **how, idempotency_key=one) for item, one in zip(items, keys, strict=True)]
    gone = {found.id: found for item, one in zip(items, done, strict=True) for found in one.items or [item]}
    pending = any(one.pending for one in done)
    return ArchivedMemories([*gone.values()], dry_run=False, entry_ids=[one.entry_id for one in done], pending=pending)


Call = Callable[[Caller, dict[str, Any]], Any]

SHORT: Final = 1_000
"""Token budget of a write's result: its items, and how to roll it back."""
LISTED: Final = 1_500
"""Token budget of a listing: ten memories of a line or two, each with its citation."""
WHOLE: Final = 3_000
"""Token budget of one memory with its sources or its history."""

ITEMS: Final = {"items": "array", "entry_id": "string"}
FOUND: Final = {"evidence": "array", "abstained": "boolean"}
ITEM: Final = {"id": "string", "kind": "string", "content": "string"}
RESULT: Final = {"result": "array"}
EVENTS: Final = {"entry_id": "string", "events": "array"}
STORED: Final = {"entry_id": "string", "stored": "array"}
STATUS: Final = {"status": "string"}
EXPLAINED: Final = {"item": "object", "sources": "array"}
ARCHIVED: Final = {"items": "array", "dry_run": "boolean"}
CONTEXT: Final = {"context_id": "string", "token_count": "integer", "text": "string"}
ADVICE: Final = {
    **dict.fromkeys(("recommended_attempts", "avoid", "l1_evidence", "l2_patterns", "l3_principles"), "array"),
    "abstained": "boolean",
}

_ADDS: Final = {"writes": True, "idempotent": False}
_CHANGES: Final = {"writes": True, "destructive": True}


def _read(verb: str) -> Call:
    return lambda caller, given: attrgetter(verb)(caller.memory)(**given)


def _write(verb: str) -> Call:
    return lambda caller, given: attrgetter(verb)(caller.memory)(**given, actor=caller.actor)


def _get(caller: Caller, given: dict[str, Any]) -> "Item":
    if "id" in given:  # an id needs no namespace, but the server may have a default one
        given = {name: value for name, value in given.items() if name != "namespace"}
    return caller.memory.get(**given)


def _record_experience(caller: Caller, given: dict[str, Any]) -> Any:
    apart = ("user_id", "namespace", "idempotency_key", "wait")
    how = {name: given.pop(name) for name in apart if name in given}
    return caller.memory.ingest(given, **how, actor=caller.actor)


def _of_a_user(call: Call) -> Call:
    def checked(caller: Caller, given: dict[str, Any]) -> Any:
        if "user_id" not in given:
            raise InputError("user_id is missing: say which user, or start the server with --user", field="user_id")
        return call(caller, given)

    return checked


_TABLE: Final = (
    Verb("add_memory", arguments.AddMemory, ITEMS, _write("add"), result_text.render_added, SHORT, **_ADDS),
    Verb("search_memories", arguments.SearchMemories, FOUND, _read("search"), result_text.render_search, LISTED),
    Verb("update_memory", arguments.UpdateMemory, ITEMS, _write("update"), result_text.render_edit, SHORT, **_CHANGES),
    Verb("forget", arguments.Forget, ARCHIVED, forget, result_text.render_forgotten, LISTED, **_CHANGES),
    Verb("compose_context", arguments.ComposeContext, CONTEXT, _read("compose_context"), str, composes=True),
    Verb(
        "commit_turn", arguments.CommitTurn, STORED, _write("commit_turn"), result_text.render_committed, SHORT, **_ADDS
    ),
    Verb(
        "record_experience",
        engine_arguments.RecordExperience,
        EVENTS,
        _record_experience,
        result_text.render_ingested,
        SHORT,
        **_ADDS,
    ),
    Verb("query_experience", engine_arguments.QueryExperience, ADVICE, _read("query"), result_text.answer, LISTED),
    Verb("get_memory", arguments.GetMemory, ITEM, _get, result_text.item, WHOLE),
    Verb("list_memories", arguments.ListMemories, {"items": "array"}, _read("get_all"), result_text.page, LISTED),
    Verb("delete_memory", arguments.DeleteMemory, ITEMS, _write("delete"), result_text.render_edit, SHORT, **_CHANGES),
    Verb("memory_history", arguments.MemoryHistory, RESULT, _read("history"), result_text.history, LISTED),
    Verb(
        "rollback_memory",
        arguments.RollbackMemory,
        ITEMS,
        _write("rollback"),
        result_text.render_edit,
        SHORT,
        **_CHANGES,
        idempotent=False,
    ),
    Verb("explain_memory", arguments.ExplainMemory, EXPLAINED, _read("explain"), result_text.explanation, WHOLE),
    Verb(
        "give_feedback",
        engine_arguments.GiveFeedback,
        ITEMS,
        _write("feedback"),
        result_text.render_feedback,
        SHORT,
        writes=True,
    ),
    Verb(
        "get_user_traits",
        engine_arguments.GetUserTraits,
        RESULT,
        _of_a_user(_read("get_user_traits")),
        result_text.traits,
        LISTED,
    ),
    Verb(
        "reflect",
        engine_arguments.Reflect,
        STATUS,
        _of_a_user(_write("reflect")),
        result_text.render_reflection,
        SHORT,
        **_CHANGES,
        idempotent=False,
    ),
    Verb("mem_search", engine_arguments.MemSearch, FOUND, _read("mem_search"), result_text.claims, LISTED),
    Verb("mem_get", engine_arguments.MemGet, ITEM, _read("reasoning.get"), result_text.item, WHOLE),
)

VERBS: Final[Mapping[str, Verb]] = {verb.name: verb for verb in _TABLE}
"""Tools by name, those of `access.DEFAULT_TOOLS` first."""
