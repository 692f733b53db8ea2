"""The gate: how sure a proposal must be to be stored, and what is said of a text that is not."""

from dataclasses import dataclass
from typing import Final, Literal

from phronesis.core.proposals import Basis, Refusal

INJECTED: Final = "injected"
"""The rule that refuses what nobody in the conversation wrote (``core.data_delimiters``)."""

REASONS: Final = {
    "question": "a question states nothing",
    "joke": "it is said as a joke or an exaggeration",
    "quotation": "these are the words of somebody else",
    "hypothesis": "it is supposed, wished or doubted, not stated",
    "fiction": "it is told of an invented world",
    "code": "code, logs and commands are data, not statements",
    "chit_chat": "not recognised as something to keep; configure `roles.extract` (brain.yml) to read free talk",
    "assistant": "what the assistant says is no source about the person",
    "third_party_unknown": "it is not clear who is meant",
    "instruction": "a tool's answer may not tell what to do or to remember",
    INJECTED: "it repeats a composed context, or a program put it into the message",
    "forget_request": "nothing was deleted yet: find what is meant with search, call delete or erase on it, then delete"
    " this request",
    "operator": "what the operator writes is policy, not memory",
    "low_confidence": "the wording is not clear enough for what its source must have (gates in brain.yml)",
}
"""What each rule says of a text that it refuses."""

MAX_REFUSALS: Final = 3
"""Refusals of one message: they are examples, not a copy of it."""

MAX_EXCERPT: Final = 160
"""Characters of a refused text that are kept."""

INFERRED_AT_MOST: Final = 0.6
"""The confidence of what nobody said, but something was concluded from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The least confidence that is stored, by who it comes from.

    ``inferred`` is that of what follows from somebody's words, ``assistant`` that of what the assistant says; above .6
    neither is stored.
    """

    user: float = 0.8
    tool: float = 0.9
    inferred: float = 0.6
    assistant: float = 1.0

    def passes(self, basis: Basis | Literal["assistant"], confidence: float) -> bool:
        """Return whether something of a basis and confidence is stored."""
        least = {"user": self.user, "tool": self.tool, "inferred": self.inferred, "assistant": self.assistant}[basis]
        return (confidence if basis in {"user", "tool"} else min(confidence, INFERRED_AT_MOST)) >= least


def refusal(n: int, text: str, rule: str) -> Refusal:
    """Return a refusal of a text in message ``n``, cut to an excerpt."""
    words = " ".join(text.split())
    return Refusal(n=n, text=words[:MAX_EXCERPT], rule=rule, reason=REASONS[rule])
