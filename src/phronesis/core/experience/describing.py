"""What a pattern says, by rules: the words of its most typical event, and the slots that its events share (EMB-09)."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from phronesis.core.experience.records import L1Event

MAX_SAID: Final = 240
"""Characters that a pattern takes over from one text of an event: two sentences."""

MAX_TERMS: Final = 8
MAX_SLOTS: Final = 8
MAX_READ: Final = 50
"""Members whose terms are counted, the most typical first."""

SHARED_BY: Final = 0.5
"""Share of the members that must name a term or an artifact, for it to tell when the pattern applies."""

_CHINESE: Final = re.compile("[\u3400-\u9fff]")
_LATIN: Final = re.compile("[A-Za-z]{2,}")

_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")


@dataclass(frozen=True, slots=True)
class Described:
    """What is said of a pattern."""

    summary: str
    signature: Mapping[str, Any]
    recommendation: str

    @property
    def content(self) -> str:
        """What is searched and read: what happened, when it applies, and what to do or not to do."""
        named = [one.partition(":")[2] for one in self.signature.get("artifacts", ())]
        slots = dict.fromkeys([*self.signature.get("terms", ()), *named])
        told = [self.summary, self.signature.get("situation", ""), self.signature.get("goal", ""), ", ".join(slots),
                self.recommendation]  # fmt: skip
        return "\n".join(dict.fromkeys(text for text in told if text))


def is_chinese(text: str) -> bool:
    """Tell whether a text is Chinese: it has at least as many Han characters as Latin words, which are often names."""
    han = len(_CHINESE.findall(text))
    return han > 0 and han >= len(_LATIN.findall(text))


def said(text: str) -> str:
    """Give the first sentences of a text that fit into `MAX_SAID` characters, at least the first, cut if need be."""
    out = ""
    for sentence in filter(None, _SENTENCE.split(" ".join(text.split()))):
        if out and len(out) + len(sentence) > MAX_SAID:
            break
        glued = not out or (out[-1] in "。！？" and _CHINESE.match(sentence))
        out += sentence if glued else f" {sentence}"
    return out if len(out) <= MAX_SAID else out[: MAX_SAID - 1] + "…"


def describe(
    events: Sequence[L1Event], outcome: str, *, terms_of: Callable[[str], Sequence[str]], rarity: Callable[[str], float]
) -> Described:
    """Describe a pattern by rules.

    Args:
        events: its members, the most typical first.
        outcome: success, failure or unknown.
        terms_of: the readable terms of a text.
        rarity: how rare a term is in the whole lane, 0 for what says nothing.
    """
    return Described(
        summary=_summary(events[0]), signature=_signature(events, terms_of, rarity),
        recommendation=_recommendation(events, outcome),
    )  # fmt: skip


def _summary(centre: L1Event) -> str:
    attempt, result = said(centre.attempt), said(centre.result)
    return f"{attempt} → {result}" if result else attempt


def _recommendation(events: Sequence[L1Event], outcome: str) -> str:
    """Say what to do or not to do, and the lesson of the most typical member that has one; else what came of it."""
    centre = events[0]
    chinese = is_chinese("\n".join(_texts(centre)))
    verb = {"success": ("Do: ", "建议："), "failure": ("Avoid: ", "避免：")}.get(outcome, ("Open: ", "未定："))[chinese]
    told = verb + said(centre.attempt)
    lesson = next((said(event.reflection) for event in events if event.reflection), "")
    if lesson:
        return told if lesson in told else f"{told}\n{('Lesson: ', '教训：')[chinese]}{lesson}"
    return f"{told}\n{('Outcome: ', '结果：')[chinese]}{said(centre.result)}" if centre.result else told


def _signature(
    events: Sequence[L1Event], terms_of: Callable[[str], Sequence[str]], rarity: Callable[[str], float]
) -> dict[str, Any]:
    centre = events[0]
    needed = SHARED_BY * len(events)
    read = events[:MAX_READ]
    terms = Counter(term for event in read for term in set(terms_of("\n".join(_texts(event)))))
    least = max(2.0, SHARED_BY * len(read))
    shared = _whole({term: count for term, count in terms.items() if count >= least})
    heavy = sorted(((count * rarity(term), term) for term, count in shared.items()), key=lambda one: (-one[0], one[1]))
    artifacts = Counter(artifact for event in events for artifact in event.artifacts)
    families = Counter(event.family for event in events if event.family)
    slots = {
        "terms": [term for weight, term in heavy if weight > 0][:MAX_TERMS],
        "artifacts": sorted(one for one, count in artifacts.items() if count >= needed and count > 1)[:MAX_SLOTS],
        "families": sorted(one for one, count in families.items() if count >= needed),
        "source_types": sorted({event.source_type for event in events if event.source_type}),
        "situation": said(centre.situation), "goal": said(centre.goal),
    }  # fmt: skip
    return {name: value for name, value in slots.items() if value}


def _whole(counts: Mapping[str, int]) -> dict[str, int]:
    """Leave out the Chinese terms that are part of a longer one which as many members have."""
    long = [term for term in counts if _CHINESE.match(term)]
    parts = {
        term for term in long for other in long if term != other and term in other and counts[term] <= counts[other]
    }
    return {term: count for term, count in counts.items() if term not in parts}


def _texts(event: L1Event) -> list[str]:
    return [text for text in (event.situation, event.goal, event.attempt, event.result, event.reflection) if text]
