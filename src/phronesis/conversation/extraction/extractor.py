"""Extract names and memories from messages, locally or by a model whose every proposal must be quoted in the message.

A model's answer is recorded whole with the entry, rejected proposals included, so a rebuild calls no model. When it
gives nothing usable, the local extractor takes over and an outcome ``degraded`` records that.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import pydantic

from phronesis.conversation.extraction.memory_types import MemoryTypes
from phronesis.conversation.extraction.message_extractor import MessageExtractor, place_proposal
from phronesis.conversation.extraction.proposed import GateInput, ModelGate, ProposedMemory
from phronesis.conversation.forget_requests import requests_in, said_at
from phronesis.conversation.llm_consolidation import ConsolidationJudge
from phronesis.conversation.retention_policy import USUAL, WITHHELD, RetentionPolicy, withheld_in
from phronesis.core.data_delimiters import choose_boundary, own_text
from phronesis.core.entries import Entry, Outcome
from phronesis.core.lazy_loading import load_once
from phronesis.core.name_detection import MAX_MENTIONS, MAX_SURFACE, RULES_VERSION, find_mentions
from phronesis.core.payloads import TurnPayload, payload_of
from phronesis.core.proposals import GATED, PROPOSALS, Proposal, Refusal
from phronesis.core.text import UNSPACED
from phronesis.engine.handler import DEGRADED_ROLE, PrepareContext
from phronesis.engine.prompt_injection import speaker_name
from phronesis.log.reader import fit, texts_of
from phronesis.models.prompts import prompt
from phronesis.models.structured_client import Answer, Attempt, StructuredClient, Task
from phronesis.models.text_features import has_han

ROLE: Final = "extract"
MENTIONS: Final = "mentions"
ANSWERS: Final = "answer"
REFUSED: Final = "refused"
"""Roles of outcomes: names, a model's answers, and refused proposals."""

PROMPT_VERSION: Final = "extract/2"
"""Version of ``prompts/extract.md``, recorded with every outcome."""

MAX_SHOWN: Final = 12_000
"""Maximum characters of a turn shown to the model. A longer turn is left to the local extractor."""

MAX_NAMES: Final = 200
"""Maximum names, and memories, in one answer."""

_WORD: Final = re.compile(rf"[^\W{UNSPACED}]")


class ProposedName(pydantic.BaseModel):
    """A name as a model gives it: the number of its message, and its letters."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)

    n: Annotated[int, pydantic.Field(ge=0, le=10_000)]
    surface: Annotated[str, pydantic.Field(min_length=1, max_length=MAX_SURFACE)]


class ExtractionAnswer(pydantic.BaseModel, title="Found"):
    """The answer asked for."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)

    names: Annotated[list[ProposedName], pydantic.Field(max_length=MAX_NAMES)]
    memories: Annotated[list[ProposedMemory], pydantic.Field(max_length=MAX_NAMES)]


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


