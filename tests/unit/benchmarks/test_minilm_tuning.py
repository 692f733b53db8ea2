"""MiniLM is tuned by English events, from the file of its weights that sentence-transformers writes."""

import json
from pathlib import Path

import numpy as np
import pytest

from phronesis.models import lesson_encoders
from phronesis.models.bert import Bert
from phronesis.models.lesson_encoders import WEIGHTS, packed, unpacked
from phronesis_benchmarks import lesson_encoder
from phronesis_benchmarks.lesson_encoder import run_lesson_encoder
from phronesis_benchmarks.lesson_tuning import EncoderLearner
from phronesis_benchmarks.minilm_tuning import WORDS, MiniLMNetwork
from tiny_minilm import HEADS, PIECES, as_safetensors, tiny_minilm

TINY = tiny_minilm()
TEXTS = ["the disk is full", "a full disk", "ask late", "no"]


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    archive = packed(tiny_minilm(seed=7), pieces=PIECES)
    monkeypatch.setattr(lesson_encoders, "installed_minilm", lambda: archive)
    monkeypatch.setattr(lesson_encoder, "HEADS", HEADS)
    monkeypatch.setattr(MiniLMNetwork, "rate", 0.03)  # two dozen steps are few


@pytest.fixture
def base(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    path.write_bytes(as_safetensors(TINY))
    return path


@pytest.mark.slow
def test_texts_lie_where_numpy_puts_them() -> None:
    network = MiniLMNetwork(TINY, PIECES, heads=HEADS)
    states = network.begun(TEXTS)
    ours = EncoderLearner(network).placed(states, network.nothing())
    theirs = Bert(TINY, HEADS).placed([one[:, 0].tolist() for one in states])
    np.testing.assert_allclose(ours, theirs, atol=2e-3, err_msg="numpy has GELU by tanh")


def test_all_but_the_pieces_is_learned() -> None:
    assert MiniLMNetwork(TINY, PIECES, heads=HEADS).nothing().keys() == TINY.keys() - {WORDS}


def written(path: Path, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    words = [["disk", "ask"], ["full", "late"], ["盘", "满"]]
    lines = []
    for n in range(15):
        said = " ".join(rng.permutation([words[n % 3][n % 2], *rng.choice(list("bcdgh"), 2)]))
        if n % 3 == 2:  # Chinese, but for one letter: it is left out
            said = "磁盘写满之后才发现没有空间" + said
        lines.append({"attempt": said, "result": "no", "label": "failure", "patterns": [str(n % 3)], "lang": "en",
                      "source_ref": str(n)})  # fmt: skip
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return path


@pytest.mark.slow
def test_each_file_is_judged_by_what_the_english_of_the_others_teaches(base: Path, tmp_path: Path) -> None:
    files = [written(tmp_path / f"{n}.jsonl", n) for n in range(4)]
    report = run_lesson_encoder(files, base=base, out=tmp_path / "out")
    assert all((one.events, one.pairs) == (10, 20) for one in report.scores)
    before, after = (np.mean([getattr(one, name) for one in report.scores]) for name in ("before", "after"))
    assert after > before + 0.05
    kept, pieces = unpacked((tmp_path / "out" / WEIGHTS).read_bytes())
    assert pieces == PIECES
    assert np.abs(kept[WORDS] - TINY[WORDS]).max() < 0.1
    assert np.abs(kept["l0.up.w"] - TINY["l0.up.w"]).max() > 0.005
