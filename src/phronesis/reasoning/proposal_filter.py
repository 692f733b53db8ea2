"""Filter proposals before they enter the bank: only candidates are updated, the gate decides, code writes the FACTS.

Proposals of rules and of models both pass through here (RB-15, RB-16, RB-17). A dropped proposal is reported with every
rule that it breaks. The form of a refused block is repaired by rules, once, without changing its meaning: words are not
changed, claims not dropped, reasons and runs not invented. Each repair has a name; the block passes the gate again.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from phronesis.core.confidence import CLAIM_STATUSES
from phronesis.core.ids import item_id
from phronesis.core.items import Item
from phronesis.engine.prompt_injection import find_order
from phronesis.errors import Violation
from phronesis.reasoning.claim_gate import gate
from phronesis.reasoning.laws.block_rules import MAX_BLOCK, SOURCES, STRING, UnreadableBlock, read_draft, read_json
from phronesis.reasoning.laws.claim_status import block_of, current_block, text_of
from phronesis.reasoning.laws.facts import excerpt
from phronesis.reasoning.laws.records import CLAIMS, HEADER, KEYS, REASONING, Claim, ReasoningBlock, Tally
from phronesis.reasoning.learn_candidates import Proposal
from phronesis.reasoning.learn_prompt import folded_words, texts_of

_FENCES: Final = ("```", "~~~")
_ANY_KEY: Final = re.compile(r"([A-Za-z_]{1,20})[ \t]{0,4}[=＝:：][ \t]{0,4}")
_KEY_LINE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}=")
_CURLED: Final = "“”„‟＂"
_OPENING: Final = re.compile(rf"(?<=[\[{{,:])(\s{{0,40}})[{_CURLED}]")
_CLOSING: Final = re.compile(rf"[{_CURLED}](?=\s{{0,40}}[\]}},:])")
_COMMA: Final = re.compile(r",(?=\s{0,40}[\]}])")
_ESCAPES: Final = {code: f"\\u{code:04x}" for code in range(0x20)} | {0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t"}
_LISTS: Final = ("conditions", "limitations")
_TALLIES: Final = ("support", "contra")


@dataclass(frozen=True, slots=True)
class RepairResult:
    """A block in valid form, and the names of the repairs applied."""

    text: str
    repairs: tuple[str, ...]


@dataclass(slots=True)
class _RepairState:
    lines: list[str]
    repairs: list[str] = field(default_factory=list)

    def note(self, name: str, *, changed: bool = True) -> None:
        if changed and name not in self.repairs:
            self.repairs.append(name)


def repair(text: str) -> RepairResult | None:
    """Return the repaired block, or None if nothing needs repair or a repair would require guessing.

    Repaired are: a code fence around the block, blank lines before it, a first line with wrong case or spaces or
    missing, a known key's case, spaces or sign, JSON over several lines, typographic quotation marks around strings, a
    trailing comma, claims given as an object or as a string of JSON, a status in another case, a single text where a
    list is expected, ``"true"`` for true, a number as an id, and a tally whose count is missing or lower than its runs.
    """
    if len(text) > MAX_BLOCK:
        return None
    work = _RepairState([])
    _take_lines(work, text)
    _repair_header(work)
    _repair_keys(work)
    place = next((n for n, line in enumerate(work.lines) if line.startswith(f"{CLAIMS}=")), None)
    if place is None:
        return None
    _join_claims(work, place)
    written = _repaired_json(work, work.lines[place].removeprefix(f"{CLAIMS}="))
    if written is None:
        return None
    work.lines[place] = f"{CLAIMS}={written}"
    repaired = "\n".join(work.lines)
    if not work.repairs or read_draft(repaired).mistakes:
        return None
    return RepairResult(repaired, tuple(work.repairs))


def _take_lines(work: _RepairState, text: str) -> None:
    body = text.replace("\r\n", "\n")
    whole = body.strip("\ufeff \t\n")
    if whole.startswith(_FENCES) and whole.endswith(whole[:3]) and "\n" in whole:
        body = whole.partition("\n")[2][:-3].rstrip()
        work.note("code_fence")
    stripped = body.lstrip("\ufeff \t\n")
    work.note("blank_start", changed=stripped != body.removeprefix("\ufeff"))
    work.lines = stripped.split("\n")


def _repair_header(work: _RepairState) -> None:
    first = work.lines[0]
    if first == HEADER:
        return
    if re.sub(r"[ \t_-]{1,9}", "_", first[:80].strip().upper()) == HEADER:
        work.lines[0] = HEADER
        work.note("header")
    elif _known_key(first) is not None:
        work.lines.insert(0, HEADER)
        work.note("header")


def _repair_keys(work: _RepairState) -> None:
    for n, line in enumerate(work.lines):
        found = _known_key(line)
        if found is not None and not line.startswith(f"{found[0]}="):
            work.lines[n] = f"{found[0]}={line[found[1] :]}"
            work.note("key")


def _known_key(line: str) -> tuple[str, int] | None:
    """Return the known key at the start of a line, in any form, and the offset of its value."""
    found = _ANY_KEY.match(line)
    if found is None:
        return None
    name = found[1].upper()
    return (name, found.end()) if name in KEYS else None


def _join_claims(work: _RepairState, place: int) -> None:
    end = next((n for n, line in enumerate(work.lines) if n > place and _KEY_LINE.match(line)), len(work.lines))
    whole = "\n".join(work.lines[place:end]).rstrip()
    if "\n" not in whole:
        return
    # A line break inside a string is part of the text; between strings it is not.
    joined = STRING.sub(lambda found: found[0].translate(_ESCAPES), whole)
    work.lines[place:end] = [joined.replace("\n", " ")]
    work.note("one_line")


def _repaired_json(work: _RepairState, written: str) -> str | None:
    value = _read(work, written)
    if isinstance(value, str):
        value = _read(work, value)
        work.note("json_as_text")
    members = _as_list(work, value)
    if members is None:
        return None
    for member in members:
        if isinstance(member, dict):
            _repair_claim(work, member)
    return json.dumps(members, ensure_ascii=False, separators=(",", ":"))


def _read(work: _RepairState, written: str) -> Any:
    """Return the value of a JSON text, repaired if necessary; None if it cannot be parsed."""
    steps = (("", str), ("curled_quotes", _straighten_quotes), ("trailing_comma", _without_last_commas))
    for name, step in steps:
        stepped = step(written)
        changed, written = stepped != written, stepped
        try:
            value = read_json(written)
        except UnreadableBlock:
            if changed:
                work.note(name)
            continue
        work.note(name, changed=changed)
        return value
    return None


def _straighten_quotes(written: str) -> str:
    return _outside_texts(lambda piece: _CLOSING.sub('"', _OPENING.sub(r'\1"', piece)), written)


def _without_last_commas(written: str) -> str:
    return _outside_texts(lambda piece: _COMMA.sub("", piece), written)


def _outside_texts(change: Callable[[str], str], written: str) -> str:
    """Apply a change to JSON outside its strings."""
    pieces: list[str] = []
    end = 0
    for found in STRING.finditer(written):
        pieces += (written[end : found.start()], found[0])
        end = found.end()
    pieces.append(written[end:])
    return "".join(piece if n % 2 else change(piece) for n, piece in enumerate(pieces))


def _as_list(work: _RepairState, value: Any) -> list[Any] | None:
    if isinstance(value, list):
        return value
    if not isinstance(value, dict) or not value:
        return None
    work.note("claims_as_object")
    if "claim_id" in value:
        return [value]
    if list(value) == ["claims"] and isinstance(value["claims"], list):
        return list(value["claims"])
    members = [{"claim_id": name, **claim} for name, claim in value.items() if isinstance(claim, dict)]
    agree = all(member["claim_id"] == name for name, member in zip(value, members, strict=False))
    return members if agree and len(members) == len(value) else None


def _repair_claim(work: _RepairState, claim: dict[str, Any]) -> None:
    if type(claim.get("claim_id")) is int:
        claim["claim_id"] = str(claim["claim_id"])
        work.note("id_as_number")
    status = claim.get("status")
    if isinstance(status, str) and status not in CLAIM_STATUSES and status.strip().lower() in CLAIM_STATUSES:
        claim["status"] = status.strip().lower()
        work.note("status_case")
    if claim.get("allow_positive") in ("true", "false"):
        claim["allow_positive"] = claim["allow_positive"] == "true"
        work.note("truth_as_text")
    for name in _LISTS:
        _wrap_text(work, claim, name)
    if isinstance(claim.get("facts"), dict):
        _wrap_text(work, claim["facts"], SOURCES)
    for name in _TALLIES:
        _repair_tally(work, claim, name)


def _wrap_text(work: _RepairState, owner: dict[str, Any], name: str) -> None:
    text = owner.get(name)
    if isinstance(text, str):
        owner[name] = [text] if text.strip() else []
        work.note("text_as_list")


def _repair_tally(work: _RepairState, claim: dict[str, Any], name: str) -> None:
    if isinstance(claim.get(name), list):
        claim[name] = {"run_ids": claim[name]}
    tally = claim.get(name)
    if not isinstance(tally, dict):
        return
    runs, count = tally.get("run_ids"), tally.get("count")
    known = len(runs) if isinstance(runs, list) else 0
    if count is None or (type(count) is int and 0 <= count < known):
        tally["count"] = known
        work.note("tally_count")


MAX_KEPT: Final = 4_000
"""Maximum characters kept of a dropped proposal."""

OUTSIDE: Final = "outside_candidates"
AGAINST: Final = "facts_disagree"
ORDER: Final = "instruction"
TWICE: Final = "proposed_twice"
KNOWN: Final = "said_already"
LEFT_OUT: Final = "claim_left_out"
"""Rules of this module, in addition to those of the gate."""


@dataclass(frozen=True, slots=True)
class AcceptedProposal:
    """An accepted proposal: its item, and the block with its FACTS."""

    proposal: Proposal
    item_id: str
    block: ReasoningBlock


@dataclass(frozen=True, slots=True)
class DroppedProposal:
    """A dropped proposal, and why."""

    proposal: Proposal
    violations: Sequence[Violation]

    def to_json(self) -> dict[str, Any]:
        """Return the recorded form."""
        rows = map(asdict, self.violations)
        return {
            "action": self.proposal.action,
            "item_id": self.proposal.item_id,
            "content": excerpt(self.proposal.content, MAX_KEPT),
            "made_by": self.proposal.made_by,
            "violations": [{name: value for name, value in row.items() if value is not None} for row in rows],
        }


@dataclass(frozen=True, kw_only=True)
class ProposalFilter:
    """Filters the proposals of the learn ``entry_id``. ``facts`` are the run's; ``agree`` tests a claim against them.

    ``rewrites`` are a model's repairs of refused blocks, by their text; rules repair others (`repair`). ``may_go``
    returns whether a claim of a candidate may be left out of its block: whether enough runs contradict it.
    """

    entry_id: str
    facts: Mapping[str, Any]
    candidates: Mapping[str, Item]
    agree: Callable[[Claim], bool]
    rewrites: Mapping[str, str] = field(default_factory=dict)
    may_go: Callable[[str, Claim], bool] = lambda _item_id, _claim: False

    def sift(self, proposals: Iterable[Proposal]) -> tuple[list[AcceptedProposal], list[DroppedProposal]]:
        """Separate proposals that may be stored from the others."""
        taken: dict[str, AcceptedProposal] = {}
        dropped: list[DroppedProposal] = []
        for proposal in proposals:
            block, violations = self._check_block(proposal)
            made = None if block is None else AcceptedProposal(proposal, self._id(proposal, block), block)
            if made is not None and made.item_id in taken:
                violations = [Violation(rule=TWICE, message="this learn has a proposal for that item already")]
            elif made is not None:
                taken[made.item_id] = made
                continue
            dropped.append(DroppedProposal(proposal, violations))
        return list(taken.values()), dropped

    def _check_block(self, proposal: Proposal) -> tuple[ReasoningBlock | None, list[Violation]]:
        """Return the block with its FACTS; None and the violations if it may not be stored."""
        current = None
        if proposal.action == "update":
            if proposal.item_id is None or proposal.item_id not in self.candidates:
                message = f"{proposal.item_id} is no candidate of this learn; only candidates are updated"
                return None, [Violation(rule=OUTSIDE, message=message)]
            current = current_block(self.candidates[proposal.item_id])
        content = proposal.content
        violations = gate(content)
        if violations:
            rewritten = self.rewrites.get(content)
            if not rewritten and (repaired := repair(content)) is not None:
                rewritten = repaired.text
            if not rewritten or gate(rewritten):
                return None, violations
            content = rewritten
        block = block_of(read_draft(content))
        before = {claim.claim_id: claim for claim in current.claims} if current is not None else {}
        claims = tuple(self._with_facts(claim, before.get(claim.claim_id)) for claim in block.claims)
        block = replace(block, claims=claims)
        violations = [
            *gate(text_of(block)),
            *self._id_violations(block, current),
            *self._missing_violations(proposal, block, current),
        ]
        return (None, violations) if violations else (block, [])

    def _id_violations(self, block: ReasoningBlock, current: ReasoningBlock | None) -> list[Violation]:
        known = {claim.claim_id for claim in current.claims} if current is not None else set()
        found = [
            Violation(rule=AGAINST, message="the run's own FACTS contradict it", claim_id=claim.claim_id)
            for claim in block.claims
            if claim.claim_id not in known and not self.agree(claim)
        ]
        words = [text for claim in block.claims for text in texts_of(claim)]
        if current is None and self._known_claims.issuperset(map(folded_words, block.claims)):
            found.append(Violation(rule=KNOWN, message="claims of the bank say all of it already"))
        order = find_order("\n".join((block.topic, *words)))
        return found if order is None else [*found, Violation(rule=ORDER, message=f"reads like an order: {order.rule}")]

    def _missing_violations(
        self, proposal: Proposal, block: ReasoningBlock, current: ReasoningBlock | None
    ) -> Iterator[Violation]:
        """Yield a violation for each claim that an update leaves out without permission.

        An omission must not delete a claim (RB-19).
        """
        there = {claim.claim_id for claim in block.claims}
        for claim in current.claims if current is not None else ():
            if claim.claim_id not in there and not self.may_go(proposal.item_id or "", claim):
                message = "an update leaves it out, and fewer than two runs contradict it, this one among them"
                yield Violation(rule=LEFT_OUT, message=message, claim_id=claim.claim_id)

    @cached_property
    def _known_claims(self) -> frozenset[tuple[str, ...]]:
        blocks = map(current_block, self.candidates.values())
        return frozenset(folded_words(claim) for block in blocks for claim in block.claims)

    def _with_facts(self, claim: Claim, before: Claim | None) -> Claim:
        """Return a claim with FACTS, status and counts set by code, whatever the proposal contained."""
        if before is None:
            # Only verdicts of runs make a claim a conclusion.
            status = "hypothesis" if claim.status == "conclusion" else claim.status
            return replace(claim, facts=self.facts, status=status, support=Tally(), contra=Tally())
        facts = before.facts
        if _words(claim) != _words(before):
            runs = [*before.facts.get("source_run_ids", ()), *self.facts["source_run_ids"]]
            facts = {**self.facts, "source_run_ids": list(dict.fromkeys(runs))}
        return replace(claim, facts=facts, status=before.status, support=before.support, contra=before.contra)

    def _id(self, proposal: Proposal, block: ReasoningBlock) -> str:
        if proposal.item_id is not None and proposal.action == "update":
            return proposal.item_id
        said = [text for claim in block.claims for text in (claim.inference, claim.constraint, *claim.conditions)]
        return item_id(self.entry_id, REASONING, "\n".join((block.topic, *said)))


def _words(claim: Claim) -> tuple[Any, ...]:
    return claim.inference, claim.constraint, claim.conditions, claim.test
