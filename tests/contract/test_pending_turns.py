"""What was said a moment ago stands in the recent turns, whether or not it was interpreted."""

from phronesis import Memory


def say(memory: Memory, role: str, text: str, *, session: str = "s", wait: bool = False, **fields: str) -> str:
    turn = {"messages": [{"role": role, "content": text, **fields}]}
    return memory.commit_turn(session, turn, user_id="lin", wait=wait).entry_id


def shown(memory: Memory, session: str = "s") -> list[tuple[str, str, bool]]:
    package = memory.compose_context(session, "And now?", user_id="lin")
    return [(block.role, block.text, block.fenced) for block in package.recent_turns]


def test_what_is_not_interpreted_yet_is_shown_once(memory: Memory) -> None:
    say(memory, "user", "The first thing.", wait=True, id="1")
    say(memory, "user", "我的航班改到周五了。")
    say(memory, "tool", "Flight LX 38")
    say(memory, "user", "Another matter.", session="other")
    say(memory, "user", "The first thing.", id="1")
    memory.add("Said by add.", user_id="lin", session_id="s", wait=False)
    expected = [
        ("user", "The first thing.", False),
        ("user", "我的航班改到周五了。", False),
        ("tool", "Flight LX 38", True),
        ("user", "Said by add.", False),
    ]
    assert shown(memory) == expected
    assert shown(memory, "other") == [("user", "Another matter.", False)]
    memory.flush()
    assert [text for _, text, _ in shown(memory)].count("我的航班改到周五了。") == 1
    assert set(shown(memory)) == set(expected)
