"""What the readers of conversations share: a session's messages cut into turns, each one call."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from phronesis.importing.given import Given, name_of
from phronesis.truth.inputs import EXTERNAL_ID


@dataclass(frozen=True, slots=True)
class Chat:
    """A conversation: its id with the program's name before it, what it is called, and its messages in order."""

    session_id: str
    title: str
    done: int
    messages: Sequence[Mapping[str, Any]] = field(default=())


def named(message: Mapping[str, Any], identity: object) -> Mapping[str, Any]:
    """Return a message with the id that it has in its program, if it has one, as its ``external_id``."""
    name = name_of(identity or None)
    return message if name is None else {**message, EXTERNAL_ID: name}


def turns_of(chat: Chat) -> Iterator[Given]:
    """Give a conversation turn by turn: what a user says, with all that is answered until the user speaks again."""
    turn: list[Mapping[str, Any]] = []
    for message in chat.messages:
        if message["role"] == "user" and any(one["role"] != "user" for one in turn):
            yield _turn(chat, turn)
            turn = []
        turn.append(message)
    if turn:
        yield _turn(chat, turn)


def _turn(chat: Chat, messages: Sequence[Mapping[str, Any]]) -> Given:
    events: dict[str, Any] = {"messages": list(messages)}
    if chat.title:
        events["session_metadata"] = {"title": chat.title}
    arguments = {"session_id": chat.session_id, "turn_events": events}
    return Given("commit_turn", f"{chat.session_id}#{messages[0]['id']}", arguments, done=chat.done)
