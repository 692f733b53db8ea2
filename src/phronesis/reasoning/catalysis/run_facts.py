"""FACTS of a catalyst's run (requirement RB-15): M1 and M2, their atomic ratio, the modifier and the products."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Any, Final

from phronesis.reasoning.laws.facts import MAX_FIELD, MAX_RAW, Facts, FactsView, excerpt, facts_of, summary_of
from phronesis.reasoning.laws.records import Feedback, Run, folded_name

MODIFIER: Final = ("modifier", "small_molecule_modifier")
"""Two names of one field; the first non-empty one counts."""

_CATALYST: Final = frozenset({"M1", "M2", "atomic_ratio", *MODIFIER})

_COLONS: Final = str.maketrans("∶/", "::")
_PART: Final = r"(\d{1,12}(?:\.\d{1,12})?)(%?)"
_RATIO: Final = re.compile(
    rf"(?:([a-z]{{1,3}}|m1)\s*+[:/-]\s*+([a-z]{{1,3}}|m2)\s*+(?:[=:]\s*+)?)?{_PART}(?:\s*+(?::|to|比)\s*+{_PART})?",
    re.IGNORECASE,
)


class CatalysisFacts:
    """FACTS builder for runs whose output has M1, M2, atomic_ratio and modifier (or small_molecule_modifier)."""

    name: Final = "catalysis"

    def recognises(self, fields: Mapping[str, Any]) -> bool:
        """Return whether an output names a metal, their ratio or a modifier."""
        return bool(_CATALYST & fields.keys())

    def facts(self, run: Run, feedback: Feedback) -> Facts:
        """Return FACTS with the four fields as written; those that cannot be parsed are listed as ``unresolved``."""
        fields = _fields(run)
        output: dict[str, Any] = {name: _shorten(value) for name, value in fields.items()}
        unread: list[str] = [
            name for name in ("M1", "M2", "modifier") if name in fields and _text(fields[name]) is None
        ]
        if "atomic_ratio" in fields and _ratio(fields) is None:
            unread.append("atomic_ratio")
        if unread:
            output["unresolved"] = unread
        if run.raw.strip():
            output["raw"] = excerpt(run.raw, MAX_RAW)
        return facts_of(run, feedback, output)

    def view(self, run: Run, feedback: Feedback) -> FactsView:
        """Return a view with M1, M2 and the modifier as names, and M1:M2 as the number ``ratio``."""
        fields = _fields(run)
        texts = {name: _text(fields.get(name)) for name in ("M1", "M2", "modifier")}
        ratio = _ratio(fields)
        return FactsView(
            run_id=run.run_id,
            label=_label(fields),
            named={name: text for name, text in texts.items() if text is not None},
            numbers={} if ratio is None else {"ratio": ratio},
            products=feedback.products,
        )

    def summary(self, facts: Facts) -> str:
        """Return the text by which candidate claims are searched."""
        label = _label(facts.run_output)
        return summary_of(facts, label or str(facts.run_output.get("raw", "")))


def modifier_of(run: Run) -> object:
    """Return the small-molecule modifier of a run as written, or None."""
    return _fields(run).get("modifier")


def atomic_ratio(written: object, m1: str = "", m2: str = "") -> float | None:
    """Return M1:M2 as a number, or None if the text is no ratio of two positive amounts.

    Accepted are "3:1", "3/1", "3∶1", "75%:25%", "3 to 1", "3", "Cu:Zn = 3:1" (in either order), 3, [3, 1] and {"Cu": 3,
    "Zn": 1}. "75%" alone is ambiguous (of all atoms, or of the other metal) and not accepted.
    """
    if isinstance(written, Mapping):
        parts = {folded_name(str(name)): amount for name, amount in written.items()}
        return atomic_ratio([parts.get(folded_name(m1)), parts.get(folded_name(m2))]) if m1 and m2 else None
    match written:
        case [first, second] if not isinstance(written, str):
            return _quotient(_number(first), _number(second))
        case str():
            return _ratio_of_text(written, m1, m2)
        case _:
            return _quotient(_number(written), 1.0)


def _ratio_of_text(text: str, m1: str, m2: str) -> float | None:
    found = _RATIO.fullmatch(unicodedata.normalize("NFKC", text[:MAX_FIELD]).translate(_COLONS).strip())
    if found is None or (found[4] and found[5] is None):
        return None
    ratio = _quotient(_number(found[3]), _number(found[5] or 1))
    if found[1] is None or ratio is None:
        return ratio
    metals, named = (folded_name(m1), folded_name(m2)), (folded_name(found[1]), folded_name(found[2]))
    if named in (metals, ("m1", "m2")):
        return ratio
    return 1 / ratio if named == metals[::-1] else None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _quotient(first: float | None, second: float | None) -> float | None:
    if first is None or second is None or not 0 < first < float("inf") or not 0 < second < float("inf"):
        return None
    quotient = first / second
    return quotient if 0 < quotient < float("inf") else None


def _fields(run: Run) -> dict[str, Any]:
    given = run.fields()
    fields = {name: given[name] for name in ("M1", "M2", "atomic_ratio") if _is_filled(given.get(name))}
    modifier = next((given[name] for name in MODIFIER if _is_filled(given.get(name))), None)
    return fields if modifier is None else {**fields, "modifier": modifier}


def _ratio(fields: Mapping[str, Any]) -> float | None:
    return atomic_ratio(fields.get("atomic_ratio"), *(_text(fields.get(name)) or "" for name in ("M1", "M2")))


def _is_filled(value: object) -> bool:
    return value is not None and value not in ("", [], {}) and not (isinstance(value, str) and not value.strip())


def _text(value: object) -> str | None:
    return value.strip() if isinstance(value, str) and value.strip() else None


def _shorten(value: object) -> object:
    """Return a short field as written, or the beginning of a long one as text."""
    if isinstance(value, str):
        return excerpt(value, MAX_FIELD)
    return value if len(str(value)) <= MAX_FIELD else excerpt(str(value), MAX_FIELD)


def _label(fields: Mapping[str, Any]) -> str:
    """Return a short label of the run's material: "Cu–Zn 3:1, imidazole"."""
    metals = "–".join(text for name in ("M1", "M2") if (text := _text(fields.get(name))))
    ratio = fields.get("atomic_ratio")
    if isinstance(ratio, list):
        ratio = ":".join(str(part) for part in ratio)
    shown = "" if ratio is None or isinstance(ratio, Mapping) else str(ratio).strip()
    modifier = _text(fields.get("modifier")) or ""
    return excerpt(", ".join(part for part in (f"{metals} {shown}".strip(), modifier) if part), MAX_FIELD)
