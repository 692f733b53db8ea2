"""Query parameters of requests. An unknown one is an error; the verbs validate the values."""

import json
from typing import Annotated, Any, Literal

import pydantic

from phronesis.core.serialization import MAX_DEPTH, plain
from phronesis.errors import InputError
from phronesis.interfaces.authentication import Caller
from phronesis.interfaces.http.bodies import Form, Limit, PointInTime, Time


class ReadScope(Form):
    """What a read sees, as parameters of a URL."""

    user_id: str | None = None
    namespace: str | None = None


class OwnQuery(Form):
    """Whose item the id in the path names: 404 for another user's."""

    user_id: str | None = None


class ItemQuery(OwnQuery, PointInTime):
    """An item, as it was known and held at a time."""


class AttributeQuery(ReadScope):
    """Whose items, and attributes that they have."""

    agent_id: str | None = None
    session_id: str | None = None
    run_id: str | None = None


Wait = Annotated[bool, pydantic.Field(description="false: stored at once, interpreted later.")]
"""As in ``dependencies.Written``, for routes whose other parameters are a form: an unknown one is an error there."""


class Clearing(AttributeQuery):
    """Whose items go, and which of them."""

    wait: Wait = True


class ExtendedWindow(AttributeQuery):
    """What a read sees; ``across=tenant`` sees every user's memory, and needs an admin's key."""

    across: Literal["tenant"] | None = None


class Listing(ExtendedWindow, PointInTime):
    """A page of what is held, or with ``query`` a search."""

    query: str | None = pydantic.Field(default=None, description="Search for this; without it, browse, newest first.")
    kind: list[str] | None = pydantic.Field(default=None, description="Only these kinds; may be repeated.")
    filters: str | None = pydantic.Field(default=None, description='As mem0\'s, in JSON: {"importance": {"gte": 7}}.')
    external_id: str | None = pydantic.Field(default=None, description="Only the item of this name, as add gave it.")
    limit: Limit = 20
    cursor: str | None = pydantic.Field(default=None, description="next_cursor of the page before.")
    offset: str | None = pydantic.Field(default=None, description="Not taken: pages go by cursor.")
    explain: bool = pydantic.Field(default=False, description="Say what each channel gave; searches only.")
    min_score: float | None = pydantic.Field(default=None, description="Leave out what scores less; searches only.")
    exclude_session: str | None = pydantic.Field(default=None, description="Leave a session out; searches only.")
    time_zone: str | None = pydantic.Field(default=None, description="Days are those of it; searches only.")

    def of(self, caller: Caller) -> dict[str, Any]:
        """Return the given fields as arguments of ``search`` or ``get_all``; Forbidden as in all forms."""
        given = {**super().of(caller), "limit": self.limit}
        if "kind" in given:
            given["kinds"] = given.pop("kind")
        if self.filters is not None:
            given["filters"] = _object(self.filters)
        if given.pop("external_id", None) is not None:
            given["filters"] = {"AND": [given.get("filters", {}), {"external_id": self.external_id}]}
        return given


class Page(ReadScope):
    """A page of a list."""

    limit: Annotated[int, pydantic.Field(ge=1, le=100)] = 20
    cursor: str | None = None

    def named(self) -> dict[str, Any]:
        """Return the given fields, with the page's size."""
        return {**self.arguments(), "limit": self.limit}


class QuarantineQuery(ExtendedWindow):
    """What is in quarantine."""

    limit: Limit = 100


class EntityQuery(ReadScope):
    """Which entities: by a part of a name, and by what they are."""

    query: str | None = None
    kind: str | None = None
    limit: Limit = 100


class Removal(OwnQuery):
    """How a memory goes: archived, or erased for good."""

    erase: bool = False
    reason: str | None = None
    wait: bool = True


class TraitsQuery(PointInTime):
    """Which traits of a user."""

    min_stage: str = "emerging"
    subtype: str | None = None
    context: str | None = None


class Sessions(ReadScope):
    """Whose sessions."""

    across: Literal["tenant"] | None = None
    as_of: Time | None = None


class Turns(ReadScope):
    """Which session's turns."""

    session_id: str
    as_of: Time | None = None
    last: int | None = None
    before: int | None = None


class ReviewOptions(ReadScope):
    """How a review looks: ``refresh`` asks the public source again."""

    refresh: bool = False


class SourceQuery(ReadScope):
    """Of which event, or which reference, the source is asked for."""

    id: str


class DueQuery(ReadScope):
    """Whose tasks, and how many hours ahead."""

    within: float | None = None
    limit: Limit = 100
    time_zone: str | None = None
    as_of: Time | None = None


class OwnAsOf(OwnQuery):
    """Whose item, as it was known at a time."""

    as_of: Time | None = None


class OwnRemoval(OwnQuery):
    """Whose item is removed, and why."""

    reason: str | None = None
    wait: Wait = True


class Latest(Form):
    """How many of the latest."""

    limit: Limit = 20


class ClaimQuery(ReadScope):
    """A search of claims: within a SCOPE, on behalf of a run."""

    query: str
    scope: str | None = None
    limit: Limit = 8
    run_id: str | None = None
    cursor: str | None = pydantic.Field(default=None, description="Not taken: a search has no pages.")
    offset: str | None = pydantic.Field(default=None, description="Not taken: a search has no pages.")


class ReasoningQuery(ReadScope):
    """The run on whose behalf a reasoning item is read."""

    run_id: str | None = None


class EpisodeQuery(ReadScope, PointInTime):
    """Which episode."""

    id: str


class OverviewQuery(ReadScope):
    """Of what an overview is given, and since when."""

    across: Literal["tenant"] | None = None
    since: Time | None = None
    limit: Limit = 20


def _object(text: str) -> Any:
    try:
        given = json.loads(text)
    except ValueError as error:
        raise InputError("filters must be an object in JSON", field="filters") from error
    except RecursionError as error:
        raise InputError(f"filters is nested more than {MAX_DEPTH} levels deep", field="filters") from error
    return plain(given, field="filters")  # as deep as a body may be
