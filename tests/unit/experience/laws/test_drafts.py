"""A draft goes through an outcome's JSON and comes back; errors of two kinds are unlike."""

import json
from datetime import UTC, datetime

import numpy as np

from phronesis.experience.laws.event_draft import Artifact, Draft
from phronesis.experience.laws.similarity import DisjointSets


def test_a_draft_comes_back_as_it_was() -> None:
    cases: list[Draft] = [
        Draft(attempt="ran it"),
        Draft(
            attempt="ran it",
            lines=(2, 5),
            span=(10, 40),
            family="missing_lemma",
            signals=("exit code 1",),
            artifacts=(Artifact("file", "a.py"),),
            observations={"exit_code": 1},
            seq=0,
            episode_id="e",
            occurred_at=datetime(2026, 1, 2, tzinfo=UTC),
            label="failure",
            field_origin={"attempt": "rule"},
        ),
        Draft(attempt="ran it", span=(0, 3)),
        Draft(attempt="ran it", lines=(1, 1)),
    ]
    for draft in cases:
        again = Draft.from_body(json.loads(json.dumps(draft.to_body())))
        assert again == draft, draft
        assert again.texts == {"attempt": "ran it"}, draft


def test_errors_of_two_kinds_are_unlike_and_what_has_none_is_not() -> None:
    metric = DisjointSets([{"a"}, {"b"}, {"a", "b"}, set(), {"a"}])
    rows = np.arange(metric.size, dtype=np.int64)
    assert metric.matrix(rows).tolist() == [
        [0, 1, 0, 0, 0],
        [1, 0, 0, 0, 1],
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0],
        [0, 1, 0, 0, 0],
    ]
    assert metric.matrix(rows[:1], rows[1:3]).tolist() == [[1, 0]]
    assert DisjointSets([]).size == 0
