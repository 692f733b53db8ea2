"""Writes principles as skills: folders with a SKILL.md, as agents load them."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

import yaml

from phronesis.core.results import Source
from phronesis.errors import NotFound
from phronesis.experience.laws.records import Principle
from phronesis.files.concept import digest
from phronesis.memory import Memory

NAME: Final = re.compile(r"[^a-z0-9]+")
_NAME_LENGTH: Final = 48
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
    cursor = None
    while True:
        page = memory.get_all(kinds=["principle"], limit=200, cursor=cursor, user_id=user_id, namespace=namespace)
        for item in page.items:
            principle = cast("Principle", memory.get(item.id))
            path = folder / _folder_name(principle) / "SKILL.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(render_skill(principle, memory.explain(item.id).sources), encoding="utf-8")
            written[item.id] = str(path)
        cursor = page.next_cursor
        if cursor is None:
            break
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
    words = NAME.sub("-", f"{principle.action} {principle.condition}".casefold()).strip("-")
    return f"{words[:_NAME_LENGTH].strip('-') or 'principle'}-{digest(principle.id)[:6]}"


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
