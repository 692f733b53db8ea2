"""Extract names and memories from messages without a language model, and the outcomes that record them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from phronesis.conversation.extraction.message_extractor import MessageExtractor
from phronesis.conversation.retention_policy import USUAL, RetentionPolicy
from phronesis.core.entries import Entry, Outcome, TurnPayload, payload_of
from phronesis.core.lazy_loading import load_once
from phronesis.core.name_detection import RULES_VERSION, find_mentions
from phronesis.core.proposals import GATED, PROPOSALS, Proposal, Refusal
from phronesis.engine.handler import PrepareContext
from phronesis.log.reader import texts_of

MENTIONS: Final = "mentions"
"""Role of the outcome with the names found."""


@dataclass(frozen=True, slots=True)
class LocalExtractor:
    """Extracts names and memories of each message without a language model; without ``memories`` only names.

    Memories are not extracted from an entry added with ``infer`` false. ``terms`` are the policy's rules for them.
    """

    memories: MessageExtractor | None
    terms: RetentionPolicy = USUAL

    def __call__(self, _bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        """Return the names, proposals and refusals as outcomes."""
        texts, withheld, refused = self.terms.parted(texts_of(entry))
        found = [
            {"n": n, "surface": one.surface, "kind": one.kind, "start": one.start, "end": one.end}
            for n, text in texts.items()
            for one in find_mentions(text)
        ]
        outcomes = [Outcome(role=MENTIONS, made_by=RULES_VERSION, body={"found": found}), *withheld]
        if self.memories is None or payload_of(entry, TurnPayload).get("infer") is False:
            return [*outcomes, *extraction_outcomes((), refused, RULES_VERSION)]
        proposals, refusals = self.terms.sifted(*self.memories.propose(entry, texts), texts)
        return [*outcomes, *extraction_outcomes(proposals, [*refused, *refusals], self.memories.version)]


@load_once
def _usual() -> LocalExtractor:
    return LocalExtractor(MessageExtractor())


def extract_locally(bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
    """Extract names and memories without a language model, behind the usual gate."""
    return _usual()(bench, entry)


def refusals_by(outcomes: Sequence[Outcome]) -> list[Refusal]:
    """Return the refusals in outcomes."""
    return [Refusal.from_dict(row) for one in outcomes if one.role == GATED for row in one.body["refusals"]]


def extraction_outcomes(proposals: Sequence[Proposal], refusals: Sequence[Refusal], made_by: str) -> list[Outcome]:
    """Return the outcomes for proposals and refusals; empty where there are none."""
    outcomes: list[Outcome] = []
    if proposals:
        body = {"proposals": [one.to_dict() for one in proposals]}
        outcomes.append(Outcome(role=PROPOSALS, made_by=made_by, body=body))
    if refusals:
        outcomes.append(Outcome(role=GATED, made_by=made_by, body={"refusals": [one.to_dict() for one in refusals]}))
    return outcomes
