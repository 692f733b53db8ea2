"""Held items that bear on new messages: what a model is shown beside them, and what one decides by them.

What is shown, held items found by search and what was said before, is cut to a budget of tokens, estimated by
characters. Nothing that a policy hides is shown. The model of a role ``decide`` settles what the reader is not sure of:
whether a message states it, and whether a sure statement takes the place of a similar held item. The answers are
recorded; the other proposals stay as the reader made them.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Final

from phronesis.conversation.entity_resolution import ALIAS_KEY
from phronesis.conversation.extraction.extraction_rules import said_at
from phronesis.conversation.extraction.extractor import LocalExtractor, extraction_outcomes, may_mark
from phronesis.conversation.extraction.gate import GateInput
from phronesis.conversation.extraction.proposed import BEGAN_PRECISION, RECURS, SCOPE
from phronesis.core.data_delimiters import choose_boundary
from phronesis.core.entries import Entry, Outcome, TurnPayload, payload_of
from phronesis.core.ids import make_scope
from phronesis.core.items import DUE, Item
from phronesis.core.proposals import PROPOSALS, USER, Proposal, Relation
from phronesis.core.statements import STATED
from phronesis.engine.handler import Decisions, PrepareContext
from phronesis.engine.prompt_injection import speaker_name
from phronesis.index.tokens import tokenize
from phronesis.log.payloads import texts_of
from phronesis.models.decision import REPEATS, REPLACES, Decider, ask_gate, ask_supersede
from phronesis.models.decision import STATED as IS_STATED
from phronesis.recall.query import Query
from phronesis.store.eligible import ReadConditions
from phronesis.store.lane_view import LaneView

if TYPE_CHECKING:
    from phronesis.engine.plugin import Platform

BUDGET: Final = 1_200
"""Tokens of what is shown beside the new messages, about: five parts of eight are for held items."""

ALL_HELD: Final = 40
"""Held items of a lane up to which all are shown: a search could miss one, and costs more."""

FOUND: Final = 16
"""Held items that a search of the new messages adds."""

OPEN: Final = 8
"""Tasks, intentions and events added whatever the messages say: what is done is said in few words."""

EARLIER: Final = 6
"""Messages shown from before, at most, and the longest time between two of one conversation without a session."""
APART: Final = timedelta(hours=6)

NAMES: Final = 24
LOOKED_AT: Final = 300
"""Further subjects that are named at most, and the newest items among which they are looked for."""

MAX_LINE: Final = 240
"""Characters of a held item or an earlier message."""

_EXACT: Final = {"year": 4, "month": 7}
"""Characters of a date in ISO 8601 that is only so exact."""

_PENDING: Final = ("task", "intention", "event")
_ASCII_PER_TOKEN: Final = 4

FindItems = Callable[[PrepareContext, str], Sequence[str]]
"""Searches a lane for the held items that bear on a text; returns their ids, best first."""


@dataclass(frozen=True, slots=True)
class ExtractionContext:
    """The held items by the number under which they are shown, the messages from before, and further subjects.

    ``known`` are items of subjects of whom no line is shown, by the subject with its other names.
    """

    held: Mapping[int, Item] = field(default_factory=dict)
    earlier: Sequence[Item] = ()
    known: Mapping[str, Item] = field(default_factory=dict)

    def ids_of_quoted_items(self, answered: str, texts: Iterable[str], others: Mapping[str, str]) -> list[str]:
        """Return the ids of the shown items and ``others`` that hold words of an answer which no message holds.

        An outcome that names them is prepared again when one is erased.
        """
        foreign = set(tokenize(answered)).difference(*map(tokenize, texts))
        shown = {**others, **{item.id: item.content for item in (*self.held.values(), *self.earlier)}}
        shown |= {item.id: name for name, item in self.known.items()}
        return [name for name, text in shown.items() if not foreign.isdisjoint(tokenize(text))]


def gather_context(
    bench: PrepareContext,
    entry: Entry,
    said: Mapping[int, GateInput],
    *,
    find: FindItems,
    hides: Callable[[str], bool],
    budget: int = BUDGET,
) -> ExtractionContext:
    """Return what bears on an entry's messages: the newest messages before, and held items by retrieval."""
    payload = payload_of(entry, TurnPayload)
    session_id = payload.get("session_id")
    with bench.view() as view:
        before = view.newest(("message",), session_id=session_id, limit=2 * EARLIER)
        held = _find_newest(view, sorted(STATED), limit=ALL_HELD + 1)
        pending = _find_newest(view, _PENDING, limit=OPEN)
    before = [item for item in before if item.entry_id != entry.id]
    first = min((one.at for one in said.values()), default=entry.recorded_at)
    if session_id is None:
        before = _select_adjoining(before, first)
    room = budget * 5 // 8
    known: dict[str, Item] = {}
    if len(held) > ALL_HELD or sum(estimate_tokens(held_line(0, item)) for item in held) > room:
        recent = "\n".join(item.content for item in before[-2:])
        found = find(bench, "\n".join([recent, *(one.text for one in said.values())]))
        with bench.view() as view:  # of a lane that is derived anew, only what it holds so far
            held = [*view.items(found).values(), *pending, *held]
            known = _find_subjects(view)
    shown = {item.id: item for item in held if item.entry_id != entry.id and item.live and not hides(item.content)}
    kept = _fit_within(room, [(one, held_line(0, one)) for one in shown.values()])
    latest = [(one, _cut(one)) for one in before[::-1] if not hides(one.content)]
    earlier = _fit_within(budget * 3 // 8, latest[:EARLIER])
    ordered = sorted(kept, key=lambda item: (item.recorded_at, item.subject or "", item.key or "", item.content))
    subjects = {item.subject for item in ordered}
    known = {name: item for name, item in known.items() if item.subject not in subjects and not hides(name)}
    numbered, names = dict(enumerate(ordered, start=1)), dict(itertools.islice(known.items(), NAMES))
    return ExtractionContext(numbered, earlier[::-1], names)


def _find_subjects(view: LaneView) -> dict[str, Item]:
    """Return the newest item of each subject but the user, by the subject's name and what else it is called."""
    stated = _find_newest(view, sorted(STATED), limit=LOOKED_AT)
    newest = {item.subject: item for item in reversed(stated) if item.subject and item.subject != USER}
    also: dict[str, list[str]] = {}
    for alias in view.stated(newest, (ALIAS_KEY,), STATED) if newest else ():
        if alias.live and alias.subject is not None:
            also.setdefault(alias.subject, []).append(str(alias.value))
    names = {name: ", also ".join([name, *sorted(also.get(name, ()))]) for name in newest}
    ordered = sorted(newest, key=lambda name: (newest[name].recorded_at, name), reverse=True)
    return {names[name]: newest[name] for name in ordered}


def _find_newest(view: LaneView, kinds: Sequence[str], *, limit: int) -> list[Item]:
    """Return the newest items of kinds, newest first, in an order that repeats."""
    found = view.newest(kinds, limit=2 * limit)
    return sorted(found, key=lambda item: (item.recorded_at, item.content), reverse=True)[:limit]


def _select_adjoining(before: Sequence[Item], until: datetime) -> list[Item]:
    """Return the last messages that follow each other closely, and are followed closely by the new ones."""
    times = [*((item.occurred_at or item.recorded_at) for item in before), until]
    apart = [n for n, (at, then) in enumerate(itertools.pairwise(times)) if not timedelta(0) <= then - at <= APART]
    return list(before[max(apart, default=-1) + 1 :])


def _fit_within(budget: int, lines: Iterable[tuple[Item, str]]) -> list[Item]:
    listed = list(lines)
    used = itertools.accumulate(estimate_tokens(line) for _, line in listed)
    return [item for (item, _), size in zip(listed, used, strict=True) if size <= budget]


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text has in a common vocabulary: four characters of ASCII, one of others."""
    plain = sum(map(str.isascii, text))
    return plain // _ASCII_PER_TOKEN + len(text) - plain + 1


def held_line(number: int, item: Item) -> str:
    """Return a held item as a line: number, subject, key, its times and scope, and what it says."""
    since = item.occurred_at or item.recorded_at
    # A day is stored as its midnight in UTC, a moment is of the speaker's day.
    day = (since if since.time() == time.min else item.local(since)).date().isoformat()
    exact = _EXACT.get(str(item.data.get(BEGAN_PRECISION)), len(day))
    when = [] if item.valid_to is not None and item.valid_to < since else [day[:exact]]
    due = item.data.get(DUE)
    if isinstance(due, str):
        when.append(f"due {due[:16].removesuffix('T00:00')}")
    if item.valid_to is not None:  # at the end of a day is the midnight after it
        when.append(f"until {(item.valid_to - timedelta(microseconds=1)).date().isoformat()}")
    when += [str(item.data[name]) for name in (RECURS, SCOPE) if name in item.data]
    text = " ".join(item.content.split())[:MAX_LINE]
    return f"{number} | {item.subject} | {item.key} | {', '.join(when)} | {text}"


def _cut(one: Item | GateInput) -> str:
    """Return a message as a line; of a long one the beginning and the end."""
    words = " ".join((one.content if isinstance(one, Item) else one.text).split())
    if len(words) > MAX_LINE:
        words = f"{words[: MAX_LINE * 2 // 3]} … {words[-MAX_LINE // 3 :]}"
    return f"{one.role} {one.name}: {words}" if one.name else f"{one.role}: {words}"


def render_messages(entry: Entry, texts: Mapping[int, str]) -> dict[int, GateInput]:
    """Return each message with its speaker and time."""
    messages = payload_of(entry, TurnPayload).get("messages", ())
    out: dict[int, GateInput] = {}
    for n, text in texts.items():
        message = messages[n]
        out[n] = GateInput(text, message["role"], said_at(entry, message), speaker_name(message.get("name")))
    return out


def render_request(
    entry: Entry, said: Mapping[int, GateInput], context: ExtractionContext, overlap: Sequence[GateInput] = ()
) -> str:
    """Return the data of one call: held items, earlier messages, and the new messages, each between tags.

    ``overlap`` are the last messages of the entry's call before, which count as earlier ones.
    """
    lines = [held_line(n, item) for n, item in context.held.items()]
    if context.known:
        lines.append(f"Further subjects: {'; '.join(context.known)}")
    held = "\n".join(lines)
    before: list[Item | GateInput] = [*context.earlier, *overlap]
    earlier = "\n".join(map(_cut, before))
    boundary = choose_boundary(entry.id, [*(one.text for one in said.values()), held, earlier])
    parts = [f"Held:\n{boundary.memory(held)}"] if held else []
    parts += [f"Earlier:\n{boundary.memory(earlier)}"] if earlier else []
    parts.append("New:")
    for n, one in said.items():
        name = "" if one.name is None else ' name="{}"'.format(one.name.replace('"', ""))
        parts.append(boundary.turn(f'n="{n}" role="{one.role}"{name} date="{one.at:%Y-%m-%d %a}"', one.text))
    if sum(one.role != "assistant" for one in said.values()) > 1:
        parts.append(f"Numbers of `held` go on: the first memory of your answer is {len(context.held) + 1}.")
    return "\n".join(parts)


MAX_QUERY: Final = 2_000
"""Characters of the messages that are searched for, the last ones."""


def find_held(platform: "Platform", bench: PrepareContext, text: str) -> Sequence[str]:
    """Return the ids of the held items of a lane that bear on a text, best first."""
    with bench.view() as view:
        scope = make_scope(user_id=view.lane.user_id, namespace=view.lane.namespace)
    query = Query(text[-MAX_QUERY:], scope, ReadConditions(kinds=sorted(STATED)), FOUND)
    return [one.item.id for one in platform.search.search(bench.tenant, query)]


# Where a role ``decide`` is configured, it settles what the reader is not sure of.

SURELY_STATED: Final = 0.8
"""The confidence of what was doubtful and is decided to be stated."""

COMPARED: Final = 2
"""Held items with which a statement is compared, at most."""

_RELATIONS: Final[dict[str, Relation]] = {REPLACES: "replaces", REPEATS: "repeats"}


@dataclass(frozen=True, slots=True)
class DecidingExtractor:
    """Extracts as the local reader does, and asks ``decider`` where that is unsure."""

    local: LocalExtractor
    decider: Decider
    find: FindItems

    def __call__(self, bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        """Return the reader's outcomes, with the proposals as decided, and the decisions."""
        outcomes = list(self.local(bench, entry))
        texts = texts_of(entry)
        at = next((n for n, outcome in enumerate(outcomes) if outcome.role == PROPOSALS), None)
        if at is None:
            return outcomes
        made_by, found = outcomes[at].made_by, map(Proposal.from_dict, outcomes[at].body["proposals"])
        decisions = Decisions(self.decider, bench.tenant, by=made_by)
        decided = [self._decided(bench, entry, decisions, one, texts[one.n]) for one in found]
        decided = [one for one in decided if not one.doubtful or not one.key or may_mark(one)]
        outcomes[at : at + 1] = extraction_outcomes(decided, (), made_by)
        return [*outcomes, *decisions.outcomes]

    def _decided(self, bench: PrepareContext, entry: Entry, decisions: Decisions, one: Proposal, text: str) -> Proposal:
        if one.doubtful and one.key:
            decision = decisions.ask(ask_gate(text, one.content, seed=entry.id), n=str(one.n))
            if decision is None or not decision.is_surely(IS_STATED):
                return one
            one = replace(one, doubtful=False, confidence=max(one.confidence, SURELY_STATED))
        if one.doubtful or one.act != "assert" or one.done or one.cardinality == "one":
            return one
        for item in self._similar(bench, one):
            question = ask_supersede(item.content, one.content, text, seed=entry.id)
            decision = decisions.ask(question, item_id=item.id)
            if decision is not None and decision.is_surely(*_RELATIONS):
                return replace(one, relation=_RELATIONS[decision.option], held=(item.id,))
        return one

    def _similar(self, bench: PrepareContext, one: Proposal) -> list[Item]:
        """Return the held items of the same subject and kind that a search of a statement finds first."""
        with bench.view() as view:
            if not view.find(kinds=[one.kind], subject=one.subject, limit=1):
                return []
        ids = self.find(bench, one.content)
        with bench.view() as view:
            held = [item for item in view.items(ids).values() if item.live]
        return [item for item in held if (item.subject, item.kind) == (one.subject, one.kind)][:COMPARED]
