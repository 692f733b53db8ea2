"""What a model does in each role, seen through the verbs of Memory: a case goes in, what came of it comes out.

A case's ``given`` depends on its role:

- summarise: ``turns``, each a list of ``[role, text]``; ``every``: after how many a summary is made;
- plan: ``message``, ``now``, ``recent`` texts, ``state``;
- learn: ``bank``, items as lists of claims; ``output``, ``products`` and ``notes`` of a run;
- reflect, questions, special_reflection: ``rounds`` of memories ``[session, at, text]``, a reflection after each; the
  first ``by_rules`` of them by rules;
- abstract: ``attempts``, each ``{attempt, label, situation, result, refs, …}`` told once for each of ``refs``.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from phronesis import Memory
from phronesis.config import Policy
from phronesis.conversation.policy_section import ConversationPolicy
from phronesis.core.timestamps import parse_moment
from phronesis.traits.laws.records import ReflectionCycle, TraitEvidence

USER: Final = "u"
START: Final = "2026-03-02T09:00:00Z"
_TICK: Final = timedelta(milliseconds=1)

Observation = Mapping[str, Any]
"""Texts, numbers and words by name; ``shown`` and ``against`` are numbers of memories by the text of a trait."""


@dataclass(slots=True)
class CaseStore:
    """A store of a case's own, and its clock. ``rules`` is the policy without the model."""

    folder: Path
    policy: Policy
    rules: Policy
    _now: datetime = field(default_factory=lambda: parse_moment(START, field="at"))

    def open(self, *, by_rules: bool = False, **sections: Any) -> Memory:
        """Open the store, with other sections of the policy."""
        policy = (self.rules if by_rules else self.policy).model_copy(update=sections)
        return Memory.open(f"sqlite:///{self.folder / 'm.db'}", policy=policy, clock=self._clock)

    def go_to(self, at: str) -> None:
        """Set the clock."""
        self._now = parse_moment(at, field="at")

    def _clock(self) -> datetime:
        self._now += _TICK
        return self._now


def _summarise(store: CaseStore, given: Mapping[str, Any]) -> Observation:
    turns = given["turns"]
    rules = store.policy.of(ConversationPolicy).summary.model_copy(
        update={"every_turns": given.get("every", len(turns))}
    )
    with store.open(summary=rules) as memory:
        for turn in turns:
            messages = [{"role": role, "content": text} for role, text in turn]
            memory.commit_turn("s", {"messages": messages}, user_id=USER)
        made = _outcomes(memory, store, "summary")
    return {"lines": [line["text"] for line in made[-1]["lines"]] if made else []}


def _plan(store: CaseStore, given: Mapping[str, Any]) -> Observation:
    store.go_to(given["now"])
    with store.open() as memory:
        for n, text in enumerate(given.get("recent", ())):
            role = "assistant" if n % 2 else "user"
            memory.commit_turn("s", {"messages": [{"role": role, "content": text}]}, user_id=USER)
        plan = memory.plan(
            given["message"],
            user_id=USER,
            session_id="s" if given.get("recent") else None,
            agent_state=given.get("state"),
            valid_at=given["now"],
        )
    return {
        "intent": plan.intent,
        "documents": plan.resources_needed,
        "queries": [one.text for one in plan.queries[1:]],
        "entities": list(plan.entities),
        "time": None if plan.time is None else f"{plan.time.since:%Y-%m-%d} {plan.time.until:%Y-%m-%d}",
    }


def _learn(store: CaseStore, given: Mapping[str, Any]) -> Observation:
    with store.open() as memory:
        items = [memory.reasoning.add(_block(claims), user_id=USER).id for claims in given["bank"]]
        memory.runs.record({"run_id": "run-1", "output": given["output"], "memory_ids": items}, user_id=USER)
        memory.runs.feedback("run-1", {"products": given["products"], **given["notes"]}, user_id=USER)
        done = memory.learn("run-1", user_id=USER)
        claims = [claim for one in (*done.added, *done.updated) for claim in memory.reasoning.get(one.id).claims]
    old = {text for claims in given["bank"] for text in claims}
    return {
        "verdicts": [
            f"{items.index(one.item_id)}.{one.claim_id} {one.verdict}" for one in done.judged if one.item_id in items
        ],
        "deleted": sum(one.deleted is not None for one in done.judged),
        "new": [f"{one.inference} {one.constraint}".strip() for one in claims if one.inference not in old],
        "refused": len(done.dropped) + len(done.refused),
    }


