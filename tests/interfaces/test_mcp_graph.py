"""The nine tools of the reference memory server, over ordinary memories."""

from collections.abc import Callable
from typing import Any

import pytest

from mcp_talk import Talk
from phronesis import Memory

NINE = """
    create_entities create_relations add_observations delete_entities delete_observations
    delete_relations read_graph search_nodes open_nodes
""".split()

LI: dict[str, Any] = {"name": "李雷", "entityType": "person", "observations": ["会说西班牙语", "Graduated in 2019"]}
LAB: dict[str, Any] = {"name": "Lab", "entityType": "organization", "observations": []}
WORKS = {"from": "李雷", "to": "Lab", "relationType": "works_at"}


@pytest.fixture
def graph(memory: Memory, talk_to: Callable[..., Talk]) -> Talk:
    return talk_to(memory, user_id="李雷", reference_tools=True, tools="all")


def test_the_nine_are_there_when_they_are_asked_for(talk: Talk, graph: Talk) -> None:
    assert not set(NINE) & set(talk.tools())
    assert list(graph.tools())[-9:] == NINE
    hints = {name: tool.annotations for name, tool in graph.tools().items()}
    assert [name for name in NINE if (one := hints[name]) and one.destructive_hint] == NINE[3:6]
    assert [name for name in NINE if (one := hints[name]) and one.read_only_hint] == NINE[6:]


def test_a_graph_is_made_read_and_searched(graph: Talk) -> None:
    assert graph.call("create_entities", entities=[LI, LAB]) == {"entities": [LI, LAB]}
    assert graph.call("create_entities", entities=[{**LI, "observations": ["other"]}]) == {"entities": []}
    assert graph.call("create_relations", relations=[WORKS]) == {"relations": [WORKS]}
    assert graph.call("create_relations", relations=[WORKS]) == {"relations": []}
    added = graph.call("add_observations", observations=[{"entityName": "Lab", "contents": ["in 上海", "in 上海"]}])
    assert added == {"results": [{"entityName": "Lab", "addedObservations": ["in 上海"]}]}
    whole = {"entities": [LI, {**LAB, "observations": ["in 上海"]}], "relations": [WORKS]}
    assert graph.call("read_graph") == whole
    assert graph.call("search_nodes", query="上海") == {"entities": whole["entities"][1:], "relations": [WORKS]}
    assert graph.call("search_nodes", query="PERSON")["entities"] == [LI]
    assert graph.call("search_nodes", query="nothing") == {"entities": [], "relations": []}
    assert graph.call("open_nodes", names=["李雷", "nobody"]) == {"entities": [LI], "relations": [WORKS]}


def test_the_graph_is_ordinary_memory(memory: Memory, graph: Talk) -> None:
    graph.call("create_entities", entities=[LI, LAB])
    found = graph.call("search_memories", query="西班牙语")["evidence"][0]
    assert found["item"]["metadata"]["entity"] == "李雷"
    why = graph.call("explain_memory", id=found["item"]["id"])
    assert why["sources"][0]["quote"] == "会说西班牙语"
    assert {item.entry_id for item in memory.get_all(user_id="李雷")} == {found["item"]["entry_id"]}
    graph.call("rollback_memory", id=found["item"]["entry_id"])
    assert graph.call("read_graph") == {"entities": [], "relations": []}
    assert memory.admin.rebuild(verify=True).equal


def test_another_scope_has_another_graph(memory: Memory, graph: Talk, talk_to: Callable[..., Talk]) -> None:
    graph.call("create_entities", entities=[LI])
    other = talk_to(memory, namespace="team", reference_tools=True)
    assert other.call("read_graph") == {"entities": [], "relations": []}


def test_two_servers_that_write_at_once_spoil_nothing(memory: Memory, graph: Talk) -> None:
    def kept(said: dict[str, Any], content: str) -> None:
        memory.add([{"content": content, "metadata": {**said, "graph_place": 0}}], infer=False, user_id="李雷")

    graph.call("create_entities", entities=[LAB])
    kept({"graph": "entity", "name": "Lab", "entity_type": "other"}, "Lab (other)")
    kept({"graph": "observation", "entity": "Lab"}, "big")
    kept({"graph": "observation", "entity": "Lab"}, "big")
    kept({"graph": "observation", "entity": "Nobody"}, "lost")
    assert graph.call("read_graph")["entities"] == [{**LAB, "observations": ["big"]}]
    graph.call("delete_entities", entityNames=["Lab"])
    assert graph.call("read_graph")["entities"] == []
