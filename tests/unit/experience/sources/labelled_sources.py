"""Inputs of sources with the drafts that are expected of them, from the files beside."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from phronesis.experience.laws.event_draft import Draft
from phronesis.experience.sources.port import RawText, Source

DATA: Final = Path(__file__).parent / "data"
NOW: Final = datetime(2027, 1, 1, tzinfo=UTC)


def inputs(source_type: str) -> list[str]:
    """Name the inputs of a source."""
    return sorted(path.name for path in DATA.glob(f"{source_type}_*") if not path.name.endswith(".expected.json"))


def read(source: Source, text: str, name: str = "") -> list[Draft]:
    """Read a text; what comes is the same each time, and the same after it was stored."""
    raw = RawText(text=text, name=name, recorded_at=NOW)
    drafts = list(source.read(raw))
    assert drafts == list(source.read(raw))
    for draft in drafts:
        body = draft.to_body()
        assert Draft.from_body(json.loads(json.dumps(body))).to_body() == body
        check(draft, text)
    return drafts


def check(draft: Draft, text: str) -> None:
    """Look at what holds of every draft."""
    assert draft.attempt.strip()
    assert 0 <= draft.confidence <= 1
    assert draft.lines is not None
    assert draft.span is not None
    first, last = draft.lines
    assert 1 <= first <= last <= text.count("\n") + 1
    begin, end = draft.span
    assert 0 <= begin <= end <= len(text)
    assert text.count("\n", 0, begin) + 1 == first
    assert text.count("\n", 0, end) + 1 == last
    assert draft.label == "unknown" or draft.signals
    assert set(draft.field_origin) >= set(draft.texts) - {"reflection"}
    assert all(one.name for one in draft.artifacts)


def faults(drafts: list[Draft], name: str) -> list[str]:
    """Say where the drafts of an input are not the expected ones."""
    expected = json.loads((DATA / f"{name.rpartition('.')[0]}.expected.json").read_text("utf-8"))
    text = (DATA / name).read_text("utf-8")
    out = [] if len(drafts) == len(expected) else [f"{len(drafts)} drafts, expected {len(expected)}"]
    for n, (draft, wanted) in enumerate(zip(drafts, expected, strict=False)):
        out += [f"{n}: {fault}" for fault in _differs(draft, wanted, text, drafts)]
    return out


def _within(wanted: Any, found: Any) -> bool:
    """Tell whether all that is wanted is there; a mapping may hold more."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(_within(one, found.get(name)) for name, one in wanted.items())
    return bool(wanted == found)


def _differs(draft: Draft, wanted: dict[str, Any], text: str, drafts: list[Draft]) -> list[str]:
    body, lines, said = draft.to_body(), text.split("\n"), text[slice(*draft.span or (0, 0))]
    out: list[str] = []
    for key, value in wanted.items():
        found: Any = said
        if key in {"first", "last"}:
            found = lines[(draft.lines or (1, 1))[key == "last"] - 1]
            good = value in found
        elif key in {"contains", "starts", "ends"}:
            good = value in {"contains": said, "starts": said[: len(value)], "ends": said[-len(value) :]}[key]
        elif key in {"lemmas", "concepts"}:
            found = {"lemmas": draft.observations.get("lemmas", []), "concepts": [one.name for one in draft.artifacts]}[
                key
            ]
            good = set(value) <= set(found)
        elif key in {"same_episode", "other_episode"}:
            found, other = draft.episode_id, drafts[value].episode_id
            good = found is not None and (found == other) == (key == "same_episode")
        elif key.endswith("_has"):
            found = body.get(key.removesuffix("_has"), "")
            good = all(any(part in one for one in ([found] if isinstance(found, str) else found)) for part in value)
        elif key == "observations":
            found = draft.observations
            good = _within(value, found)
        else:
            found = body.get(key, {"signals": [], "goal": ""}.get(key))
            good = found == value
        if not good:
            out.append(f"{key}: {found!r}, expected {value!r}")
    return out
