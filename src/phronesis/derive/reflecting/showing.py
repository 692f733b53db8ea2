"""What a model is shown at a reflection: memories and traits as lines of JSON between fences (law 8)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from phronesis.core.fences import choose_boundary
from phronesis.core.instants import isoformat
from phronesis.core.items import Item
from phronesis.core.traits.seen import SeenTrait

MAX_SHOWN: Final = 40_000
"""Characters of new memories that are shown, the most important first where they do not all fit."""

MAX_EARLIER: Final = 12_000
MAX_TRAITS: Final = 16_000
"""Characters of earlier memories, and of traits, the surest first."""

MAX_CONTENT: Final = 600
"""Characters shown of one memory or trait."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The data of one question, and the ids of the memories and traits in it."""

    data: str
    memories: Sequence[str]
    traits: Sequence[str]


def shown(entry_id: str, new: Sequence[Item], earlier: Sequence[Item], traits: Sequence[SeenTrait]) -> Shown:
    """Show new memories, earlier ones and traits, as many of each as fit."""
    weighty = sorted(new, key=lambda memory: (-memory.importance, memory.recorded_at, memory.id))
    fitting = _fitting(((memory.id, _memory(memory)) for memory in weighty), MAX_SHOWN)
    recent = {memory.id: fitting[memory.id] for memory in new if memory.id in fitting}
    older = _fitting(((memory.id, _memory(memory)) for memory in earlier), MAX_EARLIER)
    sure = sorted(traits, key=lambda trait: (-(trait.confidence or 0.0), trait.id))
    known = _fitting(((trait.id, _trait(trait)) for trait in sure), MAX_TRAITS)
    boundary = choose_boundary(entry_id, [*recent.values(), *older.values(), *known.values()])
    lines = ["New memories:", boundary.turn('role="new"', "\n".join(recent.values()))]
    if older:
        lines += ["Earlier memories:", boundary.turn('role="earlier"', "\n".join(older.values()))]
    lines += ["Traits known so far:", boundary.turn('role="traits"', "\n".join(known.values()) or "(none)")]
    return Shown("\n".join(lines), [*recent, *older], list(known))


def shown_special(entry_id: str, trait: SeenTrait, supporting: Sequence[Item], against: Sequence[Item]) -> Shown:
    """Show a trait with what supports and contradicts it, the latest where not all fits."""
    both = [
        _fitting(((memory.id, _memory(memory)) for memory in listed[::-1]), MAX_EARLIER)
        for listed in (supporting, against)
    ]
    told = _trait(trait)
    boundary = choose_boundary(entry_id, [told, *both[0].values(), *both[1].values()])
    lines = ["The trait:", boundary.turn('role="trait"', told)]
    for name, texts in zip(("supporting", "contradicting"), both, strict=True):
        lines += [f"Memories, {name}:", boundary.turn(f'role="{name}"', "\n".join([*texts.values()][::-1]))]
    return Shown("\n".join(lines), [*both[0], *both[1]], [trait.id])


def _fitting(texts: Iterable[tuple[str, str]], room: int) -> dict[str, str]:
    out: dict[str, str] = {}
    for name, text in texts:
        room -= len(text) + 1
        if room < 0:
            break
        out[name] = text
    return out


def _memory(memory: Item) -> str:
    return _json({
        "id": memory.id, "at": isoformat(memory.occurred_at or memory.recorded_at), "kind": memory.kind,
        "session": memory.session_id, "content": memory.content[:MAX_CONTENT],
    })  # fmt: skip


def _trait(trait: SeenTrait) -> str:
    return _json({
        "id": trait.id, "content": trait.content[:MAX_CONTENT], "stage": trait.stage, "subtype": trait.subtype,
        "confidence": trait.confidence, "context": trait.context,
    })  # fmt: skip


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)
