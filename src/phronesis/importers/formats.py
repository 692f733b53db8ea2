"""The formats that are imported, and how the format of a path is told by its content."""

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

from phronesis.errors import InputError
from phronesis.importers.chatgpt import CHATGPT, CHATGPT_FILE
from phronesis.importers.claude import CLAUDE, CLAUDE_FILE
from phronesis.importers.claude_mem import CLAUDE_MEM
from phronesis.importers.git_history import GIT
from phronesis.importers.import_call import Format, bytes_of, read_members
from phronesis.importers.letta import LETTA, LETTA_FILE
from phronesis.importers.markdown_notes import MARKDOWN
from phronesis.importers.memory_exports import LANGGRAPH, MEM0
from phronesis.importers.transcripts import CLAUDE_CODE, CODEX, CURSOR
from phronesis.log.export import FORMAT

OWN: Final = "phronesis"

FORMATS: Final[Mapping[str, Format]] = {
    "chatgpt": CHATGPT,
    "claude": CLAUDE,
    "letta": LETTA,
    "claude-mem": CLAUDE_MEM,
    "claude-code": CLAUDE_CODE,
    "codex": CODEX,
    "cursor": CURSOR,
    "mem0": MEM0,
    "langgraph": LANGGRAPH,
    "git": GIT,
    "markdown": MARKDOWN,
}
"""Formats by the name given to ``phronesis store import --format``; without one, the first that fits is taken."""

FOLDERS: Final = ("git", "markdown")
"""Formats that a folder shows by what is in it."""

MAX_MEMBERS: Final = 20
"""Objects of a file that are looked at."""


def check_format(path: Path, named: str | None) -> str:
    """Return the format of an export: ``named``, or else the one that its content has.

    InputError if its content is not of the format ``named``, or, without one, of none that is known.
    """
    if not path.is_dir() and not (path.is_file() and path.stat().st_size):
        if named is None:
            problem = f"the file {path} is empty" if path.exists() else f"there is no file or folder {path}"
            raise InputError(f"path: {problem}", field="path")
        return named  # whose reader says what is wrong with the path
    found, fault = _formats_of(path)
    if found and (named is None or named in found):
        return named or found[0]
    if named is None:
        raise InputError(
            f"path: {path.name} is not of a known format{fault}; if it is of one ({', '.join(FORMATS)}), name it",
            field="format",
        )
    if path.is_dir() and named not in FOLDERS:
        return named
    expected = FORMATS[named].expects if named in FORMATS else "the log that 'phronesis store export' wrote"
    remedy = f"name {found[0]}" if found else "export it again, or name another format"
    problem = f" but of {found[0]}" if found else fault
    raise InputError(
        f"path: {path.name} is not of the format {named}{problem}; {remedy}. Expected is {expected}", field="format"
    )


def _formats_of(path: Path) -> tuple[list[str], str]:
    """Return the formats of which a path is, and why its content could not be read, to be appended to an error."""
    found = [name for name, one in FORMATS.items() if one.holds(path)]
    if found or path.is_dir():
        return found, ""
    fault = ""
    for inside in (CHATGPT_FILE, CLAUDE_FILE, LETTA_FILE):
        if not bytes_of(path, inside=inside):  # an archive without such a file
            continue
        members = list(islice(read_members(path, inside=inside), MAX_MEMBERS))
        objects = [one.value for one in members if isinstance(one.value, Mapping)]
        fault = next((f" ({one.place}: {one.fault})" for one in members if one.fault), fault)
        found = [name for name in (OWN, *FORMATS) if any(_fits(name, one) for one in objects)]
        if found:
            break
    return found, fault


def _fits(name: str, given: Mapping[str, Any]) -> bool:
    return given.get("format") == FORMAT if name == OWN else FORMATS[name].fits(given)
