"""Word patterns and principles by rules, in the language of their events (EMB-09, EMB-10).

A principle reads "if … then … because … watch out …". Its counts, references, counterexamples, risk and cost are always
worded by these rules; a model may only word the condition, the action and the reason.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from phronesis.experience.laws.constraints import is_chinese
from phronesis.experience.laws.records import L1Event
from phronesis.experience.laws.topics import (
    FAILURE,
    MAX_REFS,
    SUCCESS,
    Cost,
    PatternInput,
    PrincipleDraft,
    Slot,
    cost_of,
    evidence_counts,
    independent_sources,
    references,
    risk_of,
)

# Patterns: the words of the most typical event, and the slots that the members share (EMB-09).

MAX_SAID: Final = 240
"""Characters that a pattern quotes from one text of an event: two sentences."""

ADVICE: Final[Mapping[str, tuple[str, str]]] = {
    "success": ("Do: ", "建议："),
    "failure": ("Avoid: ", "避免："),
    "unknown": ("Open: ", "未定："),
}
LESSON: Final = ("Lesson: ", "教训：")
OUTCOME: Final = ("Outcome: ", "结果：")
"""Words before the parts of a recommendation, in English and Chinese."""

MAX_TERMS: Final = 8
MAX_SLOTS: Final = 8
MAX_READ: Final = 50
"""Members whose terms are counted, the most typical first."""

SHARED_BY: Final = 0.5
"""Share of the members that must contain a term or an artifact for it to be part of the signature."""

_CHINESE: Final = re.compile("[\u3400-\u9fff]")

_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")


@dataclass(frozen=True, slots=True)
class PatternText:
    """The texts of a pattern."""

    summary: str
    signature: Mapping[str, Any]
    recommendation: str

    @property
    def content(self) -> str:
        """The text that is searched and read: what happened, when it applies, and what to do or avoid."""
        slots = self.signature
        named = [one.partition(":")[2] for one in slots.get("artifacts", ())]
        terms = ", ".join(dict.fromkeys([*slots.get("terms", ()), *named]))
        told = [self.summary, slots.get("situation", ""), slots.get("goal", ""), terms, self.recommendation]
        return "\n".join(dict.fromkeys(text for text in told if text))


def first_sentences(text: str) -> str:
    """Return the first sentences of a text that fit into `MAX_SAID` characters, at least one, cut if necessary."""
    out = ""
    for sentence in filter(None, _SENTENCE.split(" ".join(text.split()))):
        if out and len(out) + len(sentence) > MAX_SAID:
            break
        glued = not out or (out[-1] in "。！？" and _CHINESE.match(sentence))
        out += sentence if glued else f" {sentence}"
    return out if len(out) <= MAX_SAID else out[: MAX_SAID - 1] + "…"


def describe(
    events: Sequence[L1Event], outcome: str, *, terms_of: Callable[[str], Sequence[str]], rarity: Callable[[str], float]
) -> PatternText:
    """Describe a pattern by rules.

    Args:
        events: its members, the most typical first.
        outcome: success, failure or unknown.
        terms_of: returns the readable terms of a text.
        rarity: returns a term's idf in the whole lane, 0 for a stop word.
    """
    attempt, result = first_sentences(events[0].attempt), first_sentences(events[0].result)
    summary = f"{attempt} → {result}" if result else attempt
    return PatternText(summary, _signature(events, terms_of, rarity), _recommendation(events, outcome))


def _recommendation(events: Sequence[L1Event], outcome: str) -> str:
    """Return what to do or avoid, and the lesson of the most typical member that has one, else its result."""
    centre = events[0]
    chinese = is_chinese("\n".join(_texts(centre)))
    told = ADVICE[outcome][chinese] + first_sentences(centre.attempt)
    if lesson := next((first_sentences(event.reflection) for event in events if event.reflection), ""):
        return told if lesson in told else f"{told}\n{LESSON[chinese]}{lesson}"
    return f"{told}\n{OUTCOME[chinese]}{first_sentences(centre.result)}" if centre.result else told


def _signature(
    events: Sequence[L1Event], terms_of: Callable[[str], Sequence[str]], rarity: Callable[[str], float]
) -> dict[str, Any]:
    centre = events[0]
    needed = SHARED_BY * len(events)
    read = events[:MAX_READ]
    terms = Counter(term for event in read for term in set(terms_of("\n".join(_texts(event)))))
    least = max(2.0, SHARED_BY * len(read))
    shared = _drop_partial_terms({term: count for term, count in terms.items() if count >= least})
    heavy = sorted(((count * rarity(term), term) for term, count in shared.items()), key=lambda one: (-one[0], one[1]))
    artifacts = Counter(artifact for event in events for artifact in event.artifacts)
    families = Counter(event.family for event in events if event.family)
    slots = {
        "terms": [term for weight, term in heavy if weight > 0][:MAX_TERMS],
        "artifacts": sorted(one for one, count in artifacts.items() if count >= needed and count > 1)[:MAX_SLOTS],
        "families": sorted(one for one, count in families.items() if count >= needed),
        "source_types": sorted({event.source_type for event in events if event.source_type}),
        "situation": first_sentences(centre.situation),
        "goal": first_sentences(centre.goal),
    }
    return {name: value for name, value in slots.items() if value}


def _drop_partial_terms(counts: Mapping[str, int]) -> dict[str, int]:
    """Remove the Chinese terms that are part of a longer one which as many members have."""
    long = [term for term in counts if _CHINESE.match(term)]
    parts = {
        term for term in long for other in long if term != other and term in other and counts[term] <= counts[other]
    }
    return {term: count for term, count in counts.items() if term not in parts}


def _texts(event: L1Event) -> list[str]:
    return [text for text in (event.situation, event.goal, event.attempt, event.result, event.reflection) if text]


MAX_NAMED: Final = 4
"""Terms and artifacts in a condition, and things to avoid or counterexamples listed."""

WHOLE: Final = 100
"""From here on numbers are printed without decimals."""

_ENDS: Final = " .。;；,，"

_PHRASES: Final[Mapping[str, tuple[str, str]]] = {
    "goal": ("the goal is: {}", "目标是：{}"),
    "about": ("it is about {}", "涉及{}"),
    "slot": ("{} plays a part", "涉及{}"),
    "source": ("it is reported by {}", "来源为{}"),
    "doing": ("you are about to: {}", "准备这样做：{}"),
    "dont": ("do not: {}", "不要：{}"),
    "worked": ("{} of {} attempts worked ({}: {})", "{}/{} 次尝试成功（{}：{}）"),
    "failed": ("{} of {} attempts failed ({}: {})", "{}/{} 次尝试失败（{}：{}）"),
    "one_source": ("1 source", "1 个来源"),
    "sources": ("{} independent sources", "{} 个独立来源"),
    "avoid": ("avoid: {}; it failed in {} attempts ({})", "避免：{}；失败 {} 次（{}）"),
    "except": ("not where {} plays a part: {}", "涉及{}时不适用：{}"),
    "but_failed": ("the same failed: {} ({})", "同样的做法也失败过：{}（{}）"),
    "but_worked": ("the same worked: {} ({})", "同样的做法也成功过：{}（{}）"),
    "risk": (
        "failed in {} of {} such attempts ({} %, 95 % interval {}–{} %)",
        "此类尝试 {}/{} 次失败（{}%，95% 区间 {}–{}%）",
    ),
    "more": ("and {} more", "另有 {} 次"),
    "seconds": ("{} s (median of {})", "{} 秒（{} 次的中位数）"),
    "attempts": ("{} attempts an episode (median of {})", "每轮 {} 次尝试（{} 轮的中位数）"),
    "whole": ("If {}, then {}, because {}.", "如果{}，那么{}，因为{}。"),
    "watch": ("Watch out: {}.", "注意：{}。"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """The words of a principle. ``reason`` is the lesson, followed by the evidence."""

    condition: str
    action: str
    reason: str = ""
    watch_out: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrincipleText:
    """A principle in words, as its item stores them."""

    condition: str
    action: str
    because: str
    watch_out: str
    cost: str
    risk: str
    avoid: Sequence[str]
    counterexamples: Sequence[Mapping[str, Any]]
    support: Mapping[str, int]
    outcome: str
    slot: Mapping[str, str] | None

    def content(self, *, chinese: bool) -> str:
        """Return the principle as one text, which is searched and read."""
        speak = PhraseFiller(chinese)
        whole = speak("whole", *(_plain(part) for part in (self.condition, self.action, self.because)))
        return f"{whole}\n{speak('watch', _plain(self.watch_out))}" if self.watch_out else whole


@dataclass(frozen=True, slots=True)
class PhraseFiller:
    """Fills phrases in English or Chinese."""

    chinese: bool

    def __call__(self, phrase: str, *parts: object) -> str:
        """Return a phrase with its parts filled in."""
        return _PHRASES[phrase][self.chinese].format(*parts)

    def listed(self, parts: Sequence[str]) -> str:
        """Return several statements joined."""
        return ("; ", "；")[self.chinese].join(part for part in parts if part)

    def named(self, names: Sequence[str]) -> str:
        """Return several names joined."""
        return (", ", "、")[self.chinese].join(names)


def is_chinese_principle(drawn: PrincipleDraft) -> bool:
    """Return whether a principle is worded in Chinese: the language of its leading pattern."""
    return is_chinese(drawn.lead.summary)


def word_by_rules(drawn: PrincipleDraft) -> Wording:
    """Word a principle by rules."""
    speak = PhraseFiller(is_chinese_principle(drawn))
    attempt = _plain(first_sentences(drawn.lead.events[0].attempt))
    action = attempt if drawn.lead.outcome == SUCCESS else speak("dont", attempt)
    return Wording(condition=_condition(drawn, speak), action=action, reason=_lesson(drawn.lead))


def render_principle(drawn: PrincipleDraft, wording: Wording) -> PrincipleText:
    """Return a principle as text; the evidence is worded by rules, whatever the wording."""
    speak = PhraseFiller(is_chinese_principle(drawn))
    watch_out, counterexamples = _warnings(drawn, speak)
    avoided = drawn.support if drawn.lead.outcome == FAILURE else drawn.avoided
    return PrincipleText(
        condition=wording.condition,
        action=wording.action,
        because=speak.listed([_plain(wording.reason), _evidence(drawn, speak)]),
        watch_out=speak.listed([_plain(wording.watch_out), *watch_out]),
        cost=_cost(cost_of(drawn), speak),
        risk=_risk(risk_of(drawn), speak),
        avoid=[_plain(first_sentences(one.events[0].attempt)) for one in avoided[:MAX_NAMED]],
        counterexamples=counterexamples,
        support=evidence_counts(drawn),
        outcome=drawn.lead.outcome,
        slot=None if drawn.slot is None else {"kind": drawn.slot.kind, "value": drawn.slot.value},
    )


def narrow_wording(drawn: PrincipleDraft, wording: Wording) -> Wording:
    """Return a wording whose condition names the slot of a narrower principle, if it does not yet."""
    if drawn.slot is None or drawn.slot.value.casefold() in wording.condition.casefold():
        return wording
    speak = PhraseFiller(is_chinese_principle(drawn))
    return replace(wording, condition=speak.listed([_plain(wording.condition), _slot(drawn.slot, speak)]))


def _condition(drawn: PrincipleDraft, speak: PhraseFiller) -> str:
    lead = drawn.lead
    goal = speak("goal", _plain(lead.goal)) if lead.goal else ""
    about = _shared_names(drawn)
    slot = "" if drawn.slot is None else _slot(drawn.slot, speak)
    told = speak.listed([_plain(lead.situation), goal, speak("about", speak.named(about)) if about else "", slot])
    return told or speak("doing", _plain(first_sentences(lead.events[0].attempt)))


def _shared_names(drawn: PrincipleDraft) -> list[str]:
    """Return what most supporting patterns share: families, artifacts, then terms if there is no situation."""
    needed = len(drawn.support) / 2
    names = [[*one.families, *(name.partition(":")[2] for name in one.artifacts)] for one in drawn.support]
    if not drawn.lead.situation and not drawn.lead.goal:
        names = [[*held, *one.terms] for held, one in zip(names, drawn.support, strict=True)]
    counts = Counter(name for held in names for name in dict.fromkeys(held))
    return [name for name, count in counts.items() if count >= needed][:MAX_NAMED]


def _slot(slot: Slot, speak: PhraseFiller) -> str:
    return speak("source" if slot.kind == "source_type" else "slot", slot.value)


def _lesson(pattern: PatternInput) -> str:
    """Return the latest lesson among the pattern's events."""
    told = [event for event in pattern.events if event.reflection]
    latest = max(told, key=lambda event: (event.occurred_at or event.recorded_at, event.id), default=None)
    return "" if latest is None else _plain(first_sentences(latest.reflection))


