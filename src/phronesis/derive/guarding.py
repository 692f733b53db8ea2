"""What preparing looks for in text that is not the user's own (laws 7 and 8).

A step after the extractors: it takes none of their outcomes away, and says in outcomes of its own

- which messages give orders to a model (``suspected``): ``apply`` puts their items into quarantine, and nothing is
  learned from them;
- what repeats texts that a composed context has shown to the session (``echoes``): it is no new evidence.

Messages of the assistant and of tools are looked at. The user's may say what they like: they are the one who gives
orders, and what they say again counts as a confirmation.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from phronesis.core.entries import Entry, Outcome, is_erased
from phronesis.core.items import Item
from phronesis.core.proposals import GATED, Refusal
from phronesis.derive.extraction import texts_of
from phronesis.derive.handler import Bench, Outcomes, Prepare
from phronesis.derive.instructions import find_order, load_rules

SUSPECTED: Final = "suspected"
"""The role of the outcome that names what reads like an order: ``{"suspected": [{n, rule, quote}]}``."""

SPOKEN_FOR: Final = frozenset({"assistant", "tool"})
"""Roles whose words are trusted less than the user's: a model repeats what it read, and a tool reads what anybody
wrote (``derive.conversation.TRUST_OF_ROLE``)."""

QUARANTINED: Final = "quarantine"
"""The rule of the refusal that says so."""

WORDS: Final = "suspected"
"""The member of an item's ``data`` that holds the words for which it is in quarantine."""

_WHY: Final = "it reads like an order to a model ({rule}); it is in quarantine until somebody releases or rejects it"


@dataclass(frozen=True, slots=True)
class Suspects:
    """Which texts of an entry read like orders, by number."""

    by_n: Mapping[int, Mapping[str, Any]]

    def held(self, n: int, item: Item) -> Item:
        """Give the item made of text ``n``: in quarantine when the text is suspected."""
        found = self.by_n.get(n)
        if found is None:
            return item
        return dataclasses.replace(item, quarantine=found["rule"], data={**item.data, WORDS: found["quote"]})


_NOBODY: Final = Suspects({})


def suspected(outcomes: Outcomes) -> Suspects:
    """Give which texts of an entry are suspected."""
    if SUSPECTED not in outcomes:
        return _NOBODY
    return Suspects({row["n"]: row for outcome in outcomes[SUSPECTED] for row in outcome.body["suspected"]})


def guarded(prepare: Prepare) -> Prepare:
    """Give ``prepare`` with the look at what is not the user's own after it."""

    def both(bench: Bench, entry: Entry) -> Sequence[Outcome]:
        outcomes = prepare(bench, entry)
        texts = _spoken_for(entry)
        return [*outcomes, *suspicions(texts, beside=outcomes)] if texts else outcomes

    return both


def suspicions(texts: Mapping[int, str], *, beside: Iterable[Outcome] = ()) -> list[Outcome]:
    """Give the outcomes that say which of ``texts`` read like orders, and refuse to learn from them; none when none do.

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
    number = 1 + max((outcome.n for outcome in beside if outcome.role == GATED), default=-1)
    return [
        Outcome(role=SUSPECTED, made_by=made_by, body={"suspected": rows}),
        Outcome(role=GATED, n=number, made_by=made_by, body={"refusals": refusals}),
    ]


def _spoken_for(entry: Entry) -> dict[int, str]:
    """Give the words of the messages that are trusted less than the user's."""
    messages = entry.payload.get("messages", ())
    if not any(not is_erased(message) and message["role"] in SPOKEN_FOR for message in messages):
        return {}
    return {n: text for n, text in texts_of(entry).items() if messages[n]["role"] in SPOKEN_FOR}
