"""Importers: exports of other programs become calls of a Memory, each made once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final

from phronesis.core.ids import derived_id, make_scope
from phronesis.core.items import Item
from phronesis.core.serialization import Record, digest
from phronesis.core.text import check_id
from phronesis.engine.entry_applier import SUPERSEDES
from phronesis.errors import Conflict, EntryFailed, Erased, InputError, StorageRefused
from phronesis.experience.laws.records import L1
from phronesis.importers.chatgpt import CHATGPT, CHATGPT_FILE
from phronesis.importers.claude import CLAUDE, CLAUDE_FILE
from phronesis.importers.claude_mem import CLAUDE_MEM
from phronesis.importers.folders import GIT, MARKDOWN
from phronesis.importers.import_call import (
    Format,
    ImportCall,
    SkippedObject,
    Step,
    bytes_of,
    name_of,
    present_fields,
    read_members,
)
from phronesis.importers.memory_exports import LANGGRAPH, LETTA, LETTA_FILE, MEM0
from phronesis.importers.transcripts import CLAUDE_CODE, CODEX, CURSOR
from phronesis.log.export import FORMAT
from phronesis.log.inputs import EXTERNAL_ID
from phronesis.memory import Memory
from phronesis.recall.as_of import NamedItems

__all__ = ["FORMATS", "ImportRunner", "ImportSummary"]

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


MAX_TOLD: Final = 20
"""Maximum number of skipped objects and of failures that a summary names; it counts all."""

OF_ONE: Final = (InputError, Conflict, EntryFailed, Erased, StorageRefused)
"""Errors that concern one object. Any other (full disk, lock) concerns all and ends the import."""


@dataclass(slots=True)
class ImportSummary(Record):
    """The result of an import: calls made, calls made before, and calls that would be made (``missing``: a dry run).

    ``skipped`` counts the reader's skipped objects by reason; ``passed_over`` and ``errors`` name the first of them.
    """

    format: str
    dry_run: bool = False
    recorded: int = 0
    known: int = 0
    missing: int = 0
    failed: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    passed_over: list[Mapping[str, Any]] = field(default_factory=list)
    errors: list[Mapping[str, Any]] = field(default_factory=list)

    def skip(self, one: SkippedObject) -> None:
        """Count a skipped object."""
        self.skipped[one.reason] = self.skipped.get(one.reason, 0) + 1
        if len(self.passed_over) < MAX_TOLD:
            self.passed_over.append({"ref": one.ref, "reason": one.reason})

    def fail(self, ref: str, error: Exception) -> None:
        """Count a failed object."""
        self.failed += 1
        if len(self.errors) < MAX_TOLD:
            code, message = getattr(error, "code", ""), getattr(error, "message", str(error))
            self.errors.append({"ref": ref, "code": code, "message": message})


@dataclass(slots=True)
class ImportRunner:
    """Imports an export into one user's lane, else that of the user it names, else a namespace's.

    Each object is one call with an idempotency key derived from its content: importing the same file again changes
    nothing, and an interrupted or extended file continues with what is missing. Erased or rolled-back objects stay so.
    An object that has an id in its program is looked up by it (``external_id``); changed content under the same id
    replaces what was imported before. ``on_progress`` is called with the amount done and the total.
    """

    memory: Memory
    user_id: str | None = None
    namespace: str | None = None
    actor: str = "import"
    on_progress: Callable[[int, int], object] = lambda _done, _total: None

    def run(self, path: str | Path, *, format: str, dry_run: bool = False) -> ImportSummary:  # noqa: A002 - its name
        """Import the export at ``path`` and return the summary. With ``dry_run`` nothing is written.

        ``format`` is a key of `FORMATS`. InputError: an unknown format, or a path that does not
        exist.
        """
        if format not in FORMATS:
            raise InputError(f"format must be one of {', '.join(FORMATS)}; got {format!r:.40}", field="format")
        make_scope(user_id=self.user_id, namespace=self.namespace)
        check_id(self.actor, field="actor")
        chosen, place = FORMATS[format], Path(path)
        summary, total, done = ImportSummary(format, dry_run), chosen.total(place), 0
        for step in chosen.read(place):
            self._step(step, summary)
            done = max(done, min(step.done, total))
            self.on_progress(done, total)
        return summary

    def _step(self, step: Step, summary: ImportSummary) -> None:
        if isinstance(step, SkippedObject):
            summary.skip(step)
            return
        try:
            self._make_call(step, summary)
        except OF_ONE as error:
            summary.fail(step.ref, error)

    def _make_call(self, given: ImportCall, summary: ImportSummary) -> None:
        """Make the call, unless it was made before."""
        user_id = self.user_id or (None if self.namespace else given.owner)
        owner: dict[str, Any] = {"user_id": user_id, "namespace": self.namespace}
        if given.namespace is not None:  # of a project, whoever worked on it
            owner = {"namespace": self.namespace or given.namespace}
        owner = present_fields(owner)
        lane = make_scope(**owner).write_lane
        # The key omits external ids, so that objects imported before ids existed are recognised.
        key = derived_id("import", lane.kind, lane.name, given.ref, digest(_without_names(given.arguments)))
        names = NamedItems(self.memory.admin.components.database, self.memory.admin.tenant, lane)
        recorder, tenant = self.memory.admin.components.writer.recorder, self.memory.admin.tenant
        if recorder.known(tenant, key) is not None or _is_held(given, names):
            summary.known += 1
        elif summary.dry_run:
            summary.missing += 1
        elif self._is_recorded_live(given, owner):
            summary.skip(SkippedObject(given.ref, "recorded already, by hooks or from another export"))
        else:
            verb = self.memory.resources.ingest if given.verb == "resource" else getattr(self.memory, given.verb)
            arguments = self._with_free_names(given, names)
            verb(**arguments, **owner, actor=self.actor, idempotency_key=key)
            summary.recorded += 1

    def _is_recorded_live(self, given: ImportCall, owner: Mapping[str, Any]) -> bool:
        """Return whether a turn's session was recorded by a hook, or imported from elsewhere."""
        about = given.arguments.get("turn_events", {}).get("session_metadata", {})
        if "imported" not in about:
            return False
        turns = self.memory.sessions.turns(given.arguments["session_id"], last=1, **owner)
        return bool(turns) and turns[0].session_metadata.get("imported") != about["imported"]

    def _with_free_names(self, given: ImportCall, names: NamedItems) -> dict[str, Any]:
        """Return the arguments of a call without external ids that belong to other objects.

        A message whose id another conversation uses is named by its session and its id. An item with changed content
        replaces the one imported before.
        """
        arguments = dict(given.arguments)
        if given.verb == "commit_turn":
            events = arguments["turn_events"]
            session_id = arguments["session_id"]
            messages = [_with_free_id(one, session_id, names) for one in events["messages"]]
            return {**arguments, "turn_events": {**events, "messages": messages}}
        if given.verb == "ingest":
            nei = arguments["nei"]
            free = names.find(nei[EXTERNAL_ID]) is None
            return arguments if free else {**arguments, "nei": _without_names(nei)}
        held = names.find(arguments[EXTERNAL_ID]) if EXTERNAL_ID in arguments else None
        if held is None:
            return arguments
        if not _is_same(held, given):
            return {name: value for name, value in arguments.items() if name != EXTERNAL_ID}
        return arguments if held.content == arguments["content"] else {**arguments, SUPERSEDES: held.id}


