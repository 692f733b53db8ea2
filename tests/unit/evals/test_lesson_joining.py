"""What authors' events teach of which groups become one pattern, and how files are judged by it."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from phronesis.core.experience.grouping import Belonging, Bonds, Grouper
from phronesis.core.experience.joining import SAID, learned_link
from phronesis.core.experience.neighbours import Neighbours
from phronesis.derive.experience.lesson_joining import ARCHIVE, from_archive, joining, to_archive
from phronesis.derive.experience.table import TOLD_APART
from phronesis.errors import InputError
from phronesis.evals import joining_learning, lesson_joining
from phronesis.evals.experience_clusters import load_events
from phronesis.evals.joining_learning import Compared, Lane, by_likeness, grown, learned, slope, watched
from phronesis.evals.lesson_joining import run_lesson_joining
from phronesis.interfaces.cli.bench import bench
from unit.core.experience.metrics import Given

HALF = Belonging(shared=0.0, threshold=1.0, alone=1.0)


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer rounds, and parts that fit small files."""
    monkeypatch.setattr(joining_learning, "ROUNDS", 15)
    monkeypatch.setattr(joining_learning, "PARTS", (6, 10))
    monkeypatch.setattr(lesson_joining, "FOLDS", 2)


def author(seed: int, *, lessons: int = 6, each: int = 4, once: int = 10) -> Compared:
    """Events of which those that happened once are as like each other as some of one lesson, but like several."""
    rng = np.random.default_rng(seed)
    lesson = np.concatenate((np.repeat(np.arange(lessons), each), -1 - np.arange(once)))
    same = (lesson[:, None] == lesson) & (lesson >= 0)
    alone = lesson < 0
    alike = np.where(same, 1.15, np.where(alone[:, None] & alone, 1.1, 0.2))
    noise = np.triu(rng.normal(0, 0.15, alike.shape), 1)
    patterns = [frozenset({int(one)}) if one >= 0 else frozenset[int]() for one in lesson]
    return Compared((alike + noise + noise.T).astype(np.float32), np.zeros(len(lesson), np.int64), patterns, HALF)


def right(found: list[list[int]], one: Compared) -> float:
    pairs = [one.same[a, b] for group in found for a in group for b in group if a < b]
    return float(np.mean(pairs)) if pairs else 0.0


@pytest.mark.usefixtures("fast")
def test_what_authors_told_apart_is_told_apart_of_another() -> None:
    judge = learned([author(seed) for seed in range(1, 7)])
    other = author(99)
    (_, lane), *_ = other.lanes()
    before = right(learned_link(lane.alike, by_likeness, events=lane.events), other)
    after = right(learned_link(lane.alike, judge, events=lane.events), other)
    assert after > before + 0.2, (before, after)


def test_the_slope_is_that_of_the_cross_entropy() -> None:
    rng = np.random.default_rng(0)
    held = {"hidden": rng.standard_normal((SAID + 1, 3)), "out": rng.standard_normal(4)}
    given = np.concatenate((rng.standard_normal((5, SAID)), np.ones((5, 1))), axis=1)
    wanted, counts = rng.random(5), rng.random(5)

    def loss(hidden: np.ndarray, out: np.ndarray) -> float:
        share = 1 / (1 + np.exp(-(np.concatenate((np.tanh(given @ hidden), np.ones((5, 1))), axis=1) @ out)))
        return float(-(counts * (wanted * np.log(share) + (1 - wanted) * np.log(1 - share))).mean())

    found = slope(held["hidden"], held["out"], given, wanted, counts)  # type: ignore[arg-type]
    for name, values in held.items():
        for place in np.ndindex(values.shape):
            there = {key: one.copy() for key, one in held.items()}
            there[name][place] += 1e-6
            by_step = (loss(**there) - loss(**held)) / 1e-6
            assert found[name][place] == pytest.approx(by_step, abs=1e-4)


def test_what_was_learned_comes_back() -> None:
    said = np.random.default_rng(1).random((4, SAID))
    assert from_archive(to_archive(joining()))(said) == pytest.approx(joining()(said), abs=1e-4)


def test_what_is_met_on_the_way_is_told_with_how_much_of_it_is_one_lesson() -> None:
    alike = np.array([[0, 1.6, 1.4, 0.7], [1.6, 0, 1.4, 0], [1.4, 1.4, 0, 0.7], [0.7, 0, 0.7, 0]], np.float32)
    same = np.zeros((4, 4), np.bool_)
    same[0, 1] = same[1, 0] = same[0, 2] = same[2, 0] = True
    met = list(watched(Lane(alike, same, 4), by_likeness, np.random.default_rng(0)))
    joined = [(one.said[-1, 0], one.share[-1], one.pairs[-1]) for one in met]
    assert joined == [(pytest.approx(1.6), 1.0, 1.0), (pytest.approx(1.4), 0.5, 2.0)]
    assert len(met[0].said) == 4  # three that could be joined, and the one that was


