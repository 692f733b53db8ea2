"""How well a reflection by rules finds traits, on labelled users (``phronesis bench traits``).

A user is a JSON object a line: ``{"user", "language", "memories", "traits", "never"}`` (labelled/traits). The
memories are replayed in the order of time, with a reflection after every few sessions and one at the end; each is shown
the traits found before, with what they have been given as evidence since.

A found trait is right when two thirds of its evidence, and two memories at least, are members of one labelled trait; of
two that show the same one, the second is a duplicate, neither right nor wrong. Those half of whose evidence, or more,
are of one ``never`` group are counted by the group's ``why``, and as sensitive those with any evidence that is.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from phronesis.config.policy_sections import SensitiveRules
from phronesis.core.timestamps import parse_moment
from phronesis.engine.content_guards import Guard
from phronesis.errors import InputError
from phronesis.models.embedder import Embedder, Floats
from phronesis.models.embedders import Embedders
from phronesis.traits.laws.records import MemoryInput, TraitInput
from phronesis.traits.rule_reflection import reflect
from phronesis.traits.similarity import Cosine
from phronesis.traits.strategies import combined_unit_rows
from phronesis_benchmarks.records import read_rows, render_share, render_table

SESSIONS: Final = 3
"""Sessions between two reflections."""

LEAST: Final = 2
"""What makes a found trait right: two thirds of its evidence, and so many memories."""

_CONFIDENCE: Final = 0.4


@dataclass(slots=True)
class ReplayedTrait:
    """A trait while it is replayed."""

    content: str
    context: str
    supporting: list[str]
    contradicting: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraitScore:
    """What was found of the users of one language of one file. Shares are None where there is nothing to share."""

    data: str
    language: str
    users: int
    labels: int
    found: int
    right: int
    duplicates: int
    covered: float
    never: Mapping[str, int]
    ended: int
    ended_right: int
    careful: int
    careful_right: int

    @property
    def precision(self) -> float | None:
        """The share of the found traits that are right, duplicates left out."""
        return self.right / (self.found - self.duplicates) if self.found else None

    @property
    def recall(self) -> float | None:
        """The share of the labelled traits that were found."""
        return self.right / self.labels if self.labels else None

    @property
    def coverage(self) -> float | None:
        """The mean share of a found trait's labelled members that are among its evidence."""
        return self.covered / self.right if self.right else None


@dataclass(frozen=True, slots=True)
class TraitReport:
    """The scores of every file and language, in order."""

    scores: tuple[TraitScore, ...]

    def to_markdown(self) -> str:
        """Return a table."""
        head = "data language users found duplicates precision recall coverage sensitive one-off".split()
        rows = (
            (
                *(one.data, one.language, one.users, one.found, one.duplicates),
                *map(render_share, (one.precision, one.recall, one.coverage)),
                *(one.never.get("sensitive", 0), one.never.get("one-off", 0)),
                sum(count for why, count in one.never.items() if why not in {"sensitive", "one-off"}),
                f"{one.ended_right}/{one.ended}",
                f"{one.careful_right}/{one.careful}",
            )
            for one in self.scores
        )
        return render_table([*head, "other never", "ended", "careful"], rows)


def run_traits(
    data: Sequence[Path], *, embedders: Embedders | None = None, sessions: int = SESSIONS, guarded: bool = False
) -> TraitReport:
    """Reflect on every user of the files, and compare. InputError names the line that cannot be read.

    ``guarded``: what speaks of sensitive matters is refused, as it is where the rules are at work.
    """
    guard = Guard(SensitiveRules()) if guarded else None
    scores: list[TraitScore] = []
    for path in data:
        users = load_users(path)
        if not users:
            raise InputError(f"{path.name} holds no users", field="data")
        results = [
            (user["language"], compared(user, replayed(user, embedders, sessions=sessions, guard=guard)))
            for user in users
        ]
        languages = [*dict.fromkeys(language for language, _ in results), "all"]
        scores += [
            _sum(path.name, language, [counts for mine, counts in results if language in {mine, "all"}])
            for language in languages
        ]
    return TraitReport(tuple(scores))


def load_users(path: Path) -> list[dict[str, Any]]:
    """Return the labelled users of a file, checked for what comparing needs."""

    def checked(user: dict[str, Any]) -> dict[str, Any]:
        for memory in user["memories"]:
            parse_moment(memory["at"], field="at")
            _ = memory["id"], memory["text"], memory["kind"]
        _ = user["language"], [trait["members"] for trait in user["traits"]], user["never"]
        return user

    return read_rows(path, checked, what="labelled user")


