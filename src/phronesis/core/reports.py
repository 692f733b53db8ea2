"""Records of reports: model-call ledger, pages of listings, overview, pending jobs, entities; and backoff delays.

The ledger holds no text.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final, Generic, Literal, TypeVar, get_args

from phronesis.core.items import Item
from phronesis.core.proposals import Decision, Gated
from phronesis.core.results import Degraded, Evidence
from phronesis.core.serialization import Record, RecordSequence

OK: Final = "ok"
"""The status of a call whose answer was used; another status is an error's code."""
FOLDED: Final = "day"
"""The status of a merged record of all calls of a day, a role and a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One call of a model, or the sum of several.

    ``cost`` is in the currency of the policy's prices, 0 without a price. Tokens are counted by the server, or an
    upper bound where it does not count.
    """

    call_id: str
    at: datetime
    role: str
    model: str
    status: str
    prompt_tokens: int
    completion_tokens: int
    cost: float
    milliseconds: int
    calls: int = 1


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """The total usage of calls."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0

    def plus(self, other: "ModelUsage") -> "ModelUsage":
        """Return the sum of both."""
        return ModelUsage(self.calls + other.calls, self.tokens + other.tokens, self.cost + other.cost)


@dataclass(frozen=True, slots=True)
class Price:
    """Money for a million tokens."""

    input: float = 0.0
    output: float = 0.0

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the cost of a call."""
        return (prompt_tokens * self.input + completion_tokens * self.output) / 1_000_000


def by_day(calls: Iterable[ModelCall]) -> list[ModelCall]:
    """Fold calls into one for each day in UTC, role and model: at the day's beginning, with the id of the first."""
    out: dict[tuple[datetime, str, str], ModelCall] = {}
    for one in calls:
        key = (day_of(one.at), one.role, one.model)
        known = out.get(key)
        out[key] = replace(one, at=key[0], status=FOLDED) if known is None else _add_calls(known, one)
    return list(out.values())


def _add_calls(known: ModelCall, one: ModelCall) -> ModelCall:
    summed = ("prompt_tokens", "completion_tokens", "cost", "milliseconds", "calls")
    return replace(known, **{name: getattr(known, name) + getattr(one, name) for name in summed})


