"""Changes to the configuration files of hosts: ours are added and removed, everything else stays as it is."""

import difflib
import json
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from phronesis.config.locations import data_folder
from phronesis.errors import InputError
from phronesis.interfaces.hosts import json_text
from phronesis.interfaces.hosts.json_text import Place

Former = dict[Place, str | None]
"""What was in the places of our part before it, as it was written; None: nothing. The place ``()`` is the file."""

OWN_NAME: Final = "phronesis"
"""A word of every file that is ours as a whole."""

BEGIN: Final = "# phronesis: begin"
END: Final = "# phronesis: end"
"""Comments around our part of a TOML file."""


@dataclass(frozen=True, slots=True)
class JsonFile:
    """A JSON file: ``entries`` are members by their path of keys, ``listed`` are members added to arrays.

    An entry that is no object is a slot, which holds one value: it is given back only while the value is ours.
    ``is_ours`` recognises a member of such an array, in this and in earlier versions. ``defaults`` are members that the
    file needs, whoever wrote it.
    """

    path: Path
    entries: Mapping[Place, Any] = field(default_factory=dict)
    listed: Mapping[Place, Sequence[Any]] = field(default_factory=dict)
    is_ours: Callable[[Any], bool] = lambda _member: False
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def render_installed(self, text: str | None) -> str:
        """Return its text with our part."""
        out = text if text and text.strip() else "{}\n"
        self._read(out)
        try:
            for name in self.defaults.keys() - self._read(out).value.keys():
                out = json_text.put(out, (name,), self.defaults[name])
            for place, value in self.entries.items():
                out = json_text.put(out, place, value)
            for place, members in self.listed.items():
                held = json_text.parse(out).at(place)
                if [one.value for one in (held.elements if held else ()) if self.is_ours(one.value)] != list(members):
                    out = json_text.drop_elements(out, place, self.is_ours)
                    out = json_text.extend(out, place, members) if members else _tidy(out, place, {})
        except ValueError as error:
            raise InputError(f"{self.path}: {error}", field="path") from error
        return out

    def render_removed(self, text: str, former: Former) -> str | None:
        """Return its text without our part, and what was in its places before."""
        if not text.strip():
            return text
        self._read(text)
        out = text
        for place, ours in self.entries.items():
            out = self._without_entry(out, place, ours, former)
        for place in self.listed:
            out = json_text.drop_elements(out, place, self.is_ours)
        if out == text:
            return text
        for place in self._holders():
            out = _tidy(out, place, former)
        return self._without_defaults(out, former)

    def read_former(self, text: str | None) -> Former:
        """Return the texts of slots and of empty objects and arrays, by their places."""
        places = (*self._holders(), *self.entries, *((name,) for name in self.defaults))
        if not text or not text.strip():
            return dict.fromkeys(places, None) | {(): text}
        root = self._read(text)
        out: Former = {} if root.value else {(): text}
        for place in places:
            held = root.at(place)
            if held is None or held.value in ({}, []) or not isinstance(held.value, dict | list):
                out[place] = json_text.raw(text, place)
        return out

    def holds_slots(self, text: str) -> bool:
        """Return whether every slot that names us still does."""
        root = self._read(text)
        slots = [(root.at(place), name) for place, name in self.entries.items() if isinstance(name, str)]
        return all(held is not None and held.value == name for held, name in slots)

    def _read(self, text: str) -> json_text.Node:
        try:
            root = json_text.parse(text)
        except ValueError as error:
            raise InputError(
                f"{self.path} is no JSON ({error}): add this yourself\n" + self.render_installed(None), field="path"
            ) from error
        if not isinstance(root.value, dict):
            raise InputError(f"{self.path} holds no object", field="path")
        return root

    def _holders(self) -> list[Place]:
        """Return the places of the objects and arrays around our members, the innermost first."""
        around = {place[:n] for place in (*self.entries, *self.listed) for n in range(1, len(place))}
        return sorted(around | set(self.listed), key=len, reverse=True)

    def _without_entry(self, text: str, place: Place, ours: Any, former: Former) -> str:
        held = json_text.parse(text).at(place) if text.strip() else None
        if held is None or not (isinstance(ours, dict) or held.value == ours):
            return text
        if not isinstance(ours, dict | str) and place not in former:  # the value may be the user's own
            return text
        before = None if isinstance(ours, dict) else former.get(place)
        return json_text.drop(text, place) if before is None else json_text.put_raw(text, place, before)

    def _without_defaults(self, text: str, former: Former) -> str | None:
        left = json_text.parse(text).value.keys()
        if former.get((), "") is None or not former:
            return text if left - self.defaults.keys() else None
        for name in self.defaults:
            if (name,) in former and former[(name,)] is None:
                text = json_text.drop(text, (name,))
        return text if json_text.parse(text).value else former.get((), text)


def _tidy(text: str, place: Place, former: Former) -> str:
    """Return a text in which an object or array that is empty now is what it was before."""
    held = json_text.parse(text).at(place)
    if held is None or held.value not in ({}, []) or (former and place not in former):
        return text
    before = former.get(place)
    return json_text.drop(text, place) if before is None else json_text.put_raw(text, place, before)


