"""Verbs of the experience graph: ingest events, group them, draw principles, ask what worked, and give feedback."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from phronesis.core.ids import LaneName, make_scope
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.text import check_id, check_text, replace_unstorable
from phronesis.core.timestamps import Moment, parse_moment, to_micros
from phronesis.errors import Conflict, InputError
from phronesis.log.inputs import EXTERNAL_ID, flag, share
from phronesis.log.inputs import limit as checked_limit
from phronesis.memory.reading import MAX_BUDGET
from phronesis.memory.runtime import Runtime, Verbs
from phronesis.telemetry import traced

if TYPE_CHECKING:
    from phronesis.engine import writer
    from phronesis.experience import feedback as feedback_law
    from phronesis.experience import query_graph
    from phronesis.experience.laws import answers, event_draft, records
    from phronesis.experience.laws import constraints as constraint_law
    from phronesis.index import tokens
    from phronesis.recall import as_of as held_items
    from phronesis.recall import browse
    from phronesis.store import lane_view
else:
    answers = lazy_module("phronesis.experience.laws.answers")
    browse = lazy_module("phronesis.recall.browse")
    constraint_law = lazy_module("phronesis.experience.laws.constraints")
    event_draft = lazy_module("phronesis.experience.laws.event_draft")
    feedback_law = lazy_module("phronesis.experience.feedback")
    held_items = lazy_module("phronesis.recall.as_of")
    lane_view = lazy_module("phronesis.store.lane_view")
    query_graph = lazy_module("phronesis.experience.query_graph")
    records = lazy_module("phronesis.experience.laws.records")
    tokens = lazy_module("phronesis.index.tokens")

MAX_ANSWER: Final = 200
"""Maximum number of events in one answer."""
MAX_ARTIFACTS: Final = 24


class ExperienceVerbs(Verbs):
    """The verbs ingest, aggregate, abstract, query and feedback."""

    @traced("upsert_memory", "events")
    def ingest(
        self,
        nei: "event_draft.NEI | Mapping[str, Any] | Sequence[event_draft.NEI | Mapping[str, Any]]",
        *,
        user_id: str | None = None,
        namespace: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> "records.Ingested":
        """Record attempts and their results: an `NEI`, a mapping of its fields, or up to 1,000 of them.

        Returns a sequence of ``(L1Event, meta)``; ``meta`` has the source, the author of each text, the confidence of
        the label and the signals that decided it. A call is one entry: all is recorded or nothing. With ``wait=False``
        the sequence is empty and ``pending``. InputError names the experience and its missing or wrong field.
        """
        lane = make_scope(user_id=user_id, namespace=namespace).write_lane
        now = self._components.clock()
        payload = {event_draft.EVENTS: _check_events(nei, now)}
        call = self._runtime.call(actor, idempotency_key, wait)
        if call.idempotency_key is None:
            self._refuse_taken_names(payload[event_draft.EVENTS], lane)
        return ingested(self._runtime, self._runtime.write(call, lane, event_draft.EXPERIENCE, payload))

    def _refuse_taken_names(self, given: Sequence[Mapping[str, Any]], lane: LaneName) -> None:
        names = held_items.NamedItems(self._components.database, self._tenant, lane)
        for one in given:
            held = names.find(one[EXTERNAL_ID]) if EXTERNAL_ID in one else None
            if held is not None:
                raise Conflict(
                    f"external_id {held.external_id!r:.80} is that of item {held.id}, which is recorded already: give"
                    " another name, or delete that item first",
                    field=EXTERNAL_ID,
                    details={"id": held.id},
                )

    def aggregate(
        self,
        *,
        namespace: str | None = None,
        user_id: str | None = None,
        full: bool = False,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> "records.Aggregation":
        """Group related events into patterns: those affected by new events, or all with ``full``.

        Failures, events of unknown outcome and successes are grouped separately. A continued pattern keeps its id.
        Returns new, changed and retired patterns, and the mapping of their events to them. It is one entry, which
        ``rollback(result.entry_id)`` reverts. Without new events nothing changes.
        """
        lane = make_scope(user_id=user_id, namespace=namespace).write_lane
        call = self._runtime.call(actor, idempotency_key, wait)
        payload = {"full": True} if flag(full, field="full") else {}
        components = self._components
        if call.wait:
            components.vectorizer.run(self._tenant)  # events are compared by similarity too
        written = self._runtime.write(call, lane, records.AGGREGATE, payload)
        if written.pending:
            return records.Aggregation(written.entry.id, pending=True)
        return components.experience.result_of_entry(self._tenant, written.entry)

    def abstract(
        self,
        *,
        namespace: str | None = None,
        user_id: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> "records.Aggregation":
        """Derive principles from the patterns: if, then, because, watch out.

        Agreeing patterns of one topic make one, failures beside successes; so does one strong pattern (policy
        ``experience.abstract``). Contradicting evidence is named in ``watch_out``, lowers the principle's confidence,
        and makes a narrower one if a slot explains it; below .5 a principle dissolves. A principle's text changes with
        its support. Returns new, changed and ended principles, and the mapping of patterns to principles. It is one
        entry, which ``rollback(result.entry_id)`` reverts. Without new patterns nothing changes. ``degraded``: rules
        replaced a model.
        """
        lane = make_scope(user_id=user_id, namespace=namespace).write_lane
        call = self._runtime.call(actor, idempotency_key, wait)
        written = self._runtime.write(call, lane, records.ABSTRACT, {})
        if written.pending:
            return records.Aggregation(written.entry.id, pending=True)
        found = self._components.experience.result_of_entry(self._tenant, written.entry, records.PRINCIPLE)
        return replace(found, degraded=self._runtime.degraded(written))

    @traced("search_memory", "l1_evidence")
    def query(
        self,
        *,
        situation: str = "",
        goal: str = "",
        constraints: Sequence[str | Mapping[str, Any]] = (),
        preferences: Sequence[str | Mapping[str, Any]] = (),
        limit: int = 10,
        min_score: float | None = None,
        user_id: str | None = None,
        namespace: str | None = None,
        artifacts: Sequence[str | Mapping[str, str]] | None = None,
        label: str | None = None,
        source_type: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        as_of: Moment | None = None,
        valid_at: Moment | None = None,
        explain: bool = False,
        token_budget: int | None = None,
    ) -> "answers.Answer":
        """Return what worked and what did not in a situation, towards a goal.

        The answer lists events first, each with its source, then patterns and principles with their events; attempts
        to make and to avoid; and counterevidence. A task's name alone (``situation="env_4"``) returns its events,
        the latest lesson first.

        ``constraints`` ("no internet", "不能用 sudo", ``{"must_not": ["simp"]}``) exclude attempts that violate them,
        which are listed with the reason; ``preferences`` re-rank. ``artifacts`` (names, ids such as
        ``file:src/app.py``, or ``{type, name}``), ``label``, ``source_type``, ``since`` and ``until`` filter the
        events. ``as_of`` asks what was known then, ``valid_at`` what held then; ``explain`` adds the parts of each
        score. ``token_budget`` bounds the answer's JSON, counted by the policy's token counter: the ends of its
        lists are cut, and ``left_out`` says by how many. Scores are from 0 to 1; ``min_score`` drops lower ones.

        InputError names a wrong field; a call without situation, goal or filter is one.
        """
        wishes = [preferences] if isinstance(preferences, str) else preferences
        given = [constraints] if isinstance(constraints, str) else constraints
        bans, unread = constraint_law.bans_of(given, tokens.tokenize)
        asked = query_graph.ExperienceQuestion(
            scope=make_scope(user_id=user_id, namespace=namespace),
            situation=_text(situation, "situation"),
            goal=_text(goal, "goal"),
            bans=bans,
            unread=unread,
            liking=constraint_law.make_preference_scorer(wishes, tokens.tokenize) if wishes else None,
            preferred="\n".join(one for one in wishes if isinstance(one, str)),
            limit=checked_limit(limit, most=MAX_ANSWER),
            min_score=None if min_score is None else share(min_score, field="min_score"),
            **_slots(artifacts, label, source_type, since, until),
            wanted=self._runtime.read_conditions(as_of=as_of, valid_at=valid_at),
            explain=flag(explain, field="explain"),
        )
        room = None if token_budget is None else checked_limit(token_budget, most=MAX_BUDGET, field="token_budget")
        _refuse_empty(asked)
        answer = self._components.experience_search.answer(self._tenant, asked)
        if room is not None:
            answer = answers.fit_answer(answer, room, self._components.count_tokens)
        self._runtime.note_use(one.item.id for one in (*answer.l1_evidence, *answer.l2_patterns, *answer.l3_principles))
        return answer

    def feedback(
        self,
        target_id: str,
        kind: str,
        *,
        user_id: str | None = None,
        value: Any = None,
        reason: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> "records.FeedbackResult":
        """Record feedback on an item: a rating, another label for an event, or a merge or split of patterns.

        Ratings are ``useful``, ``not_useful``, ``correct`` and ``incorrect``. For an event, a pattern or a principle
        they change usefulness and confidence at once; for an event, also those of the patterns and principles above it.
        An actor's latest feedback counts, a person's more than an agent's: actors called agent, assistant, bot, model,
        system, tool or worker. For any other item (a fact, a trait, a block of claims) ratings are kept as evidence,
        which ``explain`` shows, and change nothing else: use that item's own verbs.

        ``label`` changes an event's label (``value``: success, failure, unknown). ``merge`` merges the patterns
        ``value=[ids]`` into the target, ``split`` splits the target into ``value=[[event ids], …]``. The next
        ``aggregate`` applies both, moves a relabelled event, and all later ones keep the result.

        It is one entry, which ``rollback(result.entry_id)`` reverts. NotFound: no such item. InputError: an unknown
        kind or value, patterns or events that do not exist, patterns of opposite outcomes.
        """
        call = self._runtime.call(actor, idempotency_key, wait)
        item_id = self._runtime.item_id(target_id, user_id, field="target_id")
        components, again = self._components, self._runtime.recorded_payload(call)
        with self._reading() as unit:
            lane, target = browse.find_item(unit, item_id)
            payload = feedback_law.feedback_payload(lane_view.LaneView(unit, lane), target, kind, value, again=again)
        payload["reason"] = None if reason is None else check_text(reason, field="reason")
        written = self._runtime.write(call, lane.lane_id, records.FEEDBACK, payload)
        scheduled = feedback_law.events_to_regroup(written.entry.payload)
        if written.pending:
            return records.FeedbackResult(written.entry.id, (), scheduled, pending=True)
        changed = components.browser.made_by(self._tenant, written.entry)
        items = tuple(components.experience.record(self._tenant, item) for item in changed)
        return records.FeedbackResult(written.entry.id, items, scheduled)


def ingested(runtime: Runtime, written: "writer.WriteResult") -> "records.Ingested":
    """Return the events that an entry recorded, each with its metadata."""
    if written.pending:
        return records.Ingested(written.entry.id, (), pending=True, gated=written.redacted)
    if written.applied is None:
        items = [
            item
            for delta, item in runtime.components.browser.changed_by(runtime.tenant, written.entry)
            if delta.op == "create"
        ]
    else:
        items = list(written.applied.settled.created)
    events: list[records.L1Event] = [records.event_of(item) for item in items if item.kind == records.L1]
    told = tuple((event, records.meta_of(event)) for event in events)
    return records.Ingested(written.entry.id, told, gated=written.redacted)


def _slots(
    artifacts: object, label: object, source_type: str | None, since: Moment | None, until: Moment | None
) -> dict[str, Any]:
    return {
        "artifacts": _artifacts(artifacts),
        "label": _label(label),
        "source_type": None if source_type is None else check_id(source_type, field="source_type"),
        "since": _moment(since, "since"),
        "until": _moment(until, "until"),
    }


def _refuse_empty(asked: "query_graph.ExperienceQuestion") -> None:
    slots = (asked.artifacts, asked.label, asked.source_type, asked.since, asked.until)
    if not asked.text and all(slot in (None, ()) for slot in slots):
        raise InputError("give a situation or a goal, or slots such as label or artifacts", field="situation")


def _text(value: object, field: str) -> str:
    return replace_unstorable(check_text(value, field=field, allow_empty=True)).strip()


def _label(value: object) -> str | None:
    if value is None:
        return None
    if value not in event_draft.LABELS:
        raise InputError(f"label must be one of {', '.join(event_draft.LABELS)}; got {value!r:.40}", field="label")
    return str(value)


def _moment(value: Moment | None, field: str) -> int | None:
    return None if value is None else to_micros(parse_moment(value, field=field))


def _artifacts(given: object) -> tuple[str, ...]:
    """Return artifact ids; a name without a type may be of any type."""
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) > MAX_ARTIFACTS:
        raise InputError(
            f"artifacts must be a list of at most {MAX_ARTIFACTS} names or {{type, name}}", field="artifacts"
        )
    out: list[str] = []
    for one in given:
        kind = one.get("type") if isinstance(one, Mapping) else None
        name = check_id(one.get("name") if isinstance(one, Mapping) else one, field="artifacts")
        if kind is not None and kind not in event_draft.ARTIFACT_TYPES:
            raise InputError(
                f"an artifact's type must be one of {', '.join(event_draft.ARTIFACT_TYPES)}; got {kind!r:.40}",
                field="artifacts",
            )
        prefix, _, _ = name.partition(":")
        if kind is None and prefix in event_draft.ARTIFACT_TYPES:
            out.append(name)
        else:
            out += [f"{each}:{name}" for each in ([kind] if kind is not None else event_draft.ARTIFACT_TYPES)]
    return tuple(dict.fromkeys(out))


def _check_events(given: object, now: datetime) -> list[dict[str, Any]]:
    if isinstance(given, (event_draft.NEI, Mapping, str)) or not isinstance(given, Sequence):
        return [event_draft.checked_nei(given, now=now)]
    if not 1 <= len(given) <= event_draft.MAX_EVENTS:
        raise InputError(
            f"nei holds {len(given):,} experiences; give 1 to {event_draft.MAX_EVENTS:,} in one call", field="nei"
        )
    out = []
    for n, one in enumerate(given):
        try:
            out.append(event_draft.checked_nei(one, now=now))
        except InputError as error:
            raise InputError(f"experience {n}: {error}", field=f"nei[{n}].{error.field}") from error
        if EXTERNAL_ID in out[n] and any(out[n][EXTERNAL_ID] == other.get(EXTERNAL_ID) for other in out[:n]):
            raise InputError(
                f"nei[{n}].external_id repeats {out[n][EXTERNAL_ID]!r:.80}; it names one event",
                field=f"nei[{n}].external_id",
            )
    return out
