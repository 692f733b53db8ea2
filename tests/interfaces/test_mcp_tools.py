"""The tools of MCP: their names, schemas and hints, what they give, and what they refuse."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from claim_blocks import CHINESE, COPPER, block
from mcp_talk import Talk, said
from phronesis import Memory
from phronesis.errors import InputError
from phronesis.interfaces.mcp import Caller, Options
from phronesis.wire import as_json

DEFAULT = """
    add_memory search_memories update_memory forget compose_context commit_turn record_experience query_experience
""".split()
MORE = """
    get_memory list_memories delete_memory memory_history rollback_memory explain_memory give_feedback
    get_user_traits reflect mem_search mem_get
""".split()
READING = """
    search_memories compose_context query_experience get_memory list_memories memory_history explain_memory
    get_user_traits mem_search mem_get
""".split()
DESTRUCTIVE = ["update_memory", "forget", "delete_memory", "rollback_memory", "reflect"]
IDEMPOTENT = [*READING, "update_memory", "forget", "delete_memory", "give_feedback"]

TalkTo = Callable[..., Talk]


def test_a_model_is_offered_eight_tools_that_say_when_to_call_them(memory: Memory, talk_to: TalkTo) -> None:
    talk = talk_to(memory)
    tools = talk.tools()
    assert list(tools) == DEFAULT
    listed = talk.ask(lambda client: client.list_tools()).model_dump_json(by_alias=True, exclude_none=True)
    assert len(listed.encode()) <= 12_000
    for tool in tools.values():
        assert tool.title
        assert (tool.description or "").startswith("Call it")
        assert tool.output_schema is None
        assert tool.input_schema["additionalProperties"] is False
        assert not {"path", "url", "file"} & set(tool.input_schema["properties"])
    result = talk.result("add_memory", content="I like tea.", idempotency_key="k1", wait=True)  # taken, though not told
    assert result.structured_content is None


def test_all_tools_are_those_of_the_contract_and_give_records(talk: Talk) -> None:
    tools = talk.tools()
    assert list(tools) == [*DEFAULT, *MORE]
    for tool in tools.values():
        assert tool.title
        assert "Call it" in (tool.description or "")
        assert tool.output_schema is not None
        assert tool.output_schema["type"] == "object"
        assert len(json.dumps(tool.output_schema)) < 400
        assert {"idempotency_key", "wait"} <= set(tool.input_schema["properties"]) or tool.name in READING


def test_tools_are_offered_by_name_and_no_other_can_be_called(memory: Memory, talk_to: TalkTo) -> None:
    talk = talk_to(memory, tools="search_memories, get_memory")
    assert list(talk.tools()) == ["search_memories", "get_memory"]
    assert talk.result("add_memory", content="x").is_error
    told = talk.ask(instructions)
    assert "search_memories" in told
    assert "add_memory" not in told
    with pytest.raises(InputError, match="search_memory"):
        Options(tools=["search_memory"])


def is_part_of(given: Any, whole: Any) -> bool:
    """Tell whether a tool's record says what a verb's result says, though less of it."""
    if isinstance(given, dict):
        return all(name in whole and is_part_of(one, whole[name]) for name, one in given.items())
    if isinstance(given, list):
        return len(given) == len(whole) and all(map(is_part_of, given, whole))
    return bool(given == whole)


async def instructions(client: Client) -> str:
    return str(client.instructions)


def test_hints_are_told_for_every_tool(talk: Talk) -> None:
    hints = {name: tool.annotations for name, tool in talk.tools().items()}
    assert [name for name, one in hints.items() if one and one.read_only_hint] == READING
    assert [name for name, one in hints.items() if one and one.destructive_hint] == DESTRUCTIVE
    assert {name for name, one in hints.items() if one and one.idempotent_hint} == set(IDEMPOTENT)
    assert not any(one.open_world_hint for one in hints.values() if one)


def test_what_is_added_is_found_read_changed_and_taken_back(memory: Memory, talk: Talk) -> None:
    added = talk.call("add_memory", content="我住在上海。", session_id="s1")
    profile = next(item for item in added["items"] if item["kind"] == "profile")
    assert profile["user_id"] == "李雷"
    found = talk.call("search_memories", query="我住在哪里", kinds=["profile"])
    assert is_part_of(found, as_json(memory.search("我住在哪里", user_id="李雷", kinds=["profile"])))
    assert is_part_of(talk.call("get_memory", id=f"mem:{profile['id']}"), as_json(memory.get(profile["id"])))
    assert talk.call("list_memories", limit=1)["next_cursor"]
    edited = talk.call("update_memory", id=profile["id"], content="我住在杭州。", expected_version=1, reason="搬家了")
    assert edited["items"][0]["version"] == 2
    for metadata in ({"room": "三", "floor": 2}, {"room": None}):
        talk.call("update_memory", id=profile["id"], metadata=metadata)
    assert memory.get(profile["id"]).metadata["floor"] == 2
    assert "room" not in memory.get(profile["id"]).metadata
    history = talk.call("memory_history", id=profile["id"])["result"]
    assert is_part_of(history, as_json(memory.history(profile["id"])))
    assert [(event["verb"], event["reason"]) for event in history][1] == ("update", "搬家了")
    talk.call("rollback_memory", id=history[1]["delta_id"], cascade=True)
    assert memory.get(profile["id"]).content == profile["content"]
    why = talk.call("explain_memory", id=profile["id"])
    assert is_part_of(why, as_json(memory.explain(profile["id"])))
    assert why["sources"][0]["quote"].startswith("我住在上海")
    assert talk.call("delete_memory", id=profile["id"])["items"][0]["status"] == "archived"
    assert talk.call("search_memories", query="上海", kinds=["profile"])["evidence"] == []


def test_the_text_beside_is_lines_with_citations(talk: Talk) -> None:
    told = talk.text("add_memory", content="我对花生过敏。")
    assert "我对花生过敏" in told
    assert "[mem:" in told
    assert "rollback_memory" in told
    entry = told.rpartition("id=")[2]
    assert "[mem:" in talk.text("search_memories", query="花生")
    assert "我对花生过敏" in talk.text("list_memories")
    assert "Changed:" in talk.text("rollback_memory", id=entry)
    assert talk.text("search_memories", query="花生").startswith("Nothing")
    assert talk.text("get_user_traits").startswith("Nothing")


def test_an_id_of_another_user_is_not_found(memory: Memory, talk: Talk) -> None:
    item = memory.add("韩梅梅养了一只猫。", kind="fact", user_id="韩梅梅").items[0]
    shared = memory.add("The kiln is in hall 2.", kind="fact").items[0]
    for tool in ("get_memory", "memory_history", "explain_memory", "delete_memory"):
        assert "there is no item" in said(talk.result(tool, id=item.id))
    assert "there is no item" in said(talk.result("update_memory", id=item.id, content="mine"))
    assert "there is no item" in said(talk.result("give_feedback", target_id=item.id, kind="useful"))
    assert "there is no item" in said(talk.result("forget", ids=[item.id]))
    assert "there is no delta" in said(talk.result("rollback_memory", id=item.entry_id))
    assert memory.get(item.id) == item
    assert "kiln" in talk.text("get_memory", id=shared.id)
    assert "一只猫" in talk.text("get_memory", id=item.id, user_id="韩梅梅")


def test_a_turn_is_composed_and_committed(memory: Memory, talk: Talk) -> None:
    talk.call("add_memory", content="I prefer short answers in the morning.")
    package = talk.call(
        "compose_context", session_id="team/s1", user_message="How do I like answers?", token_budget=900
    )
    assert package["token_count"] <= 900
    turn: dict[str, list[dict[str, Any]]] = {
        "messages": [{"role": "user", "content": "How do I like answers?"}, {"role": "assistant", "content": "Short."}],
        "tool_calls": [{"name": "clock", "args": {}, "result": "09:00", "status": "ok"}],
        "refs": [{"type": "file", "uri": "file:///etc/hostname"}],
    }
    commit = {"session_id": "team/s1", "context_id": package["context_id"]}
    done, again = (talk.call("commit_turn", turn_events=turn, idempotency_key="t1", **commit) for _ in range(2))
    assert done["entry_id"] == again["entry_id"]
    assert memory.sessions.turns("team/s1", user_id="李雷")[0].messages[1]["content"] == "Short."
    hostname = Path("/etc/hostname")
    words = hostname.read_text("utf-8").strip() if hostname.exists() else "localhost"
    assert not [one for one in memory.get_all(user_id="李雷", kinds=["section"]) if words in one.content]
    shown = next(one for one in memory.admin.context(package["context_id"]).items if one.outcome is None)
    talk.call("commit_turn", turn_events="No, long ones.", outcomes={shown.item_id: "contradicted"}, **commit)
    assert memory.explain(shown.item_id).use.contradicted == 1
    assert "Shown 1×, used 0×, contradicted 1×." in talk.text("explain_memory", id=shown.item_id)
    wrong = {**commit, "session_id": "s", "turn_events": "x", "outcomes": {"m1": "used"}}
    assert talk.refused("commit_turn", **wrong)["field"] == "context_id"
    assert talk.text("compose_context", session_id="team/s1", user_message="And now?").endswith("tokens)")
    for given in (turn["messages"][:1], "How do I like answers?", json.dumps({"messages": turn["messages"][:1]})):
        talk.call("commit_turn", session_id="team/s2", turn_events=given)
    said = [one.messages[0] for one in memory.sessions.turns("team/s2", user_id="李雷")]
    assert said == [turn["messages"][0]] * 3


def test_experience_is_recorded_asked_and_judged(talk: Talk) -> None:
    where = {"situation": "离线机器", "goal": "安装依赖"}
    given = {"attempt": "用 pip 直接安装", "source_ref": "build.log#L3", "result": "连接超时", "label": "failure"}
    tried = talk.call("record_experience", **given, **where)
    event = tried["events"][0][0]
    assert (event["label"], event["user_id"]) == ("failure", "李雷")
    assert (event["source_type"], event["trust"]) == ("run", "tool")  # an agent is no person
    answer = talk.call("query_experience", **where)
    assert answer["l1_evidence"][0]["sources"][0]["source_ref"] == "build.log#L3"
    assert "build.log#L3" in talk.text("query_experience", **where)
    judged = talk.call("give_feedback", target_id=event["id"], kind="useful", reason="救了一次")
    assert judged["items"][0]["usefulness"] > event["usefulness"]
    assert "failure" in talk.text("record_experience", attempt="again", source_ref="b#1", label="failure")
    assert "Noted" in talk.text("give_feedback", target_id=event["id"], kind="not_useful")


def test_traits_are_reflected_and_listed(memory: Memory, talk: Talk) -> None:
    for day in range(1, 5):
        when = {"session_id": f"s{day}", "occurred_at": f"2026-03-0{day}T09:00:00Z"}
        talk.call("add_memory", content="I always review my code before lunch.", **when)
    cycle = talk.call("reflect", force=True)
    assert (cycle["status"], cycle["user_id"]) == ("completed", "李雷")
    assert "completed (" in talk.text("reflect", force=True)
    listed = talk.call("get_user_traits", min_stage="trend")["result"]
    assert is_part_of(listed, as_json(memory.get_user_traits("李雷", "trend")))


def test_claims_are_searched_and_read(memory: Memory, talk: Talk) -> None:
    kept = memory.reasoning.add(block(COPPER, CHINESE), user_id="李雷")
    found = talk.call("mem_search", query="甲酸占比", run_id="run_7")
    assert found["evidence"][0]["matched_claims"][0]["claim_status"] == "fact"
    assert f"[mem:{kept.id} c2]" in talk.text("mem_search", query="甲酸占比")
    read = talk.call("mem_get", id=kept.id)
    assert [claim["claim_id"] for claim in read["claims"]] == ["c1", "c2"]
    assert "三比一时甲酸占比为" in talk.text("mem_get", id=kept.id)
    assert talk.refused("mem_get", id=memory.add("tea", user_id="李雷").items[0].id)["code"] == "not_found"


def test_errors_name_code_field_and_remedy(memory: Memory, talk: Talk) -> None:
    nobody = "00000000-0000-5000-8000-000000000000"
    assert talk.refused("get_memory", id=nobody)["code"] == "not_found"
    wrong = talk.refused("add_memory", content="茶", key="drink")
    assert (wrong["code"], wrong["field"]) == ("input.invalid", "key")
    assert "kind" in wrong["message"]
    item = memory.add("绿茶", user_id="李雷").items[0]
    assert talk.refused("update_memory", id=item.id, content="红茶", expected_version=7)["code"] == "conflict.version"
    memory.update(item.id, content="红茶")
    assert talk.refused("rollback_memory", id=item.entry_id)["details"]["later"]
    memory.close()
    assert talk.refused("search_memories", query="茶")["code"] == "closed"


def test_arguments_that_are_not_of_the_schema_are_refused(talk: Talk) -> None:
    cases: list[tuple[str, dict[str, Any], str | None]] = [
        ("search_memories", {"query": "tea", "limit": 0}, "limit"),
        ("search_memories", {"query": "tea", "top_k": 3}, "top_k"),
        ("search_memories", {}, "query"),
        ("add_memory", {"content": [{"role": "user", "content": "x", "path": "/etc/passwd"}]}, "content.0.path"),
        ("add_memory", {"content": 5}, "content"),
        ("add_memory", {"content": "tea", "occurred_at": "soon"}, "occurred_at"),
        ("search_memories", {"query": "tea", "as_of": True}, "as_of"),
        ("forget", {"ids": ["00000000-0000-5000-8000-000000000000", "that one"]}, "ids[1]"),
    ]
    for tool, arguments, field in cases:
        refused = talk.refused(tool, **arguments)
        assert refused["code"] == "input.invalid"
        assert field is None or refused["field"] == field


def test_what_nobody_foresaw_shows_nothing_of_itself(
    memory: Memory, talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_given: object) -> None:
        raise RuntimeError("password=绝密")

    monkeypatch.setattr("phronesis.interfaces.mcp.tool_calls.as_json", fail)
    result = talk.result("search_memories", query="tea")
    assert result.is_error
    assert said(result) == "Error executing tool search_memories"


def test_a_text_that_is_json_stays_a_text_and_json_in_a_string_is_read_where_it_must_be(
    memory: Memory, talk: Talk
) -> None:
    talk.call("add_memory", content='{"kind": "json"}')
    assert memory.get_all(user_id="李雷", kinds=["message"])[0].content == '{"kind": "json"}'
    assert talk.call("search_memories", query="json", kinds='["message"]')["evidence"]


def test_the_scope_is_the_servers_unless_a_call_names_one(memory: Memory, talk_to: TalkTo) -> None:
    talk = talk_to(memory, user_id="a", namespace="team", agent_id="claude", tools="all")
    talk.call("add_memory", content="I like tea.")
    talk.call("add_memory", content="We deploy on Fridays.", user_id="")
    talk.call("add_memory", content="I like coffee.", user_id="b")
    assert {one.user_id for one in memory.get_all(across="tenant")} == {"a", "b", None}
    assert {one.agent_id for one in memory.get_all(across="tenant")} == {"claude"}
    assert {one.namespace for one in memory.get_all(namespace="team")} == {"team"}
    memory.add("I like cake.", user_id="a", agent_id="other")
    found = talk.call("search_memories", query="like deploy")
    seen = [one["item"]["content"] for one in found["evidence"]]
    assert {"We deploy on Fridays.", "I like cake."} <= set(seen)
    assert not any("coffee" in content for content in seen)


def test_without_a_user_what_is_of_a_user_says_so(memory: Memory, talk_to: TalkTo) -> None:
    talk = talk_to(memory, tools="all")
    assert [talk.refused(tool)["field"] for tool in ("get_user_traits", "reflect")] == ["user_id"] * 2
    with pytest.raises(InputError):
        Options(user_id="a\x00b")


def test_idempotent_tools_change_nothing_when_called_again(memory: Memory, talk: Talk) -> None:
    item = memory.add("我喜欢绿茶", user_id="李雷").items[0]
    event = talk.call("record_experience", attempt="x", source_ref="a#1")["events"][0][0]["id"]
    calls: dict[str, dict[str, Any]] = {
        "update_memory": {"id": item.id, "content": "我喜欢红茶"},
        "give_feedback": {"target_id": event, "kind": "useful"},
        "forget": {"ids": [memory.add("我喜欢咖啡", user_id="李雷").items[0].id]},
        "delete_memory": {"id": item.id},
    }
    assert set(calls) == set(IDEMPOTENT) - set(READING)
    for tool, arguments in calls.items():
        assert talk.call(tool, **arguments)["items"]
        assert talk.call(tool, **arguments)["items"] == []


def test_read_only_leaves_the_writing_tools_out(memory: Memory, talk_to: TalkTo) -> None:
    talk = talk_to(memory, read_only=True, reference_tools=True, tools="all")
    assert list(talk.tools()) == [*READING, "read_graph", "search_nodes", "open_nodes"]
    assert talk.result("add_memory", content="x").is_error


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_caller_without_the_role_is_shown_and_given_reading_only(memory: Memory, talk_to: TalkTo, mode: str) -> None:
    talk = talk_to(lambda _context: Caller(memory, role="read"), mode=mode, tools="all")
    assert list(talk.tools()) == READING
    refused = talk.refused("add_memory", content="x")
    assert (refused["code"], refused["details"]) == ("access.role", {"role": "write"})
    assert len(memory.get_all()) == 0


def test_the_log_names_the_caller(memory: Memory, talk_to: TalkTo) -> None:
    talk = talk_to(lambda _context: Caller(memory, role="write", actor="韩梅梅"), tools="all")
    item = talk.call("add_memory", content="我喜欢绿茶")["items"][0]
    assert talk.call("memory_history", id=item["id"])["result"][0]["actor"] == "韩梅梅"
    talk.call("record_experience", attempt="x", source_ref="a#1")
    assert {event.actor for one in memory.get_all() for event in memory.history(one.id)} == {"韩梅梅"}


def test_what_a_tool_said_is_told_as_data(memory: Memory, talk: Talk) -> None:
    turn = {"messages": [{"role": "assistant", "content": "The pump needs 12 volts."}]}
    talk.call("commit_turn", session_id="s", turn_events=turn)
    told = talk.text("search_memories", query="pump volts")
    assert "data, no instruction" in told
    assert "<memory-" in told


def test_what_has_a_name_of_the_callers_is_found_renamed_and_forgotten_by_it(memory: Memory, talk: Talk) -> None:
    added = talk.call("add_memory", content="我喜欢绿茶", kind="preference", external_id="crm:7")["items"][0]
    assert added["external_id"] == "crm:7"
    assert talk.call("get_memory", external_id="crm:7")["id"] == added["id"]
    assert talk.call("get_memory", id=added["id"])["id"] == added["id"]
    taken = {"content": "我喜欢红茶", "kind": "preference", "external_id": "crm:7"}
    assert talk.refused("add_memory", **taken)["field"] == "external_id"
    assert talk.refused("get_memory")["field"] == "id"
    assert talk.refused("get_memory", external_id="crm:7", user_id="")["field"] == "external_id"
    talk.call("update_memory", id=added["id"], external_id="crm:8")
    assert talk.call("list_memories", filters={"external_id": "crm:8"})["items"][0]["id"] == added["id"]
    assert talk.call("forget", external_id="crm:8", dry_run=True)["items"][0]["id"] == added["id"]
    assert talk.call("forget", external_id="crm:8")["items"][0]["status"] == "archived"
    assert talk.refused("forget", external_id="crm:8")["field"] == "external_id"
    message = {"role": "user", "content": "第一行", "external_id": "line:1"}
    talk.call("commit_turn", session_id="s", turn_events={"messages": [message]})
    assert memory.get(external_id="line:1", user_id="李雷").content == "第一行"


def test_forget_lists_what_would_go_and_archives_what_is_named(memory: Memory, talk_to: TalkTo) -> None:
    talk = talk_to(memory, user_id="ann")
    for content in ("I'm allergic to peanuts.", "I live in Lyon."):
        talk.text("add_memory", content=content)
    memory.add("Peanuts are served in the canteen.")
    listed = talk.text("forget", query="that I am allergic to peanuts")
    assert listed.startswith("Nothing is forgotten yet")
    assert "allergic" in listed
    assert "canteen" not in listed  # what is shared is not this user's to forget
    assert "Lyon" not in listed
    ids = re.findall(r"mem:[0-9a-f-]{36}", listed)
    assert len(ids) >= 2  # the fact, and the message that it was taken from
    assert memory.search("allergic to peanuts", user_id="ann")[0].item.user_id == "ann"
    assert talk.text("forget", ids=ids).startswith("Forgotten")
    left = {one.content.strip(".") for one in memory.get_all(user_id="ann") if one.user_id}
    assert left == {"I live in Lyon"}
    assert "nothing was forgotten" in talk.text("forget", ids=ids)
    assert memory.admin.rebuild(verify=True).equal


SAID = [
    ("My name is Ada. I live in Hangzhou.", "I live in Hangzhou", "home_city", "that I live in Hangzhou", "name"),
    ("我住在杭州。我喜欢喝绿茶。", "我住在杭州", "home_city", "我住在杭州", "likes"),
]


def ids_in(text: str) -> set[str]:
    return set(re.findall(r"mem:([0-9a-f-]{36})", text))


@pytest.mark.parametrize("case", SAID)
@pytest.mark.parametrize("by", ["query", "listed", "message", "item"])
def test_what_is_forgotten_goes_with_all_that_says_the_same(
    memory: Memory, talk_to: TalkTo, case: tuple[str, ...], by: str
) -> None:
    said, fact, key, query, other = case
    request = f"Forget {query}." if query.isascii() else f"忘掉{query}。"
    memory.add(fact, user_id="bob")
    for session, text in (("s1", said), ("s2", f"{fact}."), ("s3", said), ("s1", "今天天气不错。"), ("s4", request)):
        memory.commit_turn(session, {"messages": [{"role": "user", "content": text}]}, user_id="u")
    memory.add(fact, kind="fact", user_id="u")
    held = list(memory.get_all(user_id="u"))
    item = next(one for one in held if one.key == key)
    message = next(one for one in held if one.kind == "message" and one.content == f"{fact}.")
    bobs = len(memory.get_all(user_id="bob"))
    talk = talk_to(memory, user_id="u")
    given: dict[str, Any] = {"message": {"ids": [message.id]}, "item": {"ids": [item.id]}}.get(by, {"query": query})
    listed = ids_in(talk.text("forget", **given, dry_run=True))
    assert len(memory.get_all(user_id="u")) == len(held)
    if by == "listed":
        given = {"ids": sorted(listed)}
    gone = ids_in(talk.text("forget", **given, dry_run=False))
    assert listed <= gone
    left = [one for one in memory.get_all(user_id="u") if one.content != request]
    assert [one.content for one in left if one.kind == "message"] == ["今天天气不错。"]
    assert [one.key for one in left if one.kind not in {"message", "task"}] == [other]
    assert len(memory.get_all(user_id="bob")) == bobs
    assert memory.admin.rebuild(verify=True).equal


def test_an_open_request_to_forget_is_no_answer_to_itself(memory: Memory, talk_to: TalkTo) -> None:
    request = "Forget everything about coffee"
    asked = memory.add(request, kind="task", key="forget_request", value="coffee", user_id="ann").items[0]
    talk = talk_to(memory, user_id="ann")
    assert asked.id in talk.text("forget", query="everything about coffee")  # so that it can be closed
    coffee = memory.add("The user likes coffee", kind="preference", key="likes", value="coffee", user_id="ann").items[0]
    listed = talk.text("forget", query="everything about coffee")
    assert coffee.id in listed
    assert asked.id not in listed


def test_forget_names_what_is_missing_and_archives_nothing_then(memory: Memory, talk: Talk) -> None:
    item = memory.add("绿茶", user_id="李雷").items[0]
    nobody = "00000000-0000-5000-8000-000000000000"
    assert talk.refused("forget")["field"] == "query"
    assert talk.refused("forget", ids=[item.id, nobody])["code"] == "not_found"
    assert memory.get(item.id).status == "active"
