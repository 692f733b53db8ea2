"""Sections found are compared with labelled ones, over documents of installed packages."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from phronesis.models.embedder import HashingEmbedder
from phronesis_benchmarks.resources import run_resources

LAMP = "Metadata-Version: 2.1\nName: lamp-of-tests\nVersion: 1.2\nDescription-Content-Type: text/markdown\n\n"
GUIDE = """# The lamp

## Use

Turn the knob to light it.

## 保养

灯罩要用干布擦。
"""
POOL = 'class Bulb(Part):\n    """Glows."""\n\n    def __init__(self):\n        """Takes watts."""\n'


def question(id_: str, text: str, section: list[list[str]], **fields: str) -> dict[str, Any]:
    given = {"id": id_, "question": text, "language": "en", "document": "lamp", "section": section, "split": "dev"}
    return given | fields


QUESTIONS = (
    question("q1", "knob", [["Use"]]),
    question("q2", "干布", [["Nothing"], ["The lamp", "保养"]], language="zh"),
    question("q3", "watts", [["Bulb"], ["Bulb", "__init__"]], document="bulb"),
    question("q4", "nowhere", [["Use"]], split="test"),
)
DOCUMENTS = [
    {"document": name, "distribution": "lamp-of-tests", "file": file, "media_type": kind, "version_tested": "1.0"}
    for name, file, kind in (("lamp", "METADATA", "text/markdown"), ("bulb", "lamp/bulb.py", "text/x-python"))
]


def _lines(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("\n\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "utf-8")
    return path


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a distribution with two documents, and write questions about them."""
    site = tmp_path / "site"
    (site / "lamp_of_tests-1.2.dist-info").mkdir(parents=True)
    (site / "lamp_of_tests-1.2.dist-info" / "METADATA").write_text(LAMP + GUIDE, "utf-8")
    (site / "lamp").mkdir()
    (site / "lamp" / "bulb.py").write_text(POOL, "utf-8")
    monkeypatch.syspath_prepend(site)
    _lines(tmp_path / "documents.jsonl", DOCUMENTS)
    return _lines(tmp_path / "questions.jsonl", QUESTIONS)


def test_ranks_are_counted_by_system_language_and_document(data: Path) -> None:
    report = run_resources([data], embedders={"words": None, "hashing": HashingEmbedder()})
    told = {(one.system, one.of): one for one in report.scores}
    assert {system for system, _ in told} == {"BM25", "words", "hashing"}
    assert [of for system, of in told if system == "words"] == ["all", "en", "zh", "lamp", "bulb"]
    assert (told["words", "all"].questions, told["words", "all"].recall[1], told["words", "all"].mrr) == (4, 0.75, 0.75)
    assert (told["words", "zh"].mrr, told["words", "bulb"].mrr, told["BM25", "zh"].mrr) == (1.0, 1.0, 1.0)
    assert told["words", "lamp"].recall == {1: 2 / 3, 5: 2 / 3, 10: 2 / 3}
    assert (report.sections, report.versions) == (4, {"lamp": "1.2", "bulb": "1.2"})