@dataclass(frozen=True, slots=True)
class ModelExtractor:
    """Extracts names and memories by a model; addresses, paths and handles by rules, which do not miss them.

    ``judge`` compares proposals with held items; None: the law of consolidation alone does.
    """

    asker: StructuredClient
    local: LocalExtractor
    judge: ConsolidationJudge | None = None

    def __call__(self, bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        """Return what the model extracted and its answers; what the local extractor gives if it gave nothing."""
        payload = payload_of(entry, TurnPayload)
        texts = texts_of(entry)
        own = {n: own_text(text, hosts=payload["messages"][n]["role"] == "user") for n, text in texts.items()}
        shown = sum(map(len, texts.values()))
        if not any(one.text.strip() for one in own.values()) or shown > MAX_SHOWN:
            return self.local(bench, entry)
        names, *withheld = LocalExtractor(None, self.local.terms)(bench, entry)
        hidden = withheld_in({WITHHELD: [one for one in withheld if one.role == WITHHELD]})
        texts = {n: text for n, text in texts.items() if text.strip() and n not in hidden}
        known = self.local.memories
        learns = known is not None and payload.get("infer") is not False
        said = messages_said(entry, {n: one.text for n, one in own.items() if n in texts and one.text.strip()})
        if not said:
            return self.local(bench, entry)
        types = known.types if learns and known is not None else None
        task = Task(instructions(types, texts.values()), _fenced(entry, said), ExtractionAnswer)
        answer = self.asker.ask(bench.tenant, task)
        told = [_told(self.asker.name, n, attempt) for n, attempt in enumerate(answer.attempts)]
        if answer.value is None:
            by = f"{RULES_VERSION} {known.version}" if learns and known is not None else RULES_VERSION
            return [*self.local(bench, entry), *told, _degraded(answer, by, self.asker.name)]
        found, refused = _gated(answer.value, texts)
        others = [one for one in names.body["found"] if one["kind"] != "name"]
        made_by = f"{self.asker.name} {PROMPT_VERSION}"
        merged = Outcome(role=MENTIONS, made_by=made_by, body={"found": _merged(others, found)})
        outcomes = [merged, *(one for one in withheld if one.role == WITHHELD), *told]
        if refused:
            outcomes.append(Outcome(role=REFUSED, made_by=made_by, body={"proposals": refused}))
        before = refusals_by(withheld)
        if not learns or known is None:
            return [*outcomes, *extraction_outcomes((), before, made_by)]
        proposed, gated = ModelGate(known.types, known.gate)(answer.value.memories, said)
        proposed = [place_proposal(one, own[one.n]) for one in proposed]
        proposals, refusals = self.local.terms.sifted(proposed, gated, texts)
        asked, unmet = requests_in(entry, {n: one.text for n, one in said.items()})
        outcomes += extraction_outcomes([*proposals, *asked], [*before, *refusals, *unmet], made_by)
        return [*outcomes, *self._judged(bench, entry, proposals, told)]

    def _judged(
        self, bench: PrepareContext, entry: Entry, proposals: Sequence[Proposal], told: Sequence[Outcome]
    ) -> list[Outcome]:
        if self.judge is None or not proposals:
            return []
        verdict = self.judge(bench, entry, proposals)
        # The answer may repeat memories of other entries; only the fact that it was asked is kept beside the
        # judgements.
        tries = [
            _told(self.judge.asker.name, len(told) + n, replace(attempt, text=""))
            for n, attempt in enumerate(verdict.said)
        ]
        if verdict.error is None:
            return [*verdict.outcomes, *tries]
        body = {"role": ROLE, "reason": verdict.error, "by": "consolidation", "instead_of": self.judge.asker.name}
        return [*tries, Outcome(role=DEGRADED_ROLE, made_by=self.judge.asker.name, body=body)]


def instructions(types: MemoryTypes | None, texts: Iterable[str] = ()) -> str:
    """Return the model's instructions: with the keys of ``types``, or without memories if None.

    Each key has an example, in Chinese where any of ``texts`` is: both languages would cost every call a thousand
    tokens.
    """
    if types is None:
        return f"{prompt(ROLE)}\n\nIn this call `memories` is an empty list."
    chinese = any(has_han(text) for text in texts)
    rows = [
        f"- `{row.key}` ({row.kind}, {row.cardinality}): {row.chinese if chinese else row.english}" for row in types
    ]
    head = "The keys, each with its kind, how many values it holds, and an example:"
    return "\n".join([prompt(ROLE), "", head, *rows])


def messages_said(entry: Entry, texts: Mapping[int, str]) -> dict[int, GateInput]:
    """Return each message with its speaker and time."""
    payload = payload_of(entry, TurnPayload)
    out: dict[int, GateInput] = {}
    for n, text in texts.items():
        message = payload["messages"][n]
        out[n] = GateInput(text, message["role"], said_at(entry, message), speaker_name(message.get("name")))
    return out


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


def _fenced(entry: Entry, said: Mapping[int, GateInput]) -> str:
    boundary = choose_boundary(entry.id, (one.text for one in said.values()))
    return "\n".join(
        boundary.turn(f'n="{n}" role="{one.role}" date="{one.at.date().isoformat()}"', one.text)
        for n, one in said.items()
    )


def _told(made_by: str, n: int, attempt: Attempt) -> Outcome:
    body = {
        "role": ROLE,
        "constraint": attempt.constraint,
        "text": fit(attempt.text),
        "finish_reason": attempt.finish_reason,
        "problem": attempt.problem,
    }
    return Outcome(role=ANSWERS, n=n, made_by=made_by, body=body)


def _degraded(answer: Answer[ExtractionAnswer], by: str, instead_of: str) -> Outcome:
    code = answer.error.code if answer.error is not None else "model.error"
    body = {"role": ROLE, "reason": code, "by": by, "instead_of": instead_of}
    return Outcome(role=DEGRADED_ROLE, made_by=instead_of, body=body)


def _gated(names: ExtractionAnswer, texts: Mapping[int, str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Separate the names that occur in their message from those that do not, with the reason."""
    found: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    for name in names.names:
        surface = fit(name.surface).strip()
        text = texts.get(name.n, "")
        start = _place(surface, text)
        if start is None:
            why = "there is no such message" if name.n not in texts else "it does not stand there"
            refused.append({"n": name.n, "surface": surface, "why": why})
        else:
            place = {"n": name.n, "surface": surface, "kind": "name", "start": start, "end": start + len(surface)}
            if place not in found:
                found.append(place)
    return found, refused


def _place(surface: str, text: str) -> int | None:
    """Return the offset at which a name first occurs as a whole word, or None."""
    start = text.find(surface) if any(char.isalnum() for char in surface) else -1
    while start >= 0:
        end = start + len(surface)
        cut_before = _WORD.match(surface) and start > 0 and _WORD.match(text[start - 1])
        cut_after = _WORD.match(surface[-1]) and end < len(text) and _WORD.match(text[end])
        if not cut_before and not cut_after:
            return start
        start = text.find(surface, start + 1)
    return None


def _merged(others: Sequence[Mapping[str, Any]], names: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return both lists without overlaps, in the order of the text: an address is one name, not three."""

    def overlaps(name: Mapping[str, Any]) -> bool:
        return any(
            one["n"] == name["n"] and one["start"] < name["end"] and name["start"] < one["end"] for one in others
        )

    kept = [*others, *(name for name in names if not overlaps(name))]
    return sorted(kept, key=lambda one: (one["n"], one["start"]))[: MAX_MENTIONS * max(1, len({o["n"] for o in kept}))]