def _evidence(drawn: PrincipleDraft, speak: PhraseFiller) -> str:
    """Return a sentence on the outcomes of the leading side's attempts, with references."""
    outcome, events = drawn.lead.outcome, drawn.led
    right = sum(event.label == outcome for event in events.values())
    count = independent_sources(events.values())
    sources = speak("one_source") if count == 1 else speak("sources", count)
    named = speak.named(references([*events.values()]))
    return speak("worked" if outcome == SUCCESS else "failed", right, len(events), sources, named)


def _warnings(drawn: PrincipleDraft, speak: PhraseFiller) -> tuple[list[str], list[dict[str, Any]]]:
    """Return what to avoid and what contradicts the principle, in words and as references."""
    told = []
    if drawn.lead.outcome == SUCCESS:
        told = [
            speak("avoid", _plain(first_sentences(one.summary)), len(one.events), speak.named(references(one.events)))
            for one in drawn.avoided[:MAX_NAMED]
        ]
    told += [
        speak("except", slot.value, speak.named(references(one.events)))
        for one in drawn.against
        if (slot := drawn.slots.get(one.id)) is not None
    ]
    counter = [event for one in drawn.against for event in one.events if event.label != drawn.lead.outcome]
    counter += drawn.counter
    fresh = sorted(counter, key=lambda event: (event.occurred_at or event.recorded_at, event.id), reverse=True)
    for event in fresh[:MAX_NAMED]:
        phrase = "but_failed" if event.label == FAILURE else "but_worked"
        happened = _plain(first_sentences(event.result or event.attempt))
        told.append(speak(phrase, happened, event.source_ref or event.id))
    if len(fresh) > MAX_NAMED:
        told.append(speak("more", len(fresh) - MAX_NAMED))
    return told, [
        {"id": event.id, "source_ref": event.source_ref, "label": event.label} for event in fresh[: 2 * MAX_REFS]
    ]


def _risk(rate: Mapping[str, Any], speak: PhraseFiller) -> str:
    if rate["rate"] is None:
        return ""
    share, low, high = (round(100 * rate[name]) for name in ("rate", "low", "high"))
    return speak("risk", rate["successes"], rate["trials"], share, low, high)


def _cost(cost: Cost, speak: PhraseFiller) -> str:
    times = "" if cost.seconds is None else speak("seconds", _number(cost.seconds), cost.timed)
    attempts = "" if cost.attempts is None else speak("attempts", _number(cost.attempts), cost.episodes)
    return speak.listed([times, attempts])


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= WHOLE else f"{value:.3g}"


def _plain(text: str) -> str:
    return text.strip(_ENDS)
