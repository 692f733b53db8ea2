"""Tell the format of an export by its content."""

from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

from phronesis.errors import InputError
from phronesis.importers.exports import CHATGPT_FILE, INSIDE
from phronesis.importers.import_call import read_members
from phronesis.log.export import FORMAT

OWN: Final = "phronesis"
GIT: Final = "git"

MAX_MEMBERS: Final = 20
"""Objects of a file that are looked at."""


def check_format(path: Path, named: str | None) -> str:
    """Return the format of an export: ``named``, or else the one that its content has.

    InputError if its content has another format than ``named``, or, without one, none that is known.
    """
    if path.is_dir():
        found = GIT if (path / ".git").exists() or (path / "HEAD").exists() else None
    elif path.is_file() and path.stat().st_size:
        found = _format_of_file(path)
    else:
        return named or OWN  # whose reader says what is wrong with the path
    if named in (found, None) and found is not None:
        return found
    if found is not None:
        raise InputError(f"path: {path.name} is not of the format {named} but of {found}", field="format")
    if path.is_dir() and named is not None:
        return named
    known = f"the format {named}" if named else "a known format; if it is of one, name it"
    raise InputError(f"path: {path.name} is not of {known}", field="format")


def _format_of_file(path: Path) -> str | None:
    for inside in (CHATGPT_FILE, INSIDE):
        try:
            members = [one.value for one in islice(read_members(path, inside=inside), MAX_MEMBERS)]
        except InputError:  # an archive without such a file
            continue
        return next((name for one in members if (name := _format_of_object(one)) is not None), None)
    return None


_SIGNS: Final[Mapping[str, Callable[[Mapping[str, Any]], bool]]] = {
    OWN: lambda given: given.get("format") == FORMAT,
    "chatgpt": lambda given: isinstance(given.get("mapping"), Mapping),
    "claude": lambda given: isinstance(given.get("chat_messages"), list),
    "claude-code": lambda given: "sessionId" in given and "type" in given,
    "codex": lambda given: isinstance(given.get("payload"), Mapping) and "type" in given,
    "cursor": lambda given: "role" in given and isinstance(given.get("message"), Mapping),
    "mem0": lambda given: isinstance(given.get("memory"), str),
    "langgraph": lambda given: "value" in given,
}
"""What an object of each format has; the first that fits is it."""


def _format_of_object(given: Any) -> str | None:
    if not isinstance(given, Mapping):
        return None
    return next((name for name, fits in _SIGNS.items() if fits(given)), None)
