"""What describes an attempt is checked field by field, and the names in its texts become artifacts."""

from datetime import UTC, datetime
from typing import Any

import pytest

from growth import assert_cut_off, repeated
from phronesis.errors import InputError
from phronesis.experience.laws.event_draft import (
    MAX_SCANNED,
    NEI,
    Artifact,
    Draft,
    artifacts_in,
    artifacts_of,
    checked_nei,
    constraints_of,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
GOOD: dict[str, Any] = {"attempt": "try", "source_ref": "log:1"}


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"attempt": ""}, "attempt"),
        ({"source_ref": None}, "source_ref"),
        ({"label": "maybe"}, "label"),
        ({"other": 1}, "other"),
        ({"goal": 7}, "goal"),
        ({"episode_id": "e", "seq": 0}, None),
        ({"episode_id": "e", "seq": 2**31 - 1}, None),
        ({"episode_id": "e", "seq": 2**31}, "seq"),
        ({"episode_id": "e", "seq": -1}, "seq"),
        ({"episode_id": "e", "seq": True}, "seq"),
        ({"episode_id": "e", "seq": 1.0}, "seq"),
        ({"seq": 1}, "episode_id"),
        ({"occurred_at": "2027-01-01T00:00:00Z"}, "occurred_at"),
        ({"hints": []}, "hints"),
        ({"hints": {"artifacts": "a"}}, "hints.artifacts"),
        ({"hints": {"artifacts": [{"type": "city", "name": "x"}]}}, "hints.artifacts"),
        ({"hints": {"artifacts": [""]}}, "hints.artifacts"),
        ({"hints": {"constraints": [7]}}, "hints.constraints"),
        ({"field_origin": ["x"]}, "field_origin"),
        ({"field_origin": {"attempt": "cat"}}, "field_origin"),
        ({"field_origin": {"name": "human"}}, "field_origin"),
    ],
)
def test_a_wrong_field_is_named(changed: dict[str, Any], field: str | None) -> None:
    found = None
    try:
        checked_nei({**GOOD, **changed}, now=NOW)
    except InputError as error:
        found = error.field
    assert found == field


def test_what_is_given_is_stored_and_nothing_else() -> None:
    stored = {**GOOD, "source_type": "manual", "label": "unknown"}
    assert checked_nei(NEI(**GOOD), now=NOW) == stored
    full = {
        **stored,
        "goal": "g",
        "payload": {"p": 0},
        "observations": [0],
        "external_id": "x",
        "episode_id": "e",
        "seq": 1,
        "occurred_at": "2025-01-01T00:00:00Z",
        "hints": {"failed": True},
        "field_origin": {"goal": "human"},
    }
    assert checked_nei(full, now=NOW) == full
    assert checked_nei({**GOOD, "field_origin": {"goal": "human"}, "hints": {}}, now=NOW) == {
        **stored,
        "field_origin": {},
    }
    with pytest.raises(InputError) as raised:
        checked_nei(7, now=NOW)
    assert raised.value.field == "nei"
    assert constraints_of({}) == []
    assert constraints_of({"constraints": "no x"}) == ["no x"]
    named = {"artifacts": ["a", {"type": "file", "name": "b"}, "a"]}
    assert artifacts_of(named) == [Artifact("concept", "a"), Artifact("file", "b")]


def test_a_draft_comes_back_from_its_body_without_empty_members() -> None:
    assert Draft(attempt="x").to_body() == {"attempt": "x", "label": "unknown", "confidence": 0.5}
    full = Draft(
        attempt="x",
        goal="g",
        signals=("s",),
        constraints=("c",),
        artifacts=(Artifact("file", "f"),),
        lines=(1, 2),
        span=(0, 9),
        occurred_at=NOW,
    )
    assert Draft.from_body(full.to_body()) == full
    assert full.texts == {"goal": "g", "attempt": "x"}


def test_artifacts_are_bounded_and_the_known_ones_first() -> None:
    many = " ".join(f"f{n}.py" for n in range(40))
    assert len(artifacts_in([many])) == 24
    known = Artifact("concept", "f3.py")
    assert artifacts_in([many], known=[known])[0] == known
    assert artifacts_in(["x " * 9_997 + "ab.py z"]) == (Artifact("file", "ab.py"),)
    assert artifacts_in(["x " * 9_998 + "abc.py z"]) == ()
    for length, there in ((119, True), (120, True), (121, False)):
        name = f"{'d' * 60}/{'e' * (length - 64)}.py"
        assert (len(name), bool(artifacts_in([name]))) == (length, there)


def test_what_a_text_names() -> None:
    cases = {
        "edit src/app.py, then Main.lean": "file:src/app.py file:Main.lean",
        "raised json.decoder.JSONDecodeError": "error_type:json.decoder.JSONDecodeError",
        "error TS2345 and ECONNRESET": "error_type:TS2345 error_type:ECONNRESET",
        "use 'Nat.add_comm' here": "lemma:Nat.add_comm",
        "the `simp` call, ` `": "concept:simp",
        "nothing of the kind. At all": "",
        "It ended.The rest, Math.max and Corp.Inc, in Node.js with ConnectionTimeout 30": "",
        "spawn ENOENT, killed by SIGKILL": "error_type:ENOENT error_type:SIGKILL",
        "code ERR_MODULE_NOT_FOUND": "error_type:ERR_MODULE_NOT_FOUND",
    }
    for text, ids in cases.items():
        assert [one.id for one in artifacts_in([text])] == ids.split(), text
    older, today = (artifacts_in(["EVERYTHING Node.js"], version=version) for version in (1, 2))
    assert ([one.name for one in older], today) == (["Node.js", "EVERYTHING"], ())


@pytest.mark.parametrize(("piece", "end"), [("a/", ""), ("A.", ""), ("`", ""), ("x.", "py")])
def test_no_text_takes_long(piece: str, end: str) -> None:
    assert_cut_off(lambda text: artifacts_in([text + end]), repeated(piece), MAX_SCANNED)
