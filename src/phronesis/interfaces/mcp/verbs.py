"""The tools of the contract: each is a verb of ``Memory`` under the name that models know it by."""

from collections.abc import Callable
from typing import Any, Final

from phronesis.core.context import ContextPackage
from phronesis.core.experience.answers import Answer
from phronesis.core.experience.records import L1Event, Pattern, Principle
from phronesis.core.experience.results import Ingested
from phronesis.core.experience.upkeep import FeedbackResult
from phronesis.core.items import Item
from phronesis.core.pages import Page
from phronesis.core.reasoning.item import ReasoningItem
from phronesis.core.results import AddResult, CommitResult, EditResult, Explanation, HistoryEvent, SearchResult
from phronesis.core.traits.records import ReflectionCycle, Trait
from phronesis.errors import InputError
from phronesis.interfaces.mcp import arguments as takes
from phronesis.interfaces.mcp import saying
from phronesis.interfaces.mcp.access import Caller
from phronesis.interfaces.mcp.calling import Verb
from phronesis.memory import Memory

Call = Callable[[Caller, dict[str, Any]], Any]

WRITE_ARGUMENTS: Final = ("idempotency_key", "wait")


def _read(verb: Callable[..., Any]) -> Call:
    return lambda caller, given: verb(caller.memory, **given)


def _write(verb: Callable[..., Any]) -> Call:
    return lambda caller, given: verb(caller.memory, **given, actor=caller.actor)


def _record_experience(caller: Caller, given: dict[str, Any]) -> Ingested:
    apart = ("user_id", "namespace", *WRITE_ARGUMENTS)
    how = {name: given.pop(name) for name in apart if name in given}
    return caller.memory.ingest(given, **how, actor=caller.actor)


def _traits(caller: Caller, given: dict[str, Any]) -> list[Trait]:
    return caller.memory.get_user_traits(**_of_a_user(given))


def _reflect(caller: Caller, given: dict[str, Any]) -> ReflectionCycle:
    return caller.memory.reflect(**_of_a_user(given), actor=caller.actor)


def _of_a_user(given: dict[str, Any]) -> dict[str, Any]:
    if "user_id" not in given:
        raise InputError("user_id is missing: say which user, or start the server with --user", field="user_id")
    return given


