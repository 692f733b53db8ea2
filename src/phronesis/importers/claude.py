"""Importer for Claude's export: conversations, memories and projects, each in a JSON file of its own.

A conversation becomes turns. Its artifacts and the text of its attached files are documents, and so is what Claude
remembers of the user, in all and for each project, and what a project holds: a later export is a new version of them.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from phronesis.importers.import_call import (
    Format,
    ImportCall,
    SkippedObject,
    Step,
    bytes_of,
    mapping_or_empty,
    name_of,
    objects,
    present_fields,
    read_members,
    read_objects,
    text_or_empty,
    turns_of,
    with_external_id,
)

CLAUDE_FILE: Final = r"(conversations|memories|projects)(-\d+)?\.json|(memories|projects)/[^/]+\.json"
PROJECT_FILE: Final = r"projects(-\d+)?\.json|projects/[^/]+\.json"
ROLE_OF: Final = {"human": "user", "assistant": "assistant"}
MEMORY: Final = "memory_snapshot"
"""The type of a document that another program wrote as its memory."""
_MEMORY_FIELDS: Final = ("conversations_memory", "project_memories", "memory_files")

MAX_ATTACHED: Final = 200_000
"""Characters kept of an attached file."""


def read_claude(path: Path) -> Iterator[Step]:
    """Yield each conversation's turns and documents, memories and projects, and what is skipped."""

    def parse(given: Mapping[str, Any], place: str) -> Iterator[Step]:
        if isinstance(given.get("chat_messages"), list):
            return _conversation(given, place)
        return _memories(given, path) if any(given.get(name) for name in _MEMORY_FIELDS) else _project(given)

    lacks = "no conversation with chat_messages"
    return read_objects(path, inside=CLAUDE_FILE, fits=is_claude, lacks=lacks, parse=parse)


def is_claude(given: Mapping[str, Any]) -> bool:
    """Return whether an object is a conversation, the memory or a project of Claude's export."""
    return (
        isinstance(given.get("chat_messages"), list)
        or any(name in given for name in _MEMORY_FIELDS)
        or ("uuid" in given and ("prompt_template" in given or isinstance(given.get("docs"), list)))
    )


def _document(uri: str, text: str, *, title: str, type_: str, at: Any, about: Mapping[str, Any]) -> ImportCall:
    arguments = {
        "text": text[:MAX_ATTACHED],
        "uri": uri,
        "title": title,
        "type": type_,
        "occurred_at": at if isinstance(at, str) and at else None,
        "metadata": {"claude": present_fields({**about, "cut": len(text) > MAX_ATTACHED or None})},
    }
    return ImportCall("resource", uri, present_fields(arguments))


def _conversation(given: Mapping[str, Any], place: str) -> Iterator[Step]:
    identity = str(given.get("uuid") or place)
    session_id = f"claude:{identity}"
    messages, about = [], {"conversation": identity}
    artifacts: dict[str, _Artifact] = {}
    for n, said in enumerate(given["chat_messages"], start=1):
        read = _message(said, n) if isinstance(said, dict) else "not an object"
        if isinstance(read, str):
            yield SkippedObject(f"{session_id}, message {n}", read)
        else:
            messages.append(with_external_id(read, said.get("uuid")))
        for call in objects(mapping_or_empty(said).get("content")):
            _follow_artifact(artifacts, call, said.get("created_at"))
        if isinstance(said, dict) and _written(said).strip():  # else the file's text is the message's
            for file in objects(said.get("attachments")):
                name, text = name_of(file.get("file_name") or None), file.get("extracted_content")
                if name is not None and isinstance(text, str) and text.strip():
                    uri, at = f"{session_id}/{said.get('uuid') or n}/{name}", said.get("created_at")
                    yield _document(uri, text, title=name, type_="attachment", at=at, about=about)
    if not messages:
        yield SkippedObject(session_id, "a conversation without words")
    yield from turns_of(session_id, messages, title=str(given.get("name") or ""))
    for name, one in artifacts.items():
        uri = f"{session_id}/artifact/{name}"
        yield _document(uri, one.text, title=one.title, type_="artifact", at=one.at, about=about)


def _message(said: Mapping[str, Any], n: int) -> dict[str, Any] | str:
    """Return a message, or the reason for skipping it."""
    role = ROLE_OF.get(str(said.get("sender")))
    if role is None:
        return f"sender {said.get('sender')!s:.40}"
    text = _text(said)
    if not text.strip():
        return "no text"
    named = [*objects(said.get("attachments")), *objects(said.get("files"))]
    names = [str(one["file_name"]) for one in named if one.get("file_name")]
    about = {"metadata": {"attachments": names} if names else None, "created_at": said.get("created_at") or None}
    return {"role": role, "content": text, "id": str(said.get("uuid") or n), **present_fields(about)}


