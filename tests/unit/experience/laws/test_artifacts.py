"""The artifacts that words name: each once, as one kind of thing, and in bounded time."""

import pytest

from growth import assert_cut_off, repeated
from phronesis.experience.laws.event_draft import MAX_ARTIFACTS, MAX_SCANNED, Artifact, artifacts_in


def test_what_a_text_names() -> None:
    cases: list[tuple[str, list[str]]] = [
        ("edit src/app.py, then Main.lean", ["file:src/app.py", "file:Main.lean"]),
        ("raised json.decoder.JSONDecodeError", ["error_type:json.decoder.JSONDecodeError"]),
        ("error TS2345 and ECONNRESET", ["error_type:TS2345", "error_type:ECONNRESET"]),
        ("use 'Nat.add_comm' here", ["lemma:Nat.add_comm"]),
        ("the `simp` call", ["concept:simp"]),
        ("nothing of the kind. At all", []),
        ("It ended.The rest, Math.max and Corp.Inc, in Node.js with ConnectionTimeout 30", []),
        (
            "spawn ENOENT, killed by SIGKILL, code ERR_MODULE_NOT_FOUND",
            ["error_type:ENOENT", "error_type:SIGKILL", "error_type:ERR_MODULE_NOT_FOUND"],
        ),
        ("` `", []),
    ]
    for text, ids in cases:
        assert [one.id for one in artifacts_in([text])] == ids, text


def test_an_entry_of_the_first_version_keeps_what_it_named() -> None:
    assert [one.id for one in artifacts_in(["EXACTLY ENOENT"], version=1)] == [
        "error_type:EXACTLY",
        "error_type:ENOENT",
    ]


def test_what_is_known_stands_first_and_too_many_are_cut() -> None:
    known = Artifact("concept", "app.py")
    found = artifacts_in([" ".join(f"f{n}.py" for n in range(60)), "app.py"], known=[known])
    assert found[0] == known
    assert len(found) == MAX_ARTIFACTS
    assert len(set(found)) == MAX_ARTIFACTS


def test_a_name_beyond_bounds_is_none() -> None:
    assert artifacts_in(["/".join("d" * 30 for _ in range(6)) + "/x.py"]) == ()


@pytest.mark.parametrize(("piece", "end"), [("a/", ""), ("A.", ""), ("`", ""), ("x.", "py")])
def test_no_text_takes_long(piece: str, end: str) -> None:
    assert_cut_off(lambda text: artifacts_in([text + end]), repeated(piece), MAX_SCANNED)
