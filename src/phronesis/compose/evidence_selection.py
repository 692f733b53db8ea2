"""Selecting evidence for a context: what is relevant to the message, each fact once. Pure but for `RelevanceFloor`.

Relevance is measured relative to the best result, by the shares of its score (``why``); neither the scale of scores nor
the number of results determines where the list ends. The floor asks a model whether any of it bears on the message.
"""

import dataclasses
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from phronesis.compose.item_wording import words_of
from phronesis.core.data_delimiters import strip_contexts
from phronesis.core.entries import SECTION
from phronesis.core.items import SUSPECT_WORDS
from phronesis.core.redaction import mask
from phronesis.core.results import Degraded, Evidence
from phronesis.core.retrieval_plan import Store
from phronesis.core.statements import compared_form
from phronesis.errors import ModelError
from phronesis.index.tokens import tokenize
from phronesis.models.decision import NOTHING, ROLE, Decider, ask_relevance
from phronesis.recall.fusion import JUDGED, RELEVANCE
from phronesis.recall.hits import CROWDED, shown_text
from phronesis.recall.scoring.lane_arrays import BONUSES
from phronesis.recall.scoring.ranking import FURTHER
from phronesis.recall.scoring.signals import voice_of
from phronesis.recall.scoring.weights import FEATURE_NAMES, FEW, FLOOR, MENTIONED, TIMED, support

NEAR: Final = 0.65
"""Share of the best score below which a result that covers no more of the question is not relevant.

Chosen with ``GAIN`` on a third of the answerable questions of two of LoCoMo's dev conversations: 79 % of the answering
turns are among 7.8 lines, where the first twelve results hold 80 %.
"""

GAIN: Final = 0.3
"""Share of the best score, times the share of its terms that are new, below which a result adds too little."""

BESIDE: Final = 0.3
"""Minimum share of the best relevance for a result of another store, and of the best support among few results."""

FEW_TERMS: Final = 3
"""Number of content terms up to which a message must match the question by its own words, not its neighbours'.

No answering turn of LoCoMo's dev conversations has so few.
"""

_FEW_WORDS: Final = 2
_FEW_HAN: Final = 3
"""Number of words, or Chinese characters, up to which a message without a figure is a fragment without a statement."""

WHOLE: Final = 800
"""Characters of a message up to which it is shown whole, so that items extracted from it need not be shown too."""

UNSUPPORTED: Final = "unsupported"
THE_QUESTION: Final = "question"
TOOL: Final = "tool"
NO_CONTENT: Final = "no content"
SAME: Final = "same"
WEAK: Final = "weak"
NOTHING_NEW: Final = "nothing new"
"""The reason for leaving out a result that adds nothing."""

