"""The gate: what of the proposals is stored, by how sure they are and by the rules of the policy.

All of it is decided in prepare and recorded in outcomes: a replay reads no policy, so that one log gives one state
whatever the policy says today. ``rederive`` brings an older log under a new policy.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Literal

from phronesis.conversation.policy_section import ConversationPolicy
from phronesis.core.entries import Outcome
from phronesis.core.personal_numbers import is_phone
from phronesis.core.proposals import Basis, Conflict, Outcomes, Proposal, Refusal, Retention
from phronesis.core.redaction import markers
from phronesis.core.values import names_of, rule_for
from phronesis.engine.content_guards import GUARD_VERSION, Finding, Guard
from phronesis.models.text_features import sentence_at

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


@dataclass(frozen=True, slots=True)
class GateInput:
    """A message as the gate sees it, or a part of one: ``offset`` is where the part begins."""

    text: str
    role: str
    at: datetime
    name: str | None = None
    offset: int = 0


def refusal(n: int, text: str, rule: str) -> Refusal:
    """Return a refusal of a text in message ``n``, cut to an excerpt."""
    return _refuse(n, text, rule, REASONS[rule])


# Rules of the policy: what is never stored, and the retention and conflict rules of the rest.

WITHHELD: Final = "withheld"
"""Role of the outcome that names messages stored without an item: ``{"withheld": [{n, topic}]}``."""

NEVER: Final = "never"
SENSITIVE: Final = "sensitive"
REDACTED: Final = "redacted"
NO_PHONE: Final = "no_phone"
"""Rules of refusals: the policy excludes the key, or the sensitive topic; the value is the marker of a redacted secret;
the number is no phone number.
"""

PHONE: Final = "phone"

TOPICS_OF_KEYS: Final[Mapping[str, Sequence[str]]] = {
    "health": ("physical_health", "mental_health"),
    "allergy": ("physical_health",),
}
"""Keys that imply a sensitive topic whatever their text: the guard does not know every illness."""

MAX_SENTENCE: Final = 400
"""Characters around a value that the guard is asked of."""


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """Policy rules by key, family or kind; ``usual`` is the default.

    ``sensitive`` detects sensitive topics (None: no check), ``whole`` withholds the item of such a message too.
    """

    retention: Mapping[str, Retention] = field(default_factory=dict)
    conflict: Mapping[str, Conflict] = field(default_factory=dict)
    usual: tuple[Retention, Conflict] = ("versioned", "occurred")
    never: frozenset[str] = frozenset()
    sensitive: Guard | None = None
    whole: bool = False

    def of(self, key: str, kind: str) -> tuple[Retention, Conflict]:
        """Return the retention and the conflict rule of a key."""
        retention, conflict = self.usual
        return rule_for(self.retention, key, kind) or retention, rule_for(self.conflict, key, kind) or conflict

    def split_readable(self, texts: Mapping[int, str]) -> tuple[dict[int, str], list[Outcome], list[Refusal]]:
        """Return the messages that may be read, and the outcome and refusals for those withheld."""
        topic = self.sensitive.topic if self.sensitive is not None and self.whole else lambda _text: None
        found = {n: finding for n, text in texts.items() if (finding := topic(text)) is not None}
        if not found:
            return dict(texts), [], []
        rows = [{"n": n, "topic": finding.topic} for n, finding in found.items()]
        refused = [_refuse(n, texts[n], SENSITIVE, _describe_finding(finding)) for n, finding in found.items()]
        outcome = Outcome(role=WITHHELD, made_by=GUARD_VERSION, body={"withheld": rows})
        return {n: text for n, text in texts.items() if n not in found}, [outcome], refused

    def apply_retention(
        self, proposals: Iterable[Proposal], refusals: Sequence[Refusal], texts: Mapping[int, str]
    ) -> tuple[list[Proposal], list[Refusal]]:
        """Return the proposals that the policy allows, each with its rules, and all refusals.

        The number of refusals reported per message is limited as in the gate.
        """
        kept: list[Proposal] = []
        refused: dict[int, list[Refusal]] = {}
        for one in proposals:
            why = self._find_violation(one, texts[one.n])
            if why is not None:
                refused.setdefault(one.n, []).append(_refuse(one.n, one.quote, *why))
                continue
            retention, conflict = self.of(one.key, one.kind)
            kept.append(replace(one, retention=retention, conflict=conflict))
        return kept, [*(one for rows in refused.values() for one in rows[:MAX_REFUSALS]), *refusals]

    def hides(self, text: str) -> bool:
        """Return whether a text must be hidden from a model that makes summaries."""
        return self.sensitive is not None and self.sensitive.topic(text) is not None

    def _find_violation(self, one: Proposal, text: str) -> tuple[str, str] | None:
        named = next((name for name in names_of(one.key, one.kind) if name in self.never), None)
        if named is not None:
            return NEVER, f"the policy takes nothing up of {named} (gates.never)"
        place = _find_place(one, text)
        if any(start < place[1] and place[0] < end for start, end in markers(text)):
            return REDACTED, "it was a secret or a personal number, and was taken out before it was stored (privacy)"
        if one.key == PHONE and one.value is not None and not is_phone(one.value, text[: place[0]]):
            return NO_PHONE, "the number is not written as a phone's, or is called another number"
        finding = self._find_topic(one, text)
        return None if finding is None else (SENSITIVE, _describe_finding(finding))

    def _find_topic(self, one: Proposal, text: str) -> Finding | None:
        if self.sensitive is None:
            return None
        start, end = sentence_at(text, one.start, one.end)
        sentence = text[max(start, one.start - MAX_SENTENCE) : min(end, one.end + MAX_SENTENCE)]
        found = self.sensitive.topic(sentence) or self.sensitive.topic(one.content)
        if found is not None:
            return found
        topic = next((topic for topic in TOPICS_OF_KEYS.get(one.key, ()) if topic in self.sensitive.topics), None)
        return None if topic is None else Finding(topic, ())


USUAL: Final = RetentionPolicy()
"""Rules where a policy says nothing."""


def terms_of(policy: ConversationPolicy) -> RetentionPolicy:
    """Return the rules of a policy."""
    matters = policy.sensitive
    return RetentionPolicy(
        policy.retention.types,
        policy.conflict.types,
        (policy.retention.default, policy.conflict.default),
        never=frozenset(policy.gates.never),
        sensitive=None if matters.store == "all" else Guard(matters),
        whole=matters.store == "nothing_derived",
    )


def withheld_in(outcomes: Outcomes) -> frozenset[int]:
    """Return the numbers of an entry's messages that get no item."""
    return frozenset(row["n"] for outcome in outcomes.get(WITHHELD, ()) for row in outcome.body["withheld"])


def _find_place(one: Proposal, text: str) -> tuple[int, int]:
    """Return the span of a proposal's value, or of its whole quotation if the value is worded differently."""
    start = -1 if one.value is None else text.find(one.value, one.start, one.end)
    return (one.start, one.end) if start < 0 else (start, start + len(one.value or ""))


def _describe_finding(finding: Finding) -> str:
    matter = finding.topic + (f" ({', '.join(finding.words)})" if finding.words else "")
    return f"it speaks of a sensitive matter, {matter}, of which the policy makes no memory (sensitive.store)"


def _refuse(n: int, text: str, rule: str, reason: str) -> Refusal:
    return Refusal(n=n, text=" ".join(text.split())[:MAX_EXCERPT], rule=rule, reason=reason)
