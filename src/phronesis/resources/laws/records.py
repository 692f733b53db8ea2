"""Records of resources: results of the verbs, and the difference between two versions of a document."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from phronesis.core.entries import DocumentRow
from phronesis.core.items import Item
from phronesis.core.proposals import Gated
from phronesis.core.serialization import EntryResult, Record

# Results of the verbs of resources.


class ResourcePayload(TypedDict, total=False):
    """The verb ``resource``: a document by its text, its bytes, or its address and how to read it."""

    uri: str
    title: str
    text: str
    data: str
    name: str
    media_type: str
    mode: str
    type: str
    made_by: str
    agent_id: str
    occurred_at: str
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class IngestedResource(EntryResult):
    """The result of ``resources.ingest``.

    ``document`` is the item of the document, ``number`` that of its present version; an ingested version that is older
    is another one, and its sections are ended. ``sections`` are those that this version added, ``superseded`` those
    that it replaced or removed, ``unchanged`` the number of unchanged sections. ``gated`` names the sections in
    quarantine, and the secrets and personal data that were removed before storing. ``pending``: recorded, not parsed
    yet.
    """

    entry_id: str
    document: Item | None = None
    number: int = 0
    sections: Sequence[Item] = ()
    superseded: Sequence[Item] = ()
    unchanged: int = 0
    gated: Sequence[Gated] = ()
    pending: bool = False


@dataclass(frozen=True, slots=True)
class Resource(Record):
    """A document with its versions in order of arrival, and the sections of the present one in reading order."""

    document: Item
    versions: Sequence[DocumentRow] = ()
    sections: Sequence[Item] = ()


@dataclass(frozen=True, slots=True)
class SectionText:
    """A section as it is compared: its headings and its own text."""

    path: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Difference:
    """How the sections of a new version, by place, follow from those held.

    ``kept``: the same text, under any headings; ``replaced``: another text under the same headings; both name the held
    section. Other sections are new. ``gone`` are the held sections that the new version does not have.
    """

    kept: Mapping[int, str] = field(default_factory=dict)
    replaced: Mapping[int, str] = field(default_factory=dict)
    gone: tuple[str, ...] = ()


def difference(held: Mapping[str, SectionText], new: Sequence[SectionText]) -> Difference:
    """Return how the held sections (by id, in reading order) correspond to those of a new version.

    Sections are matched by headings and text, then by text alone (moved), then by headings alone (rewritten), each in
    reading order. Every section is matched at most once.
    """
    left = dict(held)
    kept: dict[int, str] = {}
    replaced: dict[int, str] = {}
    for form, found in ((_identity_of, kept), (_text, kept), (_path, replaced)):
        waiting: dict[object, list[str]] = defaultdict(list)
        for one, words in left.items():
            waiting[form(words)].append(one)
        for ids in waiting.values():
            ids.reverse()
        for n, words in enumerate(new):
            if n in kept or n in replaced or not waiting.get(form(words)):
                continue
            one = waiting[form(words)].pop()
            found[n] = one
            del left[one]
    return Difference(kept, replaced, tuple(left))


def _identity_of(words: SectionText) -> object:
    return words.path, words.text


def _text(words: SectionText) -> object:
    return words.text


def _path(words: SectionText) -> object:
    return words.path
