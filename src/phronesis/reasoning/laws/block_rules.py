"""Read a block leniently into a `Draft` (strict JSON included), and the structure rules that list its violations."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from phronesis.core.confidence import CLAIM_STATUSES
from phronesis.core.serialization import MAX_DEPTH
from phronesis.core.text import check_id, is_storable
from phronesis.errors import InputError, Violation
from phronesis.reasoning.laws.facts import validate_test
from phronesis.reasoning.laws.records import CLAIMS, HEADER, KEYS

# Strict JSON: no duplicate members, no NaN, bounded depth, nothing that cannot be stored.

# Possessive, and the closing quote may be missing: each character is visited once, even in malformed input.
STRING: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_BRACKET: Final = re.compile(r"[\[\]{}]")
_LARGEST: Final = 1 << 63


class UnreadableBlock(ValueError):
    """Text that is not JSON in the accepted form; the message says what is wrong and where."""


def read_json(text: str) -> Any:
    """Return the value of a JSON text, or raise Unreadable.

    Python's parser would accept NaN, keep the last of duplicate members, and recurse to any depth.
    """
    _check_depth(text)
    try:
        value = json.loads(text, object_pairs_hook=_distinct, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise UnreadableBlock(f"no JSON at character {error.pos + 1}: {error.msg}") from error
    except UnreadableBlock:
        raise
    except ValueError as error:  # an integer of thousands of digits
        raise UnreadableBlock(f"no JSON: {error}") from error
    for inner in iterate_leaves(value):
        _check_leaf(inner)
    return value


def iterate_leaves(value: Any) -> Iterator[Any]:
    """Yield every string, number, boolean and null in a JSON value, and the member names, in order."""
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, dict):
            for name, member in reversed(inner.items()):
                waiting += (member, name)
        elif isinstance(inner, list):
            waiting += reversed(inner)
        else:
            yield inner


def _check_depth(text: str) -> None:
    depth = 0
    for bracket in _BRACKET.finditer(STRING.sub('""', text)):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > MAX_DEPTH:
            raise UnreadableBlock(f"nested more than {MAX_DEPTH} levels deep")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        counted = Counter(name for name, _ in pairs)
        twice = max(counted, key=counted.__getitem__)
        raise UnreadableBlock(f"an object has the member {twice!r:.80} twice")
    return value


def _no_constant(name: str) -> float:
    raise UnreadableBlock(f"{name} is no JSON number")


def _check_leaf(value: Any) -> None:
    if isinstance(value, str) and not is_storable(value):
        raise UnreadableBlock(f"a text holds NUL or half a surrogate pair: {value!r:.60}")
    if isinstance(value, float) and not math.isfinite(value):
        raise UnreadableBlock("a number is too large for a double")
    if isinstance(value, int) and abs(value) >= _LARGEST:
        raise UnreadableBlock("an integer has more than 64 bits; write it as a string")


# Reading the lines of a block into a draft, valid or not.

PROTOCOL: Final = "protocol"
"""Name of the rule of form: first line, ``KEY=VALUE`` lines, one line of JSON."""

MAX_BLOCK: Final = 1_000_000
"""Maximum characters of a block: ten claims of 100,000 each, far more than shortened FACTS hold."""

MAX_VIOLATIONS: Final = 100
"""Maximum violations listed per block."""

MAX_KEY: Final = 64
"""Maximum characters of a key."""

_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_BREAKING: Final = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SHOWN: Final = 40


@dataclass(slots=True)
class Draft:
    """A block as read. ``members`` are the claims, of any JSON type; None when they could not be parsed.

    ``loose`` are the numbers of lines after the claims that are no ``KEY=VALUE``: usually JSON over several lines.
    ``item_status`` is that of the item that would hold the block.
    """

    text: str
    values: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    members: Sequence[Any] | None = None
    mistakes: list[Violation] = field(default_factory=list)
    loose: list[int] = field(default_factory=list)
    item_status: object = "active"

    @property
    def extra(self) -> tuple[tuple[str, str], ...]:
        """Unknown keys with their values, in the order of the lines."""
        return tuple((key, value) for key, value in self.values.items() if key not in KEYS)

    def claims(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield the claims that are objects, each with its index from 0."""
        for n, member in enumerate(self.members or ()):
            if isinstance(member, Mapping):
                yield n, member

    def mistake(self, rule: str, message: str, member: Mapping[str, Any] | None = None) -> Violation:
        """Return a violation in the claims' line, of this claim."""
        claim_id = None if member is None else member.get("claim_id")
        known = claim_id if isinstance(claim_id, str) else None
        return Violation(rule=rule, message=message, line=self.lines.get(CLAIMS), key=CLAIMS, claim_id=known)


