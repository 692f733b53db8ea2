"""Importers of folders: a git repository, and Markdown notes as Obsidian and basic-memory keep them.

Each commit is an experience, read from ``git log``, oldest first. A note is a document. An observation of basic-memory
(``- [category] content #tag (context)``) is an item whose subject is the note; relations (``- type [[Target]]``) and
other wiki links are in the document's metadata.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import IO, Any, Final

from phronesis.core.serialization import digest, parse_front_matter, split_front_matter
from phronesis.errors import InputError
from phronesis.importers.import_call import (
    Format,
    ImportCall,
    SkippedObject,
    Step,
    mark_progress,
    name_of,
    present_fields,
    text_or_empty,
)

FORMAT: Final = "%x1e%H%x1f%aI%x1f%an%x1f%s%x1f%b%x1f"
"""The log format of a commit: id, author's date, author's name, subject, body; then its file names, one a line."""

MAX_FILES: Final = 50
"""Maximum number of files listed for one commit: a commit with more is usually a mass move."""

_CHUNK: Final = 1 << 16


def read_git(path: Path) -> Iterator[Step]:
    """Yield each non-merge commit reachable from HEAD; its ``external_id`` is the commit's id."""
    arguments = ["log", "--reverse", "--no-merges", "--no-show-signature", "--name-only", f"--format={FORMAT}", "HEAD"]
    command = _git(path, arguments)
    with subprocess.Popen(  # noqa: S603 - our own arguments
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace"
    ) as process:
        for done, record in enumerate(_records(process.stdout), start=1):
            yield replace(_commit(record, path.resolve().name), done=done)
        told = process.stderr.read() if process.stderr is not None else ""
    if process.returncode != 0:
        problem = " ".join(told.split()) or process.returncode
        raise InputError(f"git log of {path} failed: {problem}; give a repository that has commits", field="path")


def count_commits(path: Path) -> int:
    """Return the number of commits that `read_git` yields."""
    command = _git(path, ["rev-list", "--count", "--no-merges", "HEAD"])
    told = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own arguments
    return int(told.stdout) if told.returncode == 0 else 0


def _git(path: Path, arguments: Sequence[str]) -> list[str]:
    program = shutil.which("git")
    if program is None:
        raise InputError("git is not installed; a repository's history is read with it", field="format")
    if not path.is_dir():
        raise InputError(f"there is no folder {path}; name a repository on this machine", field="path")
    return [program, "-C", str(path), "-c", "core.quotePath=false", "--no-pager", *arguments]


def _records(stream: IO[str] | None) -> Iterator[str]:
    """Yield the records as git prints them, one at a time."""
    held = ""
    while stream is not None and (chunk := stream.read(_CHUNK)):
        *whole, held = (held + chunk).split("\x1e")
        yield from (record for record in whole if record)
    if held:
        yield held


def _commit(record: str, repository: str) -> ImportCall:
    commit, at, author, subject, body, files = record.split("\x1f", 5)
    names = [name for name in files.splitlines() if name.strip()]
    experience = {
        "attempt": subject.strip() or "(no message)",
        "reflection": body.strip(),
        "source_type": "git",
        "source_ref": f"git:{commit}",
        "occurred_at": at,
        "external_id": commit,
        "payload": {"repository": repository, "author": author, "files": len(names)},
    }
    if names:
        experience["hints"] = {"artifacts": [{"type": "file", "name": name} for name in names[:MAX_FILES]]}
    experience["field_origin"] = {name: "human" for name in ("attempt", "reflection") if experience[name]}
    return ImportCall("ingest", f"git:{commit}", {"nei": {k: v for k, v in experience.items() if v}})


GIT: Final = Format(
    read_git,
    count_commits,
    "the folder of a git repository",
    holds=lambda path: path.is_dir() and ((path / ".git").exists() or (path / "HEAD").exists()),
)


MAX_BYTES: Final = 8_000_000
"""Bytes of one note."""
MAX_LINKS: Final = 200
"""Links of one note that are kept in its metadata."""

_FENCED: Final = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)
_OBSERVATION: Final = re.compile(r"^[ \t]*[-*][ \t]+\[([^\[\]()\n]{1,64})\][ \t]+(\S.*)$", re.MULTILINE)
_RELATION: Final = re.compile(r"^[ \t]*[-*][ \t]+(\S[^\[\]\n]*?)[ \t]+\[\[([^\[\]\n]+)\]\]", re.MULTILINE)
_LINK: Final = re.compile(r"\[\[([^\[\]\n]+)\]\]")
_TAG: Final = re.compile(r"(?<!\S)#([^\s#()\[\],.;:!?]+)")
_CONTEXT: Final = re.compile(r"\(([^()]+)\)[ \t]*$")
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
_DATES: Final = ("created", "date", "created_at")
"""Members of the front matter that may hold a note's date, in order; a daily note has it in its name."""


