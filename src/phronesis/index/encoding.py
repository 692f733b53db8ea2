"""Encoding a batch of documents, so that a text which the encoder refuses costs its own vector and no other."""

import logging
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from phronesis.errors import ModelError
from phronesis.index.projections import compared
from phronesis.models.embedder import Embedder, Floats, may_be_the_text
from phronesis.storage.documents import Unembedded

SHORTER: Final = (4_000, 2_000, 1_000, 500, 250)
"""Characters of a refused text that are tried, one after another. Models that read least take 512 tokens: some 250
characters in the scripts that need a token or two for each. What is refused even then is not refused for its length."""

PROBE: Final = "text"
"""What any encoder takes: where it is refused as well, the fault is the server's, and every text's."""

logger = logging.getLogger(__name__)

_Encode = Callable[[Sequence[str]], Floats]


def encoded(embedder: Embedder, todo: Sequence[Unembedded]) -> Floats:
    """Encode each as it is used: what is compared with others of its kind as a question, the rest as a document.

    A text that is refused, where others are not, is encoded by its beginning; where no beginning is taken, it gets the
    zeros of a text without content, and is found by its words alone. ModelError: no text is taken just now.
    """
    out = np.zeros((len(todo), embedder.dimension), np.float32)
    questions = [n for n, one in enumerate(todo) if compared(one.part)]
    passages = [n for n, one in enumerate(todo) if not compared(one.part)]
    for n in questions:
        out[n] = _taken(embedder, lambda texts: embedder.embed_query(texts[0])[None], [todo[n].text])[0]
    if passages:
        out[passages] = _taken(embedder, embedder.embed_documents, [todo[n].text for n in passages])
    return out


def _taken(embedder: Embedder, encode: _Encode, texts: Sequence[str]) -> Floats:
    try:
        return encode(texts)
    except ModelError as error:
        _check_taken(embedder, error)
    return _parted(embedder, encode, texts)


def _check_taken(embedder: Embedder, error: ModelError) -> None:
    """Raise ``error`` unless it is of the text: the encoder takes another one just now."""
    if not may_be_the_text(error):
        raise error
    try:
        embedder.embed_documents([PROBE])
    except ModelError:
        raise error from None


def _parted(embedder: Embedder, encode: _Encode, texts: Sequence[str]) -> Floats:
    """Encode texts of which one at least was refused: in halves, down to that one."""
    if len(texts) == 1:
        return _shortened(embedder, encode, texts[0])
    out = []
    for half in (texts[: len(texts) // 2], texts[len(texts) // 2 :]):
        try:
            out.append(encode(half))
        except ModelError as error:
            if not may_be_the_text(error):
                raise
            out.append(_parted(embedder, encode, half))
    return np.concatenate(out)


def _shortened(embedder: Embedder, encode: _Encode, text: str) -> Floats:
    """Encode the longest beginning of a refused text that is taken; zeros where none is."""
    for length in SHORTER:
        if length < len(text):
            try:
                return encode([text[:length]])
            except ModelError as error:
                _check_taken(embedder, error)
    logger.warning(
        "encoder %s takes nothing of a text of %d characters; it is found by its words alone", embedder.name, len(text)
    )
    return np.zeros((1, embedder.dimension), np.float32)
