"""Runs of an agent and what came back of them, checked: what FACTS are assembled from (requirement RB-15)."""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from phronesis.core.canonical import plain
from phronesis.core.text import check_id, check_text
from phronesis.errors import InputError

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
        """Give the run as plain JSON, which `checked_run` reads again."""
        named = {"run_id": self.run_id} if self.run_id else {}
        known = {"output": dict(self.output), "raw": self.raw, "trace": self.trace, "memory_ids": list(self.memory_ids)}
        return {**named, **known, **self.extra}

    def fields(self) -> dict[str, Any]:
        """Give the members of ``output``; those that it lacks from the trace's ``final_output``, where there is one."""
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
        """Give the product as plain JSON."""
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
        """Give the feedback as plain JSON, which `checked_feedback` reads again."""
        texts = {"pros": self.pros, "cons": self.cons, "other": self.other}
        return {"products": [product.to_json() for product in self.products], **texts, **self.extra}

    def total(self) -> float | None:
        """Give the sum of the values of all products, whatever their order; None when no value was told."""
        values = [product.value for product in self.products if product.value is not None]
        return math.fsum(values) if values else None


@lru_cache(maxsize=4096)
def folded_name(name: str) -> str:
    """Give a name as it is compared: without case, width, kind of dash, and spaces around it or doubled."""
    wide = unicodedata.normalize("NFKC", name).casefold()
    return " ".join(unicodedata.normalize("NFKC", wide).translate(_DASHES).split())


def checked_run(given: object) -> Run:
    """Give a run as it can be stored, or raise InputError naming the field; unknown members are kept.

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
    """Give a feedback as it can be stored, or raise InputError naming the field; unknown members are kept.

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
