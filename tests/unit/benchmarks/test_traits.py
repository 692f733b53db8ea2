"""Traits found by rules are compared with labelled ones."""

import json
from pathlib import Path
from typing import Any

from phronesis_benchmarks.traits import run_traits

TEXTS = (
    "Went for a run before work",
    "Jogged 5 km before work",
    "Out running at six",
    "Ran 5k before work",
    "The boiler makes a noise",
    "No more running for me, I quit",
)


def user(**fields: Any) -> dict[str, Any]:
    """Give a labelled user who runs."""
    seen = [
        {"id": f"m{n}", "at": f"2025-01-{n + 1:02}T08:00:00Z", "session": f"s{n}", "kind": "episodic", "text": text}
        for n, text in enumerate(TEXTS)
    ]
    trait = {"id": "t1", "members": ["m0", "m1", "m2", "m3"], "contradicted_by": ["m5"], "looks_sensitive": True}
    return {"user": "u", "language": "en", "memories": seen, "traits": [trait], "never": []} | fields


def written(path: Path, *users: dict[str, Any]) -> Path:
    """Write labelled users, with an empty line between."""
    path.write_text("\n\n".join(map(json.dumps, users)), "utf-8")
    return path


def test_a_trait_is_found_reinforced_and_contradicted(tmp_path: Path) -> None:
    one, everything = run_traits([written(tmp_path / "users.jsonl", user())]).scores
    assert (one.language, everything.language) == ("en", "all")
    assert (one.found, one.right, one.labels, one.precision, one.recall, one.coverage) == (1, 1, 1, 1.0, 1.0, 1.0)
    assert (one.ended, one.ended_right, one.careful, one.careful_right) == (1, 1, 1, 1)


def test_what_is_sensitive_is_refused_behind_the_guard(tmp_path: Path) -> None:
    texts = ("Went for a run, depressed again", "Jogged 5 km, my depression is back", "Went running, still depressed")
    seen = [
        {"id": f"m{n}", "at": f"2025-01-{n + 1:02}T08:00:00Z", "session": f"s{n}", "kind": "episodic", "text": text}
        for n, text in enumerate(texts)
    ]
    data = [written(tmp_path / "users.jsonl", user(memories=seen))]
    assert run_traits(data).scores[0].found == 1
    assert run_traits(data, guarded=True).scores[0].found == 0