def _is_held(given: ImportCall, names: NamedItems) -> bool:
    """Return whether the experience, or the statement with the same text, is held under its id already."""
    if given.verb == "ingest":
        held = names.find(given.arguments["nei"].get(EXTERNAL_ID) or given.ref)
        return held is not None and held.kind == L1
    if given.verb != "add" or EXTERNAL_ID not in given.arguments:
        return False
    held = names.find(given.arguments[EXTERNAL_ID])
    return held is not None and held.content == given.arguments["content"] and _is_same(held, given)


def _is_same(held: Item, given: ImportCall) -> bool:
    """Return whether an item is that of a call: its metadata names the same object."""
    return all(
        dict(held.metadata.get(member) or {}).get(name) == value
        for member, expected in given.identity.items()
        for name, value in expected.items()
    )


def _with_free_id(message: Mapping[str, Any], session_id: str, names: NamedItems) -> dict[str, Any]:
    """Return a message with an external id that no other item has, or without one."""
    plain = {name: value for name, value in message.items() if name != EXTERNAL_ID}
    for name in (message.get(EXTERNAL_ID), name_of(f"{session_id}#{message['id']}")):
        if name is None:
            continue
        held = names.find(name)
        if held is None:
            return {**plain, EXTERNAL_ID: name}
        if (held.session_id, held.message_id) == (session_id, message["id"]):
            return plain  # the same message again
    return plain


def _without_names(value: Any) -> Any:
    """Return arguments without external ids, including those of messages and of an experience."""
    if isinstance(value, Mapping):
        return {
            name: _without_names(one) if name in _NAMED_PARTS else one
            for name, one in value.items()
            if name != EXTERNAL_ID
        }
    return [_without_names(one) for one in value] if isinstance(value, list) else value


_NAMED_PARTS: Final = frozenset({"turn_events", "messages", "nei"})
