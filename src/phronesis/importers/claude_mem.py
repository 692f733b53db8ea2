"""Importer for claude-mem: its database (``~/.claude-mem/claude-mem.db``), or the JSON file of its export script.

An observation is a fact and a summary an episode of the project's namespace, where the hooks of coding agents look.
What the user asked is a turn of the session, and a directive a preference; both are the user's own.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from phronesis.core.serialization import digest
from phronesis.importers.import_call import (
    INSIDE,
    ImportCall,
    SkippedObject,
    Step,
    json_format,
    json_or_none,
    mapping_or_empty,
    mark_progress,
    name_of,
    objects,
    present_fields,
    text_or_empty,
    time_of,
    turns_of,
)
from phronesis.importers.transcripts import project_of
from phronesis.store.sqlite_files import check_file, has_tables, read_table

TABLES: Final[Mapping[str, str]] = {
    "sessions": "sdk_sessions",
    "observations": "observations",
    "summaries": "session_summaries",
    "prompts": "user_prompts",
    "directives": "directives",
}
"""The table of each list of an export."""

SUMMARY: Final = ("request", "investigated", "learned", "completed", "next_steps", "notes")


def _of_export(given: Mapping[str, Any], _place: str) -> Iterator[Step]:
    return _steps(lambda name: objects(given.get(name)))


def _is_database(path: Path) -> bool:
    return has_tables(path, [TABLES["observations"], TABLES["sessions"]])


def is_claude_mem(given: Mapping[str, Any]) -> bool:
    """Return whether an object is claude-mem's export."""
    return isinstance(given.get("observations"), list) and isinstance(given.get("prompts"), list)


def _steps(rows: Callable[[str], Iterable[Mapping[str, Any]]]) -> Iterator[Step]:
    sessions = {text_or_empty(one.get("content_session_id")): one for one in rows("sessions")}
    yield from map(_observation, rows("observations"))
    yield from map(_summary, rows("summaries"))
    yield from _prompts(rows("prompts"), sessions)
    yield from map(_directive, rows("directives"))


def _observation(row: Mapping[str, Any]) -> Step:
    """Return an observation: its title, its narrative and the facts that the narrative does not hold."""
    narrative = text_or_empty(row.get("narrative")) or text_or_empty(row.get("text"))
    facts = [one for one in map(text_or_empty, _listed(row.get("facts"))) if one and one not in narrative]
    text = "\n".join(filter(None, [text_or_empty(row.get("title")), narrative, *facts]))
    about = {name: row.get(name) or None for name in ("type", "subtitle", "memory_session_id", "generated_by_model")}
    about |= {name: _listed(row.get(name)) or None for name in ("concepts", "files_read", "files_modified")}
    kind = "decision" if row.get("type") == "decision" else "fact"
    return _item(row, "observation", text=text, kind=kind, about=about)


def _summary(row: Mapping[str, Any]) -> Step:
    """Return a session's summary, as an episode."""
    said = {name: text_or_empty(row.get(name)) for name in SUMMARY}
    text = "\n".join(f"{name.replace('_', ' ').capitalize()}: {text}" for name, text in said.items() if text)
    about = {"memory_session_id": row.get("memory_session_id")}
    return _item(row, "summary", text=text, kind="episodic", about=about)


def _item(row: Mapping[str, Any], form: str, *, text: str, kind: str, about: Mapping[str, Any]) -> Step:
    project = text_or_empty(row.get("merged_into_project")) or text_or_empty(row.get("project"))
    # Ids are those of one machine's database: time and text are the same in an export of it.
    name = f"claude-mem:{form}#{digest([row.get('created_at_epoch'), text])[:16]}"
    if not text:
        return SkippedObject(name, f"without text: {form}")
    arguments = {
        "content": text,
        "kind": kind,
        "occurred_at": _at(row),
        "agent_id": name_of(row.get("agent_type") or None),
        "external_id": name,
        "metadata": {"claude_mem": present_fields({"form": form, "project": project or None, **about})},
    }
    return ImportCall("add", name, present_fields(arguments), namespace=project_of(project))


def _prompts(rows: Iterable[Mapping[str, Any]], sessions: Mapping[str, Mapping[str, Any]]) -> Iterator[Step]:
    """Yield what the user asked, a turn for each session's prompt, under the session's own id."""
    for row in rows:
        session_id, text = text_or_empty(row.get("content_session_id")), text_or_empty(row.get("prompt_text"))
        if not session_id or not text:
            yield SkippedObject(f"claude-mem:prompt#{row.get('id')}", "a prompt without a session or text")
            continue
        session = mapping_or_empty(sessions.get(session_id))
        host = "codex" if session.get("platform_source") == "codex" else "claude-code"
        project = text_or_empty(session.get("project")) or text_or_empty(row.get("project"))
        about = {"title": text_or_empty(session.get("custom_title")), "host": host, "project": project_of(project)}
        about["imported"] = "claude-mem"
        message = {"role": "user", "content": text, "id": f"prompt-{row.get('prompt_number')}", "created_at": _at(row)}
        yield from turns_of(session_id, [present_fields(message)], agent_id=host, **about)


def _directive(row: Mapping[str, Any]) -> Step:
    """Return a rule that the user set, as a preference; one of a project is in the project's namespace."""
    text, project = text_or_empty(row.get("content")), text_or_empty(row.get("project"))
    name = f"claude-mem:directive#{digest([row.get('created_at_epoch'), text])[:16]}"
    if not text or row.get("status") != "active":
        return SkippedObject(name, "a directive without text, or not active")
    arguments = {
        "content": text,
        "kind": "preference",
        "occurred_at": _at(row),
        "external_id": name,
        "metadata": {"claude_mem": {"form": "directive", "scope": row.get("scope")}},
    }
    space = project_of(project) if project and row.get("scope") != "global" else None
    return ImportCall("add", name, present_fields(arguments), namespace=space)


def _listed(value: Any) -> list[Any]:
    """Return a list that is kept as JSON in a text."""
    found = json_or_none(value) if isinstance(value, str) else value
    return found if isinstance(found, list) else []


def _at(row: Mapping[str, Any]) -> str | None:
    """Return when a row was made: its milliseconds since 1970."""
    at = row.get("created_at_epoch")
    return (time_of(at / 1000) if isinstance(at, int) else None) or text_or_empty(row.get("created_at")) or None


_EXPORT: Final = json_format(
    "claude-mem's database (claude-mem.db), or the JSON file of its export",
    inside=INSIDE,
    fits=is_claude_mem,
    lacks="no export with observations",
    parse=_of_export,
)


def read_claude_mem(path: Path) -> Iterator[Step]:
    """Yield the observations, summaries, prompts and directives of a database or an export."""
    if not _is_database(path):
        return _EXPORT.read(path)
    check_file(path)
    return mark_progress(_steps(lambda name: read_table(path, TABLES[name])), path.stat().st_size)


CLAUDE_MEM: Final = replace(_EXPORT, read=read_claude_mem, holds=_is_database)
