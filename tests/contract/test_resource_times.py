"""Documents by since when they hold, and how they are described: what came last is not always what holds."""

from collections.abc import Iterator
from itertools import permutations

import pytest

from minute_clock import Clock
from phronesis import Memory

URI = "doc:1"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(database_url: str, clock: Clock) -> Iterator[Memory]:
    with Memory.open(database_url, policy={"embedder": "none"}, clock=clock) as opened:
        yield opened


def doc(**said: str) -> str:
    return "\n\n".join(f"# {heading}\n\n{words}" for heading, words in said.items())


def held(memory: Memory, **read: str) -> set[str]:
    return {one.content for one in memory.get_all(kinds=["section"], **read)}  # type: ignore[arg-type]


def spans(memory: Memory) -> dict[str, tuple[str, str, str | None]]:
    found = memory.get_all(
        kinds=["section"],
        filters={"OR": [{"ended": one} for one in ("superseded", "retired")] + [{"status": "active"}]},
    )
    return {one.content: (str(one.valid_from)[:10], str(one.valid_to)[:10], one.ended) for one in found}


def test_an_older_version_enters_as_history(memory: Memory) -> None:
    new = memory.resources.ingest(doc(A="alpha new", B="beta"), uri=URI, occurred_at="2024-01-01")
    assert new.document is not None
    old = memory.resources.ingest(doc(A="alpha old", B="beta", C="gone since"), uri=URI, occurred_at="2020-01-01")
    assert held(memory) == {"alpha new", "beta"}
    assert spans(memory) == {
        "alpha new": ("2024-01-01", "None", None),
        "beta": ("2020-01-01", "None", None),
        "alpha old": ("2020-01-01", "2024-01-01", "superseded"),
        "gone since": ("2020-01-01", "2024-01-01", "retired"),
    }
    assert held(memory, valid_at="2021-06-01") == {"alpha old", "beta", "gone since"}
    assert held(memory, valid_at="2024-06-01") == {"alpha new", "beta"}
    found = memory.search("which alpha is it?", kinds=["section"], valid_at="2021-06-01")
    assert found[0].item.content == "alpha old"
    assert "alpha old" not in {one.item.content for one in memory.search("which alpha is it?", kinds=["section"])}
    assert [one.content for one in old.sections] == ["alpha old", "gone since"]
    assert (old.number, old.unchanged, old.superseded) == (1, 2, ())
    shown = memory.resources.get(new.document.id)
    assert [one.number for one in shown.versions] == [1, 2]
    assert [one.content for one in shown.sections] == ["alpha new", "beta"]
    assert shown.document.data["number"] == 1
    assert str(shown.document.valid_from)[:10] == "2020-01-01"
    assert memory.admin.rebuild(verify=True).equal


def test_the_order_of_coming_decides_nothing(memory: Memory) -> None:
    versions = {"2020": {"A": "a1", "B": "b1"}, "2021": {"A": "a2", "B": "b1"}, "2023": {"A": "a3", "C": "c1"}}
    for n, order in enumerate(permutations(versions)):
        for year in order:
            memory.resources.ingest(doc(**versions[year]), uri=URI, occurred_at=f"{year}-01-01", user_id=str(n))
        for year, said in versions.items():
            assert held(memory, valid_at=f"{year}-06-01", user_id=str(n)) == set(said.values()), (order, year)
        assert held(memory, user_id=str(n)) == {"a3", "c1"}
    assert memory.admin.rebuild(verify=True).equal


def test_an_older_one_that_says_the_same_moves_its_beginning(memory: Memory) -> None:
    first = memory.resources.ingest(doc(A="one"), uri=URI, occurred_at="2022-01-01", type="manual")
    again = memory.resources.ingest(
        doc(A="one"), uri=URI, occurred_at="2020-01-01", type="spec", metadata={"lang": "en"}
    )
    assert (again.number, again.sections, again.unchanged) == (1, (), 1)
    assert first.document is not None
    assert len(memory.resources.get(first.document.id).versions) == 1
    assert spans(memory) == {"one": ("2020-01-01", "None", None)}
    section = memory.get(first.sections[0].id)
    assert (section.source_type, section.metadata) == ("spec", {"lang": "en"})
    assert memory.admin.rebuild(verify=True).equal


def test_another_description_reaches_document_and_sections(memory: Memory) -> None:
    first = memory.resources.ingest(doc(A="alpha", B="beta"), uri=URI, metadata={"lang": "en"}, type="manual")
    assert first.document is not None
    again = memory.resources.ingest(doc(A="alpha", B="beta"), uri=URI, metadata={"lang": "de"}, type="spec")
    assert (again.number, again.sections, again.unchanged) == (1, (), 2)
    ids = [first.document.id, *(one.id for one in first.sections)]
    assert [(memory.get(one).source_type, memory.get(one).metadata) for one in ids] == [("spec", {"lang": "de"})] * 3
    assert memory.get(first.document.id).data["type"] == "spec"
    changed = memory.resources.ingest(doc(A="alpha", B="other"), uri=URI, metadata={"lang": "fr"}, type="note")
    ids = [first.document.id, first.sections[0].id, changed.sections[0].id]
    assert [(memory.get(one).source_type, memory.get(one).metadata) for one in ids] == [("note", {"lang": "fr"})] * 3
    found = memory.get_all(kinds=["section"], filters={"source_type": "note"})
    assert {one.content for one in found} == {"alpha", "other"}
    assert memory.admin.rebuild(verify=True).equal
