"""Validate callers' input and build payloads. A payload keeps every character; an error names the wrong field."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from phronesis.core.entries import REF_TYPES, ROLES, is_erased
from phronesis.core.items import KINDS, PROSPECTIVE
from phronesis.core.serialization import plain
from phronesis.core.text import check_id, check_text
from phronesis.core.timestamps import isoformat, local_isoformat, parse_local, parse_moment, parse_past, parse_zone
from phronesis.errors import InputError, TooLarge

EXTERNAL_ID: Final = "external_id"
"""The member of a message, or of a stated item's payload, with the caller's own id of the item."""

TIME_ZONE: Final = "time_zone"
"""The payload member with the time zone of messages without an offset."""

MAX_MESSAGES: Final = 10_000
"""Maximum number of messages in one call. A longer history is added in several calls, each atomic."""

MAX_REFS: Final = 1_000
"""Maximum number of references in one turn: each becomes an entry of its own."""

STATED_KINDS: Final = frozenset(KINDS) - set(
    "message trait l1 pattern principle reasoning section run cycle mark document".split()
)
"""Kinds that a caller may state directly; the others are made by their own verbs."""

MAX_HOURS: Final = 876_600
"""A hundred years, the furthest look ahead."""

MAX_URI_BYTES: Final = 2_000
"""Maximum length of a URI, which is an index key. Longer ones are data (``data:`` …) and belong in a file."""

_MAY_BE_EMPTY: Final = frozenset({"assistant", "tool"})
"""Messages that only call a tool, and tools that return nothing, have no text."""


def metadata(value: object, *, field: str = "metadata") -> dict[str, Any]:
    """Return a JSON object; {} for None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(f"{field} must be a mapping, not {type(value).__name__}", field=field)
    checked: dict[str, Any] = plain(value, field=field)
    return checked


def importance(value: object) -> int | None:
    """Return an integer 1–10, or None."""
    return None if value is None else limit(value, most=10, field="importance")


def stated_kind(value: object) -> str:
    """Return a kind that may be stated."""
    if not isinstance(value, str) or value not in STATED_KINDS:
        raise InputError(f"kind must be one of {', '.join(sorted(STATED_KINDS))}; got {value!r:.40}", field="kind")
    return value


def item(content: object, *, kind: object, subject: object, key: object, value: object) -> dict[str, Any]:
    """Return the payload of a stated item."""
    if not isinstance(content, str):
        raise InputError(f"content must be a string when kind is given, not {type(content).__name__}", field="content")
    payload = {
        "kind": stated_kind(kind),
        "content": check_text(content, field="content"),
        "subject": None if subject is None else check_id(subject, field="subject"),
        "key": None if key is None else check_id(key, field="key"),
        "value": plain(value, field="value"),
    }
    return {name: member for name, member in payload.items() if member is not None}


def times_to_do(kind: object, *, due: object, expires: object) -> dict[str, str]:
    """Return the due time and the end of a task or intention for its payload; other kinds have neither."""
    for name, value in (("due", due), ("expires", expires)):
        if value is not None and kind not in PROSPECTIVE:
            raise InputError(f"{name} belongs to what is to be done: kind {' or '.join(PROSPECTIVE)}", field=name)
    times = {"due": moment(due, field="due"), "expires": moment(expires, field="expires")}
    said = {name: value for name, value in times.items() if value is not None}
    if len(said) == len(times) and parse_moment(expires, field="expires") < parse_moment(due, field="due"):
        raise InputError(
            f"expires ({said['expires']}) lies before due ({said['due']}): it would be over before it is due",
            field="expires",
        )
    return said


def refuse_without_kind(**given: object) -> None:
    """Refuse arguments that only a stated item has."""
    for name, value in given.items():
        if value is not None:
            kind = "task" if name == "due" else "fact"
            raise InputError(f"{name} belongs to an item: give its kind too, such as kind={kind!r}", field=name)


def version(value: object) -> int | None:
    """Return a version number from 1, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f"expected_version must be a positive integer, not {value!r:.40}", field="expected_version")
    return value


def limit(value: object, *, most: int, field: str = "limit") -> int:
    """Return a count from 1 to ``most``."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise InputError(f"{field} must be an integer from 1 to {most:,}, not {value!r:.40}", field=field)
    return value


