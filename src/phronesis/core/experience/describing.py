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

SHARED_BY: Final = 0.5
"""Share of the members that must name a term or an artifact, for it to tell when the pattern applies."""

_CHINESE: Final = re.compile("[\u3400-\u9fff]")
_CHINESE_SHARE: Final = 0.2
"""A text is Chinese from this share of Han characters on: Latin names stand among them."""

_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")


@dataclass(frozen=True, slots=True)
class Described:
    """What is said of a pattern."""

    summary: str
    signature: Mapping[str, Any]
    recommendation: str

    @property
    def content(self) -> str:
        """What is searched and read: what happened, when it applies, and what to do or not to do."""
        slots = [*self.signature.get("terms", ()), *self.signature.get("artifacts", ())]
        told = [self.summary, self.signature.get("situation", ""), self.signature.get("goal", ""), ", ".join(slots),
                self.recommendation]  # fmt: skip
        return "\n".join(dict.fromkeys(text for text in told if text))


def is_chinese(text: str) -> bool:
    """Tell whether a text is Chinese."""
    return len(_CHINESE.findall(text)) >= _CHINESE_SHARE * max(1, len(text))


def said(text: str) -> str:
    """Give the first sentences of a text that fit into `MAX_SAID` characters, at least the first, cut if need be."""
    flat = " ".join(text.split())
    out = ""
    for sentence in _SENTENCE.split(flat):
        if out and len(out) + len(sentence) > MAX_SAID:
            break
        out = f"{out} {sentence}" if out and not is_chinese(sentence) else out + sentence
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
    centre = events[0]
    latest = max((event for event in events if event.reflection), key=_when, default=None)
    return Described(
        summary=_summary(centre), signature=_signature(events, terms_of, rarity),
        recommendation=_recommendation(centre, latest, outcome),
    )  # fmt: skip


def _when(event: L1Event) -> tuple[Any, str]:
    return (event.occurred_at or event.recorded_at, event.id)


def _summary(centre: L1Event) -> str:
    attempt, result = said(centre.attempt), said(centre.result)
    return f"{attempt} → {result}" if result else attempt


def _recommendation(centre: L1Event, latest: L1Event | None, outcome: str) -> str:
    chinese = is_chinese(centre.attempt)
    verb = {"success": ("Do: ", "建议："), "failure": ("Avoid: ", "避免：")}.get(outcome, ("Open: ", "未定："))[chinese]
    lesson = "" if latest is None else said(latest.reflection)
    told = verb + said(centre.attempt)
    return f"{told}\n{('Lesson: ', '教训：')[chinese]}{lesson}" if lesson and lesson not in told else told


def _signature(
    events: Sequence[L1Event], terms_of: Callable[[str], Sequence[str]], rarity: Callable[[str], float]
) -> dict[str, Any]:
    centre = events[0]
    needed = SHARED_BY * len(events)
    terms = Counter(term for event in events for term in set(terms_of("\n".join(_texts(event)))))
    heavy = sorted(((count * rarity(term), term) for term, count in terms.items() if count >= needed and count > 1),
                   key=lambda one: (-one[0], one[1]))  # fmt: skip
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


def _texts(event: L1Event) -> list[str]:
    return [text for text in (event.situation, event.goal, event.attempt, event.result, event.reflection) if text]
