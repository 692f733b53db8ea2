"""Inputs of the sources ``log``, ``chat``, ``manual`` and ``run`` give the drafts that were expected of them."""

from typing import Final

from phronesis.experience.sources.chat import ChatSource
from phronesis.experience.sources.log import LogSource
from phronesis.experience.sources.manual import ManualSource
from phronesis.experience.sources.port import Source
from phronesis.experience.sources.run import RunSource
from unit.experience.sources.labelled_sources import DATA, faults, inputs, read

SOURCES: Final[dict[str, Source]] = {
    source.source_type: source for source in (LogSource(), ChatSource(), ManualSource(), RunSource())
}
INPUTS: Final = [(name, source) for source in SOURCES for name in inputs(source)]


def test_an_input_gives_the_expected_drafts() -> None:
    for source in SOURCES:
        found = {name: faults(read(SOURCES[source], (DATA / name).read_text(), name), name) for name in inputs(source)}
        assert {name: wrong for name, wrong in found.items() if wrong} == {}, source


def test_every_source_has_inputs() -> None:
    assert {source for _, source in INPUTS} == set(SOURCES)
    assert len(INPUTS) > 50
