"""The retriever under LangChain's standard tests, and the chat history."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import AIMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_tests.integration_tests import RetrieversIntegrationTests

from phronesis import Memory
from phronesis.adapters.langchain import PhronesisChatMessageHistory, PhronesisRetriever

SAID = [
    SystemMessage("You are kind."),
    HumanMessage("我叫小明。我喜欢喝茶", name="小明"),
    AIMessage("Let me look.", tool_calls=[{"name": "look", "args": {"for": "茶"}, "id": "c1"}]),
    ToolMessage("green tea", tool_call_id="c1"),
    AIMessage(""),
    HumanMessage([{"type": "text", "text": "And this?"}, {"type": "image_url", "image_url": {"url": "data:x"}}]),
    ChatMessage("as you like", role="assistant"),
    ChatMessage("as you like", role="narrator"),
]


class TestRetriever(RetrieversIntegrationTests):
    """LangChain's own tests of a retriever."""

    @pytest.fixture(autouse=True)
    def _filled(self, memory: Memory) -> None:
        self.memory = memory
        for city in ("Berlin", "Paris", "上海", "Lima"):
            memory.add(f"A bridge in {city}", kind="fact", user_id="lin", metadata={"city": city})

    @property
    def retriever_constructor(self) -> type[PhronesisRetriever]:
        return PhronesisRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": self.memory, "user_id": "lin"}

    @property
    def retriever_query_example(self) -> str:
        return "bridge"


def test_a_document_says_where_it_comes_from(memory: Memory) -> None:
    added = memory.add("我喜欢喝茶", user_id="lin", session_id="s1", metadata={"topic": "tea"}, infer=False)
    memory.add("tea for kim", user_id="kim")
    retriever = PhronesisRetriever(memory=memory, user_id="lin", kinds=["message"], filters={"topic": "tea"})
    (found,) = retriever.invoke("喝茶")
    assert (found.id, found.page_content) == (added.items[0].id, "我喜欢喝茶")
    assert found.metadata["topic"] == "tea"
    assert found.metadata["sources"][0]["session_id"] == "s1"
    assert found.metadata["score"] > 0
    (same,) = asyncio.run(retriever.ainvoke("喝茶", k=1))
    assert same.id == found.id


def test_messages_come_back_as_they_were(memory: Memory) -> None:
    history = PhronesisChatMessageHistory("chat", memory, user_id="lin")
    assert isinstance(history, BaseChatMessageHistory)
    assert history.messages == []
    history.add_messages(SAID[:3])
    history.add_messages(SAID[3:])
    assert history.messages == SAID
    assert PhronesisChatMessageHistory("other", memory, user_id="lin").messages == []
    assert PhronesisChatMessageHistory("chat", memory, user_id="kim").messages == []
    assert [item.value for item in memory.get_all(user_id="lin", kinds=["preference"])] == ["喝茶"]
    history.clear()
    assert history.messages == []
    history.add_user_message("again")
    assert history.messages == [HumanMessage("again")]


def test_a_chain_with_history_sees_what_was_said(memory: Memory) -> None:
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{question}")])
    chain = RunnableWithMessageHistory(
        prompt | RunnableLambda(lambda asked: AIMessage(f"{len(asked.messages)} messages")),
        lambda session_id: PhronesisChatMessageHistory(session_id, memory, user_id="lin"),
        input_messages_key="question",
        history_messages_key="history",
    )
    config = {"configurable": {"session_id": "chat"}}
    assert [chain.invoke({"question": "你好"}, config).content for _ in range(2)] == ["1 messages", "3 messages"]


def test_both_open_their_own_memory(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'm.db'}"
    history = PhronesisChatMessageHistory.from_url("chat", url=url, user_id="lin")
    history.add_user_message("I keep bees")
    history.memory.close()
    retriever = PhronesisRetriever.from_url(url, user_id="lin", k=1)
    assert [found.page_content for found in retriever.invoke("bees")] == ["I keep bees"]
    retriever.memory.close()


def test_the_page_tells_the_truth(run_page: Callable[..., None]) -> None:
    run_page("langchain")
