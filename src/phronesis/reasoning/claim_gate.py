"""The gate before every write of a reasoning item: each hard constraint is one named rule with one function (RB-16).

The patterns of the wording rules are data, loaded here as `Wording`. Where each wording rule looks:

- ``kb_alias``: every text, FACTS included. Aliases are forbidden in the content, and a reader cannot tell who wrote
  what. Code that assembles FACTS removes them first (`without_aliases`).
- ``next_step``: the texts a model writes: topic, inference, constraint, conditions, limitations, unknown keys and
  members. Not the FACTS, which quote the run and its feedback, nor the reason of an exception.
- ``positive_constraint``: the constraint; elsewhere only text in constraint notation (``prefer[…]``) or a standing
  order ("Always use …"). A "must" in an inference describes a state of affairs and is allowed.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import islice
from typing import Any, Final

from phronesis.core.items import STATUSES
from phronesis.core.lazy_loading import load_once
from phronesis.core.pattern_tables import parse_folded
from phronesis.errors import Violation
from phronesis.models.text_features import simplified_characters
from phronesis.reasoning.laws.block_rules import MAX_VIOLATIONS, STRUCTURE, Draft, StructureRule, read_draft
from phronesis.reasoning.laws.records import CLAIMS, MEMBERS, TOPIC

# Pattern table of forbidden wording, loaded and compiled.

KB_ALIAS: Final = "kb_alias"
NEXT_STEP: Final = "next_step"
POSITIVE_CONSTRAINT: Final = "positive_constraint"
"""Rules whose patterns are in the table."""

MAX_QUOTE: Final = 120
"""Maximum characters quoted in a violation."""

_AROUND: Final = 160
"""Characters of context before and after a match in which an exception is looked for."""

_HAN: Final = "\u3400-\u4dbf\u4e00-\u9fff"
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]+"
)
_HAN_GAP: Final = re.compile(rf"(?<=[{_HAN}])[ \t\u3000]+(?=[{_HAN}])")
_PART: Final = re.compile(r"<<(\w+)>>")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern of wording that breaks a rule."""

    rule: str
    needs: Sequence[str]
    pattern: re.Pattern[str]
    not_after: re.Pattern[str] | None
    not_before: re.Pattern[str] | None
    fields: frozenset[str] | None

    def find(self, folded: str) -> str | None:
        """Return the text of the first match, or None."""
        for start, end in self.spans(folded):
            return folded[start : min(end, start + MAX_QUOTE)].strip(" \n\t.,;:!?。")
        return None

    def spans(self, folded: str) -> Iterator[tuple[int, int]]:
        """Yield the span of each match."""
        if not any(needed in folded for needed in self.needs):
            return
        for match in self.pattern.finditer(folded):
            start, end = match.span()
            before = self.not_after is not None and self.not_after.search(folded[max(0, start - _AROUND) : start])
            behind = self.not_before is not None and self.not_before.search(folded[end : end + _AROUND])
            if not before and not behind:
                yield start, end


@dataclass(frozen=True, slots=True)
class Wording:
    """The table of patterns, the parts of a constraint, and the folding of text."""

    version: str
    patterns: Sequence[Pattern]
    constraint: Mapping[str, re.Pattern[str]]
    quoted: re.Pattern[str]
    folds: Mapping[int, str]


@load_once
def load_wording() -> Wording:
    """Return the table, loaded and compiled once."""
    table = parse_folded("wording.toml", resources.files(__package__).joinpath("wording.toml").read_text("utf-8"))
    folds: dict[int, str] = {}
    for given, meant in table["folds"].items():
        folds.update(zip(map(ord, given), meant, strict=True))
    parts = table["parts"]
    return Wording(
        version=table["version"],
        patterns=tuple(_pattern(row, parts) for row in table["pattern"]),
        constraint={name: _compiled(text, parts) for name, text in table["constraint"].items()},
        quoted=_compiled(table["quoted"]["pattern"], parts),
        folds=folds,
    )


def fold(text: str) -> str:
    """Return a text folded for matching.

    Narrow, lower case, simplified, no invisible characters, no gaps in Chinese.
    """
    return _HAN_GAP.sub("", _small(_narrow(text)))


def without_quotations(folded: str) -> str:
    """Return a folded text without quoted passages."""
    return load_wording().quoted.sub(" ", folded)


