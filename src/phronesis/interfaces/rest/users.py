"""Users: what was inferred about them, and their right to have it corrected or erased."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from phronesis.core.results import EditResult, ErasureCertificate
from phronesis.core.traits.records import ReflectionCycle, Trait
from phronesis.core.traits.strength import TRAIT
from phronesis.core.traits.triggers import Due
from phronesis.errors import NotFound
from phronesis.interfaces.admission import Caller
from phronesis.interfaces.rest import PREFIX
from phronesis.interfaces.rest.answers import answer
from phronesis.interfaces.rest.bodies import Reflecting, TraitChange, TraitsWanted
from phronesis.interfaces.rest.callers import Administering, Reading, Writing
from phronesis.interfaces.rest.documented import gives
from phronesis.interfaces.rest.memories import edited
from phronesis.interfaces.rest.segments import USER
from phronesis.interfaces.rest.writes import Match, Written, version_of

router = APIRouter(prefix=PREFIX, tags=["users"])


@router.get(USER + "/traits", responses=gives(list[Trait], 404))
def traits(caller: Reading, user_id: str, wanted: Annotated[TraitsWanted, Query()]) -> Response:
    """Give a user's traits of a stage and above."""
    return answer(caller.memory.get_user_traits(user_id, **wanted.given()))


@router.get(USER + "/should-reflect", responses=gives(Due, 404))
def should_reflect(caller: Reading, user_id: str) -> Response:
    """Tell whether a reflection on a user is due, and why."""
    return answer(caller.memory.should_reflect(user_id))


@router.post(USER + "/reflect", responses=gives(ReflectionCycle, 404, 409, 415, 502))
def reflect(caller: Writing, user_id: str, how: Written, body: Reflecting | None = None) -> Response:
    """Reflect on a user, if it is due."""
    given = {} if body is None else body.given()
    return answer(caller.memory.reflect(user_id, **given, **how.by(caller)))


@router.patch(USER + "/traits/{trait_id}", responses=gives(EditResult, 404, 409, 412, 415))
def correct_trait(
    caller: Writing, user_id: str, trait_id: str, body: TraitChange, how: Written, *, if_match: Match = None
) -> Response:
    """Correct a trait: the user's own word."""
    _check_trait(caller, user_id, trait_id)
    given = {**body.given(), **how.by(caller), "expected_version": version_of(if_match)}
    return edited(caller.memory.correct_trait(trait_id, **given))


@router.delete(USER + "/traits/{trait_id}", responses=gives(EditResult, 404, 409, 412))
def remove_trait(caller: Writing, user_id: str, trait_id: str, how: Written, *, if_match: Match = None) -> Response:
    """Say that a trait is wrong: it ends, and keeps its history."""
    _check_trait(caller, user_id, trait_id)
    return edited(caller.memory.retract(trait_id, expected_version=version_of(if_match), **how.by(caller)))


@router.delete(USER, responses=gives(ErasureCertificate, 404, 409))
def erase_user(caller: Administering, user_id: str, reason: str | None = None) -> Response:
    """Erase all that was said by and learned of a user, for good; an admin's key."""
    return answer(caller.memory.erase(user_id=user_id, reason=reason, actor=caller.actor))


def _check_trait(caller: Caller, user_id: str, trait_id: str) -> None:
    found = caller.memory.get(trait_id)
    if found.kind != TRAIT or found.user_id != user_id:
        raise NotFound("this user has no such trait; GET …/traits lists them", field="trait_id")
