"""Sections found are compared with labelled ones, over documents of installed packages."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest

from phronesis.core.items import Item
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


@dataclass
class Shelf:
    """Makes a section of every heading, and finds those that share a letter or word with the question."""

    sections: list[Item] = field(default_factory=list)
    given: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def open(cls, _url: str, **_given: object) -> Self:
        return cls()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        return None

    def ingest_resource(self, text: str, **given: str) -> SimpleNamespace:
        self.given.append(given)
        made: list[Item] = []
        for part in text.split("## ")[1:] or [f"Bulb\n{text}"]:
            heading, _, words = part.partition("\n")
            above = (given["title"],) if "#" not in text else ("The lamp",)
            data = {"path": (*above, heading.strip()), "title": given["title"]}
            made.append(_item(f"i{len(self.sections) + len(made)}", words.strip(), data))
        self.sections += made
        return SimpleNamespace(sections=made)

    def flush(self) -> int:
        return 0

    def search(self, query: str, *, kinds: Sequence[str], limit: int) -> list[SimpleNamespace]:
        assert kinds == ["section"]
        asked = set(query.split()) | {one for one in query if not one.isascii()}
        found = [one for one in self.sections if any(word in one.content for word in asked)]
        return [SimpleNamespace(item=one) for one in found[:limit]]

    def plan(self, message: str) -> str:
        return message

    def retrieve(self, plan: str) -> list[SimpleNamespace]:
        found = [_item("m", plan, {}, kind="message"), *reversed(self.sections)]
        return [SimpleNamespace(item=one) for one in found]


def _item(id_: str, content: str, data: dict[str, Any], kind: str = "section") -> Any:
    return SimpleNamespace(id=id_, content=content, data=data, kind=kind, recorded_at=datetime.now(UTC))


def question(id_: str, text: str, section: list[list[str]], **fields: str) -> dict[str, Any]:
    return {
        "id": id_,
        "question": text,
        "language": "en",
        "document": "lamp",
        "section": section,
        "split": "dev",
    } | fields


QUESTIONS = (
    question("q1", "knob", [["Use"]]),
    question("q2", "干布", [["Nothing"], ["The lamp", "保养"]], language="zh"),
    question("q3", "watts", [["Bulb"], ["Bulb", "__init__"]], document="bulb"),
    question("q4", "nowhere", [["Use"]], split="test"),
)
DOCUMENTS = (
    {
        "document": "lamp",
        "distribution": "lamp-of-tests",
        "file": "METADATA",
        "media_type": "text/markdown",
        "version_tested": "1.0",
    },
    {
        "document": "bulb",
        "distribution": "lamp-of-tests",
        "file": "lamp/bulb.py",
        "media_type": "text/x-python",
        "version_tested": "1.0",
    },
)


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
    monkeypatch.setattr("phronesis_benchmarks.resources.Memory", Shelf)
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
    assert (report.sections, report.versions) == (3, {"lamp": "1.2", "bulb": "1.2"})
