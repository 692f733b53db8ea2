"""Writes the items of a scope to a folder as a bundle, and brings edits of its files back as entries of the log.

The folder's ``.phronesis.json`` says what was written: for each file the item's id, its version, and a digest of the
text. A file whose digest differs was edited; a file that is missing was deleted; one that is not listed was added.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from phronesis.core.ids import derived_id, make_scope
from phronesis.core.items import Item
from phronesis.core.serialization import Record
from phronesis.errors import InputError, NotFound, PhronesisError, VersionConflict
from phronesis.files.item_files import (
    EDITABLE,
    TYPES,
    Concept,
    body_of,
    digest,
    file_name,
    items_of,
    read_concept,
    render_concept,
    render_index,
)
from phronesis.memory import Memory

MANIFEST: Final = ".phronesis.json"
RESERVED: Final = frozenset({"index.md", "log.md"})
EDITED: Final = "edited in file"
"""The reason that history shows for a change that came from a file."""

MANY: Final = 10
"""Missing files up to which each is taken for a deletion; beyond, half of the bundle must still be there."""

MAX_BYTES: Final = 1_000_000
"""Bytes of one file."""


@dataclass(slots=True)
class SyncReport(Record):
    """What a synchronisation did, by the path of each file.

    ``edited``, ``added`` and ``archived`` hold the ids of the entries that changed the store, which ``rollback``
    reverts; ``skipped`` the reason why a file was left alone.
    """

    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    edited: dict[str, str] = field(default_factory=dict)
    added: dict[str, str] = field(default_factory=dict)
    archived: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Bundle:
    """The bundle of one scope in a folder: a user's items, or those of a namespace."""

    memory: Memory
    folder: Path
    user_id: str | None = None
    namespace: str | None = None

    def export(self) -> SyncReport:
        """Write every item to its file, but to none that was edited since.

        InputError: the folder holds other files, or the bundle of another scope.
        """
        held, report = self._held_files(), SyncReport()
        for path in self._documents():
            if path in held and not self._is_unchanged(path, held[path]):
                report.skipped[path] = "it was edited: 'phronesis store sync' takes the edit up"
        self._write(report, held=held)
        return report

    def sync(self, *, allow_many_deletions: bool = False) -> SyncReport:
        """Bring edits, additions and deletions of files into the store, then write what changed there.

        A file whose item has changed since it was written is left alone and reported: the next synchronisation after
        both agree takes it up. A deleted file archives its item; a moved one keeps its item and place. InputError: most
        of the files are missing, and ``allow_many_deletions`` is not given.
        """
        if not (self.folder / MANIFEST).exists():
            raise InputError(f"{self.folder} is no bundle of Phronesis: export one first", field="path")
        held, report = self._held_files(), SyncReport()
        self._follow_moves(held)
        missing = [path for path in held if not (self.folder / path).exists()]
        if len(missing) > MANY and 2 * len(missing) > len(held) and not allow_many_deletions:
            raise InputError(
                f"{len(missing)} of {len(held)} files are missing; bring them back, or say that they were deleted"
                " on purpose (--allow-many-deletions)",
                field="path",
            )
        for path in missing:
            self._archive(path, held[path], report)
        for path in self._documents():
            self._read(path, held.get(path), report)
        self._write(report, held=held)
        return report

    @property
    def _scope(self) -> dict[str, Any]:
        given = {"user_id": self.user_id, "namespace": None if self.user_id else self.namespace}
        return {name: value for name, value in given.items() if value is not None}

    def _held_files(self) -> dict[str, Any]:
        """Return what the manifest says of each file; nothing for an empty folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / MANIFEST
        if not path.exists():
            if any(self.folder.iterdir()):
                raise InputError(f"{self.folder} is not empty, and no bundle of Phronesis", field="path")
            return {}
        try:
            manifest = json.loads(path.read_bytes())
            scope, files = manifest["scope"], dict(manifest["files"])
            inside = all({"id", "version", "digest"} <= set(files[one]) and self._is_inside(one) for one in files)
        except (ValueError, KeyError, TypeError, RecursionError):
            inside = False
        if not inside or any((self.folder / kind).is_symlink() for kind in TYPES):
            raise InputError(
                f"{path} is damaged, or leads out of its folder; bring it back, or export to an empty folder",
                field="path",
            )
        if scope != self._scope:
            raise InputError(f"{self.folder} holds the bundle of another scope: {scope}", field="path")
        return files

    def _is_inside(self, path: str) -> bool:
        return (self.folder / path).parent.resolve().is_relative_to(self.folder.resolve())

    def _documents(self) -> Iterator[str]:
        for path in sorted(self.folder.rglob("*.md")):
            own = path.relative_to(self.folder)
            if path.name not in RESERVED and path.is_file() and not any(part.startswith(".") for part in own.parts):
                yield own.as_posix()

    def _text(self, path: str) -> str:
        file = self.folder / path
        if file.is_symlink():
            raise InputError("it is a link: put the file itself here", field="document")
        if file.stat().st_size > MAX_BYTES:
            raise InputError(f"it has more than {MAX_BYTES:,} bytes", field="document")
        try:
            return file.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise InputError("it is not UTF-8: save it so", field="document") from error

    def _is_unchanged(self, path: str, known: Mapping[str, Any]) -> bool:
        return digest(self._text(path)) == str(known["digest"])

    def _follow_moves(self, held: dict[str, Any]) -> None:
        """Name each missing file as it is called now: a file that is not listed has its id."""
        missing = {row["id"]: path for path, row in held.items() if not (self.folder / path).exists()}
        for path in self._documents() if missing else ():
            with suppress(InputError):
                identity = None if path in held else read_concept(self._text(path)).id
                if identity in missing:
                    held[path] = held.pop(missing.pop(identity))

    # Files to the store.

    def _read(self, path: str, known: Mapping[str, Any] | None, report: SyncReport) -> None:
        try:
            if known is not None and self._is_unchanged(path, known):
                return
            concept = read_concept(self._text(path))
            if known is None:
                self._add(path, concept, report)
            else:
                self._update(path, concept, known, report)
        except PhronesisError as error:
            report.skipped[path] = error.message

    def _add(self, path: str, concept: Concept, report: SyncReport) -> None:
        if concept.id is not None:
            raise InputError("it is a copy of another file, or of another bundle: take its id away", field="id")
        if not concept.text:
            raise InputError("it has no text", field="document")
        if concept.kind not in EDITABLE:
            raise InputError(f"a {concept.kind} follows from its evidence: give it the type Fact", field="type")
        given = {name: concept.own[name] for name in ("subject", "key", "value") if name in concept.own}
        file = self.folder / path
        # The time of the file tells a synchronisation that was interrupted from the same text in a later file.
        key = derived_id("file", *self._scope.values(), path, str(file.stat().st_mtime_ns), concept.text)
        added = self.memory.add(
            concept.text, kind=concept.kind, actor="user", idempotency_key=key, **given, **self._scope
        )
        report.added[path] = added.entry_id
        file.unlink()  # it is written again under the name of its item

    def _update(self, path: str, concept: Concept, known: Mapping[str, Any], report: SyncReport) -> None:
        item = self._item(known)
        if concept.id != known["id"]:
            raise InputError("its id was changed: give it back, or delete the file", field="id")
        ended, changed = concept.status == "deprecated", concept.text not in {"", body_of(item)}
        if not (ended or changed):
            return  # both agree
        if item.kind not in EDITABLE and changed:
            raise InputError(f"the text of a {item.kind} follows from its evidence; correct that instead", field="kind")
        if item.version != known["version"]:
            raise VersionConflict(
                f"it was edited in version {known['version']}, and the item is in version {item.version}: take the"
                " change over by hand, or delete the file and export again",
                field="version",
            )
        if ended:
            done = self.memory.delete(item.id, reason=EDITED, actor="user", expected_version=item.version)
            report.archived[path] = done.entry_id
        else:
            done = self.memory.update(
                item.id, content=concept.text, reason=EDITED, actor="user", expected_version=item.version
            )
            report.edited[path] = done.entry_id

    def _item(self, known: Mapping[str, Any]) -> Item:
        """Return a file's item. NotFound: it was erased, or is not of this scope, whatever the manifest says."""
        item = self.memory.get(known["id"])
        if make_scope(user_id=item.user_id, namespace=item.namespace) != make_scope(**self._scope):
            raise NotFound("its item is not of this bundle: take its id away", field="id")
        return item

    def _archive(self, path: str, known: Mapping[str, Any], report: SyncReport) -> None:
        try:
            item = self._item(known)
        except (NotFound, InputError):
            return  # erased, or no id of ours
        if not item.live:
            return
        if item.version != known["version"]:
            report.skipped[path] = "its file was deleted, and the item has changed since: it is written again"
            return
        done = self.memory.delete(item.id, reason="deleted in files", actor="user", expected_version=item.version)
        report.archived[path] = done.entry_id

    # The store to files.

    def _write(self, report: SyncReport, *, held: Mapping[str, Any]) -> None:
        places = {row["id"]: path for path, row in held.items()}
        files: dict[str, Any] = {}
        groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for item in items_of(self.memory, list(TYPES), self._scope):
            if item.user_id != self.user_id:
                continue
            path = places.get(item.id) or file_name(item)
            groups[TYPES[item.kind]].append((path, item.content))
            if path in report.skipped:
                files |= {path: held[path]} if path in held else {}
                continue
            text = render_concept(self.memory.explain(item.id))
            files[path] = {"id": item.id, "version": item.version, "digest": digest(text)}
            self._put(path, text, report)
        for path in held:
            if path not in files and (self.folder / path).exists() and path not in report.skipped:
                (self.folder / path).unlink()
                report.removed.append(path)
        self._put("index.md", render_index(self.user_id or self.namespace or "default", groups), None)
        manifest = {"okf_version": "0.2", "scope": self._scope, "files": files}
        self._put(MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False, sort_keys=True) + "\n", None)

    def _put(self, path: str, text: str, report: SyncReport | None) -> None:
        target = self.folder / path
        if target.exists() and target.read_text(encoding="utf-8") == text:
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f"{target.name}.part")
        draft.write_text(text, encoding="utf-8")
        draft.replace(target)
        if report is not None:
            report.written.append(path)
