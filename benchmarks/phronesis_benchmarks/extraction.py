"""How well messages are read: precision, recall and the gate, on labelled turns (``phronesis bench extraction``).

A labelled turn is a JSON object a line: ``{"id", "split", "at", "role", "name", "text", "expect": [...], "gate"}``.
What is expected is ``{"kind", "subject", "key", "value"}``, perhaps with ``act``, ``done``, ``replaces``, ``date``. A
proposal is right when kind, subject, key, act and done are those of a label and its value equals the label's, or one
contains the other, in the form in which values are compared (docs/memory-types.md). Each label is met once. "Done"
with no task that it ends stores nothing: where no label asks for it, it counts neither as found nor as stored.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from phronesis.conversation.extraction.extractor import MessageExtractor
from phronesis.conversation.extraction.memory_types import MemoryTypes, fold_key
from phronesis.core.proposals import Proposal
from phronesis.core.timestamps import parse_moment
from phronesis.core.values import canonical_relative, normal_value
from phronesis.errors import InputError
from phronesis_benchmarks.records import read_rows, render_share, render_table

_POSSESSIVES: Final = ("the ", "our ", "my ", "a ", "我们的", "咱们的", "我的", "我们")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionScore:
    """What was found of one split of one file. Shares are None where there is nothing to share."""

    data: str
    split: str
    turns: int
    labels: int
    found: int
    right: int
    gate_right: int
    dates: int
    dates_right: int
    replaced: int
    replaced_right: int
    microseconds: float

    @property
    def precision(self) -> float | None:
        """The share of what was found that a label asks for."""
        return self.right / self.found if self.found else None

    @property
    def recall(self) -> float | None:
        """The share of the labels that were found."""
        return self.right / self.labels if self.labels else None

    @property
    def gate(self) -> float:
        """The share of the turns of which something was stored exactly when something was to be."""
        return self.gate_right / self.turns


@dataclass(frozen=True, slots=True)
class ExtractionReport:
    """The scores of every file and split, in order."""

    scores: tuple[ExtractionScore, ...]

    def to_markdown(self) -> str:
        """Return a table; times are processor time a message."""
        head = ("data", "split", "turns", "precision", "recall", "gate", "dates", "replaced", "µs a message")
        rows = (
            (
                *(one.data, one.split, one.turns),
                *map(render_share, (one.precision, one.recall, one.gate)),
                f"{one.dates_right}/{one.dates}",
                f"{one.replaced_right}/{one.replaced}",
                f"{one.microseconds:.0f}",
            )
            for one in self.scores
        )
        return render_table(head, rows)


def run_extraction(data: Sequence[Path], *, extractor: MessageExtractor | None = None) -> ExtractionReport:
    """Read every turn of the files without a model, and compare. InputError names the line that cannot be read."""
    chosen = extractor or MessageExtractor()
    scores: list[ExtractionScore] = []
    for path in data:
        turns = load_turns(path)
        if not turns:
            raise InputError(f"{path.name} holds no turns", field="data")
        splits = dict.fromkeys(turn["split"] for turn in turns)
        scores += [_score(path.name, one, [turn for turn in turns if turn["split"] == one], chosen) for one in splits]
    return ExtractionReport(tuple(scores))


def load_turns(path: Path) -> list[dict[str, Any]]:
    """Return the labelled turns of a file, checked for what comparing needs."""

    def checked(turn: dict[str, Any]) -> dict[str, Any]:
        parse_moment(turn["at"], field="at")
        for name in ("id", "split", "role", "text", "expect", "gate"):
            turn[name]
        return turn

    return read_rows(path, checked, what="labelled turn")


def is_right(label: Mapping[str, Any], proposal: Proposal, types: MemoryTypes, *, at: datetime) -> bool:
    """Return whether a proposal is what a label asks for."""
    same = (proposal.kind, fold_key(proposal.key), _bare(proposal.subject), proposal.act, proposal.done)
    if same != (
        label["kind"],
        fold_key(label["key"]),
        _bare(label["subject"]),
        label.get("act", "assert"),
        bool(label.get("done")),
    ):
        return False
    if proposal.value is None:
        return str(label["value"]).casefold() in proposal.content.casefold()
    row = types.find(proposal.key, proposal.kind)
    form = row.form if row is not None else "text"
    one, other = (normal_value(form, value, at=at) for value in (proposal.value, str(label["value"])))
    return bool(one and other) and (one in other or other in one)


def judge(turn: Mapping[str, Any], extractor: MessageExtractor) -> list[tuple[Proposal, bool]]:
    """Return what is found in a turn, each with whether a label asks for it."""
    found, hits = _compared(turn, extractor)
    right = [id(hit) for _, hit in hits]
    return [(one, id(one) in right) for one in found]


def _compared(
    turn: Mapping[str, Any], extractor: MessageExtractor
) -> tuple[list[Proposal], list[tuple[Mapping[str, Any], Proposal]]]:
    """Return what is found in a turn, and the labels met, each with its proposal."""
    at = parse_moment(turn["at"], field="at")
    found, _ = extractor.read(0, {"role": turn["role"], "name": turn.get("name")}, turn["text"], at)
    left, hits = list(found), []
    for label in turn["expect"]:
        hit = next((one for one in left if is_right(label, one, extractor.types, at=at)), None)
        if hit is not None:
            left.remove(hit)
            hits.append((label, hit))
    return found, hits


def _score(data: str, split: str, turns: Iterable[Mapping[str, Any]], extractor: MessageExtractor) -> ExtractionScore:
    count = dict.fromkeys(("turns", "labels", "found", "right", "gate_right"), 0)
    extra = dict.fromkeys(("dates", "dates_right", "replaced", "replaced_right"), 0)
    extractor.read(0, {"role": "user"}, "Hello. 你好。", parse_moment("2026-01-01", field="at"))  # loaded now
    begun = time.process_time()
    for turn in turns:
        found, hits = _compared(turn, extractor)
        count["turns"] += 1
        count["labels"] += len(turn["expect"])
        count["right"] += len(hits)
        for label, hit in hits:
            if "date" in label:
                extra["dates"] += 1
                extra["dates_right"] += (hit.occurred_at or "")[:10] == label["date"]
            if "replaces" in label:
                extra["replaced"] += 1
                extra["replaced_right"] += str(label["replaces"]).casefold() in (hit.replaces or "").casefold()
        met = [id(hit) for _, hit in hits]
        stored = len(found) - sum(one.done and id(one) not in met for one in found)
        count["found"] += stored
        count["gate_right"] += (stored > 0) == (turn["gate"] is None)
    spent = time.process_time() - begun
    return ExtractionScore(data=data, split=split, microseconds=spent / max(1, count["turns"]) * 1e6, **count, **extra)


def _bare(subject: str) -> str:
    text = subject.strip().casefold()
    return canonical_relative(next((text.removeprefix(one) for one in _POSSESSIVES if text.startswith(one)), text))
