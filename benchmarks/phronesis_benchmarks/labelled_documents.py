"""Labelled questions over documents that installed packages bring (labelled/resources): how they are read.

A document is named by its distribution and a file of it, so that no text is copied; a section by its headings. What
the installed versions do not hold is told, not passed over.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from phronesis.errors import InputError
from phronesis_benchmarks.records import read_rows

METADATA: Final = "METADATA"
"""The file that stands for a distribution's long description."""

PYTHON: Final = "text/x-python"
_ENDINGS: Final = {"text/markdown": ".md", "text/x-rst": ".rst", "text/plain": ".txt"}

_NUMBER: Final = re.compile(r"\s*\d{1,3}(?:\.\d{1,3}){0,5}[.)、]?\s+(?=\S)")
_DEFINED: Final = re.compile(r"\s*(?:async\s+)?(?:class|def)\s+")
_MARKS: Final = "#*=-~^+`\"' \t"

Headings = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InstalledDocument:
    """A document of an installed package, with its text."""

    id: str
    distribution: str
    version: str
    version_tested: str
    media_type: str
    uri: str
    title: str
    text: str

    @property
    def is_python(self) -> bool:
        """Return whether its sections are definitions."""
        return self.media_type == PYTHON


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question, and the sections that answer it, each by the headings that tell it from others."""

    id: str
    question: str
    language: str
    document: str
    sections: tuple[Headings, ...]
    split: str


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """What can be asked: the documents there are, the questions of each file, and in words what is not there."""

    documents: tuple[InstalledDocument, ...]
    questions: dict[str, list[LabelledQuestion]]
    missing: tuple[str, ...]


def load_set(data: Sequence[Path], documents: Path) -> LabelledSet:
    """Read the documents that are installed and the questions whose sections stand in them.

    InputError: a line cannot be read, a question names no document of the set, or nothing is left to ask.
    """
    missing: list[str] = []
    found: dict[str, InstalledDocument | None] = {}
    for row in read_rows(documents, _named, what="document"):
        try:
            found[row["document"]] = _installed(row)
        except (metadata.PackageNotFoundError, OSError) as error:
            found[row["document"]] = None
            missing.append(f"document {row['document']}: {_why(row, error)}")
    questions: dict[str, list[LabelledQuestion]] = {}
    for path in data:
        kept = questions.setdefault(path.name, [])
        for asked in read_rows(path, _question, what="question"):
            if asked.document not in found:
                raise InputError(
                    f"{path.name}: {asked.id} asks about {asked.document!r}, which {documents.name} does not name",
                    field="data",
                )
            document = found[asked.document]
            if document is None:
                continue
            gone = [one for one in asked.sections if not _stands(one, document)]
            missing += [
                f"{asked.id}: {' > '.join(one)} is not in {document.id} {document.version} (tested:"
                f" {document.version_tested})"
                for one in gone
            ]
            if len(gone) < len(asked.sections):
                kept.append(asked)
    if not any(questions.values()):
        raise InputError("nothing is left to ask: " + "; ".join(missing or ["there are no questions"]), field="data")
    return LabelledSet(tuple(one for one in found.values() if one is not None), questions, tuple(missing))


def names_of(path: Sequence[str], *, python: bool) -> Headings:
    """Return headings as they are compared: letters and digits alone, without case, width and leading number.

    Those of Python by the name that is defined: ``class QueuePool(Pool):`` and ``pool.QueuePool`` by their names.
    """
    if python:
        path = [name for one in path for name in _DEFINED.sub("", one).partition("(")[0].split(".")]
    return tuple(_plain(one) for one in path)


def answers(path: Sequence[str], labelled: Sequence[Headings], *, python: bool) -> bool:
    """Return whether a section with these headings is one of the labelled ones.

    Its own heading is the last one of the label, and the others of the label stand above it in their order.
    """
    names = names_of(path, python=python)
    return any(_ends(names, names_of(one, python=python)) for one in labelled)


def _ends(names: Headings, gold: Headings) -> bool:
    above = iter(reversed(names))
    return bool(names) and names[-1] == gold[-1] and all(name in above for name in reversed(gold))


def _plain(heading: str) -> str:
    text = unicodedata.normalize("NFKC", heading).strip().strip(_MARKS).casefold()
    text = _NUMBER.sub("", text, count=1) if _NUMBER.match(text) else text
    return "".join(character for character in text if character.isalnum()) or text


def _stands(labelled: Headings, document: InstalledDocument) -> bool:
    """Return whether each heading has a line of its own."""
    lines = document.text.splitlines()
    if document.is_python:
        lines = [line.rstrip(": ") for line in lines if _DEFINED.match(line)]
    there = {name for line in lines for name in names_of([line], python=document.is_python)}
    return there.issuperset(names_of(labelled, python=document.is_python))


def _installed(row: dict[str, str]) -> InstalledDocument:
    distribution = metadata.distribution(row["distribution"])
    if row["file"] == METADATA:
        text = distribution.metadata["Description"] or ""
        uri = f"{row['distribution']}/README{_ENDINGS[row['media_type']]}"
        title = row["distribution"]
    else:
        text = Path(str(distribution.locate_file(row["file"]))).read_text("utf-8")
        uri = title = row["file"]
    if not text.strip():
        raise OSError(f"{row['file']} is empty")
    return InstalledDocument(
        id=row["document"],
        distribution=row["distribution"],
        version=distribution.version,
        version_tested=row["version_tested"],
        media_type=row["media_type"],
        uri=uri,
        title=title,
        text=text,
    )


def _why(row: dict[str, str], error: Exception) -> str:
    if isinstance(error, metadata.PackageNotFoundError):
        return f"{row['distribution']} is not installed (tested: {row['version_tested']})"
    return f"{row['file']} of {row['distribution']} cannot be read: {error}"


def _named(row: dict[str, Any]) -> dict[str, str]:
    named = {name: row[name] for name in ("document", "distribution", "file", "media_type", "version_tested")}
    if not all(isinstance(value, str) for value in named.values()):
        raise TypeError("a document's fields are texts")
    if row["file"] == METADATA and row["media_type"] not in _ENDINGS:
        raise ValueError(f"media_type {row['media_type']!r} of a long description")
    return named


def _question(row: dict[str, Any]) -> LabelledQuestion:
    sections = tuple(tuple(map(str, one)) for one in row["section"])
    if not sections or not all(sections):
        raise ValueError("no section answers it")
    return LabelledQuestion(row["id"], row["question"], row["language"], row["document"], sections, row["split"])
