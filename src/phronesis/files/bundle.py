"""Writes the items of a scope to a folder as a bundle, and brings edits of its files back as entries of the log.

The folder's ``.phronesis.json`` says what was written: for each file the item's id, its version, and a digest of the
text. A file whose digest differs was edited; a file that is missing was deleted; one that is not listed was added.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from phronesis.core.items import Item
from phronesis.core.serialization import Record
from phronesis.errors import InputError, NotFound, PhronesisError, VersionConflict
from phronesis.files.concept import (
    EDITABLE,
    TYPES,
    Concept,
    digest,
    file_name,
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

_PAGE: Final = 200


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
        """Write every item to its file. InputError: the folder holds other files, or the bundle of another scope."""
        self._check_folder()
        report = SyncReport()
        self._write(report, held=self._manifest())
        return report

    def sync(self, *, allow_many_deletions: bool = False) -> SyncReport:
        """Bring edits, additions and deletions of files into the store, then write what changed there.

        A file whose item has changed since it was written is left alone and reported: the next synchronisation after
        both agree takes it up. A deleted file archives its item. InputError: most of the files are missing, and
        ``allow_many_deletions`` is not given.
        """
        if not (self.folder / MANIFEST).exists():
            raise InputError(f"{self.folder} is no bundle of Phronesis: export one first", field="path")
        self._check_folder()
        held, report = self._manifest(), SyncReport()
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

    def _check_folder(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / MANIFEST
        if not path.exists():
            if any(self.folder.iterdir()):
                raise InputError(f"{self.folder} is not empty, and no bundle of Phronesis", field="path")
            return
        scope = json.loads(path.read_text(encoding="utf-8")).get("scope")
        if scope != self._scope:
            raise InputError(f"{self.folder} holds the bundle of another scope: {scope}", field="path")

    def _manifest(self) -> dict[str, Any]:
        path = self.folder / MANIFEST
        return dict(json.loads(path.read_text(encoding="utf-8"))["files"]) if path.exists() else {}

    def _documents(self) -> Iterator[str]:
        for path in sorted(self.folder.rglob("*.md")):
            if path.name not in RESERVED:
                yield path.relative_to(self.folder).as_posix()

    def _items(self) -> Iterator[Item]:
        cursor = None
        while True:
            page = self.memory.get_all(kinds=list(TYPES), limit=_PAGE, cursor=cursor, **self._scope)
            yield from (item for item in page.items if item.user_id == self.user_id)
            cursor = page.next_cursor
            if cursor is None:
                return

    # Files to the store.

    def _read(self, path: str, known: Mapping[str, Any] | None, report: SyncReport) -> None:
        text = (self.folder / path).read_text(encoding="utf-8")
        if known is not None and digest(text) == known["digest"]:
            return
        try:
            concept = read_concept(text)
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
        kind = concept.kind if concept.kind in EDITABLE else "fact"
        given = {name: concept.own[name] for name in ("subject", "key", "value") if name in concept.own}
        added = self.memory.add(concept.text, kind=kind, actor="user", **given, **self._scope)
        report.added[path] = added.entry_id
        (self.folder / path).unlink()  # it is written again under the name of its item

    def _update(self, path: str, concept: Concept, known: Mapping[str, Any], report: SyncReport) -> None:
        item = self.memory.get(known["id"])
        if concept.id != known["id"]:
            raise InputError("its id was changed: give it back, or delete the file", field="id")
        if item.kind not in EDITABLE and concept.text != item.content:
            raise InputError(f"the text of a {item.kind} follows from its evidence; correct that instead", field="kind")
        if item.version != known["version"]:
            raise VersionConflict(
                f"it was edited in version {known['version']}, and the item is in version {item.version}: take the"
                " change over by hand, or delete the file and export again",
                field="version",
            )
        if concept.status == "deprecated":
            done = self.memory.delete(item.id, reason=EDITED, actor="user", expected_version=item.version)
            report.archived[path] = done.entry_id
        elif concept.text and concept.text != item.content:
            done = self.memory.update(
                item.id, content=concept.text, reason=EDITED, actor="user", expected_version=item.version
            )
            report.edited[path] = done.entry_id

    def _archive(self, path: str, known: Mapping[str, Any], report: SyncReport) -> None:
        try:
            item = self.memory.get(known["id"])
        except NotFound:
            return  # erased
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
        for item in self._items():
            path = places.get(item.id) or file_name(item)
            groups[TYPES[item.kind]].append((path, item.content))
            if path in report.skipped and path in held:
                files[path] = held[path]
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
