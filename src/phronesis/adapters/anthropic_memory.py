"""Anthropic's memory tool over a Memory: files below /memories, every edit of which is a version.

`MemoryFiles.handle` takes the input of a ``tool_use`` block and returns the text of its result; `MemoryFiles.tool`
returns a tool for the SDK's ``tool_runner``. Messages are those of the SDK's own tool. Only ``tool`` and ``async_tool``
import the SDK.
"""

import asyncio
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

from phronesis.adapters.framework_storage import ItemNaming, KeyedItems
from phronesis.core.items import Item
from phronesis.core.results import HistoryEvent
from phronesis.core.text import is_storable, replace_unstorable
from phronesis.errors import InputError, MissingExtra, NotFound
from phronesis.memory import Memory
from phronesis.store.named_items import NamedRow, RowPage

MAX_LINES: Final = 999_999
"""Maximum number of lines of a file that can be viewed: the tool's own limit."""

_WIDTH: Final = len(str(MAX_LINES))
_AROUND: Final = 2
"""Lines shown before and after an edit."""

_DEPTH: Final = 2


def number_lines(path: str, text: str, view_range: Sequence[int] | None = None) -> str:
    """Return the lines of a text with their numbers: all, or those of ``view_range``, of which -1 is the end."""
    lines = text.split("\n")
    if len(lines) > MAX_LINES:
        raise InputError(f"File {path} exceeds maximum line limit of {MAX_LINES:,} lines.", field="path")
    first, last = 1, len(lines)
    if view_range and len(view_range) == 2:  # noqa: PLR2004 - a range
        first = max(1, view_range[0])
        last = last if view_range[1] == -1 else view_range[1]
    return _number_lines(lines[first - 1 : last], first)


def replace_text(path: str, text: str, old: str, new: str) -> tuple[str, int]:
    """Return the text with its single ``old`` replaced, and its line, from 0; InputError unless it occurs once."""
    places = [found.start() for found in re.finditer(f"(?={re.escape(old)})", text)]
    if not places:
        raise InputError(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.", field="old_str"
        )
    if text.count(old) > 1:
        lines = ", ".join(str(text.count("\n", 0, place) + 1) for place in places)
        raise InputError(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}."
            " Please ensure it is unique",
            field="old_str",
        )
    return text.replace(old, new), text.count("\n", 0, places[0])


def insert_text(text: str, line: int, words: str) -> str:
    """Return the text with ``words`` inserted after a line, 0 for its beginning; the last line ends with LF."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if not 0 <= line <= len(lines):
        raise InputError(
            f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}].",
            field="insert_line",
        )
    lines.insert(line, words.rstrip("\n"))
    whole = "\n".join(lines)
    return whole if whole.endswith("\n") else f"{whole}\n"


def list_directory(given: str, path: str, sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield a directory with its total size, and its content two levels deep; ``sizes`` are in bytes."""
    yield f"{format_size(sum(sizes.values()))}\t{given}"
    tree: dict[str, Any] = {}
    for name, size in sizes.items():
        *folders, file = name.removeprefix(f"{path}/").split("/")
        inner = tree
        for folder in folders:
            inner = inner.setdefault(folder, {})
        inner[file] = size
    yield from _branches(tree, given, 1)


def format_size(size: int) -> str:
    """Return a number of bytes with the largest unit of which it is at least one: 512B, 1.5K, 2M."""
    amount, unit = float(size), "B"
    for larger in "KMG":
        if amount < 1024:  # noqa: PLR2004 - bytes
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.0f}{unit}" if amount == int(amount) else f"{amount:.1f}{unit}"


def _branches(tree: Mapping[str, Any], path: str, depth: int) -> Iterator[str]:
    for name in sorted(tree):
        if name.startswith("."):
            continue
        inner = tree[name]
        if isinstance(inner, int):
            yield f"{format_size(inner)}\t{path}/{name}"
        else:
            yield f"{format_size(_total(inner))}\t{path}/{name}/"
            if depth < _DEPTH:
                yield from _branches(inner, f"{path}/{name}", depth + 1)


def _total(tree: Mapping[str, Any]) -> int:
    return sum(inner if isinstance(inner, int) else _total(inner) for inner in tree.values())


def _number_lines(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


ROOT: Final = "/memories"
_NAMING: Final = ItemNaming(subject="memory file", prefix="memory_file", member="path")
FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "view": ("path",),
    "create": ("path", "file_text"),
    "str_replace": ("path", "old_str", "new_str"),
    "insert": ("path", "insert_line", "insert_text"),
    "delete": ("path",),
    "rename": ("old_path", "new_path"),
}
"""The commands, and the required fields of each."""