def read_markdown(path: Path) -> Iterator[Step]:
    """Yield each note of a folder, and its observations. InputError: no folder, or no note in it."""
    done = 0
    for file in note_files(path):
        done += file.stat().st_size
        ref = f"markdown:{path.resolve().name}/{file.relative_to(path).as_posix()}"
        is_inside = file.resolve().is_relative_to(path.resolve())
        steps = _file(ref, file) if is_inside else [SkippedObject(ref, "a link out of the folder")]
        yield from mark_progress(steps, done)


def _file(ref: str, file: Path) -> Iterator[Step]:
    if file.stat().st_size > MAX_BYTES:
        yield SkippedObject(ref, f"more than {MAX_BYTES:,} bytes")
        return
    try:
        text = file.read_bytes().decode()
    except UnicodeDecodeError:
        yield SkippedObject(ref, "not UTF-8")
    else:
        yield from _note(ref, file.stem, text)


def note_files(path: Path) -> list[Path]:
    """Return the Markdown files of a folder by name, without those of hidden folders."""
    if not path.is_dir():
        raise InputError(f"path: there is no folder {path}; give the folder of the notes", field="path")
    found = (file for file in path.rglob("*.md") if file.is_file())
    notes = sorted(one for one in found if not any(part.startswith(".") for part in one.relative_to(path).parts))
    if not notes:
        raise InputError(f"path: there is no note (*.md) in {path}", field="path")
    return notes


def _note(ref: str, stem: str, text: str) -> Iterator[Step]:
    front, text = split_front_matter(text)
    head: Mapping[str, Any] = {}
    with suppress(ValueError):  # it is no YAML mapping
        head = {} if front is None else parse_front_matter(front)
    body = _FENCED.sub("", text)
    if "phronesis" in head:
        yield SkippedObject(ref, "written by Phronesis: 'phronesis store sync' takes edits of it back")
        return
    if not text.strip():
        yield SkippedObject(ref, "a note without words")
        return
    title, permalink = text_or_empty(head.get("title")) or stem, text_or_empty(head.get("permalink"))
    at = _dated(head, stem)
    ref = f"{ref.partition('/')[0]}/{permalink}" if permalink else ref  # it stays where the file is moved
    relations = [{"type": kind.strip(), "target": target} for kind, target in _RELATION.findall(body)]
    others = [{"target": one} for one in dict.fromkeys(_LINK.findall(body))]
    known = {one["target"] for one in relations}
    tagged = head.get("tags")  # a list, or a text with commas
    tagged = tagged.split(",") if isinstance(tagged, str) else tagged if isinstance(tagged, list) else []
    tags = list(dict.fromkeys([*(str(one).strip().lstrip("#") for one in tagged), *_TAG.findall(body)]))
    about = {
        "permalink": permalink or None,
        "tags": tags[:MAX_LINKS] or None,
        "links": [*relations, *(one for one in others if one["target"] not in known)][:MAX_LINKS] or None,
    }
    note = {
        "text": text,
        "uri": ref,
        "title": title,
        "type": name_of(text_or_empty(head.get("type")) or "note"),
        "media_type": "text/markdown",
        "occurred_at": at,
        "metadata": {"markdown": present_fields(about)},
    }
    yield ImportCall("resource", ref, present_fields(note))
    for category, content in dict.fromkeys(_OBSERVATION.findall(body)):
        if len(name := category.strip().casefold()) > 1 or not name.isascii():  # a single sign is a checkbox
            yield _observation(ref, title, (name, content.strip()), at=at)


def _observation(ref: str, title: str, observed: tuple[str, str], *, at: str | None) -> ImportCall:
    category, content = observed
    context = _CONTEXT.search(content)
    about = {"note": ref, "category": category, "tags": _TAG.findall(content) or None}
    about["context"] = context[1] if context else None
    name = f"{ref}#{digest(observed)[:16]}"
    arguments = {
        "content": content,
        "kind": category if category in {"decision", "preference"} else "fact",
        "subject": name_of(title),
        "occurred_at": at,
        "external_id": name_of(name),
        "metadata": {"markdown": present_fields(about)},
    }
    return ImportCall("add", name, present_fields(arguments))


def _dated(head: Mapping[str, Any], stem: str) -> str | None:
    """Return since when a note holds: the date of its front matter, else that of a daily note's name."""
    for value in (*(head.get(name) for name in _DATES), _DAY.match(stem)):
        text = value[0] if isinstance(value, re.Match) else value
        if isinstance(text, datetime | date):
            return text.isoformat()
        try:
            if isinstance(text, str):
                return datetime.fromisoformat(text).isoformat()
        except ValueError:
            continue
    return None


def _holds(path: Path) -> bool:
    """Return whether a folder is a vault of Obsidian, or has notes in it or in one of its folders."""
    notes = (found for pattern in ("*.md", "*/*.md") for found in path.glob(pattern))
    return path.is_dir() and ((path / ".obsidian").is_dir() or next(notes, None) is not None)


MARKDOWN: Final = Format(
    read_markdown,
    lambda path: sum(file.stat().st_size for file in note_files(path)),
    "a folder of Markdown notes, as Obsidian and basic-memory keep them",
    holds=_holds,
)
