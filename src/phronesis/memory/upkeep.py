"""The verbs that keep memory in order: feedback, forgetting, and what is still to be done."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final

from phronesis.core.experience.upkeep import FeedbackResult, ForgetResult, Forgotten
from phronesis.core.ids import parse_id
from phronesis.core.jobs import Jobs
from phronesis.core.scope import make_scope
from phronesis.core.text import check_id, check_text
from phronesis.derive.editor import Call
from phronesis.derive.experience.feedback import scheduled_by
from phronesis.derive.experience.marks import FEEDBACK
from phronesis.derive.experience.saying import feedback_payload
from phronesis.derive.forgetting.forget import FORGET
from phronesis.derive.jobs import due_jobs, failed_jobs, pending_jobs, without_vector
from phronesis.memory.inside import Inside
from phronesis.recall.browse import find_item
from phronesis.storage.lane_view import LaneView
from phronesis.truth import inputs
from phronesis.truth.inputs import flag
from phronesis.truth.reader import load_entry

MAX_JOBS: Final = 1_000
"""Pieces of work in one answer."""


class Upkeep(Inside):
    """feedback, forget, jobs."""

    def jobs(self, *, limit: int = 100) -> Jobs:
        """Give what the tenant's memory still has to do, ``limit`` pieces of work at most.

        Entries that failed and wait for ``retry``, entries that wait for their interpretation, and users on whom a
        reflection is due. ``pending``, ``failed`` and ``without_vector`` count all there are. Changes nothing.
        """
        count, stages = inputs.limit(limit, most=MAX_JOBS), self._open_stages()
        with stages.database.transaction(self._tenant, "read") as unit:
            failed = failed_jobs(unit)
            waiting, pending = pending_jobs(unit, count)
            missing = without_vector(unit, stages.doctor.embedders)
        due = due_jobs(stages.database, self._tenant, stages.reflector, stages.clock())
        jobs = tuple(islice(chain(failed, waiting, due), count))
        return Jobs(jobs, pending=pending, failed=len(failed), without_vector=missing)

    def feedback(
        self,
        target_id: str,
        kind: str,
        *,
        value: Any = None,
        reason: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> FeedbackResult:
        """Say of an item that it was ``useful`` or ``not_useful``, is ``correct`` or ``incorrect``, or what else it is.

        An event, a pattern or a principle moves its usefulness and confidence at once, and an event that of the
        patterns and principles above it. An actor's latest word counts, a person's more than an agent's: actors called
        agent, assistant, bot, model, system, tool or worker. Of another item (a fact, a trait, a block of claims) these
        four are kept as evidence, which ``explain`` shows, and move nothing: its own verbs do.

        ``label`` gives an event another label (``value``: success, failure, unknown). ``merge`` puts the patterns
        ``value=[ids]`` into the target, ``split`` parts the target into ``value=[[event ids], …]``; both, and the new
        side of a relabelled event, are carried out by the next ``aggregate`` and kept by all later ones.

        One entry, which ``rollback(result.entry_id)`` takes back. NotFound: no such item. InputError: a kind or value
        that is none, patterns or events that are not there, patterns of opposite outcomes.
        """
        call, item_id = self._call(actor, idempotency_key, wait), parse_id(target_id, field="target_id")
        stages, again = self._open_stages(), self._said(call)
        with stages.database.transaction(self._tenant, "read") as unit:
            lane, target = find_item(unit, item_id)
            payload = feedback_payload(LaneView(unit, lane), target, kind, value, again=again)
        payload["reason"] = None if reason is None else check_text(reason, field="reason")
        written = self._write(call, lane.lane_id, FEEDBACK, payload)
        scheduled = scheduled_by(written.entry.payload)
        if written.pending:
            return FeedbackResult(written.entry.id, (), scheduled, pending=True)
        changed = stages.browser.made_by(self._tenant, written.entry)
        items = tuple(stages.experience.record(self._tenant, item) for item in changed)
        return FeedbackResult(written.entry.id, items, scheduled)

    def forget(
        self,
        *,
        user_id: str | None = None,
        namespace: str | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        kinds: Sequence[str] | None = None,
        dry_run: bool = False,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> ForgetResult:
        """Put away what nobody needs: archive it, and end what was archived for long; downweight experience first.

        How well something is retained falls with the days since it was last shown or reinforced; use, importance,
        usefulness and a person's word slow it, evidence against it lowers it at once (docs/forgetting.md). Tasks and
        intentions whose time is over are archived for that. ``kinds`` (default: all of the policy's), ``session_id``
        and ``agent_id`` narrow it, in the lane of ``user_id`` or ``namespace``.

        What is pinned, important or named by the policy stays, a message from which something living was taken, what
        supports a living principle, and the last evidence of a living pattern, trait or claim. What is archived leaves
        ordinary reads, and ``unarchive`` brings it back. What is deleted ends (``retired``): get, history and explain
        still read it, and ``erase`` is what removes words.

        ``dry_run`` gives the rows, says what is kept and why, and writes nothing. Again at the same time it changes
        nothing; ``rollback(result.entry_id)`` takes it back. InputError: a kind that is not forgotten.
        """
        lane = make_scope(user_id=user_id, namespace=namespace).write_lane
        named = {"session_id": session_id, "agent_id": agent_id}
        narrowing = {name: check_id(value, field=name) for name, value in named.items() if value is not None}
        call, stages = self._call(actor, idempotency_key, wait), self._open_stages()
        payload, again = stages.forgetter.payload(self._tenant, lane, kinds, narrowing), self._said(call)
        payload |= {} if again is None else {name: again.get(name) for name in ("law", "used")}
        if flag(dry_run, field="dry_run"):
            rows, kept = stages.forgetter.would_do(self._tenant, lane, payload, stages.clock())
            return self._forgotten(None, rows, kept, dry_run=True)
        written = self._write(call, lane, FORGET, payload)
        if written.pending:
            return ForgetResult(written.entry.id, pending=True)
        return self._forgotten(written.entry.id, stages.forgetter.did(stages.browser, self._tenant, written.entry))

    def _forgotten(
        self, entry_id: str | None, rows: Sequence[Forgotten], kept: Sequence[Forgotten] = (), *, dry_run: bool = False
    ) -> ForgetResult:
        counts, most = dict(Counter(row.action for row in rows)), self._stages.forgetter.law.most
        return ForgetResult(entry_id, tuple(rows), counts, dry_run=dry_run, kept=tuple(kept), more=len(rows) >= most)

    def _said(self, call: Call) -> Mapping[str, Any] | None:
        """Give what was recorded under a call's idempotency key: the same call again says the same."""
        if call.idempotency_key is None:
            return None
        known = self._open_stages().writer.recorder.known(self._tenant, call.idempotency_key)
        if known is None:
            return None
        with self._stages.database.transaction(self._tenant, "read") as unit:
            return load_entry(unit, known).payload
