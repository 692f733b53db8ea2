"""The tools of the contract: each is a verb of ``Memory`` under the name that models know it by.

Nothing here imports ``Memory``: a server tells its tools before its store is opened.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from phronesis.errors import InputError
from phronesis.interfaces.mcp import arguments as takes
from phronesis.interfaces.mcp import result_text as text
from phronesis.interfaces.mcp.access import Caller
from phronesis.interfaces.mcp.calling import Verb
from phronesis.interfaces.mcp.forgetting import forget

if TYPE_CHECKING:
    from phronesis.core.experience.results import Ingested
    from phronesis.core.items import Item
    from phronesis.core.traits.records import ReflectionCycle, Trait

Call = Callable[[Caller, dict[str, Any]], Any]

WRITE_ARGUMENTS: Final = ("idempotency_key", "wait")

SHORT: Final = 1_000
"""Tokens of the result of a write: its items, and how to take it back."""
LISTED: Final = 1_500
"""Tokens of a listing: ten memories of a line or two, each with its citation."""
WHOLE: Final = 3_000
"""Tokens of one memory with its sources or its history."""

ITEMS: Final = {"items": "array", "entry_id": "string"}
FOUND: Final = {"evidence": "array", "abstained": "boolean"}
ITEM: Final = {"id": "string", "kind": "string", "content": "string"}
RESULT: Final = {"result": "array"}


def _read(verb: str) -> Call:
    return lambda caller, given: getattr(caller.memory, verb)(**given)


def _write(verb: str) -> Call:
    return lambda caller, given: getattr(caller.memory, verb)(**given, actor=caller.actor)


def _get(caller: Caller, given: dict[str, Any]) -> "Item":
    if "id" in given:  # it needs no owner, and one may be the server's default
        given = {name: value for name, value in given.items() if name not in {"user_id", "namespace"}}
    return caller.memory.get(**given)


def _record_experience(caller: Caller, given: dict[str, Any]) -> "Ingested":
    apart = ("user_id", "namespace", *WRITE_ARGUMENTS)
    how = {name: given.pop(name) for name in apart if name in given}
    return caller.memory.ingest(given, **how, actor=caller.actor)


def _traits(caller: Caller, given: dict[str, Any]) -> "list[Trait]":
    return caller.memory.get_user_traits(**_of_a_user(given))


def _reflect(caller: Caller, given: dict[str, Any]) -> "ReflectionCycle":
    return caller.memory.reflect(**_of_a_user(given), actor=caller.actor)


def _of_a_user(given: dict[str, Any]) -> dict[str, Any]:
    if "user_id" not in given:
        raise InputError("user_id is missing: say which user, or start the server with --user", field="user_id")
    return given


_TABLE: Final = (
    Verb(
        "add_memory", "Remember this",
        "Call it when the user says to remember something, or states what matters later: about themselves, a"
        " preference, a decision, a plan, a fact of the project. No secrets, nothing of this moment only. With kind,"
        " key and value a new value replaces the old.",
        takes.AddMemory, ITEMS, _write("add"), text.added, SHORT, writes=True, idempotent=False,
    ),
    Verb(
        "search_memories", "Search memories",
        "Call it before you answer what may depend on the user or on earlier conversations or decisions. Cite what"
        " you use as [mem:<id>]. When nothing supports an answer, say so.",
        takes.SearchMemories, FOUND, _read("search"), text.found, LISTED,
    ),
    Verb(
        "update_memory", "Correct a memory",
        "Call it when the user corrects something remembered: new words, a new value, or when it stopped being true."
        " The history keeps the old version.",
        takes.UpdateMemory, ITEMS, _write("update"), text.edited, SHORT, writes=True, destructive=True,
    ),
    Verb(
        "forget", "Forget this",
        "Call it when the user asks to forget something. First with query: it lists what would go. Then, when those"
        " are the ones, with their ids: they are archived, and no read shows them any more.",
        takes.Forget, {"items": "array", "dry_run": "boolean"}, forget, text.forgotten, LISTED, writes=True,
        destructive=True,
    ),
    Verb(
        "compose_context", "Compose a context",
        "Call it once at the start of a turn, instead of several searches: profile, preferences, what is due, a"
        " summary, recent turns and cited evidence in one text within token_budget.",
        takes.ComposeContext, {"context_id": "string", "token_count": "integer", "text": "string"},
        _read("compose_context"),
        str, composes=True,
    ),
    Verb(
        "commit_turn", "Record a turn",
        "Call it once at the end of each turn, with the context_id it was answered with: messages, tool calls and"
        " references are recorded, and what they state is learned.",
        takes.CommitTurn, {"entry_id": "string", "stored": "array"}, _write("commit_turn"), text.committed, SHORT,
        writes=True, idempotent=False,
    ),
    Verb(
        "record_experience", "Record an attempt",
        "Call it after an attempt at a task whose outcome you know, success or failure, so that it is not tried in"
        " vain again.",
        takes.RecordExperience, {"entry_id": "string", "events": "array"}, _record_experience, text.recorded, SHORT,
        writes=True, idempotent=False,
    ),
    Verb(
        "query_experience", "Ask what worked",
        "Call it before you start a task and after something failed: what worked and what failed before in a"
        " situation like this, with its events.",
        takes.QueryExperience,
        {"recommended_attempts": "array", "avoid": "array", "l1_evidence": "array", "l2_patterns": "array",
         "l3_principles": "array", "abstained": "boolean"},
        _read("query"), text.answer, LISTED,
    ),
    Verb(
        "get_memory", "Read a memory",
        "Read one memory in full by its id, citation or external_id, whatever its state. Call it when a search result"
        " is cut or you need its fields.",
        takes.GetMemory, ITEM, _get, text.item, WHOLE,
    ),
    Verb(
        "list_memories", "List memories",
        "List what is remembered, newest first, page by page. Call it to look over everything of a user, kind or"
        " session; to answer a question, search instead.",
        takes.ListMemories, {"items": "array"}, _read("get_all"), text.page, LISTED,
    ),
    Verb(
        "delete_memory", "Archive a memory",
        "Take one memory out of all ordinary reads. Call it when something should never have been stored. It is"
        " archived, and can be brought back; erasing for good is for the operator.",
        takes.DeleteMemory, ITEMS, _write("delete"), text.edited, SHORT, writes=True, destructive=True,
    ),
    Verb(
        "memory_history", "History of a memory",
        "List every change of a memory, oldest first: who, when, what it was before. Call it when the user asks how"
        " or since when something is known, or to find the delta to roll back.",
        takes.MemoryHistory, RESULT, _read("history"), text.history, LISTED,
    ),
    Verb(
        "rollback_memory", "Take a change back",
        "Undo one change (delta_id), or all that one write changed (entry_id). Call it when a write turns out to have"
        " been wrong. It is itself a change, and can be taken back.",
        takes.RollbackMemory, ITEMS, _write("rollback"), text.edited, SHORT, writes=True, destructive=True,
        idempotent=False,
    ),
    Verb(
        "explain_memory", "Why a memory is held",
        "Show why something is believed: the sources with their exact words, the evidence for and against, the"
        " history. Call it when the user asks where you know something from, or memories contradict each other.",
        takes.ExplainMemory, {"item": "object", "sources": "array"}, _read("explain"), text.explanation, WHOLE,
    ),
    Verb(
        "give_feedback", "Give feedback",
        "Say that a memory was useful or not, correct or incorrect. Call it after you used what a search or"
        " query_experience gave and know whether it helped, or when the user judges it.",
        takes.GiveFeedback, ITEMS, _write("feedback"), text.judged, SHORT, writes=True,
    ),
    Verb(
        "get_user_traits", "What a user is like",
        "List what was learned about how a user works and what they prefer, the surest first, with stage and"
        " confidence. Call it to adapt tone and approach; these are inferences, not statements of the user.",
        takes.GetUserTraits, RESULT, _traits, text.traits, LISTED,
    ),
    Verb(
        "reflect", "Reflect on a user",
        "Look at what was learned of a user since the last time, and draw traits from it. Call it when a conversation"
        " ends; it does nothing when nothing is due.",
        takes.Reflect, {"status": "string"}, _reflect, text.reflected, SHORT, writes=True, destructive=True,
        idempotent=False,
    ),
    Verb(
        "mem_search", "Search claims",
        "Search the bank of reasoning claims: what runs have supported or refuted, each claim with its status. Call"
        " it in a run before you propose something, and give your run_id.",
        takes.MemSearch, FOUND, _read("mem_search"), text.claims, LISTED,
    ),
    Verb(
        "mem_get", "Read a reasoning item",
        "Read one item of the reasoning bank with all its claims, facts, inferences, limits and evidence. Call it"
        " when mem_search found a claim you want to rely on, and give your run_id.",
        takes.MemGet, ITEM, _read("mem_get"), text.item, WHOLE,
    ),
)  # fmt: skip

VERBS: Final[Mapping[str, Verb]] = {verb.name: verb for verb in _TABLE}
"""The tools by name, those of `access.DEFAULT_TOOLS` first."""
