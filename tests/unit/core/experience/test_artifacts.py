"""The artifacts that words name: each once, as one kind of thing, and in bounded time."""

import pytest

from growth import assert_cut_off, repeated
from phronesis.core.experience.artifacts import MAX_ARTIFACTS, MAX_SCANNED, artifacts_in
from phronesis.core.experience.drafts import Artifact


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("edit src/app.py, then Main.lean", ["file:src/app.py", "file:Main.lean"]),
        ("修改src/app.py以后", ["file:src/app.py"]),
        ("raised json.decoder.JSONDecodeError", ["error_type:json.decoder.JSONDecodeError"]),
        ("error TS2345 and ECONNRESET", ["error_type:TS2345", "error_type:ECONNRESET"]),
        ("use Nat.add_comm here", ["lemma:Nat.add_comm"]),
        ("the `simp` call", ["concept:simp"]),
        ("`app.py` is app.py", ["file:app.py"]),
        ("nothing of the kind. At all", []),
        ("` `", []),
    ],
)  # fmt: skip
def test_what_a_text_names(text: str, ids: list[str]) -> None:
    assert [one.id for one in artifacts_in([text])] == ids


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
