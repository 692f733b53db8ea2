"""Extract names and memories from messages, by rules or by a model whose every proposal must be quoted in the message.

A model's answer is recorded whole with the entry, rejected proposals included, so a rebuild calls no model. When it
gives nothing usable, the rules take over and an outcome ``degraded`` records that.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import pydantic

from phronesis.conversation.extracting.clauses import is_chinese
from phronesis.conversation.extracting.memory_types import MemoryTypes
from phronesis.conversation.extracting.proposed import GateInput, ModelGate, ProposedMemory
from phronesis.conversation.extracting.rules import RULES_VERSION as EXTRACT_VERSION
from phronesis.conversation.extracting.rules import Rules, known_languages, place_proposal
from phronesis.conversation.extracting.tagging.opinion import second_opinion
from phronesis.conversation.llm_consolidation import ConsolidationJudge
from phronesis.conversation.retention_policy import USUAL, WITHHELD, RetentionPolicy, withheld_in
from phronesis.core.data_delimiters import choose_boundary, own_text
from phronesis.core.entries import Entry, Outcome
from phronesis.core.lazy_loading import load_once
from phronesis.core.name_detection import MAX_MENTIONS, MAX_SURFACE, RULES_VERSION, find_mentions
from phronesis.core.payloads import TurnPayload, payload_of
from phronesis.core.proposals import GATED, PROPOSALS, Proposal, Refusal, proposals_in
from phronesis.core.text import UNSPACED
from phronesis.core.timestamps import parse_local
from phronesis.engine.handler import DEGRADED_ROLE, PrepareContext, by_role
from phronesis.engine.prompt_injection import speaker_name
from phronesis.log.reader import fit, texts_of
from phronesis.models.prompts import prompt
from phronesis.models.structured_client import Answer, Attempt, StructuredClient, Task

ROLE: Final = "extract"
MENTIONS: Final = "mentions"
ANSWERS: Final = "answer"
REFUSED: Final = "refused"
"""Roles of outcomes: names, a model's answers, and refused proposals."""

PROMPT_VERSION: Final = "extract/2"
"""Version of ``prompts/extract.md``, recorded with every outcome."""

MAX_SHOWN: Final = 12_000
"""Maximum characters of a turn shown to the model. A longer turn is left to the rules."""

MAX_NAMES: Final = 200
"""Maximum names, and memories, in one answer."""

MAX_SENTENCE: Final = 600
"""Maximum characters of a sentence that rules parse."""

_MASK: Final = "\ue000"
_KEPT_RUN: Final = 8
_RUN: Final = re.compile(r"(?:(?<!\s)\s{17,}|([^\w\s])\1{16,}|(\w)\2{63,})")
_SENTENCE: Final = re.compile(rf"[^.!?。！？\n]{{{MAX_SENTENCE + 1},}}")
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
class ByRules:
    """Extracts names and memories of each message by rules; without ``rules`` only names.

    Memories are not extracted from an entry added with ``infer`` false. ``terms`` are the policy's rules for them.
    """

    rules: Rules | None
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
        if self.rules is None or payload_of(entry, TurnPayload).get("infer") is False:
            return [*outcomes, *extraction_outcomes((), refused, EXTRACT_VERSION)]
        readable = {n: bound_sentences(text) for n, text in texts.items()}
        found_in = self.rules.propose(entry, readable)
        proposals, refusals = self.terms.sifted(*_as_written(*found_in, readable, texts), texts)
        return [*outcomes, *extraction_outcomes(proposals, [*refused, *refusals], EXTRACT_VERSION)]


def bound_sentences(text: str) -> str:
    """Return a text of equal length whose sentences are short enough for rules to parse in bounded time.

    The middle of long white space and of a long run of one character is masked, and everything after the first
    ``MAX_SENTENCE`` characters of a sentence. Masked text states nothing.
    """
    shown = _RUN.sub(lambda run: _masked(run[0], _KEPT_RUN), text)
    return _SENTENCE.sub(lambda one: one[0][:MAX_SENTENCE] + _mask(len(one[0]) - MAX_SENTENCE), shown)


def _masked(run: str, kept: int) -> str:
    return run[:kept] + _mask(len(run) - 2 * kept) + run[-kept:]


