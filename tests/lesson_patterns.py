"""Events that are told as failures, and the patterns that a memory finds of them, by their references."""

from phronesis.experience.laws.records import PATTERN, Pattern
from phronesis.memory import Memory


def ingested(memory: Memory, *events: dict[str, str]) -> dict[str, str]:
    """Take events in and look for patterns; gives the reference of each event by its id."""
    found = memory.ingest([{"label": "failure", **event} for event in events])
    memory.flush()
    memory.aggregate()
    return {event.id: str(event.source_ref) for event, _ in found}


def patterns(memory: Memory, refs: dict[str, str]) -> list[list[str]]:
    """Give the references of the members of each pattern, in order."""
    held = [memory.get(item.id) for item in memory.get_all(kinds=[PATTERN])]
    return sorted(sorted(refs[one] for one, _ in each.members) for each in held if isinstance(each, Pattern))
