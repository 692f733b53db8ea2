"""The shelf of sources: each is what its type says, and is loaded when it is asked for."""

import subprocess
import sys

import pytest

from phronesis.experience.sources.registry import SOURCES

PACKAGE = "phronesis.experience.sources."
OPENED = "import sys; from phronesis import Memory; Memory.open('sqlite://', policy={'embedder': 'none'})"
LISTED = f"{OPENED}; print(*[one for one in sys.modules if one.startswith({PACKAGE!r})])"


def test_every_source_goes_by_its_type() -> None:
    assert {name: SOURCES[name].source_type for name in SOURCES} == {name: name for name in SOURCES}
    assert len(SOURCES) == 6
    assert "chat" in SOURCES
    assert "email" not in SOURCES
    with pytest.raises(KeyError):
        SOURCES["email"]


def test_opening_a_store_loads_none_of_their_grammars() -> None:
    shown = subprocess.run([sys.executable, "-c", LISTED], capture_output=True, text=True, check=True)
    assert sorted(shown.stdout.split()) == [f"{PACKAGE}port", f"{PACKAGE}registry"]