class MemoryFiles:
    """Files in the lane of a user, else in a shared namespace. Thread-safe.

    A file is an item and found by search; a directory exists while it contains a file, and its size is the sum of its
    files. Deleting archives.
    """

    def __init__(self, memory: Memory, *, user_id: str | None = None, namespace: str = "memory_files") -> None:
        self._items = KeyedItems(memory, _NAMING, user_id=user_id, namespace=namespace)
        self._opened: Memory | None = None

    @classmethod
    def from_url(cls, url: str | None = None, **options: Any) -> "MemoryFiles":
        """Open a Memory for these files alone, which ``close`` closes; ``options`` are those of the class."""
        memory = Memory.open(url)
        files = cls(memory, **options)
        files._opened = memory
        return files

    def close(self) -> None:
        """Close the Memory that ``from_url`` opened; one that was passed in stays open."""
        if self._opened is not None:
            self._opened.close()

    def handle(self, command: Mapping[str, Any]) -> str:
        """Execute a command and return the result for the model; an error begins with ``Error:``."""
        try:
            return self.execute(command)
        except (InputError, NotFound) as error:
            return f"Error: {error.message}"

    def execute(self, command: Mapping[str, Any]) -> str:
        """Execute a command; InputError or NotFound, with the tool's own message, if it fails."""
        name = str(command.get("command"))
        if name not in FIELDS:
            raise InputError(f"Unknown command: {name}", field="command")
        for field in FIELDS[name]:
            wanted = int if field == "insert_line" else str
            if not isinstance(command.get(field), wanted):
                raise InputError(f"{name} needs `{field}`, {wanted.__name__}", field=field)
        lines = command.get("view_range")
        if lines is not None and not (isinstance(lines, list | tuple) and all(isinstance(one, int) for one in lines)):
            raise InputError("view_range must be two line numbers, the first and the last", field="view_range")
        with self._items.lock:
            done: str = getattr(self, f"_{name}")(command)
            return done

    def read(self, path: str) -> str:
        """Return a file's text; NotFound if there is none."""
        return _text(self._file(path, _check_path(path)))

    def history(self, path: str) -> list[HistoryEvent]:
        """Return the changes of an existing file, oldest first; ``Memory.rollback`` takes a ``delta_id``."""
        return self._items.memory.history(self._file(path, _check_path(path)).id)

    def tool(self, **options: Any) -> Any:
        """Return a tool for ``client.beta.messages.tool_runner``; ``options`` are those of ``BetaAbstractMemoryTool``.

        MissingExtra if the SDK is not installed.
        """
        try:
            from anthropic.lib.tools import ToolError  # noqa: PLC0415 - no dependency of ours
            from anthropic.tools.memory import BetaAbstractMemoryTool  # noqa: PLC0415 - no dependency of ours
        except ImportError as missing:
            raise MissingExtra("the tool needs Anthropic's SDK: pip install anthropic") from missing

        def run(_tool: Any, command: Any) -> str:
            try:
                return self.execute(command.to_dict())
            except (InputError, NotFound) as error:
                raise ToolError(error.message) from error

        return type("PhronesisMemoryTool", (BetaAbstractMemoryTool,), dict.fromkeys(FIELDS, run))(**options)

    def async_tool(self, **options: Any) -> Any:
        """Return the same for ``AsyncAnthropic``; the work is done on a thread."""
        tool = self.tool()
        from anthropic.tools.memory import BetaAsyncAbstractMemoryTool  # noqa: PLC0415 - no dependency of ours

        async def run(_tool: Any, command: Any) -> Any:
            return await asyncio.to_thread(tool.execute, command)

        return type("AsyncPhronesisMemoryTool", (BetaAsyncAbstractMemoryTool,), dict.fromkeys(FIELDS, run))(**options)

    def _view(self, command: Mapping[str, Any]) -> str:
        given = command["path"]
        path = _check_path(given)
        item = self._items.find(path)
        if item is not None:
            lines = number_lines(given, _text(item), command.get("view_range"))
            return f"Here's the content of {given} with line numbers:\n{lines}"
        sizes = {one.metadata["path"]: _size(one) for one in self._files_below(path)}
        if not sizes and path != ROOT:
            raise NotFound(f"The path {given} does not exist. Please provide a valid path.", field="path")
        header = f"Here're the files and directories up to 2 levels deep in {given}, excluding hidden items:"
        return "\n".join([header, *list_directory(given, path, sizes)])

    def _create(self, command: Mapping[str, Any]) -> str:
        given = command["path"]
        path = self._free(given)
        if path is None:
            raise InputError(f"File {given} already exists", field="path")
        self._items.put(path, *_stored_form(path, command["file_text"]))
        return f"File created successfully at: {given}"

    def _str_replace(self, command: Mapping[str, Any]) -> str:
        given, item = self._edit_file(command)
        text, line = replace_text(given, _text(item), command["old_str"], command["new_str"])
        self._edit(item, text)
        first = max(0, line - _AROUND)
        excerpt = _number_lines(text.split("\n")[first : line + _AROUND + 1], first + 1)
        return (
            f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{excerpt}"
        )

    def _insert(self, command: Mapping[str, Any]) -> str:
        given, item = self._edit_file(command)
        self._edit(item, insert_text(_text(item), command["insert_line"], command["insert_text"]))
        return f"The file {given} has been edited."

    def _delete(self, command: Mapping[str, Any]) -> str:
        given = command["path"]
        path = _check_path(given)
        if path == ROOT:
            raise InputError("Cannot delete the /memories directory itself", field="path")
        names = [path, *(one.metadata["path"] for one in self._files_below(path))]
        if not sum(self._items.remove(name) for name in names):
            raise NotFound(f"The path {given} does not exist", field="path")
        return f"Successfully deleted {given}"

    def _rename(self, command: Mapping[str, Any]) -> str:
        old, new = command["old_path"], command["new_path"]
        source = _check_path(old)
        _check_path(new)
        if source == ROOT:
            raise InputError("Cannot rename the /memories directory itself", field="old_path")
        target = self._free(new)
        if target is None:
            raise InputError(f"The destination {new} already exists", field="new_path")
        if target.startswith(f"{source}/"):
            raise InputError(f"{old} cannot become a part of itself at {new}", field="new_path")
        one = self._items.find(source)
        paths = [source] if one is not None else [row.metadata["path"] for row in self._files_below(source)]
        if not paths:
            raise NotFound(f"The path {old} does not exist", field="old_path")
        for path in paths:
            item = self._file(old, path)
            self._edit(item, _text(item), path=target + path.removeprefix(source))
        return f"Successfully renamed {old} to {new}"

    def _edit_file(self, command: Mapping[str, Any]) -> tuple[str, Item]:
        given = command["path"]
        path = _check_path(given)
        if self._items.find(path) is None and (path == ROOT or self._files_below(path, most=1)):
            raise InputError(f"The path {given} is not a file.", field="path")
        return given, self._file(given, path)

    def _file(self, given: str, path: str) -> Item:
        item = self._items.find(path)
        if item is None:
            raise NotFound(f"The path {given} does not exist. Please provide a valid path.", field="path")
        return item

    def _free(self, given: str) -> str | None:
        """Return the path if a file may be created there; None if it exists."""
        path = _check_path(given)
        parent = posixpath.dirname(path)
        while parent not in (ROOT, "/"):
            if self._items.find(parent) is not None:
                raise InputError(f"The path {parent} is a file, and no directory", field="path")
            parent = posixpath.dirname(parent)
        taken = path == ROOT or self._items.find(path) is not None or bool(self._files_below(path, most=1))
        return None if taken else path

    def _files_below(self, path: str, most: int | None = None) -> list[NamedRow]:
        """Return the files of a directory: "0" is the character after "/"."""
        return self._items.between(f"{path}/", f"{path}0", RowPage(most))

    def _edit(self, item: Item, text: str, *, path: str | None = None) -> None:
        name = item.metadata["path"] if path is None else path
        self._items.edit(item, name, *_stored_form(name, text))


def _check_path(path: str) -> str:
    """Return a path without doubled or trailing slashes; InputError if it leads out of the root."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise InputError(f"Path must start with /memories, got: {path}", field="path")
    plain = posixpath.normpath(path)
    parts: Sequence[str] = unquote(path).replace("\\", "/").split("/")
    inside = plain == ROOT or plain.startswith(f"{ROOT}/")
    if not inside or ".." in parts or not is_storable(path):
        raise InputError(f"Path {path} would escape /memories directory", field="path")
    return plain


def _stored_form(path: str, text: str) -> tuple[str, dict[str, str | None]]:
    """Return an item's text for a file, and the exact file text where the two differ."""
    words = replace_unstorable(text) if text.strip() else path
    exact = None if words == text else text.encode("utf-8", "surrogatepass").hex()
    return words, {"exact": exact}


def _text(item: Item) -> str:
    exact = item.metadata.get("exact")
    return item.content if exact is None else bytes.fromhex(exact).decode("utf-8", "surrogatepass")


def _size(row: NamedRow) -> int:
    exact = row.metadata.get("exact")
    return row.size if exact is None else len(exact) // 2
