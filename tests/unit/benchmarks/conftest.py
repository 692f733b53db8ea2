"""A small world: one conversation in LoCoMo's form, and an embedder that counts words."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from phronesis.models.embedder import Floats
from phronesis_benchmarks.cached_embedder import CachedEmbedder
from phronesis_benchmarks.datasets import Conversation, load_locomo


class WordEmbedder:
    """A bag of words in 256 dimensions, L2 length 1; the texts it is given, queries too, are appended to `calls`."""

    name = "words"
    dimension = 256
    prefix_scheme = "none"

    def __init__(self, calls: list[str]) -> None:
        self.calls = calls

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        self.calls.extend(texts)
        return np.stack([self._vector(text) for text in texts])

    def embed_query(self, text: str) -> Floats:
        self.calls.append(text)
        return self._vector(text)

    def _vector(self, text: str) -> Floats:
        vector = np.zeros(self.dimension, np.float32)
        for word in text.lower().replace("?", " ").replace(".", " ").split():
            vector[int(hashlib.sha256(word.encode()).hexdigest(), 16) % self.dimension] += 1
        length = np.linalg.norm(vector)
        return vector / length if length else vector


def locomo_sample() -> dict[str, Any]:
    """Return two sessions with the quirks of the real file: joined, padded, mistyped and unknown ids, a photo."""
    return {
        "sample_id": "talk-1",
        "conversation": {
            "speaker_a": "Ines",
            "speaker_b": "Otto",
            "session_10_date_time": "9:05 am on 2 June, 2024",
            "session_10": [
                {"speaker": "Otto", "dia_id": "D10:1", "text": "My canary sings every morning."},
                {"speaker": "Ines", "dia_id": "D10:2", "text": "", "blip_caption": "a yellow canary in a cage"},
            ],
            "session_2_date_time": "8:30 pm on 14 May, 2024",
            "session_2": [
                {"speaker": "Ines", "dia_id": "D2:1", "text": "I planted basil on the balcony."},
                {"speaker": "Otto", "dia_id": "D2:2", "text": "Nice. I sold the red bicycle yesterday."},
                {"speaker": "Otto", "dia_id": "D2:3", "text": " "},
            ],
            "session_11_date_time": "8:30 pm on 14 July, 2024",
        },
        "qa": [
            {"question": "Which bicycle was sold?", "answer": "The red one", "evidence": ["D2:2"], "category": 4},
            {"question": "Who keeps a canary?", "answer": "Otto", "evidence": ["D10:01; D2:1", "D2:1"], "category": 1},
            {"question": "When was it planted?", "answer": 2024, "evidence": ["D:2:1", "D", "D9:9"], "category": 2},
            {"question": "Which car?", "adversarial_answer": "none", "evidence": ["D2:1"], "category": 5},
            {"question": "Does Otto like birds?", "answer": "Yes", "evidence": [], "category": 3},
        ],
    }


@pytest.fixture
def locomo_file(tmp_path: Path) -> Path:
    path = tmp_path / "talks.json"
    path.write_text(json.dumps([locomo_sample()]), encoding="utf-8")
    return path


@pytest.fixture
def conversation(locomo_file: Path) -> Conversation:
    return load_locomo(locomo_file)[0]


@pytest.fixture
def encoded() -> list[str]:
    """The texts that the embedder behind the cache was given so far."""
    return []


@pytest.fixture
def embedder(encoded: list[str]) -> CachedEmbedder:
    return CachedEmbedder(WordEmbedder(encoded))
