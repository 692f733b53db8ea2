"""Claims and blocks, results of migrations, reviews of modifiers, and checked runs and feedback."""

import math
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, Literal

from phronesis.core.confidence import ClaimStatus
from phronesis.core.results import Degraded
from phronesis.core.serialization import Record, plain
from phronesis.core.text import check_id, check_text
from phronesis.errors import InputError, Violation

# Blocks and claims (requirements RB-01, RB-02).

REASONING: Final = "reasoning"
"""Kind of an item that holds claims."""

CLAIM: Final = "claim"
"""Prefix of the part of a claim's search document: ``claim:<claim_id>``."""

HEADER: Final = "RBMEM_CLAIMS_V1"
"""First line of every block."""

TOPIC: Final = "TOPIC"
SCOPE: Final = "SCOPE"
CLAIMS: Final = "CLAIMS_JSON"
KEYS: Final = (TOPIC, SCOPE, CLAIMS)
"""Known keys in written order; unknown keys precede the claims."""

_WORDS: Final = ("inference", "constraint", "allow_positive", "exception_reason", "conditions", "limitations")
MEMBERS: Final = ("claim_id", "status", "facts", *_WORDS, "support", "contra", "test")
"""Known members of a claim, in written order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Runs that count for or against a claim, as written: at least as many as are named."""

    count: int = 0
    run_ids: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim as written. ``test`` is plain JSON in which `claim_test.validate_test` finds no error."""

    claim_id: str
    status: ClaimStatus
    facts: Mapping[str, Any]
    inference: str = ""
    constraint: str = ""
    allow_positive: bool = False
    exception_reason: str = ""
    conditions: tuple[str, ...] = ()
    limitations: tuple[str, ...] = ()
    support: Tally = field(default_factory=Tally)
    contra: Tally = field(default_factory=Tally)
    test: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningBlock:
    """The content of a reasoning item. ``extra`` holds unknown keys in their order."""

    topic: str = ""
    scope: str | None = None
    claims: tuple[Claim, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()


# Results of migrating old memories to claims (requirement RB-23).

MigrationStatus = Literal["migrated", "would_migrate", "already", "refused", "erased", "pending"]


@dataclass(frozen=True, slots=True)
class TakenOut(Record):
    """A statement left out of the claims, and why: ``kb_alias``, ``next_step``, ``question``, ``repeated``.

    With ``kb_alias`` the statement is kept without the alias.
    """

    why: str
    text: str


@dataclass(frozen=True, slots=True)
class MigratedSource(Record):
    """The result of migrating one old memory.

    ``source`` is its citation (``mem:…``), its id in a file, or its position there ("number 3"). ``blocks`` are the
    contents of the resulting items, ``item_ids`` those items; ``diff`` compares with the old text. ``by`` is the rules
    or a model. ``degraded``: a model was asked, and rules replaced it. ``refused`` left it unchanged, and
    ``violations`` say why; ``already``: an earlier call migrated it; ``erased``: an earlier call migrated it, and its
    text was erased since.
    """

    source: str
    status: MigrationStatus
    entry_id: str | None = None
    item_ids: Sequence[str] = ()
    blocks: Sequence[str] = ()
    diff: str = ""
    taken_out: Sequence[TakenOut] = ()
    violations: Sequence[Violation] = ()
    by: str = ""
    degraded: Sequence[Degraded] = ()


@dataclass(frozen=True, slots=True)
class MigrationResult(Record):
    """The results for all old memories, in order. ``dry_run``: nothing was written."""

    sources: Sequence[MigratedSource]
    dry_run: bool = False

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of memories by status, without zeros."""
        return dict(Counter(one.status for one in self.sources))

    @property
    def refused(self) -> Sequence[MigratedSource]:
        """The memories that were left unchanged."""
        return [one for one in self.sources if one.status == "refused"]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values, the counts too."""
        return {**Record.to_dict(self), "counts": dict(self.counts)}


# Reviews of the small molecule that a run names as its modifier (requirements RB-21, RB-22).

ReviewStatus = Literal["resolved", "unresolved", "pending"]

ReviewReason = Literal[
    "",
    "ambiguous",
    "bad_smiles",
    "busy",
    "looking_up",
    "never_asked",
    "no_http_client",
    "no_modifier",
    "no_rdkit",
    "no_structure",
    "not_found",
    "refused",
    "timeout",
    "unreachable",
    "unreadable_answer",
    "unreadable_modifier",
]
"""Why a review is not resolved; empty when it is. docs/how-to/reasoning.md says what a review is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(Record):
    """A PubChem compound that a modifier's name may mean.

    ``has_cooh`` and ``has_carboxylate`` are None where its structure could not be examined.
    """

    cid: int
    name: str | None = None
    smiles: str | None = None
    inchikey: str | None = None
    has_cooh: bool | None = None
    has_carboxylate: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Review(Record):
    """PubChem's information on a run's modifier, and whether it has a free carboxyl group –C(=O)OH.

    It is informative only: the run is kept in any case. ``has_cooh`` is about the neutral acid; a salt or a zwitterion
    has a carboxylate (``has_carboxylate``), an ester has neither. ``matched`` gives the atoms of each group, under
    ``acid``, ``carboxylate`` and ``ester``: the indices of carbon, =O and –O in ``smiles``, counted from 0.
    ``candidates`` are PubChem's compounds of that name, its best first. ``suggestion`` is for a person, in the language
    of the run, and may be empty. ``asked_at`` is when PubChem was asked.
    """

    run_id: str
    modifier: str | None
    status: ReviewStatus
    reason: ReviewReason = ""
    cid: int | None = None
    name: str | None = None
    smiles: str | None = None
    inchikey: str | None = None
    has_cooh: bool | None = None
    has_carboxylate: bool | None = None
    matched: Mapping[str, Sequence[Sequence[int]]] = field(default_factory=dict)
    candidates: Sequence[Candidate] = ()
    suggestion: str = ""
    asked_at: datetime | None = None


