"""An extractor that knows some phrases by heart: what it proposes is written beside the words."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from phronesis.conversation.extraction.extractor import LocalExtractor
from phronesis.core.entries import Entry, Outcome
from phronesis.core.proposals import JUDGED, PROPOSALS, Proposal
from phronesis.engine.handler import Prepare, PrepareContext
from phronesis.log.payloads import texts_of

KINDS = {
    "home_city": "profile",
    "name": "profile",
    "alias": "profile",
    "employer": "profile",
    "likes": "preference",
    "dislikes": "preference",
    "task": "task",
    "decision": "decision",
    "event": "event",
    "deadline": "fact",
    "diet": "profile",
}
ONE = {"home_city", "name", "employer", "deadline"}


def proposal(phrase: str, key: str, value: str | None, **more: Any) -> dict[str, Any]:
    """What a phrase means; ``content`` is the phrase itself unless given."""
    subject = more.pop("subject", "user")
    fields = {"kind": KINDS.get(key, ""), "subject": subject, "key": key, "content": phrase, "value": value}
    return {"quote": phrase, "cardinality": "one" if key in ONE else "many", **fields, **more}


def scripted(phrases: Iterable[Mapping[str, Any]], *, judged: Sequence[Mapping[str, Any]] = ()) -> Prepare:
    """Give a ``prepare`` that proposes what stands beside each phrase of a message, in the order of the text."""
    known = list(phrases)

    def prepare(bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        found: list[Proposal] = []
        for n, text in texts_of(entry).items():
            here = [(text.index(each["quote"]), each) for each in known if each["quote"] in text]
            for start, each in sorted(here, key=lambda pair: pair[0]):
                found.append(Proposal(n=n, start=start, end=start + len(each["quote"]), **each))
        outcomes = list(LocalExtractor(None)(bench, entry))  # names alone
        if found:
            body: dict[str, Any] = {"proposals": [one.to_dict() for one in found]}
            outcomes.append(Outcome(role=PROPOSALS, made_by="scripted/1", body=body))
        if judged and found:
            body = {"judgements": [dict(row) for row in judged]}
            outcomes.append(Outcome(role=JUDGED, made_by="scripted/1", body=body))
        return outcomes

    return prepare