def find_violation(rule: str, folded: str, field: str) -> str | None:
    """Return the passage of a folded text that breaks a rule in this field, or None."""
    for pattern in load_wording().patterns:
        if pattern.rule == rule and (pattern.fields is None or field in pattern.fields):
            found = pattern.find(folded)
            if found is not None:
                return found
    return None


def without_aliases(text: str) -> str:
    """Return a text without knowledge-base aliases, for code that assembles FACTS from a run.

    If an alias was removed, the text is returned folded in width (NFKC), since aliases are found in that form.
    """
    kept = narrow = _narrow(text)
    for pattern in load_wording().patterns:
        if pattern.rule == KB_ALIAS:
            for start, end in reversed(list(pattern.spans(_small(narrow)))):
                kept = kept[:start] + kept[end:]
    return text if kept == narrow else kept


def _pattern(row: Mapping[str, Any], parts: Mapping[str, str]) -> Pattern:
    not_after, not_before, fields = row.get("not_after"), row.get("not_before"), row.get("fields")
    return Pattern(
        row["rule"],
        tuple(row["needs"]),
        _compiled(row["pattern"], parts),
        None if not_after is None else _compiled(not_after, parts),
        None if not_before is None else _compiled(not_before, parts),
        None if fields is None else frozenset(fields),
    )


def _narrow(text: str) -> str:
    return _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))


def _small(narrow: str) -> str:
    """Return a lower-case, simplified text of equal length; İ, which would become two characters, is kept."""
    return simplified_characters(narrow).translate(load_wording().folds).replace("\u0130", "i").lower()


def _compiled(text: str, parts: Mapping[str, str]) -> re.Pattern[str]:
    # A pattern part may refer to other parts, never to itself.
    while (found := _PART.search(text)) is not None:
        text = f"{text[: found.start()]}(?:{parts[found[1]]}){text[found.end() :]}"
    return re.compile(text)


# Negative constraints: a constraint says what to avoid and orders nothing (RB-07).


def positive_words(constraint: str) -> str | None:
    """Return the part of a constraint that is not negative; None if all of it is negative or it is empty.

    Lists in the notation ``avoid[…]`` may hold anything. Elsewhere each sentence must contain a negation, and no part
    of it may order something; a stated reason is not checked.
    """
    rules = load_wording().constraint
    folded = fold(constraint)
    if rules["none"].search(folded):
        return None
    rest = rules["listed"].sub("avoid", folded)
    for sentence in rules["split"].split(rest):
        said = rules["reason"].sub("", sentence)
        if not any(char.isalnum() for char in said):
            continue
        if rules["negative"].search(said) is None:
            return said.strip()
        for piece in rules["turn"].split(said):
            left = rules["negated"].sub(" avoid ", piece)
            if rules["positive"].search(left) is not None:
                return piece.strip()
            if rules["imperative"].search(left) is not None and rules["negative"].search(left) is None:
                return piece.strip()
    return None


def is_reason(text: object) -> bool:
    """Return whether an exception's reason is a text with content."""
    return isinstance(text, str) and load_wording().constraint["empty_reason"].search(fold(text)) is None


_PROSE: Final = ("inference", "constraint", "conditions", "limitations")


@dataclass(frozen=True, slots=True)
class Submission:
    """Input of the gate: a draft block, and the status of its item."""

    draft: Draft
    item_status: object


@dataclass(frozen=True, slots=True)
class GateRule:
    """A rule: its name, its requirement, and the function that finds violations."""

    name: str
    asks: str
    check: Callable[[Submission], Iterator[Violation]]


def gate(text: str, item_status: object = "active") -> list[Violation]:
    """Return the violations of a block in the order of the rules, at most a hundred; empty if it is valid."""
    submission = Submission(read_draft(text), item_status)
    return list(islice((found for rule in RULES for found in rule.check(submission)), MAX_VIOLATIONS))


def offends(text: str, where: str) -> bool:
    """Return whether a text added to a valid claim, such as one of its ``limitations``, breaks a wording rule.

    Each rule is applied to the text alone; exceptions of the claim are ignored.
    """
    folded = fold(text)
    said = without_quotations(folded)
    looked_at = ((KB_ALIAS, folded), (NEXT_STEP, said), (POSITIVE_CONSTRAINT, said))
    return any(find_violation(rule, words, where) is not None for rule, words in looked_at)


