"""Routes of conversations, memories, entities and users: turns, contexts, items, history, traits, erasure."""

from functools import reduce
from http import HTTPStatus
from operator import or_
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Request, Response

from phronesis.core.api_keys import Role
from phronesis.core.context import ContextPackage
from phronesis.core.items import Item
from phronesis.core.reports import EntityRecord, Page, Preview
from phronesis.core.results import (
    AddResult,
    CommitResult,
    EditResult,
    ErasureCertificate,
    Explanation,
    HistoryEvent,
    SearchResult,
    SessionInfo,
    Turn,
)
from phronesis.errors import NotFound
from phronesis.interfaces.authentication import Caller
from phronesis.interfaces.context_summary import ContextSummary, summary_of
from phronesis.interfaces.http import PREFIX, bodies, queries
from phronesis.interfaces.http.dependencies import (
    USER,
    Administering,
    Key,
    Match,
    Reading,
    Writing,
    Written,
    etag,
    version_of,
)
from phronesis.interfaces.http.openapi import answer, creates, gives, page_response
from phronesis.traits.laws.records import ReflectionCycle, Trait, TraitEvidence
from phronesis.traits.laws.strength import TRAIT, ReflectionTrigger
from phronesis.wire import RECORD_OF_KIND

# Conversations: turns, sessions, and the context for the next answer.

conversation_router = APIRouter(prefix=PREFIX, tags=["conversations"])


@conversation_router.post("/turns", **creates(CommitResult))
def commit_turn(caller: Writing, body: bodies.NewTurn, how: Written) -> Response:
    """Record one turn of a session: messages, tool calls, references."""
    return answer(caller.memory.commit_turn(**body.arguments(), **how.by(caller)), HTTPStatus.CREATED)


@conversation_router.get("/turns", responses=gives(list[Turn], 404))
def list_turns(caller: Reading, wanted: Annotated[queries.Turns, Query()]) -> Response:
    """Return a session's turns as they were recorded."""
    return answer(caller.memory.sessions.turns(**wanted.arguments()))


@conversation_router.get("/sessions", responses=gives(list[SessionInfo]))
def list_sessions(caller: Reading, wanted: Annotated[queries.Sessions, Query()]) -> Response:
    """Return the sessions a scope sees, latest first."""
    return answer(caller.memory.sessions.list(**wanted.of(caller)))


@conversation_router.post("/context", responses=gives(ContextSummary | ContextPackage, 415, 502))
def compose_context(caller: Reading, body: bodies.ContextRequest) -> Response:
    """Compose the context for a message, within its token budget. Nothing is stored but what was shown.

    With `explain` also every record behind it, what each slot used and what was dropped: some thirty times the tokens.
    """
    package = caller.memory.compose_context(
        **{name: one for name, one in body.arguments().items() if name != "explain"}
    )
    return answer(package if body.explain else summary_of(package))


memory_router = APIRouter(prefix=PREFIX, tags=["memories"])

ANY_ITEM: Final[Any] = reduce(or_, RECORD_OF_KIND.values(), Item)
_TAGGED: Final = {"ETag": "The item's version, for If-Match."}


@memory_router.post("/memories", **creates(AddResult))
def add_memory(caller: Writing, body: bodies.NewMemory, how: Written) -> Response:
    """Remember a text, messages, or with ``kind`` one item."""
    return answer(caller.memory.add(**body.arguments(), **how.by(caller)), HTTPStatus.CREATED)


@memory_router.get("/memories", responses=gives(Page[Item] | SearchResult, headers={"Link": "The next page."}))
def list_memories(request: Request, caller: Reading, wanted: Annotated[queries.Listing, Query()]) -> Response:
    """Browse what the scope sees, newest first, page by page; with ``query``, search it."""
    given = wanted.of(caller)
    if wanted.query is not None:
        return answer(caller.memory.search(**given))
    for name in ("explain", "offset", "min_score", "exclude_session", "time_zone"):
        given.pop(name, None)
    return page_response(request, caller.memory.get_all(**given))


@memory_router.post("/memories/search", responses=gives(SearchResult, 415))
def search_memories(caller: Reading, body: bodies.MemorySearch) -> Response:
    """Search what the scope sees, best first; the question is in no URL, and so in no log of a proxy."""
    return answer(caller.memory.search(**body.of(caller)))


@memory_router.delete("/memories", responses=gives(EditResult, 404, 409))
def delete_memories(caller: Writing, whose: Annotated[queries.Clearing, Query()], *, key: Key = None) -> Response:
    """Archive every memory of a user, or of a namespace, that has the attributes."""
    return edited(caller.memory.items.delete_all(**whose.arguments(), actor=caller.actor, idempotency_key=key))


@memory_router.get("/due", responses=gives(list[Item]))
def list_due_tasks(caller: Reading, wanted: Annotated[queries.DueQuery, Query()]) -> Response:
    """List the open tasks and intentions that are due, the most urgent first."""
    return answer(caller.memory.items.due(**wanted.arguments()))


