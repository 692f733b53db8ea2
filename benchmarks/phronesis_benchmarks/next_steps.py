"""Fit the classifier of next steps (``phronesis bench next-steps``), by which the gate of claims judges.

It learns from the split ``dev`` of labelled texts, ``claims_gate.jsonl``, ``comparisons.jsonl`` and messages that state
facts (``turns_en.jsonl``), and from a table of examples in TOML.
"""

import json
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from phronesis.models.reader import TextClassifier
from phronesis.reasoning.claim_gate import NEXT_STEP, fold, strip_quotations
from phronesis_benchmarks.text_classifier_training import ClassifierSettings, encode_texts, fit_text_classifier

LEARNED: Final = ("next_step", "positive_constraint", "kb_alias")
"""Rules of the gate whose examples are sentences."""


def fit_next_steps(data: Sequence[Path], out: Path) -> TextClassifier:
    """Fit the classifier to the texts of these files and write it."""
    seen = [(strip_quotations(fold(text)), told) for path in data for text, told in load_steps(path)]
    texts = [one for one in seen if one[0].strip()]  # of some nothing is left but a quotation
    states = encode_texts([text for text, _ in texts])
    labels = [(NEXT_STEP,) if told else () for _, told in texts]
    made = fit_text_classifier(states, labels, classes=(NEXT_STEP,), settings=ClassifierSettings(rounds=20))
    out.write_bytes(made.to_bytes())
    return made


def load_steps(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield the texts of a file, and whether each says what to do next."""
    if path.suffix == ".toml":
        for row in tomllib.loads(path.read_text("utf-8"))["examples"]:
            for name in ("passes", "fails") if row["rule"] in LEARNED else ():
                told = row["rule"] == NEXT_STEP and name == "fails"
                yield from ((text, told) for text in row[name] if isinstance(text, str))
        return
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        if "text" in row and row["split"] == "dev" and row.get("gate") is None:
            yield row["text"], row.get("rule") == NEXT_STEP
