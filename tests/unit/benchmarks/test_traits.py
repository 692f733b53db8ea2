"""Traits found by rules are compared with labelled ones."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from backwards import Backwards
from phronesis.errors import InputError
from phronesis.models.embedder import HashingEmbedder
from phronesis.models.embedders import Embedders
from phronesis_benchmarks.commands import bench
from phronesis_benchmarks.traits import Held, TraitReport, TraitScore, compared, run_traits

TEXTS = ("Went for a run before work", "Jogged 5 km before work", "Out running at six", "Ran 5k before work",
         "The boiler makes a noise", "No more running for me, I quit")  # fmt: skip


def user(**fields: Any) -> dict[str, Any]:
    """Give a labelled user who runs."""
    seen = [{"id": f"m{n}", "at": f"2025-01-{n + 1:02}T08:00:00Z", "session": f"s{n}", "kind": "episodic", "text": text}
            for n, text in enumerate(TEXTS)]  # fmt: skip
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


@pytest.mark.parametrize("beside", [None, Backwards()])
def test_encoders_may_take_part(tmp_path: Path, beside: Backwards | None) -> None:
    data = written(tmp_path / "users.jsonl", user())
    assert run_traits([data], embedders=Embedders(HashingEmbedder(), beside=beside)).scores[0].users == 1
    assert run_traits([data], embedders=Embedders(None, beside=beside)).scores[0].users == 1


def held(*ids: str) -> Held:
    """Give a found trait with its evidence."""
    return Held("runs", "personal", [*ids])


def test_what_is_found_twice_is_neither_right_nor_wrong(tmp_path: Path) -> None:
    counts = compared(user(), [held("m0", "m1", "m2"), held("m1", "m2", "m3"), held("m3", "m4", "m5")])
    assert (counts["found"], counts["right"], counts["duplicates"]) == (3, 1, 1)
    assert counts["ended_right"] == 0
    assert counts["covered"] == 0.75  # three of four, of the first find
    names = {"labels", "found", "right", "duplicates", "covered", "ended", "ended_right", "careful", "careful_right"}
    given = {name: counts[name] for name in names}
    score = TraitScore(data="users.jsonl", language="en", users=1, never=counts["never"], **given)
    assert (score.precision, score.recall) == (0.5, 1.0)
    assert "| en | 1 | 3 | 1 | 0.500 | 1.000 | 0.750 |" in TraitReport((score,)).to_markdown()


@pytest.mark.parametrize(
    ("found", "right"),
    [(("m0", "m1"), 1), (("m0",), 0), (("m0", "m1", "m4"), 1), (("m0", "m1", "m4", "m5"), 0),
     (("m0", "m1", "m2", "m4", "m5"), 0), (("m0", "m1", "m2", "m3", "m4", "m5"), 1), ((), 0)],
)  # fmt: skip
def test_two_memories_and_two_thirds_of_the_evidence_make_it_right(found: tuple[str, ...], right: int) -> None:
    assert compared(user(), [held(*found)])["right"] == right
    assert compared(user(traits=[]), [held(*found)])["right"] == 0


def test_what_shows_two_traits_is_the_one_it_shares_most_with() -> None:
    traits = [{"id": "t1", "members": ["m0", "m1"]}, {"id": "t2", "members": ["m2", "m3", "m4"]}]
    counts = compared(user(traits=traits), [held("m0", "m2", "m3"), held("m0", "m1")])
    assert (counts["right"], counts["duplicates"]) == (2, 0)


@pytest.mark.parametrize(
    ("why", "found", "counted"),
    [("one-off", ("m3", "m4"), 1), ("one-off", ("m2", "m3", "m4"), 0), ("sensitive", ("m2", "m3", "m4"), 1),
     ("sensitive", ("m2", "m3"), 0), ("joke", (), 0)],
)  # fmt: skip
def test_what_must_not_be_found_counts_by_half_and_what_is_sensitive_by_one(
    why: str, found: tuple[str, ...], counted: int
) -> None:
    counts = compared(user(never=[{"why": why, "members": ["m4", "m5"]}]), [held(*found)])
    assert counts["never"].get(why, 0) == counted


def test_nothing_found_has_no_share(tmp_path: Path) -> None:
    [score, _] = run_traits([written(tmp_path / "users.jsonl", user(memories=[], traits=[]))]).scores
    assert (score.precision, score.recall, score.coverage) == (None, None, None)


@pytest.mark.parametrize("line", ["{", '{"memories": [{"at": "never"}]}', '{"memories": []}'])
def test_a_line_that_is_no_user_is_named(tmp_path: Path, line: str) -> None:
    data = tmp_path / "users.jsonl"
    data.write_text(line, "utf-8")
    with pytest.raises(InputError, match="line 1"):
        run_traits([data])


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no users"):
        run_traits([written(tmp_path / "users.jsonl")])


def test_the_command_gives_a_table_or_json(tmp_path: Path) -> None:
    data = str(written(tmp_path / "users.jsonl", user()))
    table = CliRunner().invoke(bench, ["traits", "--data", data])
    assert "| users.jsonl | en | 1 | 1 | 0 | 1.000 | 1.000 | 1.000 |" in table.output
    told = CliRunner().invoke(bench, ["traits", "--data", data, "--json"])
    assert json.loads(told.output)["scores"][0]["right"] == 1


def test_what_is_sensitive_is_refused_behind_the_guard(tmp_path: Path) -> None:
    texts = ("Went for a run, depressed again", "Jogged 5 km, my depression is back", "Went running, still depressed")
    seen = [{"id": f"m{n}", "at": f"2025-01-{n + 1:02}T08:00:00Z", "session": f"s{n}", "kind": "episodic", "text": text}
            for n, text in enumerate(texts)]  # fmt: skip
    data = [written(tmp_path / "users.jsonl", user(memories=seen))]
    assert run_traits(data).scores[0].found == 1
    assert run_traits(data, guarded=True).scores[0].found == 0
