"""MiniLM is tuned by English events, from the file of its weights that sentence-transformers writes."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from phronesis.errors import InputError
from phronesis.models import lesson_encoders
from phronesis.models.bert import Bert
from phronesis.models.lesson_encoders import WEIGHTS, packed, unpacked
from phronesis_benchmarks import lesson_encoder
from phronesis_benchmarks.commands import bench
from phronesis_benchmarks.lesson_encoder import run_lesson_encoder
from phronesis_benchmarks.lesson_tuning import EncoderLearner
from phronesis_benchmarks.minilm_tuning import WORDS, MiniLMNetwork, read_safetensors
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


def test_weights_are_read_by_their_names(base: Path) -> None:
    found = read_safetensors(base)
    assert found.keys() == TINY.keys()
    assert all(np.array_equal(found[name], held) for name, held in TINY.items())


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "no file of safetensors"),
        (b"PK\3\4 something else altogether", "no file of safetensors"),
        (as_safetensors({}), "has no BERT in it"),
        (as_safetensors(TINY, kind="F16"), "is F16, where F32 is needed"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "other.bin"
    path.write_bytes(content)
    with pytest.raises(InputError, match=told) as caught:
        read_safetensors(path)
    assert caught.value.field == "base"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.safetensors is no file"):
        read_safetensors(tmp_path / "none.safetensors")


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


def test_one_file_is_judged_by_the_encoder_that_is_installed(base: Path, tmp_path: Path) -> None:
    score = run_lesson_encoder([written(tmp_path / "one.jsonl", 1)], base=base).scores[0]
    assert score.before != score.after


def test_a_file_without_english_is_named(base: Path, tmp_path: Path) -> None:
    path = tmp_path / "zh.jsonl"
    path.write_text('{"attempt": "磁盘写满了", "patterns": [], "lang": "zh", "source_ref": "1"}', "utf-8")
    with pytest.raises(InputError, match=r"zh\.jsonl holds no events in English"):
        run_lesson_encoder([path], base=base)


def test_the_command_takes_the_weights(base: Path, tmp_path: Path) -> None:
    arguments = ["lesson-encoder", "--data", str(written(tmp_path / "one.jsonl", 1)), "--minilm", str(base)]
    result = CliRunner().invoke(bench, arguments)
    assert result.exit_code == 0, result.output
    assert "| mean | 10 | 20 |" in result.output
