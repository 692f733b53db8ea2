"""One item as a file, Markdown with YAML front matter.

A concept document of the Open Knowledge Format 0.2, written and read back; and a principle as a skill: a folder with a
SKILL.md, as agents load them.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final, cast

import yaml

from phronesis import __version__
from phronesis.core.items import Item, Trust
from phronesis.core.results import Explanation, Source
from phronesis.core.serialization import parse_front_matter, split_front_matter
from phronesis.core.timestamps import isoformat
from phronesis.errors import InputError, NotFound
from phronesis.experience.laws.records import Principle
from phronesis.memory import Memory

# Concept documents.

OKF_VERSION: Final = "0.2"

TYPES: Final[Mapping[str, str]] = {
    "fact": "Fact",
    "profile": "Profile",
    "preference": "Preference",
    "decision": "Decision",
    "task": "Task",
    "intention": "Intention",
    "event": "Event",
    "episodic": "Episode",
    "procedure": "Procedure",
    "trait": "Trait",
    "principle": "Principle",
    "reasoning": "Claims",
}
"""The ``type`` of a concept by the kind of its item; kinds that are not here are not written to files."""

EDITABLE: Final = frozenset(
    {"fact", "profile", "preference", "decision", "task", "intention", "event", "episodic", "procedure"}
)
"""Kinds whose text a person may change; the text of the others follows from their evidence."""

OWN: Final = "phronesis"
"""The key of the front matter that holds what only Phronesis knows."""

_CONFIRMING: Final = frozenset({"update", "pin", "quarantine_release", "trait_correct"})
"""Verbs by which a person confirms an item."""

_FENCE: Final = "---"
_TITLE_LENGTH: Final = 80
_SLUG_LENGTH: Final = 48


@dataclass(frozen=True, slots=True)
class Concept:
    """A concept document that was read: its text without the footnotes of its sources, and its front matter.

    ``id`` is that of the item from which it was written; None in a file that a person added.
    """

    text: str
    type: str
    id: str | None = None
    status: str = "stable"
    own: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The kind of an item for it; a type that is not ours is a fact."""
        return {title.casefold(): kind for kind, title in TYPES.items()}.get(self.type.casefold(), "fact")


def items_of(memory: Memory, kinds: Sequence[str], scope: Mapping[str, Any]) -> Iterator[Item]:
    """Yield the items of some kinds in a scope, page by page."""
    cursor = None
    while True:
        page = memory.get_all(kinds=kinds, limit=200, cursor=cursor, **scope)
        yield from page.items
        if (cursor := page.next_cursor) is None:
            return


def file_name(item: Item) -> str:
    """Return the path of an item's file in a bundle: its kind, its first words, and the end of its id."""
    words = re.sub(r"[^\w]+", "-", item.content[:_SLUG_LENGTH].casefold()).strip("-_")
    return f"{item.kind}/{words or 'item'}-{item.id[-8:]}.md"


def render_concept(explained: Explanation) -> str:
    """Return the concept document of an item."""
    item, text = explained.item, body_of(explained.item)
    prefix = "s"
    while f"[^{prefix}" in text:  # a footnote of its own
        prefix += "s"
    sources = [_source(source, f"{prefix}{n}") for n, source in enumerate(explained.sources, start=1)]
    confirmed = [str(isoformat(one.at)) for one in explained.history if one.actor == "user" and one.verb in _CONFIRMING]
    by_person = item.trust is Trust.USER and item.user_id is not None
    author = f"human:{item.user_id}" if by_person else f"phronesis/{__version__}"
    head: dict[str, Any] = {
        "type": TYPES[item.kind],
        "title": _one_line(item.content)[:_TITLE_LENGTH],
        "description": _one_line(item.content),
        "tags": [item.key] if item.key else None,
        "status": "deprecated" if not item.live else "draft" if item.stage == "candidate" else "stable",
        "stale_after": item.valid_to.date().isoformat() if item.valid_to is not None else None,
        "generated": {"by": author, "at": isoformat(item.updated_at)},
        "verified": [{"by": f"human:{item.user_id or 'user'}", "at": confirmed[-1]}] if confirmed else None,
        "sources": sources or None,
    }
    own = {name: getattr(item, name) for name in ("id", "version", "subject", "key", "value", "importance")}
    own["confidence"] = round(item.confidence, 3)
    head[OWN] = {name: value for name, value in own.items() if value is not None}
    stated = {name: value for name, value in head.items() if value is not None}
    shown = yaml.safe_dump(stated, sort_keys=False, allow_unicode=True)
    marks = "".join(f"[^{one['id']}]" for one in sources)
    notes = "\n".join(f"[^{one['id']}]: {one.get('title', one['resource'])}" for one in sources)
    return f"{_FENCE}\n{shown}{_FENCE}\n\n{text}{marks}\n" + (f"\n{notes}\n" if notes else "")


def body_of(item: Item) -> str:
    """Return the text of an item as its file holds it: stripped, lines ended by line feeds."""
    return item.content.replace("\r\n", "\n").replace("\r", "\n").strip()


def _source(source: Source, name: str) -> dict[str, Any]:
    resource = source.source_ref or f"phronesis:entry/{source.entry_id}"
    row: dict[str, Any] = {"id": name, "resource": resource}
    if source.quote:
        row["title"] = _one_line(source.quote)[:200]
    if source.occurred_at is not None:
        row["last_modified"] = source.occurred_at.date().isoformat()
    return row


