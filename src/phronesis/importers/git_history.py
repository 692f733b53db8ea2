"""A git repository's history: each commit is an experience, from ``git log`` of a local path, oldest first."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Final

from phronesis.errors import InputError
from phronesis.importers.import_call import Format, Given, Step

FORMAT: Final = "%x1e%H%x1f%aI%x1f%an%x1f%s%x1f%b%x1f"
"""A commit: id, author's date, author's name, subject, body; then the names of its files, one a line."""

MAX_FILES: Final = 50
"""Files named of one commit: more is a move of everything, and says nothing of what the commit is about."""

_CHUNK: Final = 1 << 16


def read_git(path: Path) -> Iterator[Step]:
    """Return each commit that is reachable from HEAD and is no merge; its ``external_id`` is the commit's id."""
    arguments = ["log", "--reverse", "--no-merges", "--no-show-signature", "--name-only", f"--format={FORMAT}", "HEAD"]
    command = _git(path, arguments)
    with subprocess.Popen(  # noqa: S603 - our own arguments
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace"
    ) as process:
        for done, record in enumerate(_records(process.stdout), start=1):
            yield _commit(record, path.resolve().name, done)
        told = process.stderr.read() if process.stderr is not None else ""
    if process.returncode != 0:
        raise InputError(f"git log of {path} failed: {told.strip() or process.returncode}", field="path")


def count_commits(path: Path) -> int:
    """Return how many commits `read_git` reads."""
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
    """Return the records as they come; none is held longer than it takes."""
    held = ""
    while stream is not None and (chunk := stream.read(_CHUNK)):
        *whole, held = (held + chunk).split("\x1e")
        yield from (record for record in whole if record)
    if held:
        yield held


def _commit(record: str, repository: str, done: int) -> Given:
    commit, date, author, subject, body, files = record.split("\x1f", 5)
    names = [name for name in files.splitlines() if name.strip()]
    experience = {
        "attempt": subject.strip() or "(no message)", "situation": f"repository {repository}",
        "reflection": body.strip(), "source_type": "git", "source_ref": f"git:{commit}", "occurred_at": date,
        "external_id": commit,
        "payload": {"author": author, "files": len(names)},
    }  # fmt: skip
    if names:
        experience["hints"] = {"artifacts": [{"type": "file", "name": name} for name in names[:MAX_FILES]]}
    experience["field_origin"] = {name: "human" for name in ("attempt", "reflection") if experience[name]}
    return Given("ingest", f"git:{commit}", {"nei": {k: v for k, v in experience.items() if v}}, done=done)


GIT: Final = Format(read_git, count_commits, "commits")
