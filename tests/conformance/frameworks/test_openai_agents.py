"""The session in the OpenAI Agents SDK: what its own tests ask, and the same answers as `SQLiteSession`."""

import asyncio
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, ModelResponse, RunConfig, Runner, Session, SessionSettings, SQLiteSession, Usage
from agents import function_tool as tool_of
from agents.models.interface import Model
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from phronesis import Memory
from phronesis.adapters.openai_agents import PhronesisSession

NUMBERS = itertools.count()


def message(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[part])


class Answering(Model):
    """Gives the answers it was made with, and keeps what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[list[Any]] = []

    async def get_response(self, *given_: Any, **options: Any) -> ModelResponse:
        """Take what is asked by its name, or as the second argument."""
        asked = options["input"] if "input" in options else given_[1]
        self.asked.append(list(asked) if isinstance(asked, list) else [asked])
        answer = self.answers.pop(0)
        return ModelResponse(
            output=[message(answer) if isinstance(answer, str) else answer], usage=Usage(), response_id=None
        )

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def test_it_is_a_session_whose_settings_are_the_sdks_and_limit_a_run(memory: Memory) -> None:
    model = Answering("one", "two")
    agent = Agent(name="guide", model=model)
    assert isinstance(PhronesisSession("s", memory), Session)
    assert PhronesisSession("s", memory).session_settings == SessionSettings()
    with pytest.raises(TypeError, match="Unknown session settings: limitt"):
        PhronesisSession("s", memory, session_settings={"limitt": 1})

    async def use() -> None:
        session = PhronesisSession("s", memory, user_id="lin", session_settings={"limit": 1})
        assert session.session_settings == SessionSettings(limit=1)
        await Runner.run(agent, "first", session=session)
        config = RunConfig(session_settings=SessionSettings(limit=0))
        assert [len(await session.get_items(limit)) for limit in (None, 2)] == [1, 2]
        await Runner.run(agent, "second", session=session, run_config=config)
        assert [item["content"] for item in model.asked[-1]] == ["second"]

    asyncio.run(use())


def test_a_closed_session_refuses_everything(tmp_path: Path) -> None:
    session = PhronesisSession.from_url("s", url=f"sqlite:///{tmp_path / 'm.db'}")
    session.close()
    session.close()

    async def use() -> None:
        for call in (session.get_items(), session.add_items([]), session.pop_item(), session.clear_session()):
            with pytest.raises(RuntimeError, match="PhronesisSession is closed"):
                await call

    asyncio.run(use())


def test_a_second_run_sees_the_first(memory: Memory) -> None:
    model = Answering("旧金山", "California")
    agent = Agent(name="guide", model=model)

    async def use() -> None:
        session = PhronesisSession("s", memory, user_id="lin")
        first = await Runner.run(agent, "金门大桥在哪个城市？", session=session)
        assert first.final_output == "旧金山"
        second = await Runner.run(agent, "In which state is it?", session=session)
        assert second.final_output == "California"
        assert [item.get("role") for item in model.asked[-1]] == ["user", "assistant", "user"]
        assert model.asked[-1][0]["content"] == "金门大桥在哪个城市？"

    asyncio.run(use())


def test_tools_are_called_and_kept(memory: Memory) -> None:
    call = ResponseFunctionToolCall(type="function_call", name="weather", arguments='{"city": "北京"}', call_id="c1")
    model = Answering(call, "It is sunny", "Again sunny")

    def weather(city: str) -> str:
        return f"sunny in {city}"

    agent = Agent(name="guide", model=model, tools=[tool_of(weather)])

    async def use() -> None:
        session = PhronesisSession("s", memory, user_id="lin", agent_id="guide")
        await Runner.run(agent, "Weather?", session=session)
        assert [item.get("type", "said") for item in await session.get_items()] == [
            "said",
            "function_call",
            "function_call_output",
            "message",
        ]
        await Runner.run(agent, "And now?", session=session)
        assert len(model.asked[-1]) == 5

    asyncio.run(use())
    (turn, *_) = memory.search("sunny", user_id="lin")
    assert turn.item.agent_id == "guide"


ITEMS = st.one_of(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "system"]), "content": st.text(min_size=1)}),
    st.fixed_dictionaries({"type": st.just("function_call"), "name": st.text(), "arguments": st.text()}),
    st.fixed_dictionaries(
        {
            "type": st.just("function_call_output"),
            "output": st.text() | st.lists(st.floats(allow_nan=False, allow_infinity=False)),
        }
    ),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add_items"), st.lists(ITEMS, max_size=3)),
        st.tuples(st.just("get_items"), st.none() | st.integers(0, 4)),
        st.tuples(st.just("pop_item")),
        st.tuples(st.just("clear_session")),
    ),
    max_size=8,
)


def test_it_answers_as_the_sdks_own_session(memory: Memory) -> None:
    @settings(max_examples=40, deadline=None, derandomize=True)
    @given(STEPS)
    def same(steps: list[Any]) -> None:
        name = f"s{next(NUMBERS)}"
        theirs = SQLiteSession(name)

        async def use() -> None:
            ours = PhronesisSession(name, memory, user_id="lin")
            for verb, *given_ in steps:
                assert await getattr(ours, verb)(*given_) == await getattr(theirs, verb)(*given_)
            assert await ours.get_items() == await theirs.get_items()

        try:
            asyncio.run(use())
        finally:
            theirs.close()

    same()


def test_the_page_tells_the_truth(run_page: Callable[..., None]) -> None:
    run_page("openai-agents", model=Answering("Hello Lin", "You like tea"))