def _one_line(text: str) -> str:
    return " ".join(text.split())


def read_concept(document: str) -> Concept:
    """Return what a concept document says. InputError: it has no front matter with a type."""
    head, body = split_front_matter(document)
    if head is None:
        raise InputError(f"it does not begin with front matter between two lines of {_FENCE}", field="document")
    try:
        fields = parse_front_matter(head)
    except ValueError as error:
        raise InputError(f"its front matter is no YAML: {error}", field="document") from error
    if not isinstance(fields.get("type"), str) or not fields["type"].strip():
        raise InputError("its front matter has no type", field="document")
    given = fields.get(OWN)
    own: dict[str, Any] = given if isinstance(given, dict) else {}
    return Concept(
        text=_without_notes(body, fields.get("sources")),
        type=fields["type"].strip(),
        id=str(own["id"]) if own.get("id") else None,
        status=str(fields.get("status") or "stable"),
        own={name: _plain(value) for name, value in own.items()},
    )


def _without_notes(body: str, sources: Any) -> str:
    """Return a text without the footnotes that lead to its sources; others are part of it."""
    listed = sources if isinstance(sources, list) else []
    names = "|".join(re.escape(str(one["id"])) for one in listed if isinstance(one, dict) and "id" in one)
    if names:
        body = re.sub(rf"^\[\^(?:{names})\]:.*$", "", body, flags=re.MULTILINE)
        body = re.sub(rf"\[\^(?:{names})\]", "", body)
    return body.strip()


def _plain(value: Any) -> Any:
    """Return a value of YAML as JSON has it: a date is its text."""
    return value.isoformat() if isinstance(value, date | datetime) else value


def digest(text: str) -> str:
    """Return a short digest of a file's text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def render_index(title: str, groups: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    """Return the ``index.md`` of a bundle: a heading for each type, a line for each concept."""
    parts = [f'{_FENCE}\nokf_version: "{OKF_VERSION}"\n{_FENCE}\n\n# {title}\n']
    for heading, rows in groups.items():
        lines = "\n".join(f"* [{_link_text(text)}]({path})" for path, text in rows)
        parts.append(f"\n## {heading}\n\n{lines}\n")
    return "".join(parts)


def _link_text(text: str) -> str:
    return _one_line(text)[:_TITLE_LENGTH].replace("[", "(").replace("]", ")")


# Principles as skills.

_DESCRIPTION_LENGTH: Final = 1_000
_QUOTE_LENGTH: Final = 160
_MARK: Final = "phronesis-principle"


def write_skills(
    memory: Memory, folder: Path, *, user_id: str | None = None, namespace: str | None = None
) -> dict[str, str]:
    """Write each principle of a scope as a skill; return the path of each by the principle's id.

    Skills that were written before and whose principle has ended, or is called otherwise now, are removed. Other skills
    stay, and so do those of another scope.
    """
    written: dict[str, str] = {}
    for item in items_of(memory, ["principle"], {"user_id": user_id, "namespace": namespace}):
        principle = cast("Principle", memory.get(item.id))
        path = folder / _folder_name(principle) / "SKILL.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(render_skill(principle, memory.explain(item.id).sources), encoding="utf-8")
        written[item.id] = str(path)
    for path in folder.glob("*/SKILL.md"):
        if str(path) not in written.values() and _is_over(memory, path, written):
            path.unlink()
            with suppress(OSError):  # it holds other files
                path.parent.rmdir()
    return written


def _is_over(memory: Memory, path: Path, written: Mapping[str, str]) -> bool:
    """Return whether a skill is of a principle that has ended, or that was written to another folder."""
    named = re.search(
        rf"^  {_MARK}: ([0-9a-f-]{{36}})$", path.read_text(encoding="utf-8", errors="replace"), re.MULTILINE
    )
    if named is None:
        return False
    try:
        return named[1] in written or not memory.get(named[1]).live
    except NotFound:  # erased
        return True


def _reference(source: Source) -> str:
    words = " ".join((source.quote or "").split())[:_QUOTE_LENGTH]
    return f"{source.source_ref or source.entry_id}" + (f": {words}" if words else "")


def _folder_name(principle: Principle) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", f"{principle.action} {principle.condition}".casefold()).strip("-")
    return f"{words[:_SLUG_LENGTH].strip('-') or 'principle'}-{digest(principle.id)[:6]}"


def render_skill(principle: Principle, sources: Sequence[Source]) -> str:
    """Return the text of a skill: when it applies, what to do, why, what to watch out for, and its evidence."""
    head = {
        "name": _folder_name(principle),
        "description": " ".join(f"Use when {principle.condition}".split())[:_DESCRIPTION_LENGTH],
        "metadata": {_MARK: principle.id, "confidence": round(principle.confidence, 3)},
    }
    shown = yaml.safe_dump(head, sort_keys=False, allow_unicode=True)
    parts = [
        ("When", principle.condition),
        ("Do", principle.action),
        ("Because", principle.because),
        ("Watch out", principle.watch_out),
        ("Evidence", "\n".join(f"- {one}" for one in dict.fromkeys(map(_reference, sources)))),
    ]
    body = "\n".join(f"\n## {title}\n\n{text}" for title, text in parts if text)
    return f"---\n{shown}---\n{body}\n"