@memory_router.post("/preview", responses=gives(Preview, 415))
def preview_memories(caller: Reading, body: bodies.Previewing) -> Response:
    """Say what would be remembered of messages, what would end and what be refused; nothing is stored."""
    return answer(caller.memory.items.preview(**body.arguments()))


@memory_router.get("/memories/{id}", responses=gives(ANY_ITEM, 404, headers=_TAGGED))
def get_memory(caller: Reading, id: str, then: Annotated[queries.ItemQuery, Query()]) -> Response:
    """Return a memory as the record of its kind, whatever its status."""
    item = caller.memory.get(id, **then.arguments())
    return answer(item, headers=etag(item.version))


@memory_router.patch("/memories/{id}", responses=gives(EditResult, 404, 409, 412, 415, headers=_TAGGED))
def update_memory(caller: Writing, id: str, body: bodies.Change, how: Written, *, if_match: Match = None) -> Response:
    """Return a memory other words, metadata, or an end; its history keeps the old."""
    given = {**body.arguments(), "expected_version": version_of(if_match), **how.by(caller)}
    return edited(caller.memory.update(id, **given))


@memory_router.delete("/memories/{id}", responses=gives(EditResult | ErasureCertificate, 404, 409, 412))
def delete_memory(
    caller: Writing, id: str, way: Annotated[queries.Removal, Query()], *, key: Key = None, if_match: Match = None
) -> Response:
    """Archive a memory; with ``erase`` remove its words for good, which needs an admin's key."""
    if way.erase:
        caller.require_role(Role.ADMIN)
    given: dict[str, Any] = {"expected_version": version_of(if_match), "reason": way.reason, "actor": caller.actor}
    if way.erase:
        return answer(caller.memory.erase(id=caller.memory.get(id, user_id=way.user_id).id, **given))
    return edited(caller.memory.delete(id, user_id=way.user_id, **given, idempotency_key=key, wait=way.wait))


@memory_router.post("/memories/{id}/{edit}", responses=gives(EditResult, 404, 409, 412, 415, headers=_TAGGED))
def edit_memory(
    caller: Writing,
    id: str,
    edit: Literal["archive", "unarchive", "pin", "unpin", "retract"],
    how: Written,
    body: bodies.ReasonBody | None = None,
    *,
    if_match: Match = None,
) -> Response:
    """Archive a memory, bring it back, pin or unpin it, or say that it was wrong."""
    given = {} if body is None else body.arguments()
    verb = getattr(caller.memory.items, edit)
    return edited(verb(id, **given, expected_version=version_of(if_match), **how.by(caller)))


@memory_router.get("/memories/{id}/history", responses=gives(list[HistoryEvent], 404))
def get_memory_history(caller: Reading, id: str, then: Annotated[queries.ItemQuery, Query()]) -> Response:
    """Return a memory's changes, oldest first; each can be rolled back."""
    return answer(caller.memory.history(id, **then.arguments()))


@memory_router.get("/memories/{id}/explain", responses=gives(Explanation, 404))
def explain_memory(caller: Reading, id: str, then: Annotated[queries.ItemQuery, Query()]) -> Response:
    """Return why a memory is held: entry, source, quotation, evidence, edges, history."""
    return answer(caller.memory.explain(id, **then.arguments()))


@memory_router.post("/rollback", responses=gives(EditResult, 404, 409, 415))
def roll_back(caller: Writing, body: bodies.Undo, how: Written) -> Response:
    """Take back one delta, or all that an entry changed."""
    return answer(caller.memory.rollback(**body.arguments(), **how.by(caller)))


def edited(result: EditResult) -> Response:
    """Return the answer to an edit, with the version that the item has now."""
    return answer(result, headers=etag(result.items[0].version) if result.items else None)


# Entities: people, places and things, and which names are one.

entity_router = APIRouter(prefix=PREFIX, tags=["entities"])


@entity_router.get("/entities", responses=gives(list[EntityRecord]))
def list_entities(caller: Reading, wanted: Annotated[queries.EntityQuery, Query()]) -> Response:
    """List the entities that the scope sees, the most mentioned first."""
    return answer(caller.memory.entities.list(**wanted.arguments()))


@entity_router.get("/entities/{id}", responses=gives(EntityRecord, 404))
def get_entity(caller: Reading, id: str, whose: Annotated[queries.OwnQuery, Query()]) -> Response:
    """Return an entity with what is known of it, when and by whom it was said."""
    return answer(caller.memory.entities.get(id, **whose.arguments()))


@entity_router.post("/entities/merge", responses=gives(EditResult, 404, 409, 415))
def merge_entities(caller: Writing, body: bodies.Merging, how: Written) -> Response:
    """Make several entities one; ``entry_id`` rolls it back."""
    return answer(caller.memory.entities.merge(**body.arguments(), **how.by(caller)))


