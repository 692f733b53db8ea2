"""The gate before every write of a reasoning item: each hard constraint is one named rule with one function (RB-16).

Instructions for a next step are known by a classifier over the reader's token states (``next_step.npz``, fitted by
``phronesis_benchmarks.next_steps``); the words of the other rules are data, ``wording.toml``. Where each rule looks:

- ``kb_alias``: every text, FACTS included. Aliases are forbidden in the content, and a reader cannot tell who wrote
  what. Code that assembles FACTS removes them first (`strip_aliases`).
- ``next_step``: the texts a model writes: topic, inference, constraint, conditions, limitations, unknown keys and
  members. Not the FACTS, which quote the run and its feedback, nor the reason of an exception.
- ``positive_constraint``: the constraint; elsewhere only text in constraint notation (``prefer[…]``) or a standing
  order ("Always use …"). A "must" in an inference describes a state of affairs and is allowed.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from itertools import islice
from typing import Any, Final

from phronesis.core.items import STATUSES
from phronesis.core.lazy_loading import load_once
from phronesis.core.serialization import parse_folded, split_words
from phronesis.errors import Violation
from phronesis.models.reader import TextClassifier, load_reader, load_text_classifier
from phronesis.models.text_features import sentences, simplified_characters
from phronesis.reasoning.laws.block_rules import MAX_VIOLATIONS, STRUCTURE, Draft, read_draft
from phronesis.reasoning.laws.records import CLAIMS, MEMBERS, TOPIC

# Words and forms of forbidden wording.

KB_ALIAS: Final = "kb_alias"
NEXT_STEP: Final = "next_step"
POSITIVE_CONSTRAINT: Final = "positive_constraint"
"""Rules of wording."""

MAX_QUOTE: Final = 120
"""Maximum characters quoted in a violation."""

MAX_JUDGED: Final = 2_000
"""Characters of a text whose sentences the classifier judges; plain words judge the others."""

TOLD: Final = 0.6
"""The least likelihood at which a sentence says what to do next."""

LEAST: Final = 12
"""Characters of a sentence of which the classifier is believed alone: "two runs" is none."""

SUPPORTED: Final = 0.35
"""The same where the sentence holds a plain word of it."""

_NEAR: Final = 8
"""Characters between what is ordered and the negation that takes it back: "must not"."""

_AROUND: Final = 160
"""Characters of context before and after an alias in which an exception is looked for."""

_REMEMBERED: Final = 4096
"""Sentences whose verdict is remembered: a proposal passes the gate more than once."""

_HAN: Final = "\u3400-\u4dbf\u4e00-\u9fff"
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]+"
)
_HAN_GAP: Final = re.compile(rf"(?<=[{_HAN}])[ \t\u3000]+(?=[{_HAN}])")
_LIST: Final = r"\s{0,2}[:=]?\s{0,2}[\[【({][^\]】)}\n]{0,2000}[\]】)}]"
_SENTENCE: Final = re.compile(r"[.;!?。\n](?!\d)|(?<!\d)\.(?=\d)")


@dataclass(frozen=True, slots=True)
class Wording:
    """The forms and words of the table, compiled."""

    version: str
    alias: re.Pattern[str]
    no_alias_before: re.Pattern[str]
    no_alias_after: re.Pattern[str]
    words: Mapping[str, re.Pattern[str]]
    listed: re.Pattern[str]
    none: frozenset[str]
    quoted: re.Pattern[str]
    folds: Mapping[int, str]


@load_once
def load_wording() -> Wording:
    """Return the table, loaded and compiled once."""
    table = parse_folded("wording.toml", resources.files(__package__).joinpath("wording.toml").read_text("utf-8"))
    pairs = (zip(map(ord, given), meant, strict=True) for given, meant in table["folds"].items())
    folds = {given: meant for pair in pairs for given, meant in pair}
    alias, words = table["alias"], {name: split_words(given) for name, given in table["words"].items()}
    return Wording(
        version=table["version"],
        alias=re.compile(alias["pattern"]),
        no_alias_before=re.compile(alias["not_before"]),
        no_alias_after=re.compile(alias["not_after"]),
        words={name: re.compile("|".join(map(_whole_word, listed))) for name, listed in words.items()},
        listed=re.compile(rf"(?:{'|'.join(map(_whole_word, words['lists']))}){_LIST}"),
        none=frozenset(words["none"]),
        quoted=re.compile(table["quoted"]["pattern"]),
        folds=folds,
    )


def _whole_word(word: str) -> str:
    """Return an expression for a word: whole in Latin letters, at the beginning of a sentence after ``^``."""
    plain = word.removeprefix("^")
    begun = r"(?:^|(?<=[.!?。;\n]))\s{0,3}" if word.startswith("^") else ""
    first = r"(?<![a-z0-9-])" if plain[0].isascii() and plain[0].isalnum() else ""
    last = r"(?![a-z0-9])" if plain[-1].isascii() and plain[-1].isalnum() else ""
    return begun + first + re.escape(plain) + last


def fold(text: str) -> str:
    """Return a text folded for matching: narrow, lower case, simplified, no invisible characters or gaps in Chinese."""
    return _HAN_GAP.sub("", _small(_narrow(text)))


def strip_quotations(folded: str) -> str:
    """Return a folded text without quoted passages."""
    return load_wording().quoted.sub(" ", folded)


def find_violation(rule: str, folded: str) -> str | None:
    """Return the passage of a folded text that breaks a rule of wording, or None."""
    if rule == NEXT_STEP:
        return _next_step(folded)
    if rule == POSITIVE_CONSTRAINT:
        found = load_wording().words["orders"].search(folded)
        return None if found is None else folded[found.start() : found.start() + MAX_QUOTE].strip()
    return next((folded[start : min(end, start + MAX_QUOTE)] for start, end in _aliases(folded)), None)


def _next_step(folded: str) -> str | None:
    """Return the first sentence that says what to do next, judged by the classifier, or by words without an encoder."""
    for start, end in sentences(folded):
        said = folded[start:end]
        chance = _chance(said[:MAX_JUDGED]) if start < MAX_JUDGED else None
        if chance is None:
            breaks = load_wording().words["next_step"].search(said) is not None
        else:
            supported = chance >= SUPPORTED and load_wording().words["hints"].search(said) is not None
            breaks = supported or (chance >= TOLD and len(said) >= LEAST)
        if breaks:
            return said[:MAX_QUOTE].strip(" .,;:!?。")
    return None


@lru_cache(maxsize=_REMEMBERED)
def _chance(sentence: str) -> float | None:
    """Return how likely a folded sentence says what to do next; None where no encoder is installed."""
    reader = load_reader()
    if reader is None or not any(map(str.isalpha, sentence)):
        return None
    judge = load_judge()
    return max((judge(states)[NEXT_STEP] for states in reader.states(sentence)), default=0.0)


@load_once
def load_judge() -> TextClassifier:
    """Return the classifier of instructions for a next step."""
    return load_text_classifier((resources.files(__package__) / "next_step.npz").read_bytes())


def _aliases(folded: str) -> Iterator[tuple[int, int]]:
    """Yield the span of each alias."""
    wording = load_wording()
    for match in wording.alias.finditer(folded):
        start, end = match.span()
        before, behind = folded[max(0, start - _AROUND) : start], folded[end : end + _AROUND]
        if wording.no_alias_after.search(before) is None and wording.no_alias_before.search(behind) is None:
            yield start, end


def strip_aliases(text: str) -> str:
    """Return a text without knowledge-base aliases, for code that assembles FACTS from a run.

    If an alias was removed, the text is returned folded in width (NFKC), since aliases are found in that form.
    """
    kept = narrow = _narrow(text)
    for start, end in reversed(list(_aliases(_small(narrow)))):
        kept = kept[:start] + kept[end:]
    return text if kept == narrow else kept


def _narrow(text: str) -> str:
    return _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))


def _small(narrow: str) -> str:
    """Return a lower-case, simplified text of equal length; İ, which would become two characters, is kept."""
    return simplified_characters(narrow).translate(load_wording().folds).replace("\u0130", "i").lower()


# Negative constraints: a constraint says what to avoid and orders nothing (RB-07).


def positive_words(constraint: str) -> str | None:
    """Return the part of a constraint that is not negative; None if all of it is negative or it is empty.

    Lists in the notation ``avoid[…]`` may hold anything. Elsewhere each sentence must contain a negation, before
    anything that it orders; a stated reason is not checked.
    """
    wording = load_wording()
    words, folded = wording.words, fold(constraint)
    if _is_none(folded):
        return None
    for sentence in _SENTENCE.split(wording.listed.sub("avoid", folded)):
        why = words["reason"].search(sentence)
        said = sentence[: why.start()] if why is not None else sentence
        if not any(map(str.isalnum, said)):
            continue
        if words["negative"].search(said) is None:
            return said.strip()
        for piece in words["turn"].split(said):
            denied, ordered = words["negative"].search(piece), words["positive"].search(piece)
            if ordered is not None and (denied is None or denied.start() > ordered.end() + _NEAR):
                return piece.strip()
    return None


def _is_none(folded: str) -> bool:
    """Return whether a folded text says nothing, or that there is nothing."""
    plain = folded.strip(" \t\n[](){}\"'.-—/。")
    return not plain or plain in load_wording().none


_PROSE: Final = ("inference", "constraint", "conditions", "limitations")


def gate(text: str, item_status: object = "active") -> list[Violation]:
    """Return the violations of a block in the order of the rules, at most a hundred; empty if it is valid."""
    draft = read_draft(text)
    draft.item_status = item_status
    return list(islice((found for rule in RULES for found in rule(draft)), MAX_VIOLATIONS))


def breaks_a_rule(text: str) -> bool:
    """Return whether a text added to a valid claim, such as one of its ``limitations``, breaks a wording rule."""
    folded = fold(text)
    said = strip_quotations(folded)
    looked_at = ((KB_ALIAS, folded), (NEXT_STEP, said), (POSITIVE_CONSTRAINT, said))
    return any(find_violation(rule, words) is not None for rule, words in looked_at)


def item_status(draft: Draft) -> Iterator[Violation]:
    """Require that an item is active or archived (RB-03)."""
    if draft.item_status not in STATUSES:
        message = f"the item's status must be one of {', '.join(STATUSES)}, not {draft.item_status!r:.40}"
        yield Violation(rule="item_status", message=message)


def kb_alias(draft: Draft) -> Iterator[Violation]:
    """Forbid aliases such as ``[C12]`` that a knowledge base used in one run (RB-05)."""
    for key, where, text, claim in _texts_of(draft):
        found = find_violation(KB_ALIAS, fold(text))
        if found is not None:
            yield _violation(draft, KB_ALIAS, key, f"{where} holds {found!r}, a name of one run; cite mem:<id>", claim)


def next_step(draft: Draft) -> Iterator[Violation]:
    """Forbid instructions for a next step (RB-06)."""
    for key, where, text, claim in _prose(draft):
        found = find_violation(NEXT_STEP, strip_quotations(fold(text)))
        if found is not None:
            message = f"{where} says what to do next: {found!r}; a claim says what holds"
            yield _violation(draft, NEXT_STEP, key, message, claim)


def positive_constraint(draft: Draft) -> Iterator[Violation]:
    """Require that a constraint says what to avoid, unless it is marked as an exception with a reason (RB-07)."""
    for key, where, text, claim in _prose(draft):
        reason = claim.get("exception_reason") if claim is not None and claim.get("allow_positive") is True else None
        if isinstance(reason, str) and not _is_none(fold(reason)):
            continue
        if where == "constraint":
            found = positive_words(text)
        else:
            found = find_violation(POSITIVE_CONSTRAINT, strip_quotations(fold(text)))
        if found is not None:
            message = f"{where}: {found[:120]!r} is no avoid[…]; say what to avoid, or set allow_positive and say why"
            yield _violation(draft, POSITIVE_CONSTRAINT, key, message, claim)


RULES: Final = (*STRUCTURE, item_status, kb_alias, next_step, positive_constraint)
"""All rules, in the order in which violations are listed."""

_Claim = Mapping[str, Any] | None


def _texts_of(draft: Draft) -> Iterator[tuple[str | None, str, str, _Claim]]:
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
        said = [(name, claim.get(name)) for name in _PROSE]
        said += [("extra", value) for name, value in claim.items() if name not in MEMBERS]
        for where, told in said:
            for _, text in _texts(told, ""):
                yield CLAIMS, where, text, claim


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
