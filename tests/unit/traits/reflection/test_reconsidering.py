"""What is left of a trait that too much contradicts: both sides, other words, or nothing."""

from phronesis.traits.by_rules import reconsider
from phronesis.traits.laws.records import SeenMemory
from seen_memories import memories, memory, trait

QUIET = (
    "Stayed quiet in the meeting at the office",
    "Said nothing on the call with the client",
    "Quiet again in the retro",
)
LOUD = ("Told stories at the pub with friends", "Talked so much at the party with friends")


def later(*texts: str, **fields: str) -> list[SeenMemory]:
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


def test_two_situations_in_chinese() -> None:
    pro = memories("开会时一句话没说", "公司会议上沉默", "评审会上没吭声")
    found = reconsider(trait("工作中：很安静"), pro, later("和朋友聚会滔滔不绝", "同学聚餐话最多"))
    assert found.action == "split"
    assert found.sides[0].content == "工作中：很安静"  # it says so already
    assert found.sides[1].context == "social"
    assert found.reasoning == "工作中与和朋友在一起时不同"
    other = reconsider(trait("很安静"), pro, later("和朋友聚会滔滔不绝", "同学聚餐话最多"))
    assert other.sides[0].content == "工作中：很安静"


def test_the_opposite_behaviour_takes_its_place() -> None:
    late = memories("Stayed up until 2am", "Up past midnight", "Night owl again")
    found = reconsider(trait("Often stays up late"), late, later("Asleep by ten", "Lights out, in bed by ten"))
    assert (found.action, found.new_content) == ("modify", "Now often goes to bed early")
    same = reconsider(trait("Now often goes to bed early"), late, later("Asleep by ten", "Lights out, in bed by ten"))
    assert same.new_content != "Now often goes to bed early"
    late_zh = memories("熬夜到凌晨", "又熬夜", "半夜还在写")
    assert reconsider(trait("经常熬夜"), late_zh, later("十点就睡", "早睡了")).new_content == "现在经常早睡"


def test_what_is_said_instead_is_taken() -> None:
    tea = memories("Had a coffee", "Coffee again", "Third coffee")
    found = reconsider(trait("Often drinks coffee"), tea, later("Switched to barley water in the mornings"))
    assert found.action == "modify"
    assert "barley water" in found.new_content
    chinese = reconsider(trait("经常喝咖啡"), memories("喝咖啡", "又喝咖啡"), later("现在改喝大麦水"))
    assert (chinese.action, chinese.new_content) == ("modify", "改喝大麦水")


def test_what_has_ended_is_given_up() -> None:
    runs = memories("Went for a run", "Ran 5k before work", "Jogged round the lake")
    found = reconsider(trait("Often goes running"), runs, later("I quit running for good"))
    assert (found.action, found.new_content, list(found.sides)) == ("dissolve", "", [])
    zh = reconsider(trait("经常喝咖啡"), memories("喝咖啡", "又喝咖啡"), later("戒了咖啡"))
    assert (zh.action, zh.reasoning) == ("dissolve", "较新的记忆表明已经不再如此")


def test_what_ended_before_it_went_on_has_not() -> None:
    runs = [memory(50 + 2 * n, text) for n, text in enumerate(("Went for a run", "Ran 5k", "Jogged"))]
    found = reconsider(trait("Often goes running"), runs, memories("I quit running for good"))
    assert (found.action, found.new_content) == ("modify", "Sometimes goes running")


def test_what_speaks_against_it_outweighs() -> None:
    found = reconsider(trait("Often goes running"), memories("Went for a run"), later("I hate running"))
    assert (found.action, found.reasoning) == ("dissolve", "No less speaks against it than for it")
    assert reconsider(trait("经常跑步"), [], []).action == "dissolve"


def test_a_lower_degree_and_then_none() -> None:
    runs = memories("Went for a run", "Ran 5k before work", "Jogged round the lake")
    against = later("I hate running")
    assert reconsider(trait("Often goes running"), runs, against).new_content == "Sometimes goes running"
    assert reconsider(trait("Sometimes goes running"), runs, against).action == "dissolve"
    zh = memories("早上跑步", "晨跑五公里", "夜跑")
    assert reconsider(trait("经常跑步"), zh, later("讨厌跑步")).new_content == "有时跑步"
    assert reconsider(trait("有时跑步"), zh, later("讨厌跑步")).action == "dissolve"
