"""The artifacts that words name: each once, as one kind of thing, and in bounded time."""

import pytest

from growth import assert_cut_off, repeated
from phronesis.experience.laws.event_draft import MAX_SCANNED, artifacts_in


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


@pytest.mark.parametrize(("piece", "end"), [("a/", ""), ("A.", ""), ("`", ""), ("x.", "py")])
def test_no_text_takes_long(piece: str, end: str) -> None:
    assert_cut_off(lambda text: artifacts_in([text + end]), repeated(piece), MAX_SCANNED)