def replayed(
    user: Mapping[str, Any], embedders: Embedders | None, *, sessions: int = SESSIONS, guard: Guard | None = None
) -> list[ReplayedTrait]:
    """Return the traits that reflections find in a user's memories, with their evidence."""
    memories = sorted(
        (
            MemoryInput(
                id=one["id"],
                content=one["text"],
                kind=one["kind"],
                at=parse_moment(one["at"], field="at"),
                session_id=one.get("session"),
                importance=one.get("importance", 5),
            )
            for one in user["memories"]
        ),
        key=lambda one: (one.at, one.id),
    )
    own = None if embedders is None else embedders.default
    beside = None if embedders is None or own is None else embedders.comparison_encoder(own)
    cosine = None if own is None else cosines_of(memories, own, beside)
    said = {one.id: one.content for one in memories}
    order = list(dict.fromkeys(one.session_id for one in memories))
    held: list[ReplayedTrait] = []

    def sensitive(text: str) -> bool:
        return guard is not None and guard.of_trait(text, ()) is not None

    before: set[str] = set()
    for end in [*range(sessions, len(order), sessions), len(order)]:
        now = set(order[:end])
        seen = [one for one in memories if one.session_id in now]
        new = {one.id for one in seen} - before
        before |= new
        traits = [_seen(n, one) for n, one in enumerate(held)]
        proposed = reflect(seen, new, traits, cosine=cosine, sensitive=sensitive)
        for more in proposed.reinforcements:
            held[int(more.trait_id)].supporting.extend(more.new_evidence_ids)
        for against in proposed.contradictions:
            held[int(against.trait_id)].contradicting.extend(against.contradicting_evidence_ids)
        held += [
            ReplayedTrait(one.content, one.context, [*one.evidence_ids])
            for one in proposed.new_behaviors
            if guard is None or guard.of_trait(one.content, [said[id_] for id_ in one.evidence_ids]) is None
        ]
    return held


def _seen(n: int, one: ReplayedTrait) -> TraitInput:
    return TraitInput(
        id=str(n),
        content=one.content,
        stage="candidate",
        subtype="behavior",
        context=one.context,
        confidence=_CONFIDENCE,
        supporting=tuple(one.supporting),
        contradicting=tuple(one.contradicting),
    )


def cosines_of(memories: Sequence[MemoryInput], own: Embedder, beside: Embedder | None = None) -> Cosine:
    """Return the function that says how near the vectors of memories are, by one encoder or by two."""
    texts = [one.content for one in memories]
    vectors = own.embed_documents(texts)
    if beside is not None:
        vectors = combined_unit_rows(vectors, beside.embed_documents(texts))
    rows = {one.id: n for n, one in enumerate(memories)}

    def cosine(ids: Sequence[str]) -> Floats:
        those = vectors[[rows[one] for one in ids]]
        return np.asarray(those @ those.T, np.float32)

    return cosine


def compared(user: Mapping[str, Any], held: Sequence[ReplayedTrait]) -> dict[str, Any]:
    """Count what is right of the traits found with one user."""
    gold = user["traits"]
    never: Counter[str] = Counter()
    taken: dict[int, ReplayedTrait] = {}
    duplicates = 0
    for one in held:
        evidence = set(one.supporting)
        shared = [len(evidence.intersection(trait["members"])) for trait in gold]
        best = max(range(len(gold)), key=lambda n: (shared[n], -n), default=None)
        if best is not None and shared[best] >= LEAST and 3 * shared[best] >= 2 * len(evidence):
            duplicates += best in taken
            taken.setdefault(best, one)
        never.update(
            {
                group["why"]
                for group in user["never"]
                if evidence.intersection(group["members"])
                and (group["why"] == "sensitive" or 2 * len(evidence.intersection(group["members"])) >= len(evidence))
            }
        )
    contradicted = [n for n, trait in enumerate(gold) if trait.get("contradicted_by")]
    careful = [n for n, trait in enumerate(gold) if trait.get("looks_sensitive")]
    return {
        "labels": len(gold),
        "found": len(held),
        "right": len(taken),
        "duplicates": duplicates,
        "covered": sum(
            len(set(one.supporting).intersection(gold[n]["members"])) / len(gold[n]["members"])
            for n, one in taken.items()
        ),
        "never": never,
        "ended": sum(n in taken for n in contradicted),
        "ended_right": sum(_names(taken[n], gold[n]["contradicted_by"]) for n in contradicted if n in taken),
        "careful": len(careful),
        "careful_right": sum(n in taken for n in careful),
    }


def _names(one: ReplayedTrait, against: Sequence[str]) -> bool:
    """Return whether a trait was contradicted by one of the memories that do, and by none of them supported."""
    return bool(set(against).intersection(one.contradicting)) and not set(against).intersection(one.supporting)


def _sum(data: str, language: str, counts: Sequence[Mapping[str, Any]]) -> TraitScore:
    never: Counter[str] = Counter()
    for one in counts:
        never.update(one["never"])
    names = ("labels", "found", "right", "duplicates", "covered", "ended", "ended_right", "careful", "careful_right")
    totals = {name: sum(one[name] for one in counts) for name in names}
    return TraitScore(data=data, language=language, users=len(counts), never=dict(never), **totals)