_Measure = Literal["shares", "support", "relevance"]
_SHARES: Final = frozenset({*FEATURE_NAMES, *BONUSES, FURTHER, CROWDED})
_TOOL_ROLES: Final = frozenset({"tool", "function"})
_ENDS: Final = ".!。！\n"
"""Characters that end a sentence."""
_WORD: Final = re.compile(r"[^\W\d_\u3400-\u9fff]+(?:['’][^\W\d_]+)*")
_HAN: Final = re.compile("[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class EvidenceChoice:
    """The selected evidence, best first; ``left_out`` holds (citation, reason) for the rest."""

    shown: Sequence[Evidence] = ()
    left_out: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class CoreMemoryWords:
    """The words of the core memory's lines, and which search results they repeat."""

    words: Sequence[str] = ()
    found: Sequence[Evidence] = ()


@dataclass(slots=True)
class _SelectionState:
    origins: Mapping[str, Collection[str]]
    shown: list[Evidence] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    terms: set[str] = field(default_factory=set)

    def leave(self, one: Evidence, reason: str) -> None:
        self.left_out.append((one.item.citation, reason))


def choose_evidence(
    found: Sequence[Evidence],
    *,
    asked: str,
    abstaining: Collection[Store] = (),
    origins: Mapping[str, Collection[str]] | None = None,
    core: CoreMemoryWords = CoreMemoryWords(),
    first: int = 0,
    tools: bool = False,
    documents: bool = False,
) -> EvidenceChoice:
    """Select the results in ``found`` (best first) that a context shows for the message ``asked``.

    Args:
        found: results, best first.
        asked: the message.
        abstaining: the stores in which nothing supports an answer: none of their results is shown.
        origins: the ids of the messages that items were extracted from, by item id.
        core: what core memory shows already. A message that says no more than one of its lines is left out, and less
            relevant results are measured against it too.
        first: number of leading results that are always shown.
        tools: whether a tool's output may be shown verbatim.
        documents: whether the message asks for a document: the order then stays that of ``found``.
    """
    work = _SelectionState(origins or {}, list(found[:first]))
    held = [frozenset(tokenize(text)) for text in core.words]
    words = set(tokenize(asked))
    bearing = []
    for one in found[first:]:
        reason = _unfit(one, asked, abstaining, tools=tools)
        if reason is None:
            bearing.append(one)
        else:
            work.leave(one, reason)
    ratios = _ratios([*core.found, *bearing])[len(core.found) :]
    work.terms.update(*(tokenize(_text(one)) for one in core.found))
    later = {item_id for one in found for item_id in one.outdated_by}
    for one, ratio in zip(bearing, ratios, strict=True):
        terms = set(tokenize(_text(one)))
        own = terms - words or terms
        new = len(own - work.terms) / len(own) if own else 0.0
        # Disputing items, and an item and what may have outdated it, are shown side by side, whatever words they share.
        kept_for = bool(one.related_ids) or one.item.id in later or bool(one.item.ended) or _is_asked_key(one)
        if (into := _find_repeated_line(one, work)) is not None:
            work.shown[into] = _join_lines(work.shown[into], one)
            work.leave(one, SAME)
        elif one.item.kind == "message" and one.item.id not in later and any(terms <= told for told in held):
            work.leave(one, SAME)
        elif ratio < NEAR and not _is_asked_key(one):
            work.leave(one, WEAK)
        elif (work.shown or core.found) and ratio * new < GAIN and not kept_for:
            work.leave(one, NOTHING_NEW)
        else:
            work.shown.append(one)
            work.terms |= terms
    rest = work.shown[first:]
    if not documents and voice_of(asked) == "user":  # the user's own memories come before documents
        rest.sort(key=lambda one: one.item.kind == SECTION)
    return EvidenceChoice([*work.shown[:first], *rest], work.left_out)


def _unfit(one: Evidence, asked: str, abstaining: Collection[Store], *, tools: bool) -> str | None:
    item = one.item
    if _store(one) in abstaining:
        return UNSUPPORTED
    if item.kind != "message":
        return None
    released = item.pinned or SUSPECT_WORDS in item.data  # a person released it from quarantine
    if item.role in _TOOL_ROLES and not (tools or released):
        return TOOL
    text = strip_contexts(item.content, hosts=False).text
    shown = text.strip()
    # A text of questions only: of LoCoMo's answering turns .2 % are such.
    only_asks = shown.endswith(("?", "？")) and not any(mark in shown for mark in _ENDS)
    if compared_form(text) == compared_form(asked) or (only_asks and not _is_asked_key(one)):
        return THE_QUESTION
    return NO_CONTENT if _is_empty_message(text, one) else None


def _is_empty_message(text: str, one: Evidence) -> bool:
    """Return whether a message has no content of its own: "OK.", "Sounds good!", 好的."""
    terms = set(tokenize(text))
    if not terms:
        return True
    if any(map(str.isdigit, text)):
        return False
    words, han = len(_WORD.findall(text)), len(_HAN.findall(text))
    if not (words > _FEW_WORDS or han > _FEW_HAN or (words and han)):
        return True
    return len(terms) <= FEW_TERMS and not _is_asked_key(one) and one.why is not None and support(one.why) < FLOOR


def _ratios(found: Sequence[Evidence]) -> list[float]:
    """Return each result's relevance as a share of the best of its store; 0 next to a much better store."""
    sizes = Counter(_store(one) for one in found)
    strengths = [_strength(one, few=sizes[_store(one)] < FEW) for one in found]
    best: dict[tuple[Store, _Measure], float] = {}
    for one, (strength, by) in zip(found, strengths, strict=True):
        best[_store(one), by] = max(best.get((_store(one), by), 0.0), strength)
    top = max((_relevance(one) for one in found), default=0.0)
    held = {
        _store(one): _coverage_of(one)
        for one, (strength, by) in zip(found, strengths, strict=True)
        if by == "shares" and strength == best[_store(one), by] and JUDGED not in (one.why or {})
    }
    out: list[float] = []
    for one, (strength, by) in zip(found, strengths, strict=True):
        if by == "relevance" and _store(one) == "memory":
            out.append(out[-1] if out else 1.0)  # related to the previous result: its earlier state
            continue
        most = best[_store(one), by]
        ratio = strength / most if most > 0 else 1.0
        ratio = min(1.0, ratio * NEAR / BESIDE) if by == "support" else ratio
        if by == "shares" and ratio < NEAR and _coverage_of(one) > held.get(_store(one), 1.0):
            ratio = NEAR  # the best one leads by speaker and names, and covers less of the question
        out.append(ratio if _relevance(one) >= BESIDE * top else 0.0)
    return out


def _strength(one: Evidence, *, few: bool) -> tuple[float, _Measure]:
    """Return the relevance of a result, and its measure.

    Among ``few`` results the shares, which are standard deviations, are meaningless, so coverage of the question
    counts.
    """
    why = one.why or {}
    if JUDGED in why:
        return why[JUDGED], "shares"
    shares = [value for name, value in why.items() if name in _SHARES]
    if not shares:
        return _relevance(one), "relevance"
    return (support(why), "support") if few else (max(0.0, sum(shares)), "shares")


def _coverage_of(one: Evidence) -> float:
    """Return how much of the question a result covers by words and similarity, regardless of speaker and names."""
    return support({name: value for name, value in (one.why or {}).items() if name not in (MENTIONED, TIMED)})


def _relevance(one: Evidence) -> float:
    return (one.why or {}).get(RELEVANCE, one.score)


def _is_asked_key(one: Evidence) -> bool:
    return (one.why or {}).get("key", 0.0) > 0


def _find_repeated_line(one: Evidence, work: _SelectionState) -> int | None:
    """Return the index of a shown line with the same content: the source message, or a repetition of it."""
    if one.item.kind == SECTION or one.related_ids or one.item.ended:
        return None
    said = set(work.origins.get(one.item.id, ())) if one.item.kind != "message" else {one.item.id}
    for n, other in enumerate(work.shown):
        if other.item.kind == "message" and said & {other.item.id, *other.same} and len(other.item.content) <= WHOLE:
            return n
        if one.item.kind == other.item.kind and compared_form(words_of(one.item)) == compared_form(
            words_of(other.item)
        ):
            mine, theirs = ((item.role, item.name, item.subject) for item in (one.item, other.item))
            if mine == theirs:
                return n
    return None


def _join_lines(shown: Evidence, one: Evidence) -> Evidence:
    """Return a line that cites another one too, with the newer of two with the same text."""
    newer = shown
    if one.item.kind == shown.item.kind and _time_of(one) > _time_of(shown):
        newer = dataclasses.replace(shown, item=one.item)
    ids = (shown.item.id, *shown.same, one.item.id, *one.same)
    same = tuple(one for one in dict.fromkeys(ids) if one != newer.item.id)
    sources = tuple(dict.fromkeys((*shown.sources, *one.sources)))
    return dataclasses.replace(newer, same=same, sources=sources)


def _time_of(one: Evidence) -> datetime:
    return one.item.occurred_at or one.item.recorded_at


def _store(one: Evidence) -> Store:
    return "resources" if one.item.kind == SECTION else "memory"


def _text(one: Evidence) -> str:
    return one.matched[0].snippet if one.item.kind == SECTION and one.matched else words_of(one.item)


IRRELEVANT: Final = "irrelevant"
"""The reason for leaving out what bears on nothing that the message asks."""

SCORES: Final = "scores"
"""The fallback named in ``degraded``: what the scores select."""


@dataclass(frozen=True, slots=True)
class RelevanceFloor:
    """Asks once for a message, about the best lines. Reading is not recorded; no transaction may be open meanwhile."""

    decider: Decider

    def keep_relevant(
        self, tenant: str, asked: str, chosen: EvidenceChoice, *, first: int, seed: str
    ) -> tuple[EvidenceChoice, tuple[Degraded, ...]]:
        """Return the choice, or only its ``first`` results where nothing else bears on ``asked``."""
        rest = chosen.shown[first:]
        if not rest:
            return chosen, ()
        try:
            question = ask_relevance(asked, [mask(shown_text(one)) for one in rest], seed=seed)
            decision = self.decider.decide(tenant, question)
        except ModelError as error:
            return chosen, (Degraded(ROLE, error.code, SCORES, self.decider.name),)
        if not decision.is_surely(NOTHING):
            return chosen, ()
        left_out = [*chosen.left_out, *((one.item.citation, IRRELEVANT) for one in rest)]
        return EvidenceChoice(chosen.shown[:first], left_out), ()