@dataclass(frozen=True, slots=True)
class TomlFile:
    """A TOML file with a block of tables at its end, of which ``table`` may not be in the file already."""

    path: Path
    block: str
    table: Place

    def render_installed(self, text: str | None) -> str:
        """Return its text with our part."""
        ours = f"{BEGIN}\n{self.block.strip()}\n{END}\n"
        if text and ours in text:
            return text
        rest = (self.render_removed(text, {}) or "") if text else ""
        held: Any = self._read(rest)
        for key in self.table:
            held = held.get(key, {}) if isinstance(held, dict) else {}
        if held:
            raise InputError(
                f"{self.path} has a table {'.'.join(self.table)} of its own: remove or rename it first", field="path"
            )
        out = f"{rest}\n{ours}" if rest else ours
        self._read(out)
        return out

    def render_removed(self, text: str, former: Former) -> str | None:
        """Return its text without our part."""
        head, begin, tail = text.partition(BEGIN)
        if not begin:
            return text
        left = head.removesuffix("\n") + tail.partition(END)[2].removeprefix("\n")
        return left or former.get(())

    def read_former(self, text: str | None) -> Former:
        """Return the text if there is nothing in it."""
        return {} if text else {(): text}

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

    def render_installed(self, text: str | None) -> str:
        """Return our text."""
        _ = text
        return self.text

    def render_removed(self, text: str, former: Former) -> str | None:
        """Return the text of the file in whose place ours is; None: there was none."""
        if not former and text != self.text and OWN_NAME not in text:
            return text  # the user's own, which no installation replaced
        return former.get(())

    def read_former(self, text: str | None) -> Former:
        """Return the text."""
        return {(): text}


ConfigFile = JsonFile | TomlFile | OwnFile
"""A file of a host with a part that is ours.

``render_installed`` returns its text with our part (InputError: it cannot be read), ``render_removed`` without it, or
None if there was no file, and ``read_former`` what is in the places of our part in a text without it: empty if nothing
is known.
"""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one file: its texts before and after, None where there is no file."""

    path: Path
    before: str | None
    after: str | None

    def diff(self) -> str:
        """Return it as a unified diff."""
        old, new = ("" if text is None else text for text in (self.before, self.after))
        was, now = ("/dev/null" if text is None else str(self.path) for text in (self.before, self.after))
        lines = difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), was, now)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)

    def write(self) -> None:
        """Write the file in one step, or delete it, with what Python compiled it to."""
        target = self.path.resolve()  # a link to a file elsewhere stays a link
        if self.after is None:
            target.unlink(missing_ok=True)
            compiled = self.path.parent / "__pycache__"
            for one in compiled.glob(f"{self.path.stem}.*.pyc"):
                one.unlink()
            with suppress(OSError):  # it is missing, or holds something
                compiled.rmdir()
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f"{target.name}.phronesis")
        draft.write_bytes(self.after.encode())
        if target.exists():
            draft.chmod(target.stat().st_mode & 0o777)
        os.replace(draft, target)  # noqa: PTH105 - Path.replace follows no better


def changes(files: Sequence[ConfigFile], record: "InstallRecord", *, install: bool) -> list[Change]:
    """Return the changes that install our part of the files, or remove it; those that change nothing are left out.

    An installation notes in ``record`` what was there before, and a removal reads it.
    """
    out = []
    for file in files:
        before = _text_of(file.path)
        rest = None if before is None else file.render_removed(before, record.read_former(file.path))
        after = file.render_installed(before) if install else rest
        if install:
            record.files[file.path] = file.read_former(rest)
        if after != before:
            out.append(Change(file.path, before, after))
    return out


def _text_of(path: Path) -> str | None:
    """Return the text of a file; None if there is none. InputError: it is no UTF-8."""
    try:
        return path.read_bytes().decode() if path.exists() else None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no UTF-8 text ({error.reason}): save it as UTF-8 first", field="path") from error


@dataclass(slots=True)
class InstallRecord:
    """What an installation found, in a file of ours: so an uninstallation leaves each byte and folder as it was."""

    path: Path
    files: dict[Path, Former] = field(default_factory=dict)
    folders: list[Path] = field(default_factory=list)
    """Those that were made, the outermost first."""
    program: str = ""
    """The program that the host runs."""

    @classmethod
    def of_host(cls, name: str) -> "InstallRecord":
        """Return the record of the installation in a host."""
        return cls.read(data_folder() / "hosts" / f"{name}.json")

    @classmethod
    def read(cls, path: Path) -> "InstallRecord":
        """Return the record at a path; an empty one if there is none, or it cannot be read."""
        try:
            held = json.loads(path.read_bytes())
            files = {Path(name): {tuple(place): text for place, text in held["files"][name]} for name in held["files"]}
            return cls(path, files, [Path(name) for name in held["folders"]], held.get("program", ""))
        except (OSError, ValueError, LookupError, TypeError):
            return cls(path)

    def read_former(self, path: Path) -> Former:
        """Return what was in the places of our part of a file; empty if nothing is known."""
        return self.files.get(path, {})

    def carry_out(self, made: Sequence[Change], *, install: bool) -> None:
        """Write changes, and the record itself; after a removal delete it, and the folders that are empty then."""
        if install:
            paths = [*(change.path for change in made), self.path]
            missing = [one for path in paths for one in reversed(path.parents) if not one.exists()]
            self.folders += [one for one in missing if one not in self.folders]
            self._save()  # first: what an error interrupts can be removed
        for change in made:
            change.write()
        if install:
            return
        self.path.unlink(missing_ok=True)
        for folder in [self.path.parent, *reversed(self.folders)]:
            with suppress(OSError):  # it is missing, or holds something
                folder.rmdir()

    def _save(self) -> None:
        files = {str(path): [[list(place), text] for place, text in one.items()] for path, one in self.files.items()}
        folders = [str(one) for one in dict.fromkeys(self.folders)]
        held = {"files": files, "folders": folders, "program": self.program}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch(mode=0o600)
        self.path.write_text(json.dumps(held, indent=2) + "\n", encoding="utf-8")