def _block(claims: Sequence[str]) -> str:
    told = [
        {"claim_id": f"c{n}", "status": "hypothesis", "facts": {"source_run_ids": ["run-0"]}, "inference": text}
        for n, text in enumerate(claims, start=1)
    ]
    return f"RBMEM_CLAIMS_V1\nTOPIC=held\nCLAIMS_JSON={json.dumps(told, ensure_ascii=False)}"


def _reflect(store: CaseStore, given: Mapping[str, Any]) -> Observation:
    numbers: dict[str, int] = {}
    rounds, by_rules = given["rounds"], given.get("by_rules", 0)
    if by_rules:
        with store.open(by_rules=True) as memory:
            _live(store, memory, rounds[:by_rules], numbers)
    with store.open() as memory:
        cycles = _live(store, memory, rounds[by_rules:], numbers)
        traits = memory.get_user_traits(USER, "trend")
        evidence = {one.content: memory.traits.evidence(one.id) for one in traits}
        answers = [one for one in _outcomes(memory, store, "answer") if one["role"] == "questions"]
    texts = [one["text"] for one in answers if one["problem"] is None and one["text"]]
    return {
        "traits": [one.content for one in traits],
        "behaviors": [one.content for one in traits if one.subtype == "behavior" and one.stage != "trend"],
        "preferences": [one.content for one in traits if one.subtype == "preference"],
        "refused": sum(len(one.refused) for one in cycles),
        "dissolved": sum(one.traits_dissolved for one in cycles),
        "contexts": [side.context for one in traits for side in (one.sides or [one])],
        "shown": {text: _numbers(rows, numbers, "supporting") for text, rows in evidence.items()},
        "against": {text: _numbers(rows, numbers, "contradicting") for text, rows in evidence.items()},
        "questions": json.loads(texts[-1])["questions"] if texts else [],
    }


def _live(
    store: CaseStore, memory: Memory, rounds: Sequence[Sequence[Sequence[str]]], numbers: dict[str, int]
) -> list[ReflectionCycle]:
    """Remember the memories of each round and reflect; ``numbers`` gets those of new memories."""
    cycles = []
    for told in rounds:
        for session, at, text in told:
            store.go_to(at)
            made = memory.add(text, kind="episodic", session_id=session, user_id=USER)
            numbers[made.items[0].id] = len(numbers)
        cycles.append(memory.reflect(USER, force=True))
    return cycles


def _numbers(rows: Sequence[TraitEvidence], numbers: Mapping[str, int], kind: str) -> list[int]:
    return sorted(numbers[one.memory_id] for one in rows if one.evidence_type == kind)


def _outcomes(memory: Memory, store: CaseStore, role: str) -> list[Mapping[str, Any]]:
    """Return the bodies of a store's outcomes of a role, oldest first."""
    log = store.folder / "log.jsonl"
    memory.export(log)
    entries = [json.loads(line).get("entry") for line in log.read_text("utf-8").splitlines()]
    outcomes = [outcome for entry in entries if entry is not None for outcome in entry["outcomes"]]
    return [json.loads(one["body"]) for one in outcomes if one["role"] == role]


def _abstract(store: CaseStore, given: Mapping[str, Any]) -> Observation:
    with store.open() as memory:
        for one in given["attempts"]:
            fields = {name: value for name, value in one.items() if name != "refs"}
            for ref in one["refs"]:
                told = {name: text.replace("{}", ref) for name, text in fields.items()}
                memory.ingest({**told, "source_ref": f"{one['label']}:{ref}"}, user_id=USER)
        memory.aggregate(user_id=USER)
        memory.abstract(user_id=USER)
        found = [memory.get(one.id) for one in memory.get_all(user_id=USER, kinds=["principle"])]
    return {name: [getattr(one, name) for one in found] for name in ("condition", "action", "because", "watch_out")} | {
        "by_model": all(one.data["origin"] == "model" for one in found) and bool(found)
    }


RUNNERS: Final[Mapping[str, Callable[[CaseStore, Mapping[str, Any]], Observation]]] = {
    "summarise": _summarise,
    "plan": _plan,
    "learn": _learn,
    "reflect": _reflect,
    "questions": _reflect,
    "special_reflection": _reflect,
    "abstract": _abstract,
}
"""By role, what runs a case of it."""

MODELS: Final[Mapping[str, tuple[str, ...]]] = {
    "questions": ("questions", "reflect"),
    "special_reflection": ("reflect", "special_reflection"),
}
"""The roles that take part in the cases of a role, where it is not that alone."""
