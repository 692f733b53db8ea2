"""What tells next steps from findings learns from labelled texts and from tables of examples."""

import json
from pathlib import Path

import pytest

from phronesis.models.reader import load_text_classifier
from phronesis_benchmarks.next_steps import fit_next_steps, load_steps

EXAMPLES = """
[[examples]]
rule = "next_step"
field = "inference"
passes = ["Yield was 40 %."]
fails = ["Try copper next."]

[[examples]]
rule = "claims_limit"
field = "claims"
passes = [0]
fails = [11]
"""


@pytest.mark.encoder
def test_texts_of_both_forms_are_learned_from(tmp_path: Path) -> None:
    table, lines, out = (tmp_path / name for name in ("examples.toml", "claims.jsonl", "weights.npz"))
    table.write_text(EXAMPLES, "utf-8")
    rows = [
        {"split": "dev", "text": "Repeat the run at 300 K.", "rule": "next_step"},
        {"split": "dev", "text": "I live in Lyon.", "gate": None},
        {"split": "test", "text": "Measure it again.", "rule": "next_step"},
        {"split": "dev", "text": "Where is Lyon?", "gate": "question"},
    ]
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert list(load_steps(table)) == [("Yield was 40 %.", False), ("Try copper next.", True)]
    assert list(load_steps(lines)) == [("Repeat the run at 300 K.", True), ("I live in Lyon.", False)]
    fit_next_steps([table, lines], out)
    assert load_text_classifier(out.read_bytes()).classes == ["next_step"]
