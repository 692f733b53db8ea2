"""What a turn says of the context that it was answered with, checked and resolved to the ids of items."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from phronesis.core.context_outcomes import BY_CALLER, BY_CITATION, IGNORED, OUTCOMES, USED, citations_in
from phronesis.core.scope import LaneName
from phronesis.errors import InputError, NotFound
from phronesis.log.payloads import message_text
from phronesis.memory.components import Components
from phronesis.store.impressions import KEPT, ShownContext, find_shown

FIELD: Final = "outcomes"
EVIDENCE: Final = "evidence"


@dataclass(frozen=True, slots=True)
class AnsweredContext:
    """A context that a turn of a session was answered with."""

    components: Components
    tenant: str
    lane: LaneName
    session_id: str
    context_id: str | None

    def outcomes(
        self, given: object, messages: Sequence[Mapping[str, Any]], *, again: Mapping[str, Any] | None
    ) -> dict[str, Any] | None:
        """Return the payload's ``outcomes``: the ids of the items of each outcome, and ``by`` whom; None without any.

        ``given`` is the caller's, None: the citations in the assistant's ``messages`` decide. ``again`` is the payload
        that was recorded under the call's idempotency key, whose context may be gone. InputError or NotFound for a
        context, an item or an outcome that there is not.
        """
        stated = None if given is None else _stated(given)
        cited = _citations(messages) if stated is None else []
        if stated:
            self._check_call(messages)
        if not (stated or cited) or self.context_id is None:
            return None
        shown = self._shown()
        if shown is not None:
            return _resolved(stated, shown) if stated else _by_citation(cited, shown)
        if again is not None:
            return again.get(FIELD)
        if stated:
            raise NotFound(
                f"context_id: session {self.session_id!r:.80} was shown no memory by a context {self.context_id:.60};"
                f" give the one that compose_context returned for it (not of a dry_run, one of its last {KEPT}), or"
                " leave outcomes out",
                field="context_id",
            )
        return None

    def _check_call(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Raise InputError for outcomes of no context, or of a turn with no message that could bear them."""
        if self.context_id is None:
            raise InputError(
                "outcomes are those of a context: give its context_id, as compose_context returned it",
                field="context_id",
            )
        if not messages:
            raise InputError(
                "outcomes are recorded with the reply: give a message of the turn in turn_events", field="turn_events"
            )

    def _shown(self) -> ShownContext | None:
        self.components.shown.settle(self.tenant)
        with self.components.database.transaction(self.tenant, "read") as unit:
            return find_shown(unit, self.lane, self.session_id, str(self.context_id))


def _stated(given: object) -> dict[str, str]:
    """Return a caller's outcomes by alias or id."""
    if not isinstance(given, Mapping):
        raise InputError(
            f"outcomes must map aliases or ids to {', '.join(OUTCOMES)}, not be a {type(given).__name__}", field=FIELD
        )
    for name, outcome in given.items():
        if not isinstance(name, str):
            raise InputError(f"outcomes: {name!r:.40} is no alias and no id, such as m1", field=FIELD)
        if outcome not in OUTCOMES:
            raise InputError(
                f"outcomes.{name:.60} must be one of {', '.join(OUTCOMES)}; got {outcome!r:.40}",
                field=f"{FIELD}.{name:.60}",
            )
    return dict(given)


def _resolved(stated: Mapping[str, str], shown: ShownContext) -> dict[str, Any]:
    known: dict[str, str] = {}
    for name, outcome in stated.items():
        item_id = shown.meant_by(name.strip().removeprefix("[").removesuffix("]"))
        where = f"{FIELD}.{name:.60}"
        if item_id is None:
            aliases = [alias for held in shown.aliases.values() for alias in held]
            told = f"its aliases are {aliases[0]} to {aliases[-1]}" if aliases else "it has no aliases"
            raise InputError(f"{where}: the context shows no such item; {told}, and ids of its items do", field=where)
        if known.setdefault(item_id, outcome) != outcome:
            raise InputError(f"{where}: the same item is {known[item_id]} by another name; give it once", field=where)
    return _payload(known, BY_CALLER)


def _citations(messages: Iterable[Mapping[str, Any]]) -> list[str]:
    texts = [message_text(one) for one in messages if one["role"] == "assistant"]
    return [citation for text in texts for citation in citations_in(text)]


def _by_citation(cited: Iterable[str], shown: ShownContext) -> dict[str, Any] | None:
    """Return what was cited as used, and the rest of the evidence as ignored; None where nothing shown is cited.

    Whatever stands in every context (a profile, a summary) is not ignored by a reply that has no use for it.
    """
    used = dict.fromkeys(item_id for one in cited if (item_id := shown.meant_by(one)) is not None)
    if not used:
        return None
    rest = [one for one in dict.fromkeys(shown.aliases.get(EVIDENCE, {}).values()) if one not in used]
    return _payload({**dict.fromkeys(used, USED), **dict.fromkeys(rest, IGNORED)}, BY_CITATION)


def _payload(outcomes: Mapping[str, str], by: str) -> dict[str, Any]:
    named = {outcome: [one for one, said in outcomes.items() if said == outcome] for outcome in OUTCOMES}
    return {"by": by, **{outcome: ids for outcome, ids in named.items() if ids}}
