"""What became of a document's sections between two versions of it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Words:
    """A section as it is compared: its headings and its own text."""

    path: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Difference:
    """How the sections of a new version, by their places in it, follow from those held.

    ``kept``: the same words, under whatever headings; ``replaced``: other words under the same headings; both name the
    section held. What is in neither is new. ``gone`` are the sections held that the new version has no more.
    """

    kept: Mapping[int, str] = field(default_factory=dict)
    replaced: Mapping[int, str] = field(default_factory=dict)
    gone: tuple[str, ...] = ()


def difference(held: Mapping[str, Words], new: Sequence[Words]) -> Difference:
    """Tell what became of the sections ``held`` (in reading order, by id) in a new version.

    Sections are matched by headings and words, then by words alone (they moved), then by headings alone (they were
    rewritten), each time in reading order. Every section is matched at most once.
    """
    left = dict(held)
    kept: dict[int, str] = {}
    replaced: dict[int, str] = {}
    for form, found in ((_both, kept), (_text, kept), (_path, replaced)):
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


def _both(words: Words) -> object:
    return words.path, words.text


def _text(words: Words) -> object:
    return words.text


def _path(words: Words) -> object:
    return words.path