MAX_PRODUCTS: Final = 1_000
"""Maximum products of one feedback: far more than an analysis distinguishes."""

MAX_MEMORIES: Final = 10_000
"""Maximum memories that one run lists as used."""

_RUN: Final = ("run_id", "output", "raw", "trace", "memory_ids")
_TEXTS: Final = ("pros", "cons", "other")
_NUMBERS: Final = ("value", "fraction")
_DASHES: Final = str.maketrans(dict.fromkeys("‐‑‒–—―−﹣－", "-"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """An agent's run: its structured ``output``, the ``raw`` text, its ``trace``, and the memories that it used.

    ``run_id`` is empty until the store assigns one. ``extra`` holds unknown members.
    """

    run_id: str = ""
    output: Mapping[str, Any] = field(default_factory=dict)
    raw: str = ""
    trace: Any = None
    memory_ids: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the run as plain JSON, which `checked_run` reads again."""
        named = {"run_id": self.run_id} if self.run_id else {}
        known = {"output": dict(self.output), "raw": self.raw, "trace": self.trace, "memory_ids": list(self.memory_ids)}
        return {**named, **known, **self.extra}

    def fields(self) -> dict[str, Any]:
        """Return the members of ``output``. Missing ones are taken from the trace's ``final_output``, if it has any."""
        final = self.trace.get("final_output") if isinstance(self.trace, Mapping) else None
        known = {name: value for name, value in self.output.items() if value is not None}
        return {**(final if isinstance(final, Mapping) else {}), **known}


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A product of a run: its ``value`` in the run's unit and its ``fraction`` of the total; None if not given."""

    name: str
    value: float | None = None
    fraction: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the product as plain JSON."""
        return {"name": self.name, "value": self.value, "fraction": self.fraction, **self.extra}


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """The result of a run: its products, each once, and notes."""

    products: tuple[Product, ...] = ()
    pros: str = ""
    cons: str = ""
    other: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the feedback as plain JSON, which `checked_feedback` reads again."""
        texts = {"pros": self.pros, "cons": self.cons, "other": self.other}
        return {"products": [product.to_json() for product in self.products], **texts, **self.extra}

    def total(self) -> float | None:
        """Return the sum of the values of all products, independent of their order; None when no value was given."""
        values = [product.value for product in self.products if product.value is not None]
        return math.fsum(values) if values else None


@lru_cache(maxsize=4096)
def folded_name(name: str) -> str:
    """Return a name normalised for comparison: case, width, kind of dash, surrounding and repeated spaces."""
    wide = unicodedata.normalize("NFKC", name).casefold()
    return " ".join(unicodedata.normalize("NFKC", wide).translate(_DASHES).split())


def checked_run(given: object) -> Run:
    """Return a run in storable form; InputError names the field; unknown members are kept.

    It needs an ``output`` or a ``raw`` text. None counts as absent.
    """
    members = _members(given, "run")
    output = members.get("output")
    if not isinstance(output, Mapping | None):
        raise _field_error(
            "run.output", f"must be a mapping of fields, not {type(output).__name__}; free text goes to raw"
        )
    raw = members.get("raw")
    raw = "" if raw is None else check_text(raw, field="run.raw", allow_empty=True)
    if not output and not raw.strip():
        raise _field_error("run.output", "and run.raw are both empty; give what the run put out")
    run_id, memories = members.get("run_id"), _listed(members.get("memory_ids"), "run.memory_ids", "ids")
    if len(memories) > MAX_MEMORIES:
        raise _field_error("run.memory_ids", f"names {len(memories):,} memories; at most {MAX_MEMORIES:,} are kept")
    ids = [check_id(one, field=f"run.memory_ids[{n}]") for n, one in enumerate(memories)]
    return Run(
        run_id="" if run_id is None else check_id(run_id, field="run.run_id"),
        output=plain(output or {}, field="run.output"),
        raw=raw,
        trace=plain(members.get("trace"), field="run.trace"),
        memory_ids=tuple(dict.fromkeys(ids)),
        extra=_extra(members, _RUN, "run"),
    )


def checked_feedback(given: object) -> Feedback:
    """Return a feedback in storable form; InputError names the field; unknown members are kept.

    A product may lack its value or its fraction. A repeated product is refused: the caller must add them up.
    """
    members = _members(given, "feedback")
    products = _listed(members.get("products"), "feedback.products", "products")
    if len(products) > MAX_PRODUCTS:
        raise _field_error("feedback.products", f"has {len(products):,} products; at most {MAX_PRODUCTS:,} are kept")
    checked = tuple(_product(one, f"feedback.products[{n}]") for n, one in enumerate(products))
    first: dict[str, int] = {}
    for n, product in enumerate(checked):
        if (earlier := first.setdefault(folded_name(product.name), n)) != n:
            again = f"repeats {checked[earlier].name!r:.60} of products[{earlier}]"
            raise _field_error(f"feedback.products[{n}].name", f"{again}; give each product once, its amounts added up")
    texts = {
        name: "" if members.get(name) is None else check_text(members[name], field=f"feedback.{name}", allow_empty=True)
        for name in _TEXTS
    }
    return Feedback(products=checked, **texts, extra=_extra(members, ("products", *_TEXTS), "feedback"))


def _product(given: object, place: str) -> Product:
    members = _members(given, place)
    name = check_id(members.get("name"), field=f"{place}.name").strip()
    value, fraction = (_amount(members.get(number), f"{place}.{number}") for number in _NUMBERS)
    return Product(name=name, value=value, fraction=fraction, extra=_extra(members, ("name", *_NUMBERS), place))


def _amount(given: object, place: str) -> float | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise _field_error(place, f"must be a number, not {given!r:.40}; leave it out when it was not measured")
    try:
        number = float(given)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _field_error(place, f"must be a finite number, not {given!r:.40}; leave it out when it was not measured")
    if number < 0:
        raise _field_error(place, f"must not be negative, as {given!r:.40} is: it is how much of the product there was")
    return number + 0.0


def _members(given: object, place: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise _field_error(place, f"must be a mapping of its members, not {type(given).__name__}")
    return given


def _extra(members: Mapping[str, Any], known: Sequence[str], place: str) -> dict[str, Any]:
    kept: dict[str, Any] = plain({name: value for name, value in members.items() if name not in known}, field=place)
    return kept


def _listed(given: object, place: str, of: str) -> Sequence[Any]:
    if given is not None and (not isinstance(given, Sequence) or isinstance(given, str | bytes | bytearray)):
        raise _field_error(place, f"must be a list of {of}, not {type(given).__name__}")
    return given or ()


def _field_error(place: str, what: str) -> InputError:
    return InputError(f"{place} {what}", field=place)
