"""Names that are one part again when what joined them is taken back, and join again when it comes back."""

from collections.abc import Callable, Iterator
from operator import attrgetter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phronesis import Memory
from phronesis.core.items import Item

POLICY = {"embedder": "none"}


@pytest.fixture
def memory(database_url: str) -> Iterator[Memory]:
    with Memory.open(database_url, policy=POLICY, tenant="acme") as opened:
        yield opened
        verified = opened.admin.rebuild(verify=True)
        assert verified.equal, verified.differences


def joined(memory: Memory, one: str, other: str) -> Item:
    return memory.add(f"{one} is {other}", kind="fact", subject=one, key="alias", value=other).items[0]


def told(memory: Memory, text: str) -> Item:
    """Say a sentence of a brother; return where they live or work."""
    added = memory.add([{"role": "user", "content": text}]).items
    (item,) = [item for item in added if item.key in {"home_city", "employer"}]
    return item


def families(memory: Memory) -> set[frozenset[str]]:
    """Give the names that are one, of those that have another."""
    with memory._runtime._components.database.transaction(memory.admin.tenant, "read") as unit:
        rows = unit.connection.exec_driver_sql(
            "SELECT id, canonical_id, normal FROM entities WHERE kind = 'name'"
        ).all()
    grouped: dict[str, set[str]] = {}
    for id_, canonical, normal in rows:
        grouped.setdefault(str(canonical or id_), set()).add(normal)
    return {frozenset(family) for family in grouped.values() if len(family) > 1}


def test_a_wrong_alias_taken_back_parts_the_names(memory: Memory) -> None:
    wrong = joined(memory, "Robert", "Bob")
    assert families(memory) == {frozenset({"robert", "bob"})}
    memory.rollback(wrong.entry_id)
    assert families(memory) == set()


def test_what_was_said_under_the_other_name_goes_back_to_it(memory: Memory) -> None:
    first = told(memory, "My brother Bob lives in Paris.")
    wrong = joined(memory, "Bob", "Robert")
    said = told(memory, "My brother Robert lives in Lyon.")
    assert (first.subject, said.subject) == ("Bob", "Bob")
    undone = memory.rollback(wrong.entry_id)
    assert (memory.get(first.id).subject, memory.get(said.id).subject) == ("Bob", "Robert")
    now = told(memory, "My brother Robert works at Siemens.")
    assert now.subject == "Robert"
    memory.rollback(undone.entry_id)
    assert {memory.get(item.id).subject for item in (first, said)} == {"Bob"}
    assert families(memory) == {frozenset({"robert", "bob"})}


NAMES = ("Ann", "Ben", "Cy", "Di", "user")
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)),
        st.tuples(st.sampled_from(["items.archive", "items.unarchive", "items.retract"]), st.integers(0, 9)),
    ),
    max_size=12,
)


def _do(memory: Memory, made: list[Item], step: tuple[str, str] | tuple[str, int]) -> None:
    verb, which = step
    if isinstance(which, str):
        made.append(joined(memory, verb, which))
    elif made:
        act: Callable[[str], object] = attrgetter(verb)(memory)
        act(made[which % len(made)].id)


@pytest.mark.slow
@given(_STEPS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_families_are_those_of_the_statements_that_stand(steps: list[tuple[str, str] | tuple[str, int]]) -> None:
    with Memory.open("sqlite://", policy=POLICY) as memory:
        made: list[Item] = []
        for step in steps:
            _do(memory, made, step)
        groups = {name: {name} for name in map(str.casefold, NAMES)}
        for item in (memory.get(item.id) for item in made):
            if item.status == "active" and item.ended in {None, "superseded"}:
                merged = groups[str(item.subject).casefold()] | groups[str(item.value).casefold()]
                groups.update(dict.fromkeys(merged, merged))
        assert families(memory) == {frozenset(group) for group in groups.values() if len(group) > 1}
        assert memory.admin.rebuild(verify=True).equal
