"""PrecisionMemBench (tenurehq/precisionMemBench, MIT): is what must be found there, and how much comes with it.

The beliefs are written as items through the public API: the canonical name is the subject, the type the key, every
alias an item that says so. What was superseded or resolved is archived. Each case is one search in its scopes; a
question of no words is left to the pinned items.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from phronesis import Memory
from phronesis.core.ids import parse_id
from phronesis.errors import InputError
from phronesis.models.embedder import Embedder
from phronesis_benchmarks.datasets import read_list

DEPTH: Final = 10
"""Results of a case that count."""

_KINDS: Final = {
    "preference": "preference",
    "decision": "decision",
    "entity": "fact",
    "relation": "fact",
    "open_question": "task",
}
_ALIAS_KIND: Final = "profile"
_SEARCHED: Final = tuple(dict.fromkeys(_KINDS.values()))
_EVERYWHERE: Final = "user:universal"
_SLOTS: Final = ("pinnedFacts", "openQuestions", "relevantBeliefs")


@dataclass(frozen=True, slots=True)
class Case:
    """One question: what must be found, what else may be, and what came."""

    id: str
    query: str
    required: tuple[str, ...]
    wanted: tuple[str, ...]
    found: tuple[str, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """What must be found and was not."""
        return tuple(belief for belief in self.required if belief not in self.found)


@dataclass(frozen=True, slots=True)
class PrecisionReport:
    """``must_include``: share of required beliefs found, over the cases that require any, each counting once.

    ``wanted_found`` likewise with those that may come too; ``unwanted`` is the share of all results that neither list
    names. ``forbidden`` counts results that a case excludes.
    """

    must_include: float
    wanted_found: float
    unwanted: float
    forbidden: int
    requiring: int
    cases: tuple[Case, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)

    def to_markdown(self) -> str:
        """Return the figures, and the cases that miss something."""
        missed = [f"- {case.id} ({case.query!r:.60}): {', '.join(case.missing)}" for case in self.cases if case.missing]
        head = (
            f"{len(self.cases)} cases, the first {DEPTH} results of each.\n\n"
            "| mustInclude | cases that require any | wanted found | unwanted share | forbidden |\n"
            "|---|---|---|---|---|\n"
            f"| {self.must_include:.3f} | {self.requiring} | {self.wanted_found:.3f} | {self.unwanted:.3f}"
            f" | {self.forbidden} |"
        )
        return "\n".join([head, *(["", "Missed:", *missed] if missed else [])])


def run_precisionmembench(folder: Path, *, embedder: Embedder | None = None) -> PrecisionReport:
    """Write the beliefs of a copy of the benchmark and ask its retrieval cases; ``embedder`` None: the policy's own.

    Raises:
        InputError: a file is missing, or is not what it should be.
    """
    beliefs, raw = (read_list(folder / name, field="data") for name in ("beliefs.seed.json", "retrieval.cases.json"))
    with (
        tempfile.TemporaryDirectory(prefix="phronesis-bench-") as place,
        Memory.open(f"sqlite:///{Path(place) / 'memory.db'}", tenant="bench", embedder=embedder) as memory,
    ):
        try:
            names = dict(_write(memory, belief) for belief in beliefs)
            memory.flush()
            answered = [_ask(memory, case, names) for case in raw]
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"data: {folder} is not PrecisionMemBench's ({type(error).__name__}: {error})", field="data"
            ) from error
    cases = [case for case, _ in answered]
    requiring = [case for case in cases if case.required]
    wanting = [case for case in cases if case.wanted]
    shown = [(case, belief) for case in cases for belief in case.found]
    return PrecisionReport(
        must_include=_mean([1 - len(case.missing) / len(case.required) for case in requiring]),
        wanted_found=_mean([sum(b in case.found for b in case.wanted) / len(case.wanted) for case in wanting]),
        unwanted=_mean([float(belief not in case.wanted) for case, belief in shown]),
        forbidden=sum(count for _, count in answered),
        requiring=len(requiring),
        cases=tuple(cases),
    )


def _write(memory: Memory, belief: Mapping[str, Any]) -> tuple[str, str]:
    scope: dict[str, Any] = {"user_id": belief["user_id"]}
    subject = str(belief["canonical_name"]).replace("_", " ")
    added = memory.add(
        belief["content"],
        **scope,
        kind=_KINDS[belief["type"]],
        subject=subject,
        key=belief["type"],
        metadata={"scope": belief["scope"][0]},
    )
    [item] = added.items
    for alias in belief["aliases"]:
        memory.add(alias, **scope, kind=_ALIAS_KIND, subject=subject, key="alias", value=alias)
    if belief["pinned"]:
        memory.items.pin(item.id)
    if belief["epistemic_status"] == "superseded" or belief.get("resolved_at"):
        memory.items.archive(item.id)
    return str(parse_id(item.id, field="id")), str(belief["_id"])


def _ask(memory: Memory, case: Mapping[str, Any], names: Mapping[str, str]) -> tuple[Case, int]:
    expect = case["expect"]
    user = case.get("userId", "test-user")
    scopes = {"metadata.scope": {"in": [*case["scope"], _EVERYWHERE]}}
    if case["query"].strip():
        result = memory.search(case["query"], user_id=user, kinds=_SEARCHED, filters=scopes, limit=DEPTH)
        items = [evidence.item for evidence in result]
    else:
        items = [*memory.get_all(user_id=user, kinds=_SEARCHED, filters={**scopes, "pinned": True}, limit=DEPTH)]
    found = tuple(names[item.id] for item in items)
    required = _named(expect, "mustInclude")
    wanted = tuple(dict.fromkeys([*required, *_named(expect, "shouldOnlyInclude")]))
    # What one slot excludes another may hold: a pinned question is no fact.
    forbidden = [belief for belief in _named(expect, "mustExclude") if belief not in wanted]
    return Case(case["caseId"], case["query"], required, wanted, found), sum(belief in found for belief in forbidden)


def _named(expect: Mapping[str, Any], rule: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(belief for slot in _SLOTS for belief in expect.get(slot, {}).get(rule, ())))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
