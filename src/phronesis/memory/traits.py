"""Verbs of traits: reflect on a user's memories, and read and correct the resulting traits."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from phronesis.core.ids import LaneName, make_scope
from phronesis.core.items import Item
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.results import EditResult
from phronesis.core.serialization import Records
from phronesis.core.text import check_id
from phronesis.core.timestamps import Moment
from phronesis.errors import InputError
from phronesis.log import inputs
from phronesis.log.inputs import flag
from phronesis.memory.reading import MAX_LIMIT
from phronesis.memory.runtime import Verbs
from phronesis.store.eligible import ReadConditions

if TYPE_CHECKING:
    from phronesis.traits import reflection, trait_changes
    from phronesis.traits import search as trait_search
    from phronesis.traits.laws import records, strength
else:
    trait_changes = lazy_module("phronesis.traits.trait_changes")
    records = lazy_module("phronesis.traits.laws.records")
    reflection = lazy_module("phronesis.traits.reflection")
    strength = lazy_module("phronesis.traits.laws.strength")
    trait_search = lazy_module("phronesis.traits.search")

DEFAULT_STAGE: Final = "emerging"
"""The lowest stage of the traits that a call lists by default; that of `phronesis.traits.search` is the same."""


class TraitVerbs(Verbs):
    """The verbs should_reflect, reflect and get_user_traits."""

    def should_reflect(self, user_id: str) -> "strength.ReflectionTrigger":
        """Return whether a reflection on a user is due: truthy or falsy, with the reason and the figures.

        It is due when the importance of new memories sums to 30, when the last reflection was 24 hours ago, or when
        there was none; never without new memories. Verbatim messages do not count. The policy may set other figures.
        """
        components = self._components
        self._catch_up(_lane(user_id))
        return components.reflector.due(self._tenant, _lane(user_id), components.clock())

    def reflect(
        self,
        user_id: str,
        *,
        force: bool = False,
        session_ended: bool = False,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> "records.ReflectionCycle":
        """Reflect on what was learned of a user since the last time: trends, behaviours, preferences, core traits.

        Returns at once with status ``not_due`` if no reflection is due; ``force`` and ``session_ended`` reflect anyway.
        With ``wait=False`` the worker decides, after pending entries. A reflection is one entry, which
        ``rollback(cycle.entry_id)`` reverts. Without new memories only time effects are applied, and no model is asked.
        If a model gives no usable answer, the status is ``failed``, nothing changes, and the next call covers the same
        memories. Simultaneous calls do the work once and return the same cycle.
        """
        lane = _lane(user_id)
        call = self._runtime.call(actor, idempotency_key, wait)
        asked = {"force": flag(force, field="force"), "session_ended": flag(session_ended, field="session_ended")}
        components = self._components
        components.shown.settle(self._tenant)  # traits recalled just now count in this reflection
        # Read before any wait, so that a concurrent reflection also counts for this call.
        seen = components.reflector.current_view(self._tenant, lane)
        key = call.idempotency_key
        again = None if key is None else components.writer.recorder.known(self._tenant, key)
        if again is not None:
            seen = components.reflector.recorded_view(self._tenant, again)
        payload = {**{name: value for name, value in asked.items() if value}, **seen}
        if not call.wait and components.runs.pending_lane(self._tenant, lane) is not None:
            return self._reflect_now(call, lane, payload)  # pending entries may hold new memories
        with components.reflector.exclusive(self._tenant, lane):
            self._catch_up(lane)
            found = components.reflector.due(self._tenant, lane, components.clock(), **asked)
            if not found and key is None:
                done = components.reflector.since(self._tenant, lane, seen)
                return done or replace(records.not_due(found.reason, found.value), user_id=user_id)
            if call.wait:
                components.vectorizer.run(self._tenant)  # new memories are compared by similarity too
            return self._reflect_now(call, lane, payload)

    def get_user_traits(
        self,
        user_id: str,
        min_stage: str | None = DEFAULT_STAGE,
        subtype: str | None = None,
        context: str | None = None,
        *,
        as_of: Moment | None = None,
        valid_at: Moment | None = None,
    ) -> "list[records.Trait]":
        """Return a user's live traits, highest stage first, then highest confidence.

        ``min_stage``: trend, candidate, emerging (default), established or core; ``subtype``: behavior, preference or
        core; ``context``: work, personal, social, learning or general. Other values are ignored. Confidence is that of
        the last reflection. ``as_of`` returns the traits as they were known then.
        """
        wanted = self._runtime.read_conditions(as_of=as_of, valid_at=valid_at)
        which = trait_search.Filter.of(min_stage, subtype, context)
        return Records(self._components.traits.listed(self._tenant, _lane(user_id), wanted, which))

    def _reflect_now(self, call: Any, lane: LaneName, payload: Mapping[str, Any]) -> "records.ReflectionCycle":
        written = self._runtime.write(call, lane, reflection.REFLECT, payload)
        if written.pending:
            return records.ReflectionCycle(
                id=None, status="pending", trigger_type="", entry_id=written.entry.id, pending=True
            )
        return self._components.reflector.reflection_of_entry(self._tenant, written.entry)


class Traits(Verbs):
    """The group ``memory.traits``: evidence, correct, delete and reflections."""

    def evidence(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        user_id: str | None = None,
        as_of: Moment | None = None,
    ) -> "list[records.TraitEvidence]":
        """Return the memories for and against a trait, oldest first, each with its quality and text.

        NotFound: there is no such item. InputError: it is not a trait.
        """
        wanted = self._runtime.read_conditions(as_of=as_of)
        trait = self._trait(id, user_id, wanted)
        return Records(self._components.traits.evidence(self._tenant, trait, wanted.as_of))

    def correct(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        user_id: str | None = None,
        content: str | None = None,
        context: str | None = None,
        facet: str | None = None,
        reason: str | None = None,
        expected_version: int | None = None,
        actor: str = "user",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> EditResult:
        """Correct a trait by hand: its sentence, its context, or the facet of a core trait.

        Later reflections do not overwrite a correction. ``traits.delete`` removes a trait; the same memories do not
        bring it back. InputError: nothing to correct, a wrong value, or not a trait.
        """
        payload = trait_changes.correction_payload(content=content, context=context, facet=facet)
        if not payload:
            raise InputError("give content, context or facet: there is nothing to correct", field="content")
        self._trait(id, user_id, ReadConditions())
        if expected_version is not None:
            payload["expected_version"] = inputs.version(expected_version)
        return self._runtime.edit(
            id, trait_changes.CORRECT, payload, reason, self._runtime.call(actor, idempotency_key, wait)
        )

    def delete(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        user_id: str | None = None,
        reason: str | None = None,
        expected_version: int | None = None,
        actor: str = "user",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> EditResult:
        """End a trait as wrong (``retracted``); it keeps its history, and the same memories do not bring it back.

        NotFound: there is no such item. InputError: it is not a trait.
        """
        self._trait(id, user_id, ReadConditions())
        payload = {"expected_version": inputs.version(expected_version)}
        call = self._runtime.call(actor, idempotency_key, wait)
        return self._runtime.edit(id, "retract", payload, reason, call)

    def reflections(self, user_id: str, *, limit: int = 20) -> "list[records.ReflectionCycle]":
        """Return the reflections on a user, newest first, each with its trigger, result and cost."""
        count = inputs.limit(limit, most=MAX_LIMIT)
        return Records(self._components.traits.cycles(self._tenant, _lane(user_id), limit=count))

    def _trait(self, given: str, user_id: str | None, wanted: ReadConditions) -> Item:
        item_id = self._runtime.item_id(given, user_id)
        found = self._components.browser.get(self._tenant, item_id, wanted)
        if found.kind != strength.TRAIT:
            raise InputError(f"{found.id} is a {found.kind}, not a trait", field="id")
        return found


def _lane(user_id: object) -> LaneName:
    return make_scope(user_id=check_id(user_id, field="user_id")).write_lane
