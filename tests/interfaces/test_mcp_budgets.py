"""Every read tool keeps to its budget of tokens with all that it gives, and says how much it left out."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from mcp.types import CallToolResult

from claim_blocks import CHINESE, COPPER, block
from mcp_talk import Talk, said
from phronesis import Memory
from phronesis.interfaces.mcp import Options, make_mcp
from phronesis.interfaces.mcp.result_budget import Line, ResultText, record_within
from phronesis.models.token_counter import load_token_counter

count = load_token_counter("auto").count

BUDGETS = {"search_memories": 1_500, "list_memories": 1_500, "query_experience": 1_500, "compose_context": 4_000}


Full = tuple[Memory, dict[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def full() -> Iterator[Full]:
    """Return a memory with much in it, and a call of each read tool that finds much."""
    with Memory.open("sqlite://", policy={"version": 1, "embedder": "none"}) as memory:
        for n in range(40):
            text = f"In week {n} of the green tea study we measured the 儿茶素 content of sample {n} twice. " * 6
            message = {"role": ("user", "assistant")[n % 2], "content": text}
            memory.add([message], infer=False, user_id="u", session_id=f"s{n % 4}")
        attempt = {"situation": "offline machine", "goal": "install the tea sensor driver", "label": "failure"}
        attempt |= {"result": "connection timed out " * 20, "source_type": "run"}
        for n in range(20):
            own = {"attempt": f"install {n} " + "with a mirror " * 40, "source_ref": f"build.log#L{n}"}
            memory.ingest({**attempt, **own, "payload": {"log": "words " * 300}}, user_id="u")
        item = memory.get_all(user_id="u", kinds=["message"], limit=1)[0]
        for n in range(10):
            memory.update(item.id, content=f"green tea, version {n} " + "and more words " * 100)
        claims = memory.reasoning.add(block(COPPER, CHINESE), user_id="u")
        calls: dict[str, dict[str, Any]] = {
            "search_memories": {"query": "green tea study samples", "limit": 50},
            "compose_context": {"session_id": "s1", "user_message": "What did the green tea study measure?"},
            "query_experience": {"goal": "install the tea sensor driver", "limit": 20},
            **{tool: {"id": item.id} for tool in ("get_memory", "memory_history", "explain_memory")},
            "list_memories": {"limit": 60},
            "get_user_traits": {},
            "mem_search": {"query": "甲酸占比"},
            "mem_get": {"id": claims.id},
        }
        yield memory, calls


def tokens(result: CallToolResult) -> int:
    structured = result.structured_content
    return count(said(result)) + (0 if structured is None else count(json.dumps(structured, ensure_ascii=False)))


@pytest.mark.parametrize("structured", [False, True])
@pytest.mark.parametrize("budget", [90, 600, None])
def test_no_read_tool_gives_more_than_its_budget(full: Full, budget: int | None, structured: bool) -> None:
    memory, calls = full
    before = memory.admin.rebuild(verify=True).live_hash
    with Talk(make_mcp(memory, Options(user_id="u", tools="all", structured=structured))) as talk:
        for tool, arguments in calls.items():
            given = arguments if budget is None else {**arguments, "token_budget": budget}
            result = talk.result(tool, **given)
            if budget is not None and budget < 250 and result.is_error:
                assert "token_budget" in said(result)  # a context needs room for its message
                continue
            assert not result.is_error, said(result)
            assert tokens(result) <= (budget or BUDGETS.get(tool, 3_000)), tool
    assert memory.admin.rebuild(verify=True).live_hash == before, "a reading tool changed something"


def test_what_is_left_out_is_said_and_a_page_goes_on_where_it_ended(full: Full) -> None:
    memory, calls = full
    with Talk(make_mcp(memory, Options(user_id="u", tools="all", structured=False))) as talk:
        found = talk.text("search_memories", **calls["search_memories"], token_budget=600)
        assert "left out" in found
        assert found.count("mem:") >= 2
        seen: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            page = talk.text("list_memories", limit=30, kinds=["message"], token_budget=800, **cursor)
            seen += [line.partition("mem:")[2][:36] for line in page.splitlines() if "mem:" in line]
            _, more, rest = page.rpartition("cursor=")
            if not more:
                break
            cursor = {"cursor": rest.strip()}
    assert len(seen) == len(set(seen)) == len(memory.get_all(user_id="u", kinds=["message"], limit=1_000))


def test_a_context_tells_programs_its_id_and_a_model_its_text_alone(full: Full) -> None:
    memory, calls = full
    with Talk(make_mcp(memory, Options(user_id="u"))) as talk:
        result = talk.result("compose_context", **calls["compose_context"], token_budget=600)
        assert result.structured_content is None
        assert result.meta is not None
        context = result.meta["phronesis/context"]
        assert f"(context_id {context['context_id']}, {context['token_count']} tokens)" in said(result)
        assert tokens(result) > 300  # what was asked for is used
        turn = {"messages": [{"role": "user", "content": "And then?"}]}
        assert talk.text("commit_turn", session_id="s1", turn_events=turn, context_id=context["context_id"])


@pytest.mark.parametrize("structured", [False, True])
def test_a_call_records_the_one_context_that_the_agent_was_shown(full: Full, structured: bool) -> None:
    memory, calls = full
    before = {one.context_id for one in memory.admin.contexts(user_id="u", verb="compose_context")}
    with Talk(make_mcp(memory, Options(user_id="u", structured=structured))) as talk:
        result = talk.result("compose_context", **calls["compose_context"], token_budget=400)
    assert result.meta is not None
    after = {one.context_id for one in memory.admin.contexts(user_id="u", verb="compose_context")}
    assert after - before == {result.meta["phronesis/context"]["context_id"]}


@pytest.mark.parametrize("structured", [False, True])
def test_the_least_budget_that_an_error_names_does(full: Full, structured: bool) -> None:
    memory, calls = full
    with Talk(make_mcp(memory, Options(user_id="u", structured=structured))) as talk:
        asked = {**calls["compose_context"], "user_message": "What did the green tea study measure? " * 20}
        error = talk.refused("compose_context", **asked, token_budget=100)
        assert (error["code"], error["field"]) == ("input.budget", "token_budget")
        least = error["details"]["minimum"]
        assert tokens(talk.result("compose_context", **asked, token_budget=least)) <= least


COUNTS: list[Callable[[str], int]] = [count, lambda text: len(text.encode()) + 1]


@pytest.mark.parametrize("counted", COUNTS)
def test_a_text_is_cut_within_its_words_and_never_in_its_fence(counted: Callable[[str], int]) -> None:
    text = ResultText("Found:", [Line("word 词 " * 500, "<memory-1>\n", "\n</memory-1>"), Line("next")], "tail")
    for budget in range(60, 1_500, 77):
        cut, _ = text.within(budget, counted)
        assert counted(cut) <= budget
        assert cut.count("<memory-1>") == cut.count("</memory-1>")
    whole, shown = text.within(1_000_000, counted)
    assert (whole.endswith("next\ntail"), shown) == (True, 2)


def test_a_record_loses_its_last_members_and_says_how_many() -> None:
    record = {"items": [{"id": str(n), "content": "word " * 20, "data": {"x": 1}} for n in range(50)], "note": None}
    cut = record_within(record, 500, count)
    assert count(json.dumps(cut, ensure_ascii=False)) <= 500
    assert [one["id"] for one in cut["items"]] == [str(n) for n in range(len(cut["items"]))]
    assert cut["left_out"] == 50 - len(cut["items"])
    assert cut["items"][0].keys() == {"id", "content"}
