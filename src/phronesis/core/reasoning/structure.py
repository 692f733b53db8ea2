"""What each claim of a block must be, as rules of their own. A rule looks at one draft and gives what breaks it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from phronesis.core.reasoning.claim_test import mistakes_of_test
from phronesis.core.reasoning.draft import MAX_VIOLATIONS, PROTOCOL, Draft
from phronesis.core.state_machine import CLAIM_STATUSES
from phronesis.core.text import check_id
from phronesis.errors import InputError, Violation

MAX_CLAIMS: Final = 10
"""Claims in one item (RB-04)."""

SOURCES: Final = "source_run_ids"
"""The member of ``facts`` that names the runs they come from."""

_TEXTS: Final = ("inference", "constraint", "exception_reason")
_LISTS: Final = ("conditions", "limitations")
_TALLIES: Final = ("support", "contra")


@dataclass(frozen=True, slots=True)
class StructureRule:
    """A rule with its name, what it asks, and the function that finds what breaks it."""

    name: str
    asks: str
    check: Callable[[Draft], Iterator[Violation]]


def protocol(draft: Draft) -> Iterator[Violation]:
    """The first line, ``KEY=VALUE`` lines, each key once, one line of strict JSON."""
    yield from draft.mistakes


def claims_limit(draft: Draft) -> Iterator[Violation]:
    """At most ten claims (RB-04). None at all is lawful: a claim shown wrong is deleted, the last one too."""
    count = len(draft.members or ())
    if count > MAX_CLAIMS:
        yield draft.mistake("claims_limit", f"{count} claims; an item has at most {MAX_CLAIMS}: split it")


def claim_id_unique(draft: Draft) -> Iterator[Violation]:
    """No id twice: what is verified moves, it is not copied (RB-08)."""
    first: dict[str, int] = {}
    for n, claim in draft.claims():
        claim_id = claim.get("claim_id")
        if not isinstance(claim_id, str):
            continue
        if claim_id in first:
            yield draft.mistake("claim_id_unique", f"claims[{n}].claim_id repeats that of claims[{first[claim_id]}]; a"
                                                   " claim that changes keeps its place and its id", claim)  # fmt: skip
        first.setdefault(claim_id, n)


def claim_status(draft: Draft) -> Iterator[Violation]:
    """One of three statuses, in small letters (RB-02, RB-03)."""
    for n, claim in draft.claims():
        status = claim.get("status")
        if status not in CLAIM_STATUSES:
            allowed = ", ".join(CLAIM_STATUSES)
            yield draft.mistake(
                "claim_status", f"claims[{n}].status must be one of {allowed}, not {status!r:.40}", claim
            )


def facts_missing(draft: Draft) -> Iterator[Violation]:
    """``facts`` is an object that names the runs it comes from, one at least (RB-02)."""
    for n, claim in draft.claims():
        facts = claim.get("facts")
        if not isinstance(facts, Mapping):
            found = "is missing" if facts is None else f"must be an object, not {type(facts).__name__}"
            yield draft.mistake("facts_missing", f"claims[{n}].facts {found}", claim)
            continue
        runs = facts.get(SOURCES)
        if not isinstance(runs, list) or not runs or not all(_is_id(run) for run in runs):
            message = f"claims[{n}].facts.{SOURCES} must list the ids of the runs it comes from, one at least"
            yield draft.mistake("facts_missing", message, claim)


def claim_fields(draft: Draft) -> Iterator[Violation]:
    """Members have their types; a claim says something: an inference or a constraint."""
    for n, member in enumerate(draft.members or ()):
        if not isinstance(member, Mapping):
            yield draft.mistake("claim_fields", f"claims[{n}] must be an object, not {type(member).__name__}")
            continue
        for message in _field_mistakes(member):
            yield draft.mistake("claim_fields", f"claims[{n}]{message}", member)


def tallies(draft: Draft) -> Iterator[Violation]:
    """``support`` and ``contra`` count at least the runs they name. They are kept as written."""
    for n, claim in draft.claims():
        for name in _TALLIES:
            message = _tally_mistake(claim.get(name))
            if message is not None:
                yield draft.mistake("tallies", f"claims[{n}].{name}{message}", claim)


def claim_test(draft: Draft) -> Iterator[Violation]:
    """A ``test`` is one by which a run can be judged."""
    for n, claim in draft.claims():
        if claim.get("test") is not None:
            for message in mistakes_of_test(claim["test"]):
                yield draft.mistake("claim_test", f"claims[{n}].test{message}", claim)


STRUCTURE: Final = (
    StructureRule(PROTOCOL, "the form of RBMEM_CLAIMS_V1", protocol),
    StructureRule("claims_limit", "at most ten claims", claims_limit),
    StructureRule("claim_status", "fact, hypothesis or conclusion", claim_status),
    StructureRule("claim_id_unique", "no claim id twice", claim_id_unique),
    StructureRule("facts_missing", "facts with the ids of their runs", facts_missing),
    StructureRule("claim_fields", "members of the right type, and something said", claim_fields),
    StructureRule("tallies", "support and contra count the runs they name", tallies),
    StructureRule("claim_test", "a test that can judge a run", claim_test),
)  # fmt: skip
"""In the order in which violations are listed."""


def structure_violations(draft: Draft) -> list[Violation]:
    """Give what breaks the rules of structure, rule by rule, the first hundred."""
    return list(islice((found for rule in STRUCTURE for found in rule.check(draft)), MAX_VIOLATIONS))


def _field_mistakes(claim: Mapping[str, Any]) -> Iterator[str]:
    if not _is_id(claim.get("claim_id")):
        yield f".claim_id must be a short text, not {claim.get('claim_id')!r:.40}"
    for name in _TEXTS:
        if not isinstance(claim.get(name), str | None):
            yield f".{name} must be a text, not {type(claim[name]).__name__}"
    for name in _LISTS:
        texts = claim.get(name)
        if texts is not None and not (isinstance(texts, list) and all(_is_said(text) for text in texts)):
            yield f".{name} must be a list of texts, none of them empty"
    if not isinstance(claim.get("allow_positive"), bool | None):
        yield f".allow_positive must be true or false, not {claim['allow_positive']!r:.40}"
    if not _is_said(claim.get("inference")) and not _is_said(claim.get("constraint")):
        yield " says nothing: it has neither an inference nor a constraint"


def _tally_mistake(tally: object) -> str | None:
    if tally is None:
        return None
    if not isinstance(tally, Mapping):
        return f" must be an object {{count, run_ids}}, not {type(tally).__name__}"
    runs = tally.get("run_ids")
    runs = [] if runs is None else runs
    if not isinstance(runs, list) or not all(_is_id(run) for run in runs) or len(set(runs)) < len(runs):
        return ".run_ids must list ids of runs, each once"
    count = tally.get("count")
    if not isinstance(count, int) or isinstance(count, bool) or count < len(runs):
        return f".count must be a whole number, at least that of its run_ids ({len(runs)}), not {count!r:.40}"
    return None


def _is_id(value: object) -> bool:
    try:
        check_id(value, field="id")
    except InputError:
        return False
    return True


def _is_said(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