def day_of(moment: datetime) -> datetime:
    """Return the beginning of a time's day in UTC, when a day's budget starts anew."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


# A page of a listing, with the cursor of the next one.

_Listed = TypeVar("_Listed")


@dataclass(frozen=True, slots=True, eq=False)
class Page(RecordSequence[_Listed], Generic[_Listed]):
    """One page of a listing, newest first. ``next_cursor`` continues it; None: this is the last page.

    It equals any list or tuple of the same members.
    """

    items: tuple[_Listed, ...] = ()
    next_cursor: str | None = None

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Page):
            return self.items == other.items and self.next_cursor == other.next_cursor
        return tuple(other) == self.items if isinstance(other, list | tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.items, self.next_cursor))


def read_pages(read: Callable[..., Page[_Listed]], **wanted: Any) -> Iterator[_Listed]:
    """Yield the rows of all pages that ``read`` gives by ``cursor``."""
    cursor: str | None = None
    while True:
        page = read(cursor=cursor, **wanted)
        yield from page
        cursor = page.next_cursor
        if cursor is None:
            return


# The overview: counts, recent learning, contradictions, and items that wait for a person.

RECORDED_KINDS: Final = frozenset({"message", "document", "section", "run", "cycle", "mark"})
"""Kinds that record what was said, given or done, as opposed to learned."""


@dataclass(frozen=True, slots=True)
class Dispute(Record):
    """Two live items of which one contradicts the other, the later one first."""

    one: Item
    other: Item


@dataclass(frozen=True, slots=True)
class Overview(Record):
    """An overview of a scope.

    ``counts`` are live items by kind; ``learned`` what was learned since ``since``, newest first; ``disputes``
    contradicting items; ``quarantined`` the number of items that wait for a person's decision; ``unproven`` principles
    without a supporting event; ``contradicted`` items that were contradicted where a context showed them, and neither
    changed nor confirmed since.
    """

    since: datetime
    counts: Mapping[str, int] = field(default_factory=dict)
    learned: Sequence[Item] = ()
    disputes: Sequence[Dispute] = ()
    quarantined: int = 0
    unproven: Sequence[Item] = ()
    contradicted: Sequence[Item] = ()


@dataclass(frozen=True, slots=True)
class UserInfo(Record):
    """A user of the tenant: live items by kind, and when the last entry of theirs was recorded."""

    user_id: str
    last_recorded_at: datetime
    counts: Mapping[str, int] = field(default_factory=dict)


# Pending work of a tenant: waiting or failed entries, and reflections that are due.

JobState = Literal["pending", "failed", "due"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(Record):
    """One piece of work.

    ``pending``: an entry that waits for its interpretation; ``flush`` or a worker does it. ``failed``: one that was set
    aside after ``attempts`` tries, for ``code`` and ``message``; ``admin.retry(entry_id)`` takes it up (a failed
    rederive or erase is called again). ``due``: a reflection on a user, for the reason in ``message``; a worker or
    ``reflect`` does it. ``work`` is the entry's verb.
    """

    state: JobState
    work: str
    entry_id: str | None = None
    user_id: str | None = None
    namespace: str | None = None
    since: datetime | None = None
    attempts: int = 0
    code: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Jobs(RecordSequence[Job]):
    """Pending jobs: failed ones first, then waiting, then due ones, each in the order of its lane.

    ``pending`` and ``failed`` are totals, ``without_vector`` the number of documents without a vector.
    """

    jobs: tuple[Job, ...] = ()
    pending: int = 0
    failed: int = 0
    without_vector: int = 0


# Backoff after failures of background work.

FIRST_PAUSE: Final = timedelta(minutes=10)
"""The pause after the first failure, long enough for a model to restart."""
LONGEST_PAUSE: Final = timedelta(hours=24)
_DOUBLINGS: Final = 20
"""Maximum number of doublings, so that the timedelta cannot overflow."""


def pause_after(failures: int, *, longest: timedelta = LONGEST_PAUSE) -> timedelta:
    """Return the pause after a number of consecutive failures: doubled after each, up to ``longest``.

    Binary exponential backoff, without jitter since a lane's lock admits one worker at a time.
    """
    if failures <= 0:
        return timedelta()
    return min(FIRST_PAUSE * (1 << min(failures - 1, _DOUBLINGS)), longest)


EntityKind = Literal["person", "place", "organisation", "project", "thing", "unknown"]
ENTITY_KINDS: Final[tuple[EntityKind, ...]] = get_args(EntityKind)
RELATIONS: Final = ("partner", "child", "parent", "sibling", "friend", "colleague", "pet")
"""Keys of the user whose values are names of those who stand in that relation."""
_VALUES: Final[Mapping[str, EntityKind]] = {
    **dict.fromkeys(("partner", "child", "parent", "sibling", "relative", "friend", "colleague"), "person"),
    **dict.fromkeys(("employer", "school"), "organisation"),
    **dict.fromkeys(("home_city", "hometown", "located_in"), "place"),
}
_OF_PEOPLE: Final = frozenset(
    """
    name age birthday gender nationality home_city hometown address timezone email phone employer job school
    field_of_study language skill hobby relationship_status partner child parent sibling relative friend colleague pet
    allergy diet health medication habit role likes dislikes prefers reply_language reply_style address_as
    """.split()
)
_OF_PROJECTS: Final = frozenset({"attribute.deadline", "attribute.milestone", "attribute.截止日期"})
_OF_THINGS: Final = ("located_in", "attribute.")
STATED_KIND: Final = "attribute.kind"
"""A key whose value, if it is a kind, says what its subject is."""


def entity_kind(about: Mapping[str, Any], naming: AbstractSet[str]) -> EntityKind:
    """Return what an entity is.

    Args:
        about: the values of the items about it, by key.
        naming: the keys whose value is its name.
    """
    stated = about.get(STATED_KIND)
    known = next((kind for kind in ENTITY_KINDS if kind == stated), None)
    if known is not None:
        return known
    named = next((kind for key, kind in _VALUES.items() if key in naming), None)
    if named is not None:
        return named
    if not _OF_PEOPLE.isdisjoint(about):
        return "person"
    if not _OF_PROJECTS.isdisjoint(about):
        return "project"
    return "thing" if any(key.startswith(_OF_THINGS) for key in about) else "unknown"


@dataclass(frozen=True, slots=True)
class EntityName(Record):
    """The id and name of an entity."""

    id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityRecord(Record):
    """An entity: its names, what it is, and where it is spoken of.

    ``relation`` is that to the user, where it was stated ("sister"). ``mentions`` counts the items that are about it
    or name it. ``namesakes`` are others that its bare name may mean. ``evidence`` is what is known of it, the newest
    first, ended items too: ``entities.get`` gives it, lists leave it out.
    """

    id: str
    name: str
    kind: EntityKind
    aliases: Sequence[str] = ()
    relation: str | None = None
    mentions: int = 0
    first_mentioned: datetime | None = None
    last_mentioned: datetime | None = None
    namesakes: Sequence[EntityName] = ()
    user_id: str | None = None
    namespace: str | None = None
    evidence: Sequence[Evidence] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewedProposal(Record):
    """One proposal of an extractor, and what consolidation would make of it.

    ``decision`` is ADD, UPDATE (a held item said more fully), SUPERSEDE, RETRACT, or NONE (held already, or not sure
    enough). ``item`` is the item as it would be made or confirmed, ``ends`` those that would end, as they are now, and
    ``contradicts`` those that it would be in dispute with.
    ``extractor`` names the rules, the reader or the model, with its version.
    """

    content: str
    kind: str
    decision: Decision
    extractor: str
    quote: str
    confidence: float
    subject: str | None = None
    key: str | None = None
    value: Any = None
    item: Item | None = None
    ends: Sequence[Item] = ()
    contradicts: Sequence[Item] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview(Record):
    """What `add` would remember of messages now; nothing of it is stored.

    ``items``, ``superseded``, ``gated`` and ``degraded`` are those of `AddResult`: the messages and what would be
    learned from them, what would end, what would be refused and why, and the roles without their model.
    """

    proposals: Sequence[PreviewedProposal] = ()
    items: Sequence[Item] = ()
    superseded: Sequence[Item] = ()
    gated: Sequence[Gated] = ()
    degraded: Sequence[Degraded] = ()
