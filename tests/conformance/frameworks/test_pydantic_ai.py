"""The capability of Pydantic AI, in agents with a scripted model."""

from pydantic_ai import Agent, ModelRetry
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from phronesis import Memory
from phronesis.adapters.pydantic_ai import PhronesisMemory


class Asked:
    """A model that calls the tool ``build`` when it is told to, and keeps what it was sent."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.sent.append(f"{info.instructions} {messages}")
        if "build it" in str(messages[0]) and len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart("build", {"command": "make all"})])
        return ModelResponse(parts=[TextPart("Noted.")])


def agent(memory: Memory, model: Asked) -> Agent:
    made = Agent(FunctionModel(model), capabilities=[PhronesisMemory(memory, user_id="lin", namespace="engine")])

    @made.tool_plain(retries=1)  # type: ignore[untyped-decorator]  # the framework is not installed beside mypy
    def build(command: str) -> str:
        raise ModelRetry(f"{command}: no rule")

    return made


def test_what_one_run_says_is_recalled_in_the_next(memory: Memory) -> None:
    model = Asked()
    agent(memory, model).run_sync("The staging server is called preprod. I'm allergic to acetone.")
    assert "preprod" not in model.sent[0].replace("The staging server is called preprod. I'm", "")
    agent(memory, model).run_sync("Which is the staging server?")
    assert "user) The staging server is called preprod." in model.sent[-1]
    assert "acetone" in model.sent[-1].partition(" [Model")[0]
    agent(memory, model).run_sync("Write a haiku.")
    assert "preprod" not in model.sent[-1]
    assert len(memory.sessions.list(user_id="lin")) == 3


def test_a_tool_that_failed_becomes_experience(memory: Memory) -> None:
    model = Asked()
    agent(memory, model).run_sync("Please build it.")
    (event,) = memory.get_all(namespace="engine", kinds=["l1"])
    assert "make all" in event.content
    assert "no rule" in event.content
    agent(memory, model).run_sync("run make all for the engine")
    assert "make all" in model.sent[-1].replace("run make all for the engine", "")
