"""How well events are clustered into patterns, on labelled events (``phronesis bench experience --labelled``).

An event is a JSON object a line, in the form of labelled/experience: the fields of an experience, ``id``,
``lang`` and ``patterns``, the names of the gold patterns that it belongs to. The events of a file are ingested into a
store of their own and aggregated at once, and in another store most of them at once and the others one by one.

A pair of events is gold when they have a pattern in common, and found when they are members of one pattern. Beside a
file ``near_misses.json`` may name, by the file's stem, pairs of gold patterns that are easily taken for one.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from itertools import chain, combinations, pairwise
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, Final, NamedTuple

from phronesis import Memory
from phronesis.errors import InputError
from phronesis.experience.laws.records import PATTERN, Pattern
from phronesis_benchmarks.records import read_rows, render_share, render_table

NEAR: Final = "near_misses.json"
AT_ONCE: Final = 0.9
PART: Final = 1
"""When events that come later are measured: the share that is there before them, and how many come between two
aggregations. With a tenth more events all are looked at anyway, so that of parts as large nothing is learned."""

_FIELDS: Final = ("situation", "goal", "attempt", "result", "reflection", "label", "source_type", "source_ref")
_MANY: Final = 1_000

Pairs = AbstractSet[tuple[int, int]]
Groups = Sequence[Sequence[int]]


class Agreement(NamedTuple):
    """How found pairs agree with gold ones; a share is None where there is nothing to share."""

    precision: float | None
    recall: float | None

    @property
    def f1(self) -> float | None:
        """The harmonic mean."""
        if self.precision is None or self.recall is None or not self.precision + self.recall:
            return None
        return 2 * self.precision * self.recall / (self.precision + self.recall)

    @classmethod
    def of(cls, found: Pairs, gold: Pairs) -> "Agreement":
        """Compare two sets of pairs."""
        both = len(found & gold)
        return cls(both / len(found) if found else None, both / len(gold) if gold else None)

    def __str__(self) -> str:
        """Return precision, recall and F1, for a cell."""
        return " / ".join(map(render_share, (self.precision, self.recall, self.f1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterScore:
    """What was found of the events of one file.

    ``per_pattern`` is the mean precision of the found patterns and the mean recall of the gold ones; ``noise`` the
    share of the events without a pattern that are in one; ``near`` the share of the pairs across near misses that were
    put together; ``in_parts`` how far the pairs found a part at a time agree with those found at once, and ``kept`` the
    share of the patterns found in parts that kept their id when everything was then clustered anew. ``seconds`` are
    CPU seconds of the aggregation at once.
    """

    data: str
    embedder: str
    events: int
    gold: int
    patterns: int
    pairs: Agreement
    english: Agreement
    chinese: Agreement
    across: Agreement
    per_pattern: Agreement
    noise: float | None
    near: float | None
    in_parts: Agreement | None
    kept: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class ClusterReport:
    """The scores of every file."""

    scores: tuple[ClusterScore, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)

    def to_markdown(self) -> str:
        """Return a table; agreements are precision / recall / F1."""
        head = "data encoder events gold patterns pairs English Chinese across".split()
        head += ["per pattern", "noise placed", "near misses merged", "in parts", "ids kept", "CPU s"]
        rows = (
            (
                *(one.data, one.embedder, one.events, one.gold, one.patterns, one.pairs),
                *(one.english, one.chinese, one.across, one.per_pattern),
                *map(render_share, (one.noise, one.near)),
                one.in_parts or "–",
                render_share(one.kept),
                f"{one.seconds:.2f}",
            )
            for one in self.scores
        )
        return render_table(head, rows)


def run_clusters(data: Sequence[Path], *, embedder: str = "none", in_parts: bool = False) -> ClusterReport:
    """Cluster the events of each file, and compare. InputError names the line that cannot be read.

    ``in_parts``: cluster them a second time, `AT_ONCE` of them at first and the others `PART` at a time.
    """
    return ClusterReport(tuple(_scored(path, embedder, in_parts=in_parts) for path in data))


def _scored(path: Path, embedder: str, *, in_parts: bool) -> ClusterScore:
    events = load_events(path)
    groups, seconds = clustered(events, embedder)
    gold, found = gold_pairs(events), pairs_of(groups)
    chinese = [event["lang"] == "zh" for event in events]

    def spoken(pairs: Pairs, count: int) -> set[tuple[int, int]]:
        return {pair for pair in pairs if sum(chinese[one] for one in pair) == count}

    parts = clustered_in_parts(events, embedder) if in_parts else None
    noise = {n for n, event in enumerate(events) if not event["patterns"]}
    names = {name for event in events for name in event["patterns"]}
    return ClusterScore(
        data=path.name,
        embedder=embedder,
        events=len(events),
        gold=len(names),
        patterns=len(groups),
        pairs=Agreement.of(found, gold),
        english=Agreement.of(spoken(found, 0), spoken(gold, 0)),
        chinese=Agreement.of(spoken(found, 2), spoken(gold, 2)),
        across=Agreement.of(spoken(found, 1), spoken(gold, 1)),
        per_pattern=_by_pattern(events, groups, gold),
        noise=len(noise & set(chain.from_iterable(groups))) / len(noise) if noise else None,
        near=_near(path, events, found),
        in_parts=None if parts is None else Agreement.of(pairs_of(parts[0]), found),
        kept=None if parts is None else parts[1],
        seconds=seconds,
    )


def load_events(path: Path) -> list[dict[str, Any]]:
    """Return the labelled events of a file, checked for what comparing needs."""

    def checked(event: dict[str, Any]) -> dict[str, Any]:
        _ = event["attempt"], event["source_ref"], event["lang"], [*event["patterns"]]
        return event

    events = read_rows(path, checked, what="labelled event", field="labelled")
    if not events:
        raise InputError(f"{path.name} holds no events", field="labelled")
    return events


def clustered(events: Sequence[Mapping[str, Any]], embedder: str) -> tuple[list[list[int]], float]:
    """Return the patterns of events, by their places, and the CPU seconds of the aggregation."""
    with TemporaryDirectory() as folder, _opened(folder, embedder) as memory:
        places = _ingested(memory, events, 0)
        memory.flush()
        begun = process_time()
        memory.aggregate()
        return list(_patterns(memory, places).values()), process_time() - begun


def clustered_in_parts(
    events: Sequence[Mapping[str, Any]], embedder: str, *, at_once: float = AT_ONCE, part: int = PART
) -> tuple[list[list[int]], float | None]:
    """Return the patterns of events that were aggregated a part at a time, and the share that full clustering keeps."""
    with TemporaryDirectory() as folder, _opened(folder, embedder) as memory:
        places: dict[str, int] = {}
        first = int(at_once * len(events))
        for begin, end in pairwise([0, *range(first, len(events), part), len(events)]):
            places |= _ingested(memory, events[begin:end], begin)
            memory.flush()
            memory.aggregate()
        before = _patterns(memory, places)
        memory.aggregate(full=True)
        after = _patterns(memory, places)
        return list(before.values()), len(before.keys() & after.keys()) / len(before) if before else None


def _opened(folder: str, embedder: str) -> Memory:
    return Memory.open(f"sqlite:///{folder}/clusters.db", policy={"embedder": embedder})


def _ingested(memory: Memory, events: Sequence[Mapping[str, Any]], first: int) -> dict[str, int]:
    """Ingest events; gives their places by id."""
    out: dict[str, int] = {}
    for begin in range(0, len(events), _MANY):
        batch = [{name: event[name] for name in _FIELDS if event.get(name)} for event in events[begin : begin + _MANY]]
        out |= {event.id: first + begin + n for n, (event, _) in enumerate(memory.ingest(batch))}
    return out


def _patterns(memory: Memory, places: Mapping[str, int]) -> dict[str, list[int]]:
    """Return the members of each pattern, by its id."""
    out = {}
    for item in memory.get_all(kinds=[PATTERN], limit=_MANY):
        record = memory.get(item.id)
        if isinstance(record, Pattern):
            out[item.id] = sorted(places[one] for one, _ in record.members)
    return out


def pairs_of(groups: Iterable[Sequence[int]]) -> set[tuple[int, int]]:
    """Return the pairs within groups, the smaller first."""
    return {(min(pair), max(pair)) for group in groups for pair in combinations(group, 2)}


def gold_pairs(events: Sequence[Mapping[str, Any]]) -> set[tuple[int, int]]:
    """Return the pairs of events that have a gold pattern in common."""
    return pairs_of(_gold(events).values())


def _gold(events: Sequence[Mapping[str, Any]]) -> dict[str, list[int]]:
    out: dict[str, list[int]] = {}
    for n, event in enumerate(events):
        for name in event["patterns"]:
            out.setdefault(name, []).append(n)
    return out


def _by_pattern(events: Sequence[Mapping[str, Any]], groups: Groups, gold: Pairs) -> Agreement:
    found = pairs_of(groups)
    precision = [len(pairs & gold) / len(pairs) for group in groups if (pairs := pairs_of([group]))]
    recall = [len(pairs & found) / len(pairs) for group in _gold(events).values() if (pairs := pairs_of([group]))]
    return Agreement(fmean(precision) if precision else None, fmean(recall) if recall else None)


def _near(path: Path, events: Sequence[Mapping[str, Any]], found: Pairs) -> float | None:
    """Return the share of the pairs across near misses that were found, those of events with both patterns left out."""
    told = path.with_name(NEAR)
    if not told.is_file():
        return None
    members = _gold(events)
    across: set[tuple[int, int]] = set()
    for one, other in json.loads(told.read_text("utf-8")).get(path.stem, ()):
        first, second = set(members.get(one, ())), set(members.get(other, ()))
        across |= {(min(a, b), max(a, b)) for a in first - second for b in second - first}
    return len(across & found) / len(across) if across else None