def read_draft(text: str) -> Draft:
    """Read a block as far as possible; violations of form are in ``mistakes``. Never raises.

    A byte order mark before the first line, CR at line ends and blank lines after the first are ignored.
    """
    draft = Draft(text)
    if len(text) > MAX_BLOCK:
        draft.mistakes.append(_wrong(f"the block has {len(text):,} characters; at most {MAX_BLOCK:,} are read"))
        return draft
    lines = [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
    if lines[0] != HEADER:
        draft.mistakes.append(_wrong(f"the first line must be {HEADER}, not {lines[0][:_SHOWN]!r}", 1))
    # A block without its first line is still recognisable by its keys.
    for number, line in enumerate(lines, 1):
        if len(draft.mistakes) == MAX_VIOLATIONS:
            return draft
        if line.strip() and (number > 1 or line.startswith(tuple(f"{key}=" for key in KEYS))):
            _read_line(draft, number, line)
    if CLAIMS in draft.values:
        _read_claims(draft)
    elif not any(mistake.key == CLAIMS for mistake in draft.mistakes):
        draft.mistakes.append(_wrong(f"there is no line {CLAIMS}=[…]", key=CLAIMS))
    return draft


def _read_line(draft: Draft, number: int, line: str) -> None:
    key, equals, value = line.partition("=")
    wrong = _key_mistake(key)
    known: str | None = next((name for name in KEYS if name == key.partition("＝")[0].strip().upper()), None)
    if wrong is None and not (equals and len(key) <= MAX_KEY and _KEY.fullmatch(key)):
        if CLAIMS in draft.values:
            draft.loose.append(number)
            return
        wrong = f"{key[:_SHOWN]!r} is no KEY=VALUE line: a key is letters, digits, '_', '.' and '-', a letter first"
    if wrong is None and key in draft.values:
        known, wrong = key, f"{key} stands twice; it was on line {draft.lines[key]}"
    if wrong is None:
        draft.values[key], draft.lines[key] = value, number
        bad = None if key == CLAIMS else _BREAKING.search(value)  # the JSON reader reports these itself
        if bad is None:
            return
        known, wrong = key, f"{key} holds the control character {bad[0]!r}; a value is one line of text"
    draft.mistakes.append(_wrong(wrong, number, known))


def _key_mistake(key: str) -> str | None:
    if "＝" in key:
        return f"{key[:_SHOWN]!r}: the sign ＝ is full-width; write ="
    if key not in KEYS and key.strip().upper() in KEYS:
        return f"{key[:_SHOWN]!r}: write {key.strip().upper()}= in capitals, without spaces"
    return None


def _read_claims(draft: Draft) -> None:
    if draft.loose:
        where = f"line {draft.loose[0]} is" if len(draft.loose) == 1 else f"lines from {draft.loose[0]} on are"
        message = f"{CLAIMS} must be one line; {where} no KEY=VALUE"
        draft.mistakes.append(Violation(rule=PROTOCOL, message=message, line=draft.loose[0], key=CLAIMS))
    try:
        value = read_json(draft.values[CLAIMS])
    except UnreadableBlock as error:
        draft.mistakes.append(draft.mistake(PROTOCOL, f"{CLAIMS}: {error}"))
        return
    if isinstance(value, list):
        draft.members = value
    else:
        message = f"{CLAIMS} must be an array of claims, not {type(value).__name__}"
        draft.mistakes.append(draft.mistake(PROTOCOL, message))


def _wrong(message: str, line: int | None = None, key: str | None = None) -> Violation:
    return Violation(rule=PROTOCOL, message=message, line=line, key=key)


MAX_CLAIMS: Final = 10
"""Maximum claims in one item (RB-04)."""

SOURCES: Final = "source_run_ids"
"""Member of ``facts`` that names the source runs."""


def protocol(draft: Draft) -> Iterator[Violation]:
    """Require the first line, ``KEY=VALUE`` lines, each key once, and one line of strict JSON."""
    yield from draft.mistakes


def claims_limit(draft: Draft) -> Iterator[Violation]:
    """Require at most ten claims (RB-04). None is valid: a refuted claim is deleted, even the last one."""
    count = len(draft.members or ())
    if count > MAX_CLAIMS:
        yield draft.mistake("claims_limit", f"{count} claims; an item has at most {MAX_CLAIMS}: split it")


def claim_id_unique(draft: Draft) -> Iterator[Violation]:
    """Require unique claim ids: verified claims are moved, not copied (RB-08)."""
    first: dict[str, int] = {}
    for n, claim in draft.claims():
        claim_id = claim.get("claim_id")
        if isinstance(claim_id, str) and (earlier := first.setdefault(claim_id, n)) != n:
            message = f"repeats that of claims[{earlier}]; a claim that changes keeps its place and its id"
            yield draft.mistake("claim_id_unique", f"claims[{n}].claim_id {message}", claim)


def claim_status(draft: Draft) -> Iterator[Violation]:
    """Require one of three statuses, in lower case (RB-02, RB-03)."""
    for n, claim in draft.claims():
        status = claim.get("status")
        if status not in CLAIM_STATUSES:
            message = f"must be one of {', '.join(CLAIM_STATUSES)}, not {status!r:.40}"
            yield draft.mistake("claim_status", f"claims[{n}].status {message}", claim)


def facts_missing(draft: Draft) -> Iterator[Violation]:
    """Require that ``facts`` is an object that names at least one source run (RB-02)."""
    for n, claim in draft.claims():
        facts = claim.get("facts")
        if not isinstance(facts, Mapping):
            found = "is missing" if facts is None else f"must be an object, not {type(facts).__name__}"
            yield draft.mistake("facts_missing", f"claims[{n}].facts {found}", claim)
            continue
        runs = facts.get(SOURCES)
        if not isinstance(runs, list) or not runs or not all(is_id(run) for run in runs):
            message = f"claims[{n}].facts.{SOURCES} must list the ids of the runs it comes from, one at least"
            yield draft.mistake("facts_missing", message, claim)


def claim_fields(draft: Draft) -> Iterator[Violation]:
    """Require the members' types, and an inference or a constraint in each claim."""
    for n, member in enumerate(draft.members or ()):
        if not isinstance(member, Mapping):
            yield draft.mistake("claim_fields", f"claims[{n}] must be an object, not {type(member).__name__}")
            continue
        for message in _field_mistakes(member):
            yield draft.mistake("claim_fields", f"claims[{n}]{message}", member)


def tallies(draft: Draft) -> Iterator[Violation]:
    """Require that ``support`` and ``contra`` count at least the runs they name. They are kept as written."""
    for n, claim in draft.claims():
        for name in ("support", "contra"):
            message = _tally_mistake(claim.get(name))
            if message is not None:
                yield draft.mistake("tallies", f"claims[{n}].{name}{message}", claim)


def claim_test(draft: Draft) -> Iterator[Violation]:
    """Require that a ``test`` can judge a run."""
    for n, claim in draft.claims():
        if claim.get("test") is not None:
            for message in validate_test(claim["test"]):
                yield draft.mistake("claim_test", f"claims[{n}].test{message}", claim)


STRUCTURE: Final[tuple[Callable[[Draft], Iterator[Violation]], ...]] = (
    protocol,
    claims_limit,
    claim_status,
    claim_id_unique,
    facts_missing,
    claim_fields,
    tallies,
    claim_test,
)
"""The rules of structure, each a function that finds violations, in the order in which these are listed."""


def structure_violations(draft: Draft) -> list[Violation]:
    """Return the violations of the structure rules, rule by rule, at most a hundred."""
    return list(islice((found for rule in STRUCTURE for found in rule(draft)), MAX_VIOLATIONS))


def _field_mistakes(claim: Mapping[str, Any]) -> Iterator[str]:
    if not is_id(claim.get("claim_id")):
        yield f".claim_id must be a short text, not {claim.get('claim_id')!r:.40}"
    for name in ("inference", "constraint", "exception_reason"):
        if not isinstance(claim.get(name), str | None):
            yield f".{name} must be a text, not {type(claim[name]).__name__}"
    for name in ("conditions", "limitations"):
        texts = claim.get(name)
        if texts is not None and not (isinstance(texts, list) and all(_is_text(text) for text in texts)):
            yield f".{name} must be a list of texts, none of them empty"
    if not isinstance(claim.get("allow_positive"), bool | None):
        yield f".allow_positive must be true or false, not {claim['allow_positive']!r:.40}"
    if not _is_text(claim.get("inference")) and not _is_text(claim.get("constraint")):
        yield " says nothing: it has neither an inference nor a constraint"


def _tally_mistake(tally: object) -> str | None:
    if tally is None:
        return None
    if not isinstance(tally, Mapping):
        return f" must be an object {{count, run_ids}}, not {type(tally).__name__}"
    runs = [] if tally.get("run_ids") is None else tally["run_ids"]
    if not isinstance(runs, list) or not all(is_id(run) for run in runs) or len(set(runs)) < len(runs):
        return ".run_ids must list ids of runs, each once"
    count = tally.get("count")
    if not isinstance(count, int) or isinstance(count, bool) or count < len(runs):
        return f".count must be a whole number, at least that of its run_ids ({len(runs)}), not {count!r:.40}"
    return None


def is_id(value: object) -> bool:
    """Return whether a value may be an id."""
    try:
        check_id(value, field="id")
    except InputError:
        return False
    return True


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
