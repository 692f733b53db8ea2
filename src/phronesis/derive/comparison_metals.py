"""Metals in a sentence: pairs in their order, "Cu–Zn", "Cu3Zn1", "M1 is Cu"; a third metal is more than FACTS hold."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from phronesis.core.loading import once
from phronesis.derive.comparison_marks import Marked, Pair
from phronesis.derive.comparison_tables import load_table

_AMOUNT = r"(\d{1,3}(?:\.\d{1,4})?)?"
_ALONE = r"(?<![A-Za-z0-9])"
_ENDS = r"(?![A-Za-z0-9])"


@dataclass(frozen=True, slots=True)
class _Metals:
    names: Mapping[str, str]
    role: re.Pattern[str]
    as_role: re.Pattern[str]
    triple: re.Pattern[str]
    joined: re.Pattern[str]
    glued: re.Pattern[str]
    spelled: re.Pattern[str]
    alone: re.Pattern[str]


@once
def _metals() -> _Metals:
    table: Mapping[str, Any] = load_table()["metals"]
    symbols = table["symbols"].split()
    names = dict(pair.split("=") for pair in table["names"].split())
    metal = "(" + "|".join(sorted(symbols, key=len, reverse=True)) + ")"
    bare = "(" + "|".join(sorted(set(symbols) - set(table["words"].split()), key=len, reverse=True)) + ")"
    english = "(" + "|".join(name for name in names if name.isascii()) + ")"
    chinese = "(" + "|".join(name for name in names if not name.isascii()) + ")"
    one = f"(?:{metal}{_AMOUNT})"
    return _Metals(
        names=names,
        role=re.compile(rf"{_ALONE}M([12]) ?(?:=|:|is|was|being|为|是|选用|采用|取|用)? ?{metal}{_ENDS}时?"),
        as_role=re.compile(rf"(?:以|用)?{_ALONE}{metal} ?(?:as|作为|作|为|充当|当) ?(?:the )?M([12]){_ENDS}"),
        triple=re.compile(rf"{_ALONE}{one} ?[-/:] ?{one} ?[-/:] ?{one}{_ENDS}"),
        joined=re.compile(rf"{_ALONE}{metal}{_AMOUNT} ?(?:\( ?)?([-/:])(?: ?\))? ?{metal}{_AMOUNT}{_ENDS}"),
        glued=re.compile(rf"{_ALONE}{metal}{_AMOUNT}(){metal}{_AMOUNT}{_ENDS}"),
        spelled=re.compile(
            rf"\b{english} ?([-/:]) ?{english}\b|{chinese}([-/:]){chinese}"
            rf"|{chinese}{chinese}(?=基|体系|催化剂|双金属|合金|样品|组合|的|比)", re.IGNORECASE),
        alone=re.compile(rf"{_ALONE}{bare}{_ENDS}"),
    )  # fmt: skip


def mask_metals(marked: Marked, *, modifiers: Callable[[], None]) -> bool:
    """Mark roles, pairs and lone metals, the modifiers between roles and pairs; False where three metals are joined."""
    metals = _metals()
    marked.mask("G", metals.role, lambda match: {f"M{match[1]}": match[2]})
    marked.mask("G", metals.as_role, lambda match: {f"M{match[2]}": match[1]})
    modifiers()
    if metals.triple.search(marked.text):
        return False
    for pattern in (metals.joined, metals.glued):
        marked.mask("X", pattern, _pair)
    marked.mask("X", metals.spelled, lambda match: _spelled(match, metals.names))
    marked.mask("L", metals.alone, lambda match: match[1])
    return True


def _pair(match: re.Match[str]) -> Pair | None:
    first, amount, joint, second, other = match.groups()
    if first == second:
        return None
    if amount is None and other is None:
        return Pair(first, second, joint)
    low = float(other or 1)
    return None if not low else Pair(first, second, joint, float(amount or 1) / low)


def _spelled(match: re.Match[str], names: Mapping[str, str]) -> Pair | None:
    found = [names[word.lower()] for word in match.groups() if word and word.lower() in names]
    joint = next((word for word in match.groups() if word in ("-", "/", ":")), "")
    return Pair(found[0], found[1], joint) if found[0] != found[1] else None
