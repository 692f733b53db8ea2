"""Conversations of an export as turns: one call each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from phronesis.importers.import_call import ImportCall, name_of
from phronesis.log.inputs import EXTERNAL_ID


@dataclass(frozen=True, slots=True)
class Chat:
    """A conversation: its id, prefixed with the program's name, its title, and its messages in order."""

    session_id: str
    title: str
    done: int
    messages: Sequence[Mapping[str, Any]] = field(default=())
    metadata: Mapping[str, Any] = field(default_factory=dict)
    agent_id: str | None = None


def with_external_id(message: Mapping[str, Any], identity: object) -> Mapping[str, Any]:
    """Return a message with its id in the program, if any, as its ``external_id``."""
    name = name_of(identity or None)
    return message if name is None else {**message, EXTERNAL_ID: name}


def turns_of(chat: Chat) -> Iterator[ImportCall]:
    """Yield a conversation's turns: a user message with all replies up to the next user message."""
    turn: list[Mapping[str, Any]] = []
    for message in chat.messages:
        if message["role"] == "user" and any(one["role"] != "user" for one in turn):
            yield _turn(chat, turn)
            turn = []
        turn.append(message)
    if turn:
        yield _turn(chat, turn)


def _turn(chat: Chat, messages: Sequence[Mapping[str, Any]]) -> ImportCall:
    about = {**({"title": chat.title} if chat.title else {}), **chat.metadata}
    events = {"messages": list(messages), **({"session_metadata": about} if about else {})}
    arguments: dict[str, Any] = {"session_id": chat.session_id, "turn_events": events}
    if chat.agent_id is not None:
        arguments["agent_id"] = chat.agent_id
    return ImportCall("commit_turn", f"{chat.session_id}#{messages[0]['id']}", arguments, done=chat.done)
