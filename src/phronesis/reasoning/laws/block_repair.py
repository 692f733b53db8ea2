"""Repair the form of a block of claims, the one rewrite that the gate allows (RB-16).

The meaning stays: words are not changed, claims not dropped, reasons and runs not invented. Each repair has a name.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from phronesis.core.confidence import CLAIM_STATUSES
from phronesis.reasoning.laws.block_rules import MAX_BLOCK, STRING, UnreadableBlock, read_draft, read_json
from phronesis.reasoning.laws.records import CLAIMS, HEADER, KEYS

_FENCES: Final = ("```", "~~~")
_ANY_KEY: Final = re.compile(r"([A-Za-z_]{1,20})[ \t]{0,4}[=＝:：][ \t]{0,4}")
_KEY_LINE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}=")
_STRING_OR_COMMA: Final = re.compile(rf"({STRING.pattern})|,(?=\s{{0,40}}[\]}}])", re.DOTALL)
_ESCAPES: Final = {code: f"\\u{code:04x}" for code in range(0x20)} | {0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t"}


@dataclass(frozen=True, slots=True)
class RepairResult:
    """A block in valid form, and the names of the repairs applied."""

    text: str
    repairs: tuple[str, ...]


def repair(text: str) -> RepairResult | None:
    """Return the repaired block, or None if nothing needs repair or a repair would require guessing.

    Repaired are: a code fence around the block, blank lines before it, a first line with wrong case or spaces or
    missing, a known key's case, spaces or sign, JSON over several lines, a trailing comma, a status in another case,
    and a tally whose count is missing or lower than its runs.
    """
    if len(text) > MAX_BLOCK:
        return None
    repairs, written = [], text.removeprefix("\ufeff").replace("\r\n", "\n")
    for name, step in _STEPS.items():
        repaired = step(written)
        if repaired != written:
            repairs.append(name)
            written = repaired
    return RepairResult(written, tuple(repairs)) if repairs and not read_draft(written).mistakes else None


def _without_fence(text: str) -> str:
    whole = text.strip("\ufeff \t\n")
    is_fenced = whole.startswith(_FENCES) and whole.endswith(whole[:3]) and "\n" in whole
    return whole.partition("\n")[2][:-3].rstrip() if is_fenced else text


def _with_header(text: str) -> str:
    first, _, rest = text.partition("\n")
    if re.sub(r"[ \t_-]{1,9}", "_", first[:80].strip().upper()) == HEADER:
        return f"{HEADER}\n{rest}"
    return text if _known_key(first) is None else f"{HEADER}\n{text}"


def _with_keys(text: str) -> str:
    """Return a text with the known keys in capitals, before an equals sign without spaces."""
    lines = text.split("\n")
    for n, line in enumerate(lines):
        found = _known_key(line)
        if found is not None and not line.startswith(f"{found[1].upper()}="):
            lines[n] = f"{found[1].upper()}={line[found.end() :]}"
    return "\n".join(lines)


def _known_key(line: str) -> re.Match[str] | None:
    found = _ANY_KEY.match(line)
    return found if found is not None and found[1].upper() in KEYS else None


def _on_one_line(text: str) -> str:
    """Return a text with the claims in one line: a line break inside a string is part of it, others are none."""
    lines = text.split("\n")
    place = next((n for n, line in enumerate(lines) if line.startswith(f"{CLAIMS}=")), len(lines))
    end = next((n for n in range(place + 1, len(lines)) if _KEY_LINE.match(lines[n])), len(lines))
    whole = "\n".join(lines[place:end]).rstrip()
    if "\n" not in whole:
        return text
    joined = STRING.sub(lambda found: found[0].translate(_ESCAPES), whole).replace("\n", " ")
    return "\n".join([*lines[:place], joined, *lines[end:]])


def _in_claims(change: Callable[[str], str]) -> Callable[[str], str]:
    """Return a step that changes the JSON of the claims alone."""

    def step(text: str) -> str:
        before, mark, rest = text.partition(f"\n{CLAIMS}=")
        claims, end, after = rest.partition("\n")
        return f"{before}{mark}{change(claims)}{end}{after}" if mark else text

    return step


def _without_last_commas(claims: str) -> str:
    try:
        read_json(claims)
    except UnreadableBlock:
        return _STRING_OR_COMMA.sub(lambda found: found[1] or "", claims)
    return claims


def _in_each_claim(change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> Callable[[str], str]:
    """Return a step that replaces members of the claims."""

    def step(claims: str) -> str:
        try:
            members = read_json(claims)
        except UnreadableBlock:
            return claims
        listed = members if isinstance(members, list) else []
        changed = [{**one, **change(one)} if isinstance(one, dict) else one for one in listed]
        return json.dumps(changed, ensure_ascii=False, separators=(",", ":")) if changed != listed else claims

    return _in_claims(step)


def _folded_status(claim: dict[str, Any]) -> Mapping[str, Any]:
    status = claim.get("status")
    folded = status.strip().lower() if isinstance(status, str) else ""
    return {"status": folded} if folded in CLAIM_STATUSES else {}


def _counted_tallies(claim: dict[str, Any]) -> Mapping[str, Any]:
    """Return the tallies as objects that count at least the runs that they name."""
    counted = {}
    for name in ("support", "contra"):
        tally = {"run_ids": claim[name]} if isinstance(claim.get(name), list) else claim.get(name)
        if isinstance(tally, dict):
            runs, count = tally.get("run_ids"), tally.get("count")
            known = len(runs) if isinstance(runs, list) else 0
            wrong = count is None or (type(count) is int and 0 <= count < known)
            counted[name] = {**tally, "count": known} if wrong else tally
    return counted


_STEPS: Final[Mapping[str, Callable[[str], str]]] = {
    "code_fence": _without_fence,
    "blank_start": lambda text: text.lstrip("\ufeff \t\n"),
    "header": _with_header,
    "key": _with_keys,
    "one_line": _on_one_line,
    "trailing_comma": _in_claims(_without_last_commas),
    "status_case": _in_each_claim(_folded_status),
    "tally_count": _in_each_claim(_counted_tallies),
}