def _mask(length: int) -> str:
    """Return meaningless text of this length, in short lines."""
    line = "\n" + _MASK * (MAX_SENTENCE // 4)
    return (line * (length // len(line) + 1))[:length]


def _as_written(
    proposals: Sequence[Proposal], refusals: Sequence[Refusal], readable: Mapping[int, str], texts: Mapping[int, str]
) -> tuple[list[Proposal], list[Refusal]]:
    """Return the results without those on masked text; refusals quote the text as written."""
    out = []
    for one in refusals:
        start = readable[one.n].find(one.text) if _MASK in one.text else -1
        out.append(one if start < 0 else replace(one, text=texts[one.n][start : start + len(one.text)]))
    return [one for one in proposals if _MASK not in one.quote], out


@load_once
def _usual() -> ByRules:
    return ByRules(Rules(second=second_opinion()))


def by_rules(bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
    """Extract names and memories by rules, behind the usual gate."""
    return _usual()(bench, entry)


@dataclass(frozen=True, slots=True)
class ByModel:
    """Extracts names and memories by a model; addresses, paths and handles by rules, which do not miss them.

    Results of rules on text that the model passed over are proposed too.

    ``judge`` compares proposals with held items; None: the rules of consolidation alone do.
    """

    asker: StructuredClient
    rules: ByRules
    judge: ConsolidationJudge | None = None

    def __call__(self, bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        """Return what the model extracted and the messages contain, and its answers; by rules if it gave nothing."""
        payload = payload_of(entry, TurnPayload)
        ruled = self.rules(bench, entry)
        withheld = [one for one in ruled if one.role == WITHHELD]
        hidden = withheld_in({WITHHELD: withheld})
        texts = {n: text for n, text in texts_of(entry).items() if text.strip() and n not in hidden}
        own = {n: own_text(text, hosts=payload["messages"][n]["role"] == "user") for n, text in texts.items()}
        if not any(one.text.strip() for one in own.values()):
            return ruled
        if not texts or sum(map(len, texts.values())) > MAX_SHOWN:
            return ruled
        known = self.rules.rules
        learns = known is not None and payload.get("infer") is not False
        said = messages_said(entry, {n: one.text for n, one in own.items() if one.text.strip()})
        types = known.types if learns and known is not None else None
        task = Task(instructions(types, texts.values()), _fenced(entry, said), ExtractionAnswer)
        answer = self.asker.ask(bench.tenant, task)
        told = [_told(self.asker.name, n, attempt) for n, attempt in enumerate(answer.attempts)]
        if answer.value is None:
            by = f"{RULES_VERSION} {EXTRACT_VERSION}" if learns else RULES_VERSION
            return [*ruled, *told, _degraded(answer, by, self.asker.name)]
        found, refused = _gated(answer.value, texts)
        others = [one for one in ruled[0].body["found"] if one["kind"] != "name"]
        made_by = f"{self.asker.name} {PROMPT_VERSION}"
        names = Outcome(role=MENTIONS, made_by=made_by, body={"found": _merged(others, found)})
        outcomes = [names, *withheld, *told]
        if refused:
            outcomes.append(Outcome(role=REFUSED, made_by=made_by, body={"proposals": refused}))
        if not learns or known is None:
            return [*outcomes, *extraction_outcomes((), refusals_by(ruled), made_by)]
        gate = ModelGate(known.types, known.gate, known_languages())
        proposed, gated = gate(answer.value.memories, said)
        proposed = [place_proposal(one, own[one.n]) for one in proposed]
        proposals, refusals = self.rules.terms.sifted(proposed, gated, texts)
        taken = {one.n for one in proposals} | {one.n for one in refusals}
        refusals += [one for one in refusals_by(ruled) if one.n not in taken]
        outcomes += extraction_outcomes(proposals, refusals, made_by)
        more = passed_over(proposals_in(by_role(ruled)), proposals, answer.value.memories, texts)
        outcomes += [replace(one, n=1) for one in extraction_outcomes(more, (), EXTRACT_VERSION)]
        return [*outcomes, *self._judged(bench, entry, [*proposals, *more], told)]

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
    chinese = any(is_chinese(text) for text in texts)
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
        given = message.get("created_at") or payload.get("occurred_at")
        at = entry.recorded_at if given is None else parse_local(given, field="created_at")
        out[n] = GateInput(text, message["role"], at, speaker_name(message.get("name")))
    return out


def passed_over(
    ruled: Iterable[Proposal],
    proposals: Sequence[Proposal],
    spoken_of: Iterable[ProposedMemory],
    texts: Mapping[int, str],
) -> list[Proposal]:
    """Return the proposals of rules on text that the model did not use.

    Under a single-valued key nothing is added where the model proposes a value. ``spoken_of`` is all that the model
    said of the ``texts``: another statement on the same text, or a refused one, counts as use.
    """
    places = [(one.n, texts[one.n].find(one.quote), len(one.quote)) for one in spoken_of if one.n in texts]

    def said(one: Proposal) -> bool:
        return any(
            (other.subject, other.key, "one") == (one.subject, one.key, one.cardinality) for other in proposals
        ) or any(n == one.n and 0 <= start < one.end and one.start < start + length for n, start, length in places)

    return [one for one in ruled if not said(one)]


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
