"""Check text that is not the user's own for prompt injection, repetition and unknown languages (laws 7 and 8).

The check runs after the extractors, keeps all their outcomes, and adds outcomes of its own:

- ``suspected``: messages that contain orders to a model. ``apply`` quarantines their items, and nothing is learned from
  them.
- ``echoes``: sentences, or words behind a proposal, that repeat a context shown to the session: ``{"echoes": [{n, of,
  start, end}]}``. Unless the user wrote them, they are no new evidence.
- ``unjudged``: tool messages in a language that the rules do not cover. Nothing is learned from them.

Messages of assistants and tools are checked, and the results of tool calls, which are numbered after the messages. The
user's messages are exempt: users may give orders, and their repetition counts as confirmation.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from phronesis.core.entries import Entry, Outcome, TurnPayload, is_erased, payload_of
from phronesis.core.items import SUSPECT_WORDS, Item
from phronesis.core.proposals import ECHOES, GATED, PROPOSALS, Refusal
from phronesis.core.scope import LaneName
from phronesis.core.shingles import ComparedTexts, echoes
from phronesis.engine.handler import Outcomes, Prepare, PrepareContext
from phronesis.engine.prompt_injection import MAX_QUOTE, find_order, is_judged, load_rules
from phronesis.log.payloads import texts_of
from phronesis.store.context_impressions import shown_before, texts_of_items

SUSPECTED: Final = "suspected"
"""The role of the outcome that names suspected prompt injections: ``{"suspected": [{n, rule, quote}]}``."""

SPOKEN_FOR: Final = frozenset({"assistant", "tool"})
"""Roles whose text is trusted less than the user's: a model repeats what it read, and a tool reads what anybody wrote.
"""

UNJUDGED: Final = "unjudged"
"""The role of the outcome that names messages in languages that the rules do not cover: ``{"unjudged": [n]}``."""

LANGUAGE_VERSION: Final = "judged-languages/1"
LANGUAGE: Final = "language"
"""The rule of the refusal of a message in such a language."""

_FOREIGN: Final = "a tool says it in a language in which no order to a model would be recognised; nothing is learned"

ECHO_VERSION: Final = "shingles/1"

QUARANTINED: Final = "quarantine"
"""The rule of the refusal of a quarantined message."""

_WHY: Final = "it reads like an order to a model ({rule}); it is in quarantine until somebody releases or rejects it"


@dataclass(frozen=True, slots=True)
class Suspects:
    """The suspected texts of an entry, by number."""

    by_n: Mapping[int, Mapping[str, Any]]

    def held(self, n: int, item: Item) -> Item:
        """Return the item made of text ``n``: quarantined when the text is suspected."""
        found = self.by_n.get(n)
        if found is None:
            return item
        return dataclasses.replace(item, quarantine=found["rule"], data={**item.data, SUSPECT_WORDS: found["quote"]})


_NOBODY: Final = Suspects({})


def suspected_texts(outcomes: Outcomes) -> Suspects:
    """Return the suspected texts of an entry."""
    if SUSPECTED not in outcomes:
        return _NOBODY
    return Suspects({row["n"]: row for outcome in outcomes[SUSPECTED] for row in outcome.body["suspected"]})


def guard_prepare(prepare: Prepare) -> Prepare:
    """Return ``prepare`` followed by the checks on untrusted text."""

    def both(bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        outcomes = prepare(bench, entry)
        texts = _untrusted_texts(entry)
        answers = _answers(entry)
        if not texts and not answers:
            return outcomes
        outcomes = [*outcomes, *refuse_uncovered(entry, outcomes, texts)]
        return [*outcomes, *suspicions(texts | answers, beside=outcomes), *repetitions(bench, entry, outcomes, texts)]

    return both


def suspicions(texts: Mapping[int, str], *, beside: Iterable[Outcome] = ()) -> list[Outcome]:
    """Return the outcomes that name suspected ``texts`` and refuse to learn from them; None when there are none.

    ``beside`` are outcomes of the same entry, whose numbers are taken.
    """
    found = {n: order for n, text in texts.items() if (order := find_order(text)) is not None}
    if not found:
        return []
    made_by = load_rules().version
    rows = [{"n": n, "rule": order.rule, "quote": order.quote} for n, order in found.items()]
    refusals = [
        Refusal(n=n, text=order.quote, rule=QUARANTINED, reason=_WHY.format(rule=order.rule)).to_dict()
        for n, order in found.items()
    ]
    return [
        Outcome(role=SUSPECTED, made_by=made_by, body={"suspected": rows}),
        Outcome(role=GATED, n=_free(beside), made_by=made_by, body={"refusals": refusals}),
    ]


def refuse_uncovered(entry: Entry, outcomes: Sequence[Outcome], texts: Mapping[int, str]) -> list[Outcome]:
    """Return the outcomes that refuse to learn from tool messages in uncovered languages.

    Only messages from which something is proposed are checked.
    """
    proposed, messages = _proposal_spans(outcomes), payload_of(entry, TurnPayload).get("messages", ())
    found = [n for n, text in texts.items() if n in proposed and messages[n]["role"] == "tool" and not is_judged(text)]
    if not found:
        return []
    refusals = [Refusal(n=n, text=texts[n][:MAX_QUOTE], rule=LANGUAGE, reason=_FOREIGN).to_dict() for n in found]
    return [
        Outcome(role=UNJUDGED, made_by=LANGUAGE_VERSION, body={UNJUDGED: found}),
        Outcome(role=GATED, n=_free(outcomes), made_by=LANGUAGE_VERSION, body={"refusals": refusals}),
    ]


def unlearned_messages(outcomes: Outcomes) -> frozenset[int]:
    """Return the messages of an entry from which nothing is learned."""
    return frozenset(n for outcome in outcomes.get(UNJUDGED, ()) for n in outcome.body[UNJUDGED])


def _free(outcomes: Iterable[Outcome]) -> int:
    """Return a number that no refusals of these outcomes have."""
    return 1 + max((outcome.n for outcome in outcomes if outcome.role == GATED), default=-1)


def repetitions(
    bench: PrepareContext, entry: Entry, outcomes: Sequence[Outcome], texts: Mapping[int, str]
) -> list[Outcome]:
    """Return the outcome that names the sentences and proposals of an entry that repeat what its session was shown.

    Nothing is looked up unless something is proposed from one of ``texts``, which are not the user's. The user's own
    repetitions are included.
    """
    payload = payload_of(entry, TurnPayload)
    session_id = payload.get("session_id")
    proposed = _proposal_spans(outcomes)
    if session_id is None or not proposed.keys() & texts.keys():
        return []
    with bench.view() as view:
        live, lane = view.log or view.unit, view.lane
        if lane.name is None:
            return []
        name = LaneName(lane.kind, lane.name)
        ids = shown_before(live, name, session_id, seq=entry.seq, context_id=payload.get("context_id"))
        shown = ComparedTexts.of(texts_of_items(live, ids)) if ids else None
    if shown is None:
        return []
    rows = [
        {"n": n, "of": list(echo.of), "start": echo.start, "end": echo.end}
        for n, text in texts_of(entry).items()
        for echo in echoes(text, shown, parts=proposed.get(n, ()))
    ]
    return [Outcome(role=ECHOES, made_by=ECHO_VERSION, body={"echoes": rows})] if rows else []


def _proposal_spans(outcomes: Iterable[Outcome]) -> dict[int, list[tuple[int, int]]]:
    """Return the positions of the words behind each proposal, by message."""
    out: dict[int, list[tuple[int, int]]] = {}
    for outcome in outcomes:
        for row in outcome.body["proposals"] if outcome.role == PROPOSALS else ():
            out.setdefault(row["n"], []).append((row["start"], row["end"]))
    return out


def _answers(entry: Entry) -> dict[int, str]:
    """Return the texts of tool results, numbered after the messages."""
    payload = payload_of(entry, TurnPayload)
    calls = payload.get("tool_calls", ())
    first = len(payload.get("messages", ()))
    found = {first + n: "\n".join(words_in(call.get("result"))) for n, call in enumerate(calls) if not is_erased(call)}
    return {n: text for n, text in found.items() if text}


def words_in(value: Any) -> Iterator[str]:
    """Return the texts in a JSON value, in order, including member names."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield name
            yield from words_in(inner)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from words_in(inner)


def _untrusted_texts(entry: Entry) -> dict[int, str]:
    """Return the texts of messages that are trusted less than the user's."""
    messages = payload_of(entry, TurnPayload).get("messages", ())
    if not any(not is_erased(message) and message["role"] in SPOKEN_FOR for message in messages):
        return {}
    return {n: text for n, text in texts_of(entry).items() if messages[n]["role"] in SPOKEN_FOR}
