"""Claude's export: ``conversations.json``, a list of conversations with ``chat_messages`` in order."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from phronesis.importing.chats import Chat, named, turns_of
from phronesis.importing.given import Format, Skipped, Step, objects
from phronesis.importing.streams import Member, bytes_of, read_members

INSIDE: Final = r"conversations\.json"
ROLE_OF: Final = {"human": "user", "assistant": "assistant"}


def read_claude(path: Path) -> Iterator[Step]:
    """Give each conversation's turns, and what is passed over; one conversation is held at a time."""
    for member in read_members(path, inside=INSIDE):
        conversation = member.value
        if not isinstance(conversation, dict) or not isinstance(conversation.get("chat_messages"), list):
            yield Skipped(member.place, member.fault or "no conversation with chat_messages", member.done)
            continue
        yield from _conversation(conversation, member)


def _conversation(given: Mapping[str, Any], member: Member) -> Iterator[Step]:
    session_id = f"claude:{given.get('uuid') or member.place}"
    messages = []
    for n, said in enumerate(given["chat_messages"], start=1):
        read = _message(said, n) if isinstance(said, dict) else "not an object"
        if isinstance(read, str):
            yield Skipped(f"{session_id}, message {n}", read, member.done)
        else:
            messages.append(named(read, said.get("uuid")))
    if not messages:
        yield Skipped(session_id, "a conversation without words", member.done)
    yield from turns_of(Chat(session_id, str(given.get("name") or ""), member.done, messages))


def _message(said: Mapping[str, Any], n: int) -> dict[str, Any] | str:
    """Give a message, or why it is passed over."""
    role = ROLE_OF.get(str(said.get("sender")))
    if role is None:
        return f"sender {said.get('sender')!s:.40}"
    text = _text(said)
    if not text.strip():
        return "no text"
    named = [*objects(said.get("attachments")), *objects(said.get("files"))]
    names = [str(one["file_name"]) for one in named if one.get("file_name")]
    message: dict[str, Any] = {"role": role, "content": text, "id": str(said.get("uuid") or n)}
    if names:
        message["metadata"] = {"attachments": names}
    if said.get("created_at"):
        message["created_at"] = said["created_at"]
    return message


def _text(said: Mapping[str, Any]) -> str:
    """Give the words: of the blocks those of text (not what tools were asked and answered), else the text itself.

    A long text that was pasted is an attachment without a name, whose content stands in the file: it is words too.
    """
    blocks = objects(said.get("content"))
    texts = [str(one["text"]) for one in blocks if one.get("type") == "text" and one.get("text")]
    words = texts or [str(said.get("text") or "")]
    pasted = [str(one["extracted_content"]) for one in objects(said.get("attachments"))
              if not one.get("file_name") and one.get("extracted_content")]  # fmt: skip
    if not any(word.strip() for word in words):  # an attached file is the whole message
        pasted = [str(one["extracted_content"]) for one in objects(said.get("attachments"))
                  if one.get("extracted_content")]  # fmt: skip
    return "\n\n".join(one for one in (*words, *pasted) if one.strip())


def _total(path: Path) -> int:
    return bytes_of(path, inside=INSIDE)


CLAUDE: Final = Format(read_claude, _total)
