"""What is left of a trait that too much contradicts: both sides, other words, or nothing."""

from phronesis.traits.laws.records import MemoryInput
from phronesis.traits.rule_reflection import reconsider
from seen_memories import memories, memory, trait

QUIET = (
    "Stayed quiet in the meeting at the office",
    "Said nothing on the call with the client",
    "Quiet again in the retro",
)
LOUD = ("Told stories at the pub with friends", "Talked so much at the party with friends")


def later(*texts: str, **fields: str) -> list[MemoryInput]:
    """Give memories after all others."""
    return [memory(40 + 2 * n, text, **fields) for n, text in enumerate(texts)]


def test_two_situations_are_two_sides() -> None:
    found = reconsider(trait("Often avoids conflict"), memories(*QUIET), later(*LOUD))
    assert found.action == "split"
    here, there = found.sides
    assert (here.content, here.context) == ("Often avoids conflict at work", "work")
    assert there.context == "social"
    assert there.content.startswith("Often is talkative")
    assert list(there.evidence_ids) == ["m040", "m042"]
    assert found.reasoning == "It differs at work and with friends"


def test_the_opposite_behaviour_takes_its_place() -> None:
    late = memories("Stayed up until 2am", "Up past midnight", "Night owl again")
    found = reconsider(trait("Often stays up late"), late, later("Asleep by ten", "Lights out, in bed by ten"))
    assert (found.action, found.new_content) == ("modify", "Now often goes to bed early")
    same = reconsider(trait("Now often goes to bed early"), late, later("Asleep by ten", "Lights out, in bed by ten"))
    assert same.new_content != "Now often goes to bed early"
    late_zh = memories("熬夜到凌晨", "又熬夜", "半夜还在写")
    assert reconsider(trait("经常熬夜"), late_zh, later("十点就睡", "早睡了")).new_content == "现在经常早睡"


def test_what_speaks_against_it_outweighs() -> None:
    found = reconsider(trait("Often goes running"), memories("Went for a run"), later("I hate running"))
    assert (found.action, found.reasoning) == ("dissolve", "No less speaks against it than for it")
    assert reconsider(trait("经常跑步"), [], []).action == "dissolve"