def _written(said: Mapping[str, Any]) -> str:
    """Return the text of the text blocks, without tool calls and results, else the message's own."""
    texts = [str(one["text"]) for one in objects(said.get("content")) if one.get("type") == "text" and one.get("text")]
    return "\n\n".join(one for one in texts or [str(said.get("text") or "")] if one.strip())


def _text(said: Mapping[str, Any]) -> str:
    """Return what was written and pasted: a long pasted text is an attachment without a name.

    Of a message that consists of attached files only, their text.
    """
    written = _written(said)
    pasted = [
        str(one["extracted_content"])
        for one in objects(said.get("attachments"))
        if one.get("extracted_content") and (not one.get("file_name") or not written)
    ]
    return "\n\n".join(one for one in (written, *pasted) if one.strip())


class _Artifact:
    """An artifact as the last call that changed it left it."""

    def __init__(self, name: str) -> None:
        self.title, self.text, self.at = name, "", None


def _follow_artifact(artifacts: dict[str, _Artifact], block: Mapping[str, Any], at: Any) -> None:
    """Apply a block of a message to the artifact that it creates, rewrites or updates, if it does."""
    given = mapping_or_empty(block.get("input"))
    name = name_of(given.get("id"))
    if block.get("type") != "tool_use" or block.get("name") != "artifacts" or name is None:
        return
    one = artifacts.setdefault(name, _Artifact(name))
    one.title, one.at = text_or_empty(given.get("title")) or one.title, at
    if isinstance(given.get("content"), str) and given["content"].strip():
        one.text = given["content"]
    elif isinstance(given.get("old_str"), str) and isinstance(given.get("new_str"), str):
        one.text = one.text.replace(given["old_str"], given["new_str"], 1)
    if not one.text.strip():
        del artifacts[name]


def _memories(given: Mapping[str, Any], path: Path) -> Iterator[Step]:
    """Yield what Claude remembers: of the user, by topic, and of each project."""
    uri = f"claude:memory/{given.get('account_uuid') or 'account'}"
    if text := text_or_empty(given.get("conversations_memory")):
        yield _document(uri, text, title="Claude's memory", type_=MEMORY, at=None, about={})
    for file in objects(given.get("memory_files")):
        name, text = name_of(file.get("path")), text_or_empty(file.get("content"))
        if name is not None and text:
            at, about = file.get("updated_at"), {"path": name}
            place = f"{uri}/{name.lstrip('/')}"
            yield _document(place, text, title=name.strip("/"), type_=MEMORY, at=at, about=about)
    told = mapping_or_empty(given.get("project_memories")).items()
    projects = {project: text for project, value in told if (text := text_or_empty(value))}
    names: dict[str, str] = {}
    if projects and bytes_of(path, inside=PROJECT_FILE):
        found = (mapping_or_empty(member.value) for member in read_members(path, inside=PROJECT_FILE))
        names = {str(one["uuid"]): text_or_empty(one.get("name")) or "a project" for one in found if one.get("uuid")}
    for project, text in projects.items():
        title = f"Claude's memory of {names.get(project, 'a project')}"
        place, about = f"claude:project/{project}/memory", {"project": project}
        yield _document(place, text, title=title, type_=MEMORY, at=None, about=about)


def _project(given: Mapping[str, Any]) -> Iterator[Step]:
    """Yield a project's description and instructions as one document, and each of its own documents."""
    identity = str(given.get("uuid") or given.get("name"))
    uri, name = f"claude:project/{identity}", text_or_empty(given.get("name")) or identity
    about = {"project": identity, "project_name": name}
    template = text_or_empty(given.get("prompt_template"))
    said = [text_or_empty(given.get("description")), f"## Instructions\n\n{template}" if template else ""]
    if any(said) and not given.get("is_starter_project"):
        text = "\n\n".join([f"# {name}", *filter(None, said)])
        yield _document(uri, text, title=name, type_="project", at=given.get("updated_at"), about=about)
    elif not objects(given.get("docs")):
        yield SkippedObject(uri, "a project without words")
    for n, one in enumerate(objects(given.get("docs")), start=1):
        text, title = text_or_empty(one.get("content")), text_or_empty(one.get("filename")) or f"document {n}"
        place = f"{uri}/{one.get('uuid') or title}"
        if text:
            at = one.get("created_at")
            yield _document(place, text, title=title, type_="project_document", at=at, about=about)
        else:
            yield SkippedObject(place, "a document without text")


CLAUDE: Final = Format(
    read_claude,
    partial(bytes_of, inside=CLAUDE_FILE),
    "Claude's export: conversations.json, memories.json or projects.json, or the zip archive around them",
    fits=is_claude,
)
