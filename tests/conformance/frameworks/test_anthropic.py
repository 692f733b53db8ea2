"""The memory tool in Anthropic's SDK: the same texts as the SDK's own tool over files."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, BetaLocalFilesystemMemoryTool
from anthropic.types import beta
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.opened import opened
from phronesis import Memory
from phronesis.adapters.anthropic_memory import FIELDS, MemoryFiles

PATHS = """
    /memories/a.txt /memories/笔记.md /memories/d/b.txt /memories/d/e/c.txt /memories/d/e/f/深.txt
    /memories/.hidden
""".split()
PLACES = st.sampled_from(
    [*PATHS, "/memories", "/memories/d", "/memories/d/e", "/memories/none", "/etc/passwd", "/memories/../x"]
)
FILES = st.sampled_from(PATHS)
TEXTS = st.sampled_from(["", "一\n二\n", "one\ntwo\nthree\nfour\nfive\nsix\n", "no end", "a\r\nb\r\n", "aa aa\naa"])
PIECES = st.sampled_from(["one", "a", "二", "\n", "three\nfour", "never there", " "])
COMMANDS = st.one_of(
    st.fixed_dictionaries({"command": st.just("create"), "path": FILES, "file_text": TEXTS}),
    st.fixed_dictionaries(
        {"command": st.just("view"), "path": PLACES},
        optional={"view_range": st.tuples(st.integers(-1, 4), st.integers(-1, 8)).map(list)},
    ),
    st.fixed_dictionaries({"command": st.just("str_replace"), "path": PLACES, "old_str": PIECES, "new_str": PIECES}),
    st.fixed_dictionaries(
        {"command": st.just("insert"), "path": PLACES, "insert_line": st.integers(-1, 7), "insert_text": PIECES}
    ),
    st.fixed_dictionaries({"command": st.just("delete"), "path": PLACES}),
    st.fixed_dictionaries({"command": st.just("rename"), "old_path": FILES, "new_path": FILES}),
)


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with opened() as one:
        yield one


def outcome(tool: Any, command: dict[str, Any]) -> tuple[str, str]:
    try:
        return "result", without_sizes_of_directories(tool.call(command))
    except ToolError as error:
        return "error", str(error)


def without_sizes_of_directories(said: str) -> str:
    """A directory of a file system is as large as its list of names; ours is as large as its files."""
    if not said.startswith("Here're"):
        return said
    header, root, *lines = said.split("\n")
    return "\n".join(
        [header, *(line.partition("\t")[2] if line.endswith("/") or line is root else line for line in [root, *lines])]
    )


def drop_empty(folder: Path) -> None:
    """A directory of ours is there while a file is in it."""
    for inner in sorted((one for one in folder.rglob("*") if one.is_dir()), reverse=True):
        if not any(inner.iterdir()):
            inner.rmdir()


def test_it_answers_as_the_sdks_own_tool(memory: Memory, tmp_path: Path) -> None:
    numbers = iter(range(1000))

    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(st.lists(COMMANDS, min_size=3, max_size=14))
    def same(commands: list[dict[str, Any]]) -> None:
        name = f"example-{next(numbers)}"
        ours = MemoryFiles(memory, namespace=name).tool()
        theirs = BetaLocalFilesystemMemoryTool(str(tmp_path / name))
        for command in commands:
            assert outcome(ours, command) == outcome(theirs, command), command
            drop_empty(theirs.memory_root)

    same()


def test_the_tool_is_the_sdks(memory: Memory) -> None:
    tool = MemoryFiles(memory).tool(cache_control={"type": "ephemeral"})
    assert isinstance(tool, BetaAbstractMemoryTool)
    assert tool.to_dict() == {"type": "memory_20250818", "name": "memory", "cache_control": {"type": "ephemeral"}}
    assert not tool.__abstractmethods__
    assert {name for name in FIELDS if callable(getattr(BetaAbstractMemoryTool, name))} == set(FIELDS)


def test_the_commands_are_the_sdks(memory: Memory) -> None:
    for name, fields in FIELDS.items():
        form = getattr(beta, f"BetaMemoryTool20250818{''.join(map(str.capitalize, name.split('_')))}Command")
        needed = {field for field, one in form.model_fields.items() if one.is_required()}
        assert needed == {"command", *fields}


def test_the_async_tool_does_the_same(memory: Memory) -> None:
    files = MemoryFiles(memory, user_id="async")
    tool = files.async_tool()
    assert isinstance(tool, BetaAsyncAbstractMemoryTool)

    async def use() -> None:
        said = await tool.call({"command": "create", "path": "/memories/茶", "file_text": "绿茶"})
        assert said == "File created successfully at: /memories/茶"
        with pytest.raises(ToolError, match="already exists"):
            await tool.call({"command": "create", "path": "/memories/茶", "file_text": "绿茶"})

    asyncio.run(use())
    assert files.read("/memories/茶") == "绿茶"


def test_the_page_tells_the_truth(run_page: Callable[..., None]) -> None:
    run_page("anthropic-memory-tool")