def share(value: object, *, field: str) -> float:
    """Return a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(f"{field} must be a number from 0 to 1, not {value!r:.40}", field=field)
    return float(value)


def cursor(value: object) -> str | None:
    """Return a cursor that is a text, or None; its reader decides whether it is valid."""
    if value is None or isinstance(value, str):
        return value
    raise InputError(f"cursor must be a text, next_cursor as it came, not {type(value).__name__}", field="cursor")


def no_pages(*, cursor: object = None, offset: object = None) -> None:
    """Refuse a cursor or an offset with a query (RB-12): a search returns one ranked list without pages."""
    for field, value in (("cursor", cursor), ("offset", offset)):
        if value is not None:
            raise InputError(
                f"{field} does not go with a query: a search gives its best results and no further pages. Refine the"
                " query, or raise limit; get_all lists page by page, without a query",
                field=field,
            )


def past(value: object, *, field: str, now: datetime) -> str | None:
    """Return ISO 8601 of a time that is not in the future, in its original offset, or None."""
    if value is None:
        return None
    parse_past(value, field=field, now=now)
    return local_isoformat(parse_local(value, field=field))


def zone(value: object) -> dict[str, str]:
    """Return the member of a payload that names the user's time zone; {} for None."""
    if value is None:
        return {}
    parse_zone(value, field=TIME_ZONE)
    return {TIME_ZONE: str(value)}


def moment(value: object, *, field: str) -> str | None:
    """Return ISO 8601 in UTC of any time, or None."""
    return None if value is None else isoformat(parse_moment(value, field=field))


def span(value: object, *, field: str) -> timedelta:
    """Return a non-negative duration from a timedelta or a number of hours."""
    if not isinstance(value, timedelta | int | float) or isinstance(value, bool):
        raise InputError(f"{field} must be a timedelta or a number of hours, not {type(value).__name__}", field=field)
    hours = value / timedelta(hours=1) if isinstance(value, timedelta) else value
    if not 0 <= hours <= MAX_HOURS:  # neither is true of NaN
        raise InputError(f"{field} must be 0 to {MAX_HOURS:,} hours, not {value!r:.40}", field=field)
    return value if isinstance(value, timedelta) else timedelta(hours=hours)


def flag(value: object, *, field: str) -> bool:
    """Return a boolean; the string "false" would count as true."""
    if not isinstance(value, bool):
        raise InputError(f"{field} must be True or False, not {type(value).__name__}", field=field)
    return value


def messages(
    value: object, *, now: datetime, field: str = "content", may_be_none: bool = False
) -> list[dict[str, Any]]:
    """Return checked messages from a string (one user message) or a list of ``{role, content, …}``."""
    if isinstance(value, str):
        return [{"role": "user", "content": check_text(value, field=field)}]
    if not isinstance(value, Sequence) or isinstance(value, bytes):
        raise InputError(
            f"{field} must be a string or a list of {{role, content}} messages, not {type(value).__name__}", field=field
        )
    if not value and not may_be_none:
        raise InputError(f"{field} holds no message: there is nothing to remember", field=field)
    if len(value) > MAX_MESSAGES:
        raise TooLarge(f"{field} has {len(value):,} messages; give at most {MAX_MESSAGES:,} in one call", field=field)
    checked = [_message(member, now=now, field=f"{field}[{n}]") for n, member in enumerate(value)]
    _distinct(checked, field=field)
    _distinct(checked, field=field, name=EXTERNAL_ID)
    return checked


def tool_calls(value: object, *, now: datetime) -> list[dict[str, Any]]:
    """Return checked tool calls ``{id?, name, args, result, status, created_at?, metadata?}``."""
    out: list[dict[str, Any]] = []
    for n, member in enumerate(_members(value, field="tool_calls")):
        where = f"tool_calls[{n}]"
        call = _check_mapping(member, field=where)
        row = plain(_without_time(call), field=where)
        row["name"] = check_id(call.get("name"), field=f"{where}.name")
        row |= {
            name: check_id(call[name], field=f"{where}.{name}")
            for name in ("id", "status")
            if call.get(name) is not None
        }
        if call.get("created_at") is not None:
            row["created_at"] = past(call["created_at"], field=f"{where}.created_at", now=now)
        out.append(row)
    _distinct(out, field="tool_calls")
    return out


def refs(value: object) -> list[dict[str, Any]]:
    """Return checked refs ``{type: file|url|artifact, uri, metadata?}``."""
    out: list[dict[str, Any]] = []
    for n, member in enumerate(_members(value, field="refs", most=MAX_REFS)):
        where = f"refs[{n}]"
        ref = _check_mapping(member, field=where)
        if ref.get("type") not in REF_TYPES:
            raise InputError(f"{where}.type must be one of {', '.join(REF_TYPES)}", field=f"{where}.type")
        uri = check_text(ref.get("uri"), field=f"{where}.uri")
        if len(uri.encode("utf-8", "surrogatepass")) > MAX_URI_BYTES:
            raise InputError(
                f"{where}.uri is longer than {MAX_URI_BYTES:,} bytes; keep the data in a file and refer to it",
                field=f"{where}.uri",
            )
        out.append({**plain(ref, field=where), "uri": uri})
    return out