VERBS: Final = (
    Verb(
        "add_memory", "Remember",
        "Remember something for later conversations: what the user states about themselves, a preference, a decision,"
        " a plan, a fact of the project. Call it as soon as such a thing is said. Do not store what is only of this"
        " moment, and no secrets. With kind, key and value a new value takes the place of the old one.",
        takes.AddMemory, AddResult, _write(Memory.add), saying.added, writes=True, idempotent=False,
    ),
    Verb(
        "search_memories", "Search memories",
        "Find what is remembered about a question, best first, each with its source. Call it before you answer"
        " anything that may depend on the user, earlier conversations or earlier decisions, and cite what you use as"
        " [mem:<id>]. When it abstains, nothing that is remembered supports an answer: say so.",
        takes.SearchMemories, SearchResult, _read(Memory.search), saying.found,
    ),
    Verb(
        "get_memory", "Read a memory",
        "Read one memory in full by its id or citation, whatever its state. Call it when a search result is cut or you"
        " need its fields.",
        takes.GetMemory, Item | Trait | L1Event | Pattern | Principle | ReasoningItem, _read(Memory.get), saying.item,
    ),
    Verb(
        "list_memories", "List memories",
        "List what is remembered, newest first, page by page. Call it to look over everything of a user, kind or"
        " session; to answer a question, search instead.",
        takes.ListMemories, Page[Item], _read(Memory.get_all), saying.page,
    ),
    Verb(
        "update_memory", "Correct a memory",
        "Give a memory new words, metadata, or the time when it stopped being true. Call it when the user corrects"
        " something remembered. The history keeps the old version, and rollback_memory brings it back.",
        takes.UpdateMemory, EditResult, _write(Memory.update), saying.edited, writes=True, destructive=True,
    ),
    Verb(
        "delete_memory", "Archive a memory",
        "Take a memory out of all ordinary reads. Call it when the user asks to forget something, or it should never"
        " have been stored. It is archived, and can be brought back; erasing for good is for the operator.",
        takes.DeleteMemory, EditResult, _write(Memory.delete), saying.edited, writes=True, destructive=True,
    ),
    Verb(
        "memory_history", "History of a memory",
        "List every change of a memory, oldest first: who, when, what it was before. Call it when the user asks how or"
        " since when something is known, or to find the delta to roll back.",
        takes.MemoryHistory, list[HistoryEvent], _read(Memory.history), saying.history,
    ),
    Verb(
        "rollback_memory", "Take a change back",
        "Undo one change (delta_id), or all that one write changed (entry_id). Call it when a write turns out to have"
        " been wrong. It is itself a change, and can be taken back.",
        takes.RollbackMemory, EditResult, _write(Memory.rollback), saying.edited, writes=True, destructive=True,
        idempotent=False,
    ),
    Verb(
        "explain_memory", "Why a memory is held",
        "Show why something is believed: the sources with their exact words, the evidence for and against, the"
        " history. Call it when the user asks where you know something from, or memories contradict each other.",
        takes.ExplainMemory, Explanation, _read(Memory.explain), saying.explanation,
    ),
    Verb(
        "compose_context", "Compose a context",
        "Get everything a good answer needs in one text within a token budget: profile, preferences, what is due, a"
        " summary, recent turns, evidence with citations. Call it once at the start of a turn, instead of several"
        " searches.",
        takes.ComposeContext, ContextPackage, _read(Memory.compose_context), saying.context,
    ),
    Verb(
        "commit_turn", "Record a turn",
        "Record a whole turn of the conversation: messages, tool calls, references; what it states is learned from"
        " it. Call it once at the end of each turn, with the context_id of the context it was answered with.",
        takes.CommitTurn, CommitResult, _write(Memory.commit_turn), saying.committed, writes=True, idempotent=False,
    ),
    Verb(
        "record_experience", "Record an attempt",
        "Record what was tried and what came of it, success or failure, so that it is not tried in vain again. Call it"
        " after an attempt at a task whose outcome you know, with a source_ref where it can be looked up.",
        takes.RecordExperience, Ingested, _record_experience, saying.recorded, writes=True, idempotent=False,
    ),
    Verb(
        "query_experience", "Ask what worked",
        "Ask what worked and what failed before in a situation like this: attempts to make, attempts to avoid,"
        " patterns and principles, each with its events. Call it before you start a task or after something failed.",
        takes.QueryExperience, Answer, _read(Memory.query), saying.answer,
    ),
    Verb(
        "give_feedback", "Give feedback",
        "Say that a memory was useful or not, correct or incorrect. Call it after you used what a search or"
        " query_experience gave and know whether it helped, or when the user judges it.",
        takes.GiveFeedback, FeedbackResult, _write(Memory.feedback), saying.judged, writes=True,
    ),
    Verb(
        "get_user_traits", "What a user is like",
        "List what was learned about how a user works and what they prefer, the surest first, with stage and"
        " confidence. Call it to adapt tone and approach; these are inferences, not statements of the user.",
        takes.GetUserTraits, list[Trait], _traits, saying.traits,
    ),
    Verb(
        "reflect", "Reflect on a user",
        "Look at what was learned of a user since the last time, and draw traits from it. Call it when a conversation"
        " ends; it does nothing when nothing is due.",
        takes.Reflect, ReflectionCycle, _reflect, saying.reflected, writes=True, destructive=True, idempotent=False,
    ),
    Verb(
        "mem_search", "Search claims",
        "Search the bank of reasoning claims: what runs have supported or refuted, each claim with its status. Call it"
        " in a run before you propose something, and give your run_id.",
        takes.MemSearch, SearchResult, _read(Memory.mem_search), saying.claims,
    ),
    Verb(
        "mem_get", "Read a reasoning item",
        "Read one item of the reasoning bank with all its claims, facts, inferences, limits and evidence. Call it when"
        " mem_search found a claim you want to rely on, and give your run_id.",
        takes.MemGet, ReasoningItem, _read(Memory.mem_get), saying.item,
    ),
)  # fmt: skip
"""In the contract's order."""
