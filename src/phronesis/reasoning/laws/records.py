"""Records of the reasoning bank.

Claims and blocks, migration results, modifier reviews, and checked runs and feedback.
"""

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
"""The kind of item that holds claims."""

HEADER: Final = "RBMEM_CLAIMS_V1"
"""The first line of every block."""

TOPIC: Final = "TOPIC"
SCOPE: Final = "SCOPE"
CLAIMS: Final = "CLAIMS_JSON"
KEYS: Final = (TOPIC, SCOPE, CLAIMS)
"""The keys that mean something here, in the order in which they are written; further keys stand before the claims."""

MEMBERS: Final = (
    "claim_id", "status", "facts", "inference", "constraint", "allow_positive", "exception_reason", "conditions",
    "limitations", "support", "contra", "test",
)  # fmt: skip
"""The members of a claim that mean something here, in the order in which they are written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Runs that count for or against a claim, as they were written: at least as many as are named."""

    count: int = 0
    run_ids: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim as it is written. ``test`` is plain JSON that `claim_test.mistakes_of_test` finds nothing wrong with."""

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
    """What an item of reasoning holds. ``extra`` has the keys that nothing here knows, in their order."""

    topic: str = ""
    scope: str | None = None
    claims: tuple[Claim, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()


# Results of migrating old memories to claims (requirement RB-23).

MigrationStatus = Literal["migrated", "would_migrate", "already", "refused", "erased", "pending"]


@dataclass(frozen=True, slots=True)
class TakenOut(Record):
    """A statement that no claim holds, and why: ``kb_alias``, ``next_step``, ``question``, ``repeated``.

    Of ``kb_alias`` the statement stayed, without the alias.
    """

    why: str
    text: str


@dataclass(frozen=True, slots=True)
class MigratedSource(Record):
    """What became of one old memory.

    ``source`` is its citation (``mem:…``), the id that a file gave it, or its place there ("number 3"). ``blocks`` are
    the contents of the items that it became or would become, ``item_ids`` those items; ``diff`` the old text beside
    them. ``by`` is who rewrote it: the rules or a model. ``degraded``: a model was asked, and rules stood in.
    ``refused`` left it as it was, ``violations`` say why; ``already``: an earlier call did it;
    ``erased``: an earlier call did it, and its words were erased since, which no call brings back.
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
    """What became of every old memory, in their order. ``dry_run``: nothing was written."""

    sources: Sequence[MigratedSource]
    dry_run: bool = False

    @property
    def counts(self) -> Mapping[str, int]:
        """How many of each status there are, those that there are none of left out."""
        return dict(Counter(one.status for one in self.sources))

    @property
    def refused(self) -> Sequence[MigratedSource]:
        """Those that were left as they were."""
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
"""Why a review is not resolved; empty when it is. docs/reasoning-bank.md says what each means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(Record):
    """A compound of PubChem that a modifier's name may mean.

    ``has_cooh`` and ``has_carboxylate`` are None where its structure could not be looked at.
    """

    cid: int
    name: str | None = None
    smiles: str | None = None
    inchikey: str | None = None
    has_cooh: bool | None = None
    has_carboxylate: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Review(Record):
    """What PubChem says of a run's modifier, and whether it has a free carboxyl group –C(=O)OH.

    It judges nothing: whatever it says, the run stands. ``has_cooh`` is about the neutral acid; a salt or a zwitterion
    has a carboxylate (``has_carboxylate``), an ester has neither. ``matched`` gives the atoms of each group, under
    ``acid``, ``carboxylate`` and ``ester``: carbon, =O and –O by their places in ``smiles``, counted from 0.
    ``candidates`` are PubChem's compounds of that name, its best first. ``suggestion`` is for a person, in the language
    of the run, and empty where there is nothing to suggest. ``asked_at`` is when PubChem was asked.
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
"""Products of one feedback: far more than an analysis tells apart."""

MAX_MEMORIES: Final = 10_000
"""Memories that one run names as used."""

