"""The shelf of sources: each is what its type says, and is loaded when it is asked for."""

import pytest

from phronesis.experience.sources.port import SOURCES


def test_every_source_goes_by_its_type() -> None:
    assert {name: SOURCES[name].source_type for name in SOURCES} == {name: name for name in SOURCES}
    assert len(SOURCES) == 6
    assert "chat" in SOURCES
    assert "email" not in SOURCES
    with pytest.raises(KeyError):
        SOURCES["email"]