def item_status(submission: Submission) -> Iterator[Violation]:
    """Require that an item is active or archived (RB-03)."""
    if submission.item_status not in STATUSES:
        message = f"the item's status must be one of {', '.join(STATUSES)}, not {submission.item_status!r:.40}"
        yield Violation(rule="item_status", message=message)


def kb_alias(submission: Submission) -> Iterator[Violation]:
    """Forbid aliases such as ``[C12]`` that a knowledge base used in one run (RB-05)."""
    draft = submission.draft
    for key, where, text, claim in _everything(draft):
        found = find_violation(KB_ALIAS, fold(text), where)
        if found is not None:
            yield _violation(draft, KB_ALIAS, key, f"{where} holds {found!r}, a name of one run; cite mem:<id>", claim)


def next_step(submission: Submission) -> Iterator[Violation]:
    """Forbid instructions for a next step (RB-06)."""
    draft = submission.draft
    for key, where, text, claim in _prose(draft):
        found = find_violation(NEXT_STEP, without_quotations(fold(text)), where)
        if found is not None:
            message = f"{where} says what to do next: {found!r}; a claim says what holds"
            yield _violation(draft, NEXT_STEP, key, message, claim)


def positive_constraint(submission: Submission) -> Iterator[Violation]:
    """Require that a constraint says what to avoid, unless it is marked as an exception with a reason (RB-07)."""
    draft = submission.draft
    for key, where, text, claim in _prose(draft):
        if claim is not None and claim.get("allow_positive") is True and is_reason(claim.get("exception_reason")):
            continue
        if where == "constraint":
            found = positive_words(text)
        else:
            found = find_violation(POSITIVE_CONSTRAINT, without_quotations(fold(text)), where)
        if found is not None:
            message = f"{where}: {found[:120]!r} is no avoid[…]; say what to avoid, or set allow_positive and say why"
            yield _violation(draft, POSITIVE_CONSTRAINT, key, message, claim)


def _structural(rule: StructureRule) -> GateRule:
    return GateRule(rule.name, rule.asks, lambda submission: rule.check(submission.draft))


RULES: Final = (
    *map(_structural, STRUCTURE),
    GateRule("item_status", "an item that is active or archived", item_status),
    GateRule(KB_ALIAS, "no run-local alias such as [C12]", kb_alias),
    GateRule(NEXT_STEP, "no instruction what to do next", next_step),
    GateRule(POSITIVE_CONSTRAINT, "negative constraints, or a marked exception", positive_constraint),
)
"""All rules, in the order in which violations are listed."""

_Claim = Mapping[str, Any] | None


def _everything(draft: Draft) -> Iterator[tuple[str | None, str, str, _Claim]]:
    """Yield every text of a block: its key, the name of its place, the text, and its claim."""
    if draft.members is None or draft.loose:
        yield None, "the text", draft.text, None
        return
    for key, value in draft.values.items():
        if key != CLAIMS:
            yield key, key, f"{key}={value}", None
    for member in draft.members:
        claim = member if isinstance(member, Mapping) else None
        for where, text in _texts(member, ""):
            yield CLAIMS, where.lstrip("."), text, claim


def _prose(draft: Draft) -> Iterator[tuple[str | None, str, str, _Claim]]:
    """Yield the texts that a model writes."""
    if TOPIC in draft.values:
        yield TOPIC, "topic", draft.values[TOPIC], None
    for key, value in draft.extra:
        yield key, "extra", value, None
    for _, claim in draft.claims():
        for name in _PROSE:
            for _, text in _texts(claim.get(name), ""):
                yield CLAIMS, name, text, claim
        for name, value in claim.items():
            if name not in MEMBERS:
                for _, text in _texts(value, ""):
                    yield CLAIMS, "extra", text, claim


def _texts(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """Yield every text in a JSON value with its place, member names included."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, list):
        for n, inner in enumerate(value):
            yield from _texts(inner, f"{where}[{n}]")
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield f"{where}.{name}", name
            yield from _texts(inner, f"{where}.{name}")


def _violation(draft: Draft, rule: str, key: str | None, message: str, claim: _Claim) -> Violation:
    if key == CLAIMS:
        return draft.mistake(rule, message, claim)
    return Violation(rule=rule, message=message, line=draft.lines.get(key or ""), key=key)
