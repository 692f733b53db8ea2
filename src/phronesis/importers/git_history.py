"""Importer for a git repository: each commit becomes an experience, read from ``git log``, oldest first."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Final

from phronesis.errors import InputError
from phronesis.importers.import_call import Format, ImportCall, Step

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
            yield _commit(record, path.resolve().name, done)
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


def _commit(record: str, repository: str, done: int) -> ImportCall:
    commit, date, author, subject, body, files = record.split("\x1f", 5)
    names = [name for name in files.splitlines() if name.strip()]
    experience = {
        "attempt": subject.strip() or "(no message)",
        "reflection": body.strip(),
        "source_type": "git",
        "source_ref": f"git:{commit}",
        "occurred_at": date,
        "external_id": commit,
        "payload": {"repository": repository, "author": author, "files": len(names)},
    }
    if names:
        experience["hints"] = {"artifacts": [{"type": "file", "name": name} for name in names[:MAX_FILES]]}
    experience["field_origin"] = {name: "human" for name in ("attempt", "reflection") if experience[name]}
    return ImportCall("ingest", f"git:{commit}", {"nei": {k: v for k, v in experience.items() if v}}, done=done)


GIT: Final = Format(
    read_git,
    count_commits,
    "the folder of a git repository",
    holds=lambda path: path.is_dir() and ((path / ".git").exists() or (path / "HEAD").exists()),
)
