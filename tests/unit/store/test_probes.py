"""Every remnant of a text that is long enough is found, wherever it begins, and nothing else is."""

import json

from hypothesis import given
from hypothesis import strategies as st

from phronesis.store.erasure_queries import SHINGLE_BYTES, STRIDE_BYTES, Probes

FILLER = bytes(range(256)) * 3
REMNANT = SHINGLE_BYTES + STRIDE_BYTES - 1
TEXT = "The lighthouse keeper's daughter wrote down the names of all the ships that never came back to harbour"
CHINESE = "灯塔看守人的女儿写下了所有再也没有回到港口的船的名字"


def found(text: str, haystack: bytes) -> bool:
    return any(Probes.of([text]).find(haystack))


@given(start=st.integers(0, len(TEXT) - REMNANT), before=st.integers(0, 64), after=st.integers(0, 64))
def test_any_remnant_of_a_text_is_found(start: int, before: int, after: int) -> None:
    remnant = TEXT.encode()[start : start + REMNANT]
    assert found(TEXT, FILLER[:before] + remnant + FILLER[:after])


@given(st.text(min_size=1, max_size=200), st.binary(max_size=40))
def test_a_whole_text_is_found_in_every_form_or_said_to_be_too_short(text: str, around: bytes) -> None:
    probes = Probes.of([text])
    form = text.encode("utf-8", "surrogatepass")
    for stored in (form, json.dumps(text)[1:-1].encode()):
        assert any(probes.find(around + stored + around)) or probes.too_short == 1


def test_a_short_text_is_no_trace() -> None:
    cases: list[str] = ["ok", "Paris", "tomorrow", "王小", ""]
    for text in cases:
        probes = Probes.of([text])
        assert (len(probes), probes.texts, probes.too_short) == (0, 0, 1), text
        assert not list(probes.find(text.encode() * 20)), text


def test_a_name_is() -> None:
    cases: list[str] = ["王小明", "Zanzibar road", TEXT, CHINESE, CHINESE * 50]
    for text in cases:
        probes = Probes.of([text, "ok"])
        assert (probes.texts, probes.too_short) == (1, 1), text
        assert found(text, FILLER + text.encode() + FILLER), text
        assert found(text, json.dumps({"a": text}).encode()), text
        assert not found(text, FILLER * 20), text
        assert not found(
            text, text.encode()[: len(text.encode()) - 1] if len(text.encode()) < SHINGLE_BYTES else b""
        ), text


def test_a_probe_that_may_be_there_is_not_sought_further() -> None:
    probes = Probes.of([TEXT, CHINESE])
    kept = {piece for _, piece in probes.find(CHINESE.encode())}
    rest = probes.without(kept)
    assert (probes.texts, rest.texts) == (2, 1)
    assert not list(rest.find(CHINESE.encode()))
    assert list(rest.find(TEXT.encode()))
