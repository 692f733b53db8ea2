"""A question for a key finds what is held under it, whatever its words."""

from datetime import UTC, datetime

from phronesis.memory import Memory

POLICY = {"embedder": "none"}


def found(memory: Memory, question: str, **how: object) -> list[object]:
    return [one.item.value for one in memory.search(question, user_id="dana", **how)]  # type: ignore[arg-type]


def test_what_is_kept_under_a_key_is_found_with_no_word_in_common(database_url: str) -> None:
    with Memory.open(database_url, policy=POLICY) as memory:
        memory.add("My husband Piotr is allergic to shellfish.", user_id="dana")
        memory.add("I moved to Gdansk.", user_id="dana", occurred_at=datetime(2026, 3, 1, tzinfo=UTC))
        memory.add("My favorite color is green.", user_id="dana")
        memory.add("I'm allergic to peanuts.", user_id="dana")
        asked = memory.search("Where do I live?", user_id="dana", explain=True)
        assert not asked.abstained
        assert asked[0].item.value == "Gdansk"
        assert "key" in asked.channels
        assert asked[0].why is not None
        assert asked[0].why["key"] > 0
        assert found(memory, "what can't my husband eat?")[0] == "shellfish"
        assert found(memory, "What am I allergic to?")[0] == "peanuts"
        assert found(memory, "which colour do I like best?")[0] == "green"
        assert found(memory, "Who is my husband?")[0] == "Piotr"
        assert memory.search("What's my phone number?", user_id="dana").channels == ("lexical", "speaker")


def test_what_ended_is_found_as_of_its_time(database_url: str) -> None:
    with Memory.open(database_url, policy=POLICY) as memory:
        memory.add("我住在苏州。", user_id="dana")
        before = memory.get_all(user_id="dana").items[0].recorded_at
        memory.add("我搬到无锡了。", user_id="dana")
        assert found(memory, "我现在在哪个城市生活？")[0] == "无锡"
        assert "苏州" not in found(memory, "我现在在哪个城市生活？", kinds=["profile"])
        assert found(memory, "我现在在哪个城市生活？", as_of=before)[0] == "苏州"
