"""Whether the section that answers a question is found, over documents (``phronesis bench resources``).

The documents and questions are those of labelled/resources. All documents are taken into one store by
``memory.resources.ingest``; each question is asked by ``Memory.search`` among sections, or its plan is carried out by
``Memory.retrieve``. BM25 over the same sections, their headings and text, is the floor.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

from phronesis import Memory
from phronesis.core.entries import SECTION
from phronesis.core.items import Item
from phronesis.errors import InputError
from phronesis.models.embedder import Embedder
from phronesis_benchmarks.datasets import Turn
from phronesis_benchmarks.labelled_documents import InstalledDocument, LabelledQuestion, LabelledSet, answers, load_set
from phronesis_benchmarks.systems import Bm25System

CUTOFFS: Final = (1, 5, 10)
DEPTH: Final = max(CUTOFFS)
"""How many sections are asked for."""

DOCUMENTS: Final = "documents.jsonl"
ALL: Final = "all"
DEV: Final = "dev"

Rank = int | None
"""The rank of the first labelled section among the first ``DEPTH``, from 1; None: it is not there."""

Ask = Callable[[str], Sequence[str]]
"""Gives the ids of the sections found for a question, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionScore:
    """How one system did on some questions of one file: all, those of a language, or those about a document.

    ``recall`` is by cutoff the share of questions with a labelled section among so many; ``mrr`` the mean of 1 / rank
    of the first one among ``DEPTH``.
    """

    data: str
    system: str
    of: str
    questions: int
    recall: Mapping[int, float]
    mrr: float

    @classmethod
    def over(cls, data: str, system: str, of: str, ranks: Sequence[Rank]) -> Self:
        """Score the ranks of some questions, at least one."""
        recall = {k: sum(rank is not None and rank <= k for rank in ranks) / len(ranks) for k in CUTOFFS}
        mrr = sum(1 / rank for rank in ranks if rank is not None) / len(ranks)
        return cls(data=data, system=system, of=of, questions=len(ranks), recall=recall, mrr=mrr)


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionReport:
    """The scores, and what they were measured on.

    ``versions`` are those of the documents, ``missing`` what is not there, in words; ``unread`` the questions none of
    whose sections a reader made a section of (they count, and cannot be found); ``missed`` by system those of the dev
    questions that had no labelled section among the first five.
    """

    versions: Mapping[str, str]
    sections: int
    missing: Sequence[str]
    unread: Sequence[str]
    missed: Mapping[str, Sequence[str]]
    scores: Sequence[SectionScore]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)

    def to_markdown(self) -> str:
        """Return a table, with what it rests on above."""
        told = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        lines = [f"{self.sections} sections of {len(self.versions)} documents: {told}."]
        lines += [f"NOT THERE: {one}" for one in self.missing]
        lines += [f"No section was read that answers {', '.join(self.unread)}."] if self.unread else []
        head = "| data | system | questions | n | " + " | ".join(f"recall@{k}" for k in CUTOFFS) + " | MRR |"
        lines += ["", head, "|" + " --- |" * (5 + len(CUTOFFS))]
        lines += [
            f"| {one.data} | {one.system} | {one.of} | {one.questions} | "
            + " | ".join(f"{one.recall[k]:.3f}" for k in CUTOFFS)
            + f" | {one.mrr:.3f} |"
            for one in self.scores
        ]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Stacks:
    """The sections of all documents as they were taken in, and of which document each is."""

    sections: Mapping[str, Item]
    documents: Mapping[str, InstalledDocument]

    def right(self, question: LabelledQuestion) -> frozenset[str]:
        """Return the ids of the sections that answer a question."""
        return frozenset(
            id_
            for id_, item in self.sections.items()
            if self.documents[id_].id == question.document
            and answers(item.data["path"], question.sections, python=self.documents[id_].is_python)
        )