def turn(events: object, *, now: datetime) -> dict[str, Any]:
    """Return the payload of a turn: ``{messages, tool_calls?, refs?, session_metadata?}``, or its messages alone."""
    if isinstance(events, Sequence) and not isinstance(events, bytes):
        return {"messages": messages(events, now=now, field="turn_events")}
    given = _check_mapping(events, field="turn_events")
    unknown = set(given) - {"messages", "tool_calls", "refs", "session_metadata", "metadata"}
    if unknown:
        raise InputError(
            f"turn_events has unknown fields: {', '.join(sorted(map(str, unknown)))};"
            " it takes messages, tool_calls, refs, session_metadata, metadata",
            field="turn_events",
        )
    said = given.get("messages")
    payload = {
        "messages": [] if said is None else messages(said, now=now, field="messages", may_be_none=True),
        "tool_calls": tool_calls(given.get("tool_calls"), now=now),
        "refs": refs(given.get("refs")),
        "session_metadata": metadata(given.get("session_metadata"), field="session_metadata"),
        "metadata": metadata(given.get("metadata")),
    }
    if not (payload["messages"] or payload["tool_calls"] or payload["refs"]):
        raise InputError(
            "turn_events holds no message, tool call or ref: there is nothing to commit", field="turn_events"
        )
    return {name: value for name, value in payload.items() if value}


def _message(member: object, *, now: datetime, field: str) -> dict[str, Any]:
    message = _check_mapping(member, field=field)
    role = message.get("role", "user")
    if role not in ROLES:
        raise InputError(f"{field}.role must be one of {', '.join(ROLES)}; got {role!r:.40}", field=f"{field}.role")
    row: dict[str, Any] = plain(_without_time(message), field=field)
    row["role"] = role
    row["content"] = _content(message.get("content"), field=f"{field}.content", may_be_empty=role in _MAY_BE_EMPTY)
    names = (name for name in ("id", "name", "model", EXTERNAL_ID) if message.get(name) is not None)
    row |= {name: check_id(message[name], field=f"{field}.{name}") for name in names}
    if message.get("created_at") is not None:
        row["created_at"] = past(message["created_at"], field=f"{field}.created_at", now=now)
    if message.get("metadata") is not None:
        row["metadata"] = metadata(message["metadata"], field=f"{field}.metadata")
    return row


def _without_time(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a message or a call without its time, which may be no JSON; `past` reads it."""
    return {name: value for name, value in given.items() if name != "created_at" or value is None}


def _content(value: object, *, field: str, may_be_empty: bool) -> Any:
    if value is None and may_be_empty:
        return ""
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        parts = plain(value, field=field)
        texts = [part.get("text") if isinstance(part, dict) else None for part in parts]
        if not may_be_empty and not any(isinstance(text, str) and text.strip() for text in texts):
            raise InputError(f"{field} has no part with text: there is nothing to remember", field=field)
        for n, text in enumerate(texts):
            if isinstance(text, str):
                check_text(text, field=f"{field}[{n}].text", allow_empty=True)
        return parts
    return check_text(value, field=field, allow_empty=may_be_empty)


def _distinct(rows: Sequence[Mapping[str, Any]], *, field: str, name: str = "id") -> None:
    seen: set[str] = set()
    for n, row in enumerate(rows):
        given = row.get(name)
        if given is not None and given in seen:
            within = "a session" if name == "id" else "a user's or namespace's memory"
            raise InputError(
                f"{field}[{n}].{name} repeats {given!r:.80}; it is unique in {within}", field=f"{field}[{n}].{name}"
            )
        if given is not None:
            seen.add(given)


def _members(value: object, *, field: str, most: int = MAX_MESSAGES) -> Sequence[Any]:
    if value is None:
        return ()
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise InputError(f"{field} must be a list, not {type(value).__name__}", field=field)
    if len(value) > most:
        raise TooLarge(f"{field} has {len(value):,} members; give at most {most:,} in one call", field=field)
    return value


def _check_mapping(value: object, *, field: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"{field} must be a mapping, not {type(value).__name__}", field=field)
    if is_erased(value):
        raise InputError(f"{field} carries the mark of an erased part, '$erased'; leave it out", field=field)
    return value
