"""Texts and, beside each, what a source is to give of it: a list of drafts, each by the members that it names."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from phronesis.experience.laws.event_draft import Draft
from phronesis.experience.sources.port import RawText, Source

DATA = Path(__file__).parent / "data"
RECORDED = datetime(2026, 5, 1, tzinfo=UTC)
_FIELDS = {"label", "family", "goal", "attempt", "seq"}


def texts(kind: str) -> list[str]:
    return sorted(path.stem for path in DATA.glob(f"{kind}_*.txt"))


def text_of(name: str) -> str:
    return (DATA / f"{name}.txt").read_text("utf-8")


def wanted_of(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((DATA / f"{name}.json").read_text("utf-8"))
    return found


def read(source: Source, text: str) -> Sequence[Draft]:
    return source.read(RawText(text=text, recorded_at=RECORDED))


def seen(draft: Draft, text: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Give what a draft has for each member of a row; a member that is there as the row wants it is given as wanted."""
    assert draft.span is not None
    said = text[slice(*draft.span)]
    observed = draft.observations
    concepts = {one.name for one in draft.artifacts if one.type == "concept"}
    found: dict[str, Any] = {}
    for name, value in wanted.items():
        if name in _FIELDS:
            found[name] = getattr(draft, name)
        elif name.endswith("_has"):
            view = getattr(draft, name.removesuffix("_has"))
            found[name] = value if value in view else view
        elif name == "contains":
            found[name] = value if value in said else said
        elif name == "starts":
            found[name] = said[: len(value)]
        elif name == "ends":
            found[name] = said[-len(value) :]
        elif name == "kinds":
            found[name] = observed.get("error_kinds", [])
        elif name in {"lemmas", "concepts"}:
            have = set(observed.get("lemmas", ())) if name == "lemmas" else concepts
            found[name] = value if set(value) <= have else sorted(have)
        elif name == "episode":
            found[name] = value
        else:
            found[name] = observed.get(name)
    return found


def mistakes(source: Source, name: str) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Give the rows of a table that are not as wanted, each with what was found."""
    text, rows = text_of(name), wanted_of(name)
    drafts = read(source, text)
    assert len(drafts) == len(rows), [(draft.label, draft.lines, draft.goal) for draft in drafts]
    pairs = [(row, seen(draft, text, row)) for row, draft in zip(rows, drafts, strict=True)]
    return [(row, found) for row, found in pairs if row != found]