def run_resources(
    data: Sequence[Path],
    *,
    documents: Path | None = None,
    embedders: Mapping[str, Embedder | None],
    planned: bool = False,
    on_progress: Callable[[str, int, int], object] = lambda *_: None,
) -> SectionReport:
    """Measure BM25 and, for each embedder (None: words alone), the memory over the questions of the files.

    ``documents`` is by default the ``documents.jsonl`` beside the first file. ``planned``: plans are carried out, as
    for a context, instead of a search among sections.
    """
    if not data or not embedders:
        raise InputError("give a file of questions and an embedder at least", field="data")
    labelled = load_set(data, documents or data[0].with_name(DOCUMENTS))
    measured: dict[str, Ranks] = {}
    for name, embedder in embedders.items():
        with tempfile.TemporaryDirectory() as place:
            policy = {"embedder": "none"} if embedder is None else None
            url = f"sqlite:///{Path(place) / 'shelf.db'}"
            with Memory.open(url, policy=policy, embedder=embedder) as memory:
                on_progress(f"taking documents in for {name}", 0, 1)
                stacks = ingestible_references(memory, labelled.documents)
                if not measured:
                    measured["BM25"] = ranked(by_words(stacks), labelled, stacks)
                on_progress(f"asking {name}", 0, 1)
                measured[name] = ranked(asking(memory, planned=planned), labelled, stacks)
    return reported(labelled, stacks, measured)


Ranks = Mapping[str, Sequence[Rank]]
"""By file, the rank for each of its questions."""


def ingestible_references(memory: Memory, documents: Sequence[InstalledDocument]) -> Stacks:
    """Take the documents in, and give their sections."""
    sections: dict[str, Item] = {}
    owners: dict[str, InstalledDocument] = {}
    for document in documents:
        done = memory.resources.ingest(
            document.text, uri=document.uri, title=document.title, media_type=document.media_type
        )
        for item in done.sections:
            sections[item.id] = item
            owners[item.id] = document
    memory.flush()
    return Stacks(sections, owners)


def by_words(stacks: Stacks) -> Ask:
    """Return BM25 over the sections."""
    system = Bm25System()
    system.add(
        [
            Turn(
                id=id_,
                session_id="s",
                speaker=" ".join(item.data["path"]),
                role="user",
                text=item.content,
                occurred_at=None,
            )
            for id_, item in stacks.sections.items()
        ]
    )
    return lambda question: system.search(question, DEPTH)


def asking(memory: Memory, *, planned: bool) -> Ask:
    """Return the memory: its search among sections, or what carrying out a question's plan finds of them."""
    if planned:
        return lambda question: [
            one.item.id for one in memory.retrieve(memory.plan(question)) if one.item.kind == SECTION
        ]
    return lambda question: [one.item.id for one in memory.search(question, kinds=[SECTION], limit=DEPTH)]


def ranked(ask: Ask, labelled: LabelledSet, stacks: Stacks) -> Ranks:
    """Ask every question."""
    return {
        name: [_rank(ask(one.question), stacks.right(one)) for one in questions]
        for name, questions in labelled.questions.items()
    }


def _rank(found: Sequence[str], right: frozenset[str]) -> Rank:
    return next((n for n, id_ in enumerate(found[:DEPTH], start=1) if id_ in right), None)


def reported(labelled: LabelledSet, stacks: Stacks, measured: Mapping[str, Ranks]) -> SectionReport:
    """Score what was measured."""
    every = [one for questions in labelled.questions.values() for one in questions]
    scores: list[SectionScore] = []
    missed: dict[str, list[str]] = {}
    for data, questions in labelled.questions.items():
        groups = _groups(questions)
        for system, ranks in measured.items():
            scores += [
                SectionScore.over(data, system, of, [ranks[data][n] for n in rows]) for of, rows in groups.items()
            ]
            late = (
                one.id
                for one, rank in zip(questions, ranks[data], strict=True)
                if one.split == DEV and (rank is None or rank > CUTOFFS[1])
            )
            missed.setdefault(system, []).extend(late)
    return SectionReport(
        versions={one.id: one.version for one in labelled.documents},
        sections=len(stacks.sections),
        missing=labelled.missing,
        unread=[one.id for one in every if not stacks.right(one)],
        missed=missed,
        scores=scores,
    )


def _groups(questions: Sequence[LabelledQuestion]) -> dict[str, list[int]]:
    """Return the rows of all questions, of each language and about each document; none is empty."""
    groups: dict[str, list[int]] = {ALL: list(range(len(questions)))} if questions else {}
    for name in sorted({one.language for one in questions}):
        groups[name] = [n for n, one in enumerate(questions) if one.language == name]
    for name in dict.fromkeys(one.document for one in questions):
        groups[name] = [n for n, one in enumerate(questions) if one.document == name]
    return groups
