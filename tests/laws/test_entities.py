"""Laws of entities: a rollback undoes a merge, and the order of merges and of their names is no matter."""

from hypothesis import given, settings
from hypothesis import strategies as st

from phronesis import Memory

NAMES = ("Ann", "Annie Ray", "Ben", "user")
_MERGES = st.lists(st.lists(st.sampled_from(NAMES), min_size=2, max_size=3, unique=True), min_size=1, max_size=4)


def filled() -> Memory:
    memory = Memory.open("sqlite://", policy={"embedder": "none"})
    for name in NAMES:
        memory.add(f"{name} lives somewhere", kind="fact", subject=name, key="fact", value="x", user_id="lin")
    return memory


def state(memory: Memory) -> list[tuple[str, tuple[str, ...]]]:
    """Give the entities by their names."""
    found = memory.entities.list(user_id="lin")
    return sorted((one.name, tuple(sorted(one.aliases))) for one in found)


def names_of(memory: Memory) -> set[frozenset[str]]:
    return {frozenset((name, *aliases)) for name, aliases in state(memory)}


def merge(memory: Memory, names: list[str]) -> str | None:
    """Merge the entities that have any of these names, where they are two or more; give the entry."""
    with memory._runtime._components.database.transaction("default", "read") as unit:
        rows = unit.connection.exec_driver_sql("SELECT id, name FROM entities WHERE kind = 'name'").all()
    ids = [memory.entities.get(str(id_)).id for wanted in names for id_, name in rows if name == wanted]
    return memory.entities.merge(ids).entry_id if len(set(ids)) > 1 else None


@given(_MERGES)
@settings(max_examples=10)
def test_merges_taken_back_leave_what_was_there(merges: list[list[str]]) -> None:
    with filled() as memory:
        states, entries = [state(memory)], list[str]()
        for names in merges:
            entry = merge(memory, names)
            if entry is not None:
                entries.append(entry)
                states.append(state(memory))
        for entry in reversed(entries):
            assert state(memory) == states.pop()
            memory.rollback(entry)
        assert [state(memory)] == states
        assert memory.admin.rebuild(verify=True).equal


@given(_MERGES)
@settings(max_examples=10)
def test_the_same_names_are_one_in_any_order_of_merges_and_names(merges: list[list[str]]) -> None:
    with filled() as memory, filled() as other:
        for names in merges:
            merge(memory, names)
        for names in reversed(merges):
            merge(other, names[::-1])
        assert names_of(memory) == names_of(other)
