"""Changes to the configuration files of hosts: ours are added and removed, everything else stays as it is."""

import difflib
import json
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from phronesis.errors import InputError

Place = tuple[str, ...]
"""The keys that lead to a member of a file."""

BEGIN: Final = "# phronesis: begin"
END: Final = "# phronesis: end"
"""Comments around our part of a TOML file."""


class ConfigFile(Protocol):
    """A file of a host with a part that is ours."""

    @property
    def path(self) -> Path:
        """Return where it is."""
        ...

    def installed(self, text: str | None) -> str:
        """Return its text with our part; ``text`` is None if there is no file. InputError: it cannot be read."""
        ...

    def removed(self, text: str) -> str | None:
        """Return its text without our part; None if nothing would be left."""
        ...


@dataclass(frozen=True, slots=True)
class JsonFile:
    """A JSON file: ``entries`` are members by their path of keys, ``listed`` are members added to arrays.

    An entry that is no object is a slot, which holds one name: it is removed only while the name is ours.
    ``is_ours`` recognises a member of such an array, in this and in earlier versions. ``defaults`` are members that the
    file needs, whoever wrote it.
    """

    path: Path
    entries: Mapping[Place, Any] = field(default_factory=dict)
    listed: Mapping[Place, Sequence[Any]] = field(default_factory=dict)
    is_ours: Callable[[Any], bool] = lambda _member: False
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def installed(self, text: str | None) -> str:
        """Return its text with our part."""
        root = self._read(text)
        self._take_out(root)
        root = {**self.defaults, **root}
        for place, value in self.entries.items():
            self._holder(root, place)[place[-1]] = value
        for place, members in self.listed.items():
            if members:
                self._holder(root, place).setdefault(place[-1], []).extend(members)
        return _as_json(root)

    def removed(self, text: str) -> str | None:
        """Return its text without our part."""
        root = self._read(text)
        before = json.dumps(root)
        self._take_out(root)
        if json.dumps(root) == before:
            return text
        return _as_json(root) if root.keys() - self.defaults.keys() else None

    def holds_slots(self, text: str) -> bool:
        """Return whether every slot still holds our name."""
        root = self._read(text)
        slots = [(place, name) for place, name in self.entries.items() if not isinstance(name, dict)]
        return all(self._holder(root, place).get(place[-1]) == name for place, name in slots)

    def _read(self, text: str | None) -> dict[str, Any]:
        try:
            root = json.loads(text) if text and text.strip() else {}
        except ValueError as error:
            raise InputError(
                f"{self.path} is no plain JSON ({error}): add this yourself, or take its comments away\n"
                + self.installed(None),
                field="path",
            ) from error
        if not isinstance(root, dict):
            raise InputError(f"{self.path} holds no object", field="path")
        return root

    def _holder(self, root: dict[str, Any], place: Place) -> dict[str, Any]:
        for key in place[:-1]:
            root = root.setdefault(key, {})
            if not isinstance(root, dict):
                raise InputError(f"{self.path}: {key} is no object", field="path")
        return root

    def _take_out(self, root: dict[str, Any]) -> None:
        for place, ours in self.entries.items():
            self._prune(root, place, partial(_drop_entry, ours))
        for place in self.listed:
            self._prune(root, place, self._drop_ours)

    def _drop_ours(self, holder: dict[str, Any], key: str) -> None:
        members = holder.get(key)
        if isinstance(members, list):
            holder[key] = [member for member in members if not self.is_ours(member)]
            if not holder[key]:
                del holder[key]

    def _prune(self, root: Any, place: Place, remove: Callable[[dict[str, Any], str], None]) -> None:
        """Remove a member, and the objects around it that are empty then."""
        if not isinstance(root, dict) or place[0] not in root:
            return
        if len(place) == 1:
            remove(root, place[0])
            return
        self._prune(root[place[0]], place[1:], remove)
        if root[place[0]] == {}:
            del root[place[0]]


@dataclass(frozen=True, slots=True)
class TomlFile:
    """A TOML file with a block of tables at its end, of which ``table`` may not be in the file already."""

    path: Path
    block: str
    table: Place

    def installed(self, text: str | None) -> str:
        """Return its text with our part."""
        rest = (self.removed(text) or "") if text else ""
        held: Any = self._read(rest)
        for key in self.table:
            held = held.get(key, {}) if isinstance(held, dict) else {}
        if held:
            raise InputError(
                f"{self.path} has a table {'.'.join(self.table)} of its own: remove or rename it first", field="path"
            )
        out = f"{rest.rstrip()}\n\n" if rest.strip() else ""
        out += f"{BEGIN}\n{self.block.strip()}\n{END}\n"
        self._read(out)
        return out

    def removed(self, text: str) -> str | None:
        """Return its text without our part."""
        head, begin, tail = text.partition(BEGIN)
        if not begin:
            return text
        left = f"{head.rstrip()}\n{tail.partition(END)[2].lstrip()}".strip()
        return f"{left}\n" if left else None

    def _read(self, text: str) -> dict[str, Any]:
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{self.path} is no TOML: {error}", field="path") from error


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file that is ours as a whole."""

    path: Path
    text: str

    def installed(self, text: str | None) -> str:
        """Return our text."""
        _ = text
        return self.text

    def removed(self, text: str) -> str | None:
        """Return None: nothing is left."""
        _ = text
        return None


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one file: its texts before and after, None where there is no file."""

    path: Path
    before: str | None
    after: str | None

    def diff(self) -> str:
        """Return it as a unified diff."""
        old, new = ("" if text is None else text for text in (self.before, self.after))
        names = (
            "/dev/null" if self.before is None else str(self.path),
            "/dev/null" if self.after is None else str(self.path),
        )
        lines = difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), *names)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)

    def write(self) -> None:
        """Write the file in one step, or delete it. Folders that are empty then stay only if they were there."""
        if self.after is None:
            self.path.unlink(missing_ok=True)
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        target = self.path.resolve()  # a link to a file elsewhere stays a link
        draft = target.with_name(f"{target.name}.phronesis")
        draft.write_text(self.after, encoding="utf-8")
        if target.exists():
            draft.chmod(target.stat().st_mode & 0o777)
        os.replace(draft, target)  # noqa: PTH105 - Path.replace follows no better


def _drop_entry(ours: Any, holder: dict[str, Any], key: str) -> None:
    if isinstance(ours, dict) or holder[key] == ours:
        del holder[key]


def changes(files: Sequence[ConfigFile], *, install: bool) -> list[Change]:
    """Return the changes that install our part of the files, or remove it; those that change nothing are left out."""
    out = []
    for file in files:
        before = file.path.read_text(encoding="utf-8") if file.path.exists() else None
        after = file.installed(before) if install else None if before is None else file.removed(before)
        if after != before:
            out.append(Change(file.path, before, after))
    return out


def _as_json(root: Mapping[str, Any]) -> str:
    return json.dumps(root, indent=2, ensure_ascii=False) + "\n"