@entity_router.post("/entities/{id}/split", responses=gives(EditResult, 404, 409, 415))
def split_entity(caller: Writing, id: str, body: bodies.Splitting, how: Written) -> Response:
    """Make an entity two, by one of its names or by the items that are about another."""
    return answer(caller.memory.entities.split(id, **body.arguments(), **how.by(caller)))


# Users: inferred traits, and their right to correction and erasure.

user_router = APIRouter(prefix=PREFIX, tags=["users"])


@user_router.get(USER + "/traits", responses=gives(list[Trait], 404))
def list_traits(caller: Reading, user_id: str, wanted: Annotated[queries.TraitsQuery, Query()]) -> Response:
    """Return a user's traits of a stage and above."""
    return answer(caller.memory.get_user_traits(user_id, **wanted.arguments()))


@user_router.get(USER + "/should-reflect", responses=gives(ReflectionTrigger, 404))
def should_reflect(caller: Reading, user_id: str) -> Response:
    """Return whether a reflection on a user is due, and why."""
    return answer(caller.memory.should_reflect(user_id))


@user_router.post(USER + "/reflect", responses=gives(ReflectionCycle, 404, 409, 415, 502))
def reflect_on_user(caller: Writing, user_id: str, how: Written, body: bodies.Reflecting | None = None) -> Response:
    """Reflect on a user, if it is due."""
    given = {} if body is None else body.arguments()
    return answer(caller.memory.reflect(user_id, **given, **how.by(caller)))


@user_router.patch(USER + "/traits/{trait_id}", responses=gives(EditResult, 404, 409, 412, 415))
def correct_user_trait(
    caller: Writing, user_id: str, trait_id: str, body: bodies.TraitChange, how: Written, *, if_match: Match = None
) -> Response:
    """Correct a trait: the user's own word."""
    _check_trait(caller, user_id, trait_id)
    given = {**body.arguments(), **how.by(caller), "expected_version": version_of(if_match), "user_id": user_id}
    return edited(caller.memory.traits.correct(trait_id, **given))


@user_router.delete(USER + "/traits/{trait_id}", responses=gives(EditResult, 404, 409, 412))
def delete_user_trait(
    caller: Writing, user_id: str, trait_id: str, how: Written, *, if_match: Match = None
) -> Response:
    """Say that a trait is wrong: it ends, and keeps its history."""
    _check_trait(caller, user_id, trait_id)
    return edited(caller.memory.traits.delete(trait_id, expected_version=version_of(if_match), **how.by(caller)))


@user_router.get(USER + "/reflections", responses=gives(list[ReflectionCycle], 404))
def list_reflections(caller: Reading, user_id: str, wanted: Annotated[queries.Latest, Query()]) -> Response:
    """Return the reflections on a user, newest first."""
    return answer(caller.memory.traits.reflections(user_id, **wanted.arguments()))


@user_router.get("/traits/{id}/evidence", responses=gives(list[TraitEvidence], 404))
def list_trait_evidence(caller: Reading, id: str, whose: Annotated[queries.OwnAsOf, Query()]) -> Response:
    """Return the memories for and against a trait, oldest first."""
    return answer(caller.memory.traits.evidence(id, **whose.arguments()))


@user_router.patch("/traits/{id}", responses=gives(EditResult, 404, 409, 412, 415))
def correct_trait(
    caller: Writing, id: str, body: bodies.TraitChange, how: Written, *, if_match: Match = None
) -> Response:
    """Correct a trait."""
    given = {**body.arguments(), **how.by(caller), "expected_version": version_of(if_match)}
    return edited(caller.memory.traits.correct(id, **given))


@user_router.delete("/traits/{id}", responses=gives(EditResult, 404, 409, 412))
def delete_trait(
    caller: Writing, id: str, whose: Annotated[queries.OwnRemoval, Query()], *, key: Key = None, if_match: Match = None
) -> Response:
    """Say that a trait is wrong: it ends, and keeps its history."""
    given = {**whose.arguments(), "actor": caller.actor, "expected_version": version_of(if_match)}
    return edited(caller.memory.traits.delete(id, **given, idempotency_key=key))


@user_router.delete(USER, responses=gives(ErasureCertificate, 404, 409))
def erase_user(caller: Administering, user_id: str, reason: str | None = None) -> Response:
    """Erase all that was said by and learned of a user, for good; an admin's key."""
    return answer(caller.memory.erase(user_id=user_id, reason=reason, actor=caller.actor))


def _check_trait(caller: Caller, user_id: str, trait_id: str) -> None:
    found = caller.memory.get(trait_id)
    if found.kind != TRAIT or found.user_id != user_id:
        raise NotFound("this user has no such trait; GET …/traits lists them", field="trait_id")