def test_a_part_is_as_if_there_were_no_more() -> None:
    one = author(1)
    part = one.part(np.array([0, 1, 25], dtype=np.int64))
    ((rows, lane),) = part.lanes()
    assert (rows.tolist(), lane.events) == ([0, 1, 2], 3)
    assert lane.same.tolist() == [[True, True, False], [True, True, False], [False, False, False]]


def test_lessons_that_are_told_more_often_are_as_like_as_they_were() -> None:
    one = author(2)
    more = grown(one, np.random.default_rng(5))
    size = len(one.outcomes)
    assert np.array_equal(more.alike[:size, :size], one.alike)
    assert np.array_equal(more.alike, more.alike.T)
    counts = {name: sum(name in names for names in more.patterns) for name in range(6)}
    assert sorted(counts.values())[:3] == [4, 4, 4]  # three of six lessons are told more often
    assert all(7 <= count <= 34 for count in sorted(counts.values())[3:])
    added = more.alike[size:]
    same = more.same[size:]
    same[:, size:][np.diag_indices(len(added))] = False
    assert added[same].mean() > 0.9
    assert added[~same].mean() < 0.5


@pytest.mark.parametrize("count", [3, 12, 60, 200])
def test_what_happens_again_and_again_is_one_pattern(count: int) -> None:
    rng = np.random.default_rng(count)
    size = count + 60
    alike = rng.normal(3, 3, (size, size))
    again = slice(60, None)
    alike[again, again] = rng.normal(0.9 * TOLD_APART.threshold, 1.0, (count, count))
    half = np.triu(alike, 1).astype(np.float32)
    neighbours = Neighbours(Given(half + half.T), np.zeros(size, np.int64))
    found = Grouper(neighbours, TOLD_APART, Bonds(), joining()).groups(np.arange(size))
    assert list(range(60, size)) in found


def written(path: Path, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    words = [["disk", "full", "logs"], ["ask", "late", "night"], ["盘", "满", "了"]]
    lines = []
    for n in range(18):
        lesson = n % 3
        said = " ".join(rng.permutation([*words[lesson], *rng.choice(list("bcdgh"), 2)]))
        lines.append({"attempt": said, "result": "no", "label": "failure", "lang": "en", "source_ref": str(n),
                      "patterns": [str(lesson)] if n < 15 else []})  # fmt: skip
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return path


@pytest.mark.usefixtures("fast")
def test_each_file_is_judged_by_what_the_others_teach(tmp_path: Path) -> None:
    files = [written(tmp_path / f"{n}.jsonl", n) for n in range(2)]
    told: list[tuple[str, int, int]] = []
    report = run_lesson_joining(files, embedder="hashing", out=tmp_path / "out",
                                on_progress=lambda *step: told.append(step))  # fmt: skip
    assert told == [("files compared", 1, 2), ("files compared", 2, 2)]
    assert [(one.data, one.events, one.pairs) for one in report.scores] == [("0.jsonl", 18, 30), ("1.jsonl", 18, 30)]
    last = report.to_markdown().splitlines()[-1]
    assert last.startswith("Mean precision / F1: ")
    kept = from_archive((tmp_path / "out" / ARCHIVE).read_bytes())
    assert np.isfinite(kept(np.ones((1, SAID)))).all()


def test_one_file_is_joined_as_the_installed_numbers_say(tmp_path: Path) -> None:
    path = written(tmp_path / "one.jsonl", 1)
    (score,) = run_lesson_joining([path], embedder="hashing").scores
    one = lesson_joining.compared(path, "hashing")
    found = {frozenset((int(rows[a]), int(rows[b]))) for rows, lane in one.lanes()
             for group in learned_link(lane.alike, joining(), events=lane.events)
             for a in group for b in group if a < b}  # fmt: skip
    gold = {frozenset((a, b)) for a, b in zip(*np.nonzero(np.triu(one.same, 1)), strict=True)}
    assert score.joined.recall == pytest.approx(len(found & gold) / len(gold))


def test_events_are_compared_in_the_order_of_their_patterns(tmp_path: Path) -> None:
    path = written(tmp_path / "one.jsonl", 4)
    one = lesson_joining.compared(path, "hashing")
    assert sorted(map(sorted, one.patterns)) == sorted(
        [int(name) for name in event["patterns"]] for event in load_events(path)
    )
    first, second = np.nonzero(np.triu(np.ones_like(one.same), 1))
    same = one.same[first, second]
    assert one.alike[first, second][same].mean() > one.alike[first, second][~same].mean()


def test_words_alone_teach_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="by words alone"):
        run_lesson_joining([written(tmp_path / "one.jsonl", 1)], embedder="none")


@pytest.mark.usefixtures("fast")
def test_the_command_prints_the_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    by_hash = lesson_joining.compared
    monkeypatch.setattr(lesson_joining, "compared", lambda path, _embedder: by_hash(path, "hashing"))
    files = [written(tmp_path / f"{n}.jsonl", n) for n in range(2)]
    arguments = ["lesson-joining", *(part for path in files for part in ("--data", str(path)))]
    result = CliRunner().invoke(bench, [*arguments, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "| 1.jsonl | 18 | 30 |" in result.output
    assert (tmp_path / "out" / ARCHIVE).exists()