_RUN: Final = ("run_id", "output", "raw", "trace", "memory_ids")
_TEXTS: Final = ("pros", "cons", "other")
_NUMBERS: Final = ("value", "fraction")
_DASHES: Final = str.maketrans(dict.fromkeys("‐‑‒–—―−﹣－", "-"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What an agent did: its structured ``output``, the ``raw`` text, its ``trace``, the memories that it used.

    ``run_id`` is empty until the store gives one. ``extra`` holds the members that nothing here knows.
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
        """Return the members of ``output``.

        Those that it lacks from the trace's ``final_output``, where there is one.
        """
        final = self.trace.get("final_output") if isinstance(self.trace, Mapping) else None
        known = {name: value for name, value in self.output.items() if value is not None}
        return {**(final if isinstance(final, Mapping) else {}), **known}


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A product of a run: its ``value`` in the run's unit and its ``fraction`` of all; None where it was not told."""

    name: str
    value: float | None = None
    fraction: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the product as plain JSON."""
        return {"name": self.name, "value": self.value, "fraction": self.fraction, **self.extra}


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """What a run came to: its products, each once, and what people noted."""

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
        """Return the sum of the values of all products, whatever their order; None when no value was told."""
        values = [product.value for product in self.products if product.value is not None]
        return math.fsum(values) if values else None


@lru_cache(maxsize=4096)
def folded_name(name: str) -> str:
    """Return a name as it is compared: without case, width, kind of dash, and spaces around it or doubled."""
    wide = unicodedata.normalize("NFKC", name).casefold()
    return " ".join(unicodedata.normalize("NFKC", wide).translate(_DASHES).split())


def checked_run(given: object) -> Run:
    """Return a run as it can be stored, or raise InputError naming the field; unknown members are kept.

    It needs an ``output`` or a ``raw`` text. None counts as left out.
    """
    members = _members(given, "run")
    output = members.get("output")
    if not isinstance(output, Mapping | None):
        raise _refused("run.output", f"must be a mapping of fields, not {type(output).__name__}; free text goes to raw")
    raw = members.get("raw")
    raw = "" if raw is None else check_text(raw, field="run.raw", allow_empty=True)
    if not output and not raw.strip():
        raise _refused("run.output", "and run.raw are both empty; give what the run put out")
    run_id, memories = members.get("run_id"), members.get("memory_ids")
    if memories is not None and not _is_list(memories):
        raise _refused("run.memory_ids", f"must be a list of ids, not {type(memories).__name__}")
    if memories is not None and len(memories) > MAX_MEMORIES:
        raise _refused("run.memory_ids", f"names {len(memories):,} memories; at most {MAX_MEMORIES:,} are kept")
    ids = [check_id(one, field=f"run.memory_ids[{n}]") for n, one in enumerate(memories or ())]
    return Run(
        run_id="" if run_id is None else check_id(run_id, field="run.run_id"),
        output=plain(output or {}, field="run.output"),
        raw=raw,
        trace=plain(members.get("trace"), field="run.trace"),
        memory_ids=tuple(dict.fromkeys(ids)),
        extra=_extra(members, _RUN, "run"),
    )


def checked_feedback(given: object) -> Feedback:
    """Return a feedback as it can be stored, or raise InputError naming the field; unknown members are kept.

    A product may lack its value or its fraction. One that stands twice is refused: adding up is for who measured.
    """
    members = _members(given, "feedback")
    products = members.get("products")
    if products is not None and not _is_list(products):
        raise _refused("feedback.products", f"must be a list of products, not {type(products).__name__}")
    if products is not None and len(products) > MAX_PRODUCTS:
        raise _refused("feedback.products", f"has {len(products):,} products; at most {MAX_PRODUCTS:,} are kept")
    checked = tuple(_product(one, f"feedback.products[{n}]") for n, one in enumerate(products or ()))
    first: dict[str, int] = {}
    for n, product in enumerate(checked):
        earlier = first.setdefault(folded_name(product.name), n)
        if earlier != n:
            again = f"repeats {checked[earlier].name!r:.60} of products[{earlier}]"
            raise _refused(f"feedback.products[{n}].name", f"{again}; give each product once, its amounts added up")
    texts = {name: "" if members.get(name) is None
             else check_text(members[name], field=f"feedback.{name}", allow_empty=True) for name in _TEXTS}  # fmt: skip
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
        raise _refused(place, f"must be a number, not {given!r:.40}; leave it out when it was not measured")
    try:
        number = float(given)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _refused(place, f"must be a finite number, not {given!r:.40}; leave it out when it was not measured")
    if number < 0:
        raise _refused(place, f"must not be negative, as {given!r:.40} is: it is how much of the product there was")
    return number + 0.0


def _members(given: object, place: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise _refused(place, f"must be a mapping of its members, not {type(given).__name__}")
    return given


def _extra(members: Mapping[str, Any], known: Sequence[str], place: str) -> dict[str, Any]:
    kept: dict[str, Any] = plain({name: value for name, value in members.items() if name not in known}, field=place)
    return kept


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def _refused(place: str, what: str) -> InputError:
    return InputError(f"{place} {what}", field=place)
