"""Verbs of the experience base: ingest attempts and their results, group them into patterns, and query both."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from phronesis.core.scope import LaneName, make_scope
from phronesis.core.text import check_id, check_text, storable
from phronesis.core.timestamps import Moment, isoformat, parse_moment, parse_past, to_micros
from phronesis.engine.writer import Written
from phronesis.errors import Conflict, InputError, NotFound
from phronesis.experience.abstraction import ABSTRACT
from phronesis.experience.aggregation import AGGREGATE
from phronesis.experience.laws.answers import Answer, fit_answer
from phronesis.experience.laws.constraints import bans_of, liking
from phronesis.experience.laws.event_draft import ARTIFACT_TYPES, LABELS
from phronesis.experience.laws.input import EVENTS, EXPERIENCE, MAX_EVENTS, MAX_SEQ, NEI, SOURCE, checked_nei
from phronesis.experience.laws.records import (
    L1,
    PRINCIPLE,
    Aggregation,
    Episode,
    EventSource,
    Ingested,
    L1Event,
    event_of,
    meta_of,
)
from phronesis.experience.query_graph import Asked
from phronesis.experience.sources.port import Raw, refuse_unsupported
from phronesis.index.tokens import tokenize
from phronesis.log.inputs import EXTERNAL_ID, flag, share
from phronesis.log.inputs import limit as checked_limit
from phronesis.memory.reading import MAX_BUDGET, MAX_LIMIT
from phronesis.memory.service import Service
from phronesis.recall.as_of import NamedItems
from phronesis.resources.readers.decoding import decoded

# Querying the experience base.

MAX_ANSWER: Final = 200
"""Maximum number of events in one answer."""

MAX_ARTIFACTS: Final = 24


class Asking(Service):
    """The verb query."""

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
    ) -> Answer:
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
        scope = make_scope(user_id=user_id, namespace=namespace)
        wishes = [preferences] if isinstance(preferences, str) else preferences
        bans, unread = bans_of([constraints] if isinstance(constraints, str) else constraints, tokenize)
        asked = Asked(
            scope=scope,
            situation=_text(situation, "situation"),
            goal=_text(goal, "goal"),
            bans=bans,
            unread=unread,
            liking=liking(wishes, tokenize) if wishes else None,
            preferred="\n".join(one for one in wishes if isinstance(one, str)),
            limit=checked_limit(limit, most=MAX_ANSWER),
            artifacts=_artifacts(artifacts),
            label=_label(label),
            min_score=None if min_score is None else share(min_score, field="min_score"),
            source_type=None if source_type is None else check_id(source_type, field="source_type"),
            since=_moment(since, "since"),
            until=_moment(until, "until"),
            wanted=self._wanted(as_of=as_of, valid_at=valid_at),
            explain=flag(explain, field="explain"),
        )
        room = None if token_budget is None else checked_limit(token_budget, most=MAX_BUDGET, field="token_budget")
        slots = (asked.artifacts, asked.label, asked.source_type, asked.since, asked.until)
        if not asked.text and all(slot in (None, ()) for slot in slots):
            raise InputError("give a situation or a goal, or slots such as label or artifacts", field="situation")
        stages = self._open_stages()
        answer = stages.asking.answer(self._tenant, asked)
        if room is not None:
            answer = fit_answer(answer, room, stages.count_tokens)
        shown = (*answer.l1_evidence, *answer.l2_patterns, *answer.l3_principles)
        self._used([one.item.id for one in shown])
        return answer


def _text(value: object, field: str) -> str:
    return storable(check_text(value, field=field, allow_empty=True)).strip()


def _label(value: object) -> str | None:
    if value is None:
        return None
    if value not in LABELS:
        raise InputError(f"label must be one of {', '.join(LABELS)}; got {value!r:.40}", field="label")
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
        if kind is not None and kind not in ARTIFACT_TYPES:
            raise InputError(
                f"an artifact's type must be one of {', '.join(ARTIFACT_TYPES)}; got {kind!r:.40}", field="artifacts"
            )
        prefix, _, _ = name.partition(":")
        if kind is None and prefix in ARTIFACT_TYPES:
            out.append(name)
        else:
            out += [f"{each}:{name}" for each in ([kind] if kind is not None else ARTIFACT_TYPES)]
    return tuple(dict.fromkeys(out))


MAX_BYTES: Final = 8_000_000
"""Maximum bytes of a file ingested as one source, as for one text (`core.text.MAX_TEXT_LENGTH`)."""


class Experience(Service):
    """The verbs ingest, ingest_source, get_source, get_episode, aggregate and abstract."""

    def ingest(
        self,
        nei: NEI | Mapping[str, Any] | Sequence[NEI | Mapping[str, Any]],
        *,
        user_id: str | None = None,
        namespace: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> Ingested:
        """Record attempts and their results: an `NEI`, a mapping of its fields, or up to 1,000 of them.

        Returns a sequence of ``(L1Event, meta)``; ``meta`` has the source, the author of each text, the confidence of
        the label and the signals that decided it. A call is one entry: all is recorded or nothing. With ``wait=False``
        the sequence is empty and ``pending``. InputError names the experience and its missing or wrong field.
        """
        lane = make_scope(user_id=user_id, namespace=namespace).write_lane
        now = self._open_stages().clock()
        payload = {EVENTS: _checked(nei, now)}
        call = self._call(actor, idempotency_key, wait)
        if call.idempotency_key is None:
            self._refuse_taken_names(payload[EVENTS], lane)
        return self._ingested(self._write(call, lane, EXPERIENCE, payload))

    def _refuse_taken_names(self, given: Sequence[Mapping[str, Any]], lane: LaneName) -> None:
        names = NamedItems(self._open_stages().database, self._tenant, lane)
        for one in given:
            held = names.find(one[EXTERNAL_ID]) if EXTERNAL_ID in one else None
            if held is not None:
                raise Conflict(
                    f"external_id {held.external_id!r:.80} is that of item {held.id}, which is recorded already: give"
                    " another name, or delete that item first",
                    field=EXTERNAL_ID,
                    details={"id": held.id},
                )

    def ingest_source(
        self,
        text: str | None = None,
        *,
        path: str | Path | None = None,
        source_type: str,
        source_ref: str | None = None,
        occurred_at: Moment | None = None,
        user_id: str | None = None,
        namespace: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> Ingested:
        """Extract attempts from a source: ``text``, or the file at ``path``.

        ``source_type``: lean, math_proof, chat, log, manual or run. Each event's ``source_ref`` is that of the whole
        (default: the path, or the entry) with its lines: ``build.log#L12-L15``. The text is kept unchanged for
        ``get_source``; ``rederive`` extracts from it again. A text without attempts gives an empty sequence.
        InputError: both or none of text and path, an unknown type, an empty or binary file, a text of a format that the
        source does not support (the message names it).
        """
        lane = make_scope(user_id=user_id, namespace=namespace).write_lane
        sources = self._open_stages().sources
        if source_type not in sources:
            raise InputError(
                f"source_type must be one of {', '.join(sorted(sources))}; got {source_type!r:.40}", field="source_type"
            )
        if (text is None) == (path is None):
            raise InputError("give text or path, one of them", field="text")
        payload: dict[str, Any] = {"source_type": source_type}
        if path is None:
            payload["text"] = check_text(text, field="text")
        else:
            payload |= {"text": _read(Path(path)), "name": Path(path).name, "source_ref": str(path)}
        raw = Raw(text=payload["text"], name=payload.get("name", ""), recorded_at=self._stages.clock())
        refuse_unsupported(sources[source_type], raw)
        if source_ref is not None:
            payload["source_ref"] = check_text(source_ref, field="source_ref")
        if occurred_at is not None:
            at = parse_past(occurred_at, field="occurred_at", now=self._stages.clock())
            payload["occurred_at"] = isoformat(at)
        return self._ingested(self._write(self._call(actor, idempotency_key, wait), lane, SOURCE, payload))

    def get_source(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        user_id: str | None = None,
        namespace: str | None = None,
    ) -> EventSource:
        """Return the source of an event as it was submitted: the raw text and the event's lines, payload, hints.

        ``id`` is an event's id or citation, or a ``source_ref``: ``entry:<id>#L3`` of an unnamed text, or the given
        name, with lines (``build.log#L12-L15``) or without. Ids belong to the tenant; a name is looked up in what the
        scope sees, and of several sources with one name the newest is returned, a user's own before a shared one. If
        the text was erased, the answer says so. NotFound: no such event, name or line. InputError: the id of another
        kind of item.
        """
        scope = make_scope(user_id=user_id, namespace=namespace)
        named = check_text(id, field="id")
        return self._open_stages().experience.source(self._tenant, scope, named)

    def get_episode(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        user_id: str | None = None,
        namespace: str | None = None,
        as_of: Moment | None = None,
        valid_at: Moment | None = None,
    ) -> Episode:
        """Return the attempts of an episode in order, with their common goal and situation.

        NotFound: the scope sees no event of that episode.
        """
        episode_id = check_id(id, field="id")
        scope = make_scope(user_id=user_id, namespace=namespace, run_id=episode_id)
        wanted = self._wanted(kinds=[L1], attributes=scope.attributes, as_of=as_of, valid_at=valid_at)
        browser, found, cursor = self._open_stages().browser, list[L1Event](), None
        while True:
            page = browser.list_items(self._tenant, scope, wanted, limit=MAX_LIMIT, cursor=cursor)
            found += [event_of(item) for item in page]
            cursor = page.next_cursor
            if cursor is None:
                break
        if not found:
            raise NotFound(f"there is no episode {episode_id!r:.80} in this scope", field="id")
        return Episode.of(episode_id, sorted(found, key=_place))

    def aggregate(
        self,
        *,
        namespace: str | None = None,
        user_id: str | None = None,
        full: bool = False,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> Aggregation:
        """Group related events into patterns: those affected by new events, or all with ``full``.

        Failures, events of unknown outcome and successes are grouped separately. A continued pattern keeps its id.
        Returns new, changed and retired patterns, and the mapping of their events to them. It is one entry, which
        ``rollback(result.entry_id)`` reverts. Without new events nothing changes.
        """
        lane = make_scope(user_id=user_id, namespace=namespace).write_lane
        call = self._call(actor, idempotency_key, wait)
        payload = {"full": True} if flag(full, field="full") else {}
        stages = self._open_stages()
        if call.wait:
            stages.vectorizer.run(self._tenant)  # events are compared by similarity too
        written = self._write(call, lane, AGGREGATE, payload)
        if written.pending:
            return Aggregation(written.entry.id, pending=True)
        return stages.experience.came_to(self._tenant, written.entry)

    def abstract(
        self,
        *,
        namespace: str | None = None,
        user_id: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> Aggregation:
        """Derive principles from the patterns: if, then, because, watch out.

        Agreeing patterns of one topic make one, failures beside successes; so does one strong pattern (policy
        ``experience.abstract``). Contradicting evidence is named in ``watch_out``, lowers the principle's confidence,
        and makes a narrower one if a slot explains it; below .5 a principle dissolves. A principle's text changes with
        its support. Returns new, changed and ended principles, and the mapping of patterns to principles. It is one
        entry, which ``rollback(result.entry_id)`` reverts. Without new patterns nothing changes. ``degraded``: rules
        replaced a model.
        """
        lane = make_scope(user_id=user_id, namespace=namespace).write_lane
        call = self._call(actor, idempotency_key, wait)
        written = self._write(call, lane, ABSTRACT, {})
        if written.pending:
            return Aggregation(written.entry.id, pending=True)
        found = self._open_stages().experience.came_to(self._tenant, written.entry, PRINCIPLE)
        return replace(found, degraded=self._degraded(written))

    def _ingested(self, written: Written) -> Ingested:
        if written.pending:
            return Ingested(written.entry.id, (), pending=True, gated=written.redacted)
        if written.applied is None:
            items = [
                item
                for delta, item in self._stages.browser.changed_by(self._tenant, written.entry)
                if delta.op == "create"
            ]
        else:
            items = list(written.applied.settled.created)
        events: list[L1Event] = [event_of(item) for item in items if item.kind == L1]
        told = tuple((event, meta_of(event)) for event in events)
        return Ingested(written.entry.id, told, gated=written.redacted)


def _place(event: L1Event) -> tuple[int, datetime, str]:
    """Return the sort key of an event in its episode: its position, then its time."""
    last = MAX_SEQ if event.seq is None else event.seq
    return last, event.occurred_at or event.recorded_at, event.id


def _checked(given: object, now: datetime) -> list[dict[str, Any]]:
    if isinstance(given, (NEI, Mapping, str)) or not isinstance(given, Sequence):
        return [checked_nei(given, now=now)]
    if not 1 <= len(given) <= MAX_EVENTS:
        raise InputError(f"nei holds {len(given):,} experiences; give 1 to {MAX_EVENTS:,} in one call", field="nei")
    out = []
    for n, one in enumerate(given):
        try:
            out.append(checked_nei(one, now=now))
        except InputError as error:
            raise InputError(f"experience {n}: {error}", field=f"nei[{n}].{error.field}") from error
        if EXTERNAL_ID in out[n] and any(out[n][EXTERNAL_ID] == other.get(EXTERNAL_ID) for other in out[:n]):
            raise InputError(
                f"nei[{n}].external_id repeats {out[n][EXTERNAL_ID]!r:.80}; it names one event",
                field=f"nei[{n}].external_id",
            )
    return out


def text_of_bytes(body: bytes, *, name: str, field: str) -> str:
    """Return the text of a file in UTF-8, UTF-16 (as PowerShell writes) or another detectable encoding.

    InputError if it is not text, or its encoding cannot be detected.
    """
    try:
        return decoded(body)
    except InputError as error:
        raise InputError(f"{name} is no text whose encoding can be told; convert it to UTF-8", field=field) from error


def _read(path: Path) -> str:
    """Return a file's text; InputError if it is unreadable, too large, empty, or not text."""
    try:
        body = path.read_bytes() if path.stat().st_size <= MAX_BYTES else None
    except OSError as error:
        raise InputError(f"path: {path} cannot be read: {error.strerror or error}", field="path") from error
    if body is not None and not body.strip():
        raise InputError(f"path: the file {path} is empty; there is nothing to read", field="path")
    if body is None:
        raise InputError(f"path: {path} has more than {MAX_BYTES:,} bytes; split it", field="path")
    return check_text(text_of_bytes(body, name=f"path: {path}", field="path"), field="path")
