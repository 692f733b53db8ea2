"""What is known of a user, grouped by subject and by topic, and the export of all that is held about them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from phronesis.core.items import Item
from phronesis.core.serialization import as_json
from phronesis.core.statements import DENIES
from phronesis.interfaces.web.words import Words
from phronesis.memory import Memory

KINDS: Final = ("profile", "preference", "fact", "decision")
"""Kinds of items that a user's page shows as facts."""

SHOWN: Final = 300
"""Maximum facts on a user's page, the newest; the list of memories has the others."""

EXPORTED: Final = 500
"""Items read at once for an export."""

TOPICS: Final[Mapping[str, tuple[str, ...]]] = {
    "health": ("allergy", "diet", "health", "medication", "measurement"),
    "identity": ("name", "alias", "address_as", "age", "birthday", "gender", "nationality", "language"),
    "contact": ("email", "phone", "address", "home_city", "hometown", "timezone", "contact"),
    "work": ("employer", "job", "role", "school", "field_of_study", "skill", "availability"),
    "people": (
        "relationship_status",
        "partner",
        "child",
        "parent",
        "sibling",
        "relative",
        "friend",
        "colleague",
        "pet",
    ),
    "likes": ("likes", "dislikes", "prefers", "favorite", "hobby", "habit", "uses", "possession"),
    "replies": ("reply_language", "reply_style", "convention"),
    "decisions": ("decision",),
}
"""Topics in the order of the page, each with its keys, a family by its first part. Other keys are of the topic "other".

The keys are those of docs/memory-types.md.
"""

_TOPIC_OF: Final = {key: topic for topic, keys in TOPICS.items() for key in keys}
_TOPIC_OF_KIND: Final = {"preference": "likes", "decision": "decisions"}
_PLACE: Final = {name: n for n, name in enumerate([*TOPICS, "other"])}

USER: Final = "user"
"""Subject of what is known of the user."""


@dataclass(frozen=True, slots=True)
class FactGroup:
    """The facts of one topic about one subject; ``subject`` is None for the user."""

    subject: str | None
    topic: str
    facts: Sequence[Item]


def key_text(item: Item, words: Words) -> str:
    """Return what a fact is called: by its key ("Allergy", "Favourite color"), else by its kind."""
    return _key_text(item.key, words) if item.key else words.of("kind", item.kind).capitalize()


def _key_text(key: str, words: Words) -> str:
    """Return what a key is called; a custom key in its own words."""
    if key.startswith(DENIES):
        return words("key_of.not", name=_key_text(key.removeprefix(DENIES), words))
    family, _, name = key.partition(".")
    own = f"key_of.{family}"
    if name and own in words.table:
        return words(own, name=name.replace("_", " "))
    return words.table.get(f"key.{key}") or key.replace("_", " ").replace(".", ": ")


def group_facts(items: Sequence[Item], user_id: str) -> list[FactGroup]:
    """Return a user's facts by subject, the user first, and by topic; within one, the most important first."""
    groups: dict[tuple[str | None, str], list[Item]] = {}
    for item in items:
        subject = None if item.subject in {None, "", USER, user_id} else item.subject
        groups.setdefault((subject, _topic_of(item)), []).append(item)
    for facts in groups.values():
        facts.sort(key=lambda item: (-item.importance, item.key or ""))
    order = sorted(groups, key=lambda group: (group[0] is not None, group[0] or "", _PLACE[group[1]]))
    return [FactGroup(*group, groups[group]) for group in order]


def _topic_of(item: Item) -> str:
    """Return the topic of a fact by its key, of a denial by the key that it denies; without a key, by its kind."""
    if not item.key:
        return _TOPIC_OF_KIND.get(item.kind, "other")
    return _TOPIC_OF.get(item.key.removeprefix(DENIES).partition(".")[0], "other")


def facts_of(memory: Memory, user_id: str) -> list[FactGroup]:
    """Return what is known of a user, without what is shared."""
    found = memory.get_all(user_id=user_id, kinds=KINDS, limit=SHOWN)
    return group_facts([item for item in found if item.user_id == user_id], user_id)


def corrected(item: Item, value: str, content: str, words: Words) -> tuple[str, str | None] | None:
    """Return the text and the value of a fact after a person's correction; None where nothing is new.

    A new value takes the place of the old one in the text too, unless the text was changed as well. The value is None
    where only the text is new.
    """
    was = item.value if isinstance(item.value, str) else ""
    if value and value != was:
        if content == item.content:
            content = content.replace(was, value) if was and was in content else f"{key_text(item, words)}: {value}"
        return content, value
    return (content, None) if content and content != item.content else None


def export_lines(memory: Memory, user_id: str) -> Iterator[dict[str, Any]]:
    """Yield all that a user's own lane holds: items of every state, what is in quarantine, turns, and entities."""
    cursor: str | None = None
    while True:
        found = memory.get_all(
            user_id=user_id, filters={"status": {"in": ["active", "archived"]}}, limit=EXPORTED, cursor=cursor
        )
        yield from ({"record": "memory", **item.to_dict()} for item in found if item.user_id == user_id)
        cursor = found.next_cursor
        if cursor is None:
            break
    for item in memory.quarantine.list(user_id=user_id, limit=10_000):
        if item.user_id == user_id:
            yield {"record": "quarantined", **item.to_dict()}
    for session in memory.sessions.list(user_id=user_id):
        if session.user_id == user_id:
            for turn in memory.sessions.turns(session.session_id, user_id=user_id):
                yield {"record": "turn", **as_json(turn.to_dict())}
    for entity in memory.entities.list(user_id=user_id, limit=10_000):
        if entity.user_id == user_id:
            yield {"record": "entity", **as_json(entity.to_dict())}
