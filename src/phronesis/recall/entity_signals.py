"""Entity and speaker signals: which places mention a question's people, files and addresses, and who said what."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from phronesis.core.relations import NAME, Entity, normal_name
from phronesis.core.text import UNSPACED, storable
from phronesis.recall.scope_index import LaneIndex, LaneLayout, subject_code
from phronesis.recall.scoring.lane_arrays import Floats, Mask
from phronesis.recall.scoring.packed_features import FROM_ASSISTANT, FROM_USER, SAID
from phronesis.recall.scoring.signals import Voice
from phronesis.store.database import Unit
from phronesis.store.relations import find_entities, read_families, read_mentions

MAX_WORDS: Final = 4
"""Maximum words of a name, including titles and double surnames."""

MAX_QUERY_WORDS: Final = 64
"""Number of words of a question that are looked up as names."""

_WORD: Final = re.compile(rf"https?://\S+|(?:[^\W{UNSPACED}]|[@./~+-])+")
_POSSESSIVE: Final = re.compile(r"['’]s\b")


def names_in(text: str) -> set[str]:
    """Return every run of one to four words of a question in normal form, as candidate names.

    For Chinese, which has no spaces, runs of two to four characters are candidates too.
    """
    held = storable(text)  # normalised like stored names; an address may contain characters that no database accepts
    words = [word.strip(".,;:!?-") for word in _WORD.findall(_POSSESSIVE.sub(" ", held))][:MAX_QUERY_WORDS]
    out: set[str] = set()
    for start in range(len(words)):
        for end in range(start + 1, min(start + MAX_WORDS, len(words)) + 1):
            out.add(normal_name(" ".join(words[start:end])))
    for run in re.findall(r"[一-鿿]{2,}", text[:500]):
        out |= {run[i : i + n] for n in range(2, MAX_WORDS + 1) for i in range(len(run) - n + 1)}
    return out - {""}


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """An entity that a question names: its ids, and all its names in normal form."""

    entity_ids: frozenset[str]
    names: frozenset[str]


def named_in(unit: Unit, lane_id: int, names: set[str]) -> list[NamedEntity]:
    """Return the entities that these names denote in a lane, each with all its aliases.

    A bare name denotes all its namesakes, unless one of them is named with the relation: "my sister Anna".
    """
    found = find_entities(unit, lane_id, sorted(names)) if names else []
    own = {entity.normal: entity for entity in found if entity.kind == NAME}
    people = [entity for entity in found if entity.related and entity.normal in own]
    bare = {person.canonical_id for person in people}
    roots = {_root(entity) for entity in found if entity not in people and entity.id not in bare}
    families: dict[str, list[Entity]] = {}
    for entity in read_families(unit, lane_id, sorted(roots)):
        families.setdefault(_root(entity), []).append(entity)
    for person in people:
        families.setdefault(_root(own[person.normal]), []).append(person)
    return [
        NamedEntity(frozenset(entity.id for entity in family), frozenset(entity.normal for entity in family))
        for family in families.values()
    ]


def _root(entity: Entity) -> str:
    return entity.canonical_id or entity.id


def mentioned_items(unit: Unit, lane_id: int, named: Iterable[NamedEntity]) -> set[str]:
    """Return the ids of items that mention any of the named entities, under any of their names."""
    ids = {entity_id for one in named for entity_id in one.entity_ids}
    return {mention.item_id for mention in read_mentions(unit, lane_id, sorted(ids))}


# The speaker signal: marks the places of a lane that the requested speaker said.

SELF: Final = "user"
"""The subject of items about the person whose memory it is (docs/memory-types.md)."""


def speaker_of(
    index: LaneIndex, laid: LaneLayout, named: Sequence[NamedEntity], speaking: Collection[str], voice: Voice | None
) -> tuple[Floats | None, bool]:
    """Return a mask of the requested speaker's places, and whether the question names the speaker.

    If one speaker is named, by any name: that speaker's messages and items about them. If none is: the user's or the
    assistant's, according to the question's "I" and "you". If several are: None.
    """
    families = [one.names for one in named if any(name in index.speakers for name in one.names)]
    known = {name for family in families for name in family}
    families += [frozenset({name}) for name in speaking if name in index.speakers and name not in known]
    if len(families) > 1:
        return None, False
    about = _mask_about(index, laid, [name for one in named for name in one.names])
    if families:
        [names] = families
        said = np.isin(laid.speakers, [index.speakers[name] for name in names if name in index.speakers])
        said &= laid.properties.flags & SAID > 0
        if np.any(laid.properties.flags[said] & FROM_USER):
            about |= _mask_about(index, laid, [SELF])
        return (said | about).astype(np.float32), True
    if speaking:
        return None, False  # a speaker of another lane
    if voice is None:
        return (about.astype(np.float32), True) if about.any() else (None, False)
    said = laid.properties.flags & SAID > 0
    meant = laid.properties.flags & (FROM_ASSISTANT if voice == "assistant" else FROM_USER) > 0
    held = about if voice == "assistant" else np.ones_like(about)
    return np.where(said, meant, held).astype(np.float32), False


def _mask_about(index: LaneIndex, laid: LaneLayout, names: Collection[str]) -> Mask:
    codes = [subject_code(index.subjects[name]) for name in names if name in index.subjects]
    return np.isin(laid.speakers, codes) if codes else np.zeros(len(laid.speakers), dtype=np.bool_)
