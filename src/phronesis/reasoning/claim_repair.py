"""Repair the form of a refused block by rules, once, without changing its meaning (RB-16).

Words are not changed, claims not dropped, reasons and runs not invented, so a block that breaks a wording rule stays
refused. Each repair has a name, and the repaired block passes the gate again.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from phronesis.core.confidence import CLAIM_STATUSES
from phronesis.reasoning.laws.block_rules import MAX_BLOCK, SOURCES, STRING, UnreadableBlock, read_draft, read_json
from phronesis.reasoning.laws.records import CLAIMS, HEADER, KEYS

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
    name = next((key for key in KEYS if key == found[1].upper()), None)
    return None if name is None else (name, found.end())


def _join_claims(work: _RepairState, place: int) -> None:
    end = place + 1
    while end < len(work.lines) and not _KEY_LINE.match(work.lines[end]):
        end += 1
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
    steps = (("", _unchanged), ("curled_quotes", _straighten_quotes), ("trailing_comma", _without_last_commas))
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


def _unchanged(written: str) -> str:
    return written


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
