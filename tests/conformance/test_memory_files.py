"""Anthropic's memory tool over a Memory, without the SDK: exact texts, refused paths, versions."""

from pathlib import Path
from typing import Any

import pytest

from phronesis import Memory
from phronesis.adapters.anthropic_memory import MemoryFiles
from phronesis.errors import InputError, NotFound

NOTES = "/memories/notes.txt"


@pytest.fixture
def files(memory: Memory) -> MemoryFiles:
    return MemoryFiles(memory, user_id="lin")


def run(files: MemoryFiles, command: str, **given: Any) -> str:
    return files.handle({"command": command, **given})


def test_the_six_commands_say_what_the_tool_says(files: MemoryFiles) -> None:
    assert run(files, "create", path=NOTES, file_text="一\n二\nthree\nfour\nfive\nsix") == (
        f"File created successfully at: {NOTES}"
    )
    assert run(files, "view", path=NOTES, view_range=[2, 3]) == (
        f"Here's the content of {NOTES} with line numbers:\n     2\t二\n     3\tthree"
    )
    assert run(files, "str_replace", path=NOTES, old_str="four", new_str="vier") == (
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
        "     2\t二\n     3\tthree\n     4\tvier\n     5\tfive\n     6\tsix"
    )
    assert run(files, "insert", path=NOTES, insert_line=0, insert_text="零\n") == f"The file {NOTES} has been edited."
    assert files.read(NOTES) == "零\n一\n二\nthree\nvier\nfive\nsix\n"
    assert run(files, "rename", old_path=NOTES, new_path="/memories/档案/n.txt") == (
        f"Successfully renamed {NOTES} to /memories/档案/n.txt"
    )
    assert run(files, "view", path="/memories") == (
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n"
        "32B\t/memories\n32B\t/memories/档案/\n32B\t/memories/档案/n.txt"
    )
    assert run(files, "delete", path="/memories/档案") == "Successfully deleted /memories/档案"
    assert run(files, "view", path="/memories").endswith("\n0B\t/memories")


def test_what_is_wrong_is_said_and_nothing_changes(files: MemoryFiles) -> None:
    run(files, "create", path=NOTES, file_text="a\na")
    run(files, "create", path="/memories/d/inner", file_text="x")
    replace, missing = {"command": "str_replace", "path": NOTES, "new_str": ""}, "/memories/none"
    for command, said in (
        ({"command": "view", "path": missing}, f"The path {missing} does not exist. Please provide a valid path."),
        ({"command": "create", "path": NOTES, "file_text": "x"}, f"File {NOTES} already exists"),
        (replace | {"old_str": "z"}, f"No replacement was performed, old_str `z` did not appear verbatim in {NOTES}."),
        (
            replace | {"old_str": "a"},
            (
                "No replacement was performed. Multiple occurrences of old_str `a` in lines: 1, 2."
                " Please ensure it is unique"
            ),
        ),
        (
            {"command": "insert", "path": NOTES, "insert_line": 3, "insert_text": "x"},
            "Invalid `insert_line` parameter: 3. It should be within the range [0, 2].",
        ),
        ({"command": "delete", "path": "/memories"}, "Cannot delete the /memories directory itself"),
        (
            {"command": "rename", "old_path": NOTES, "new_path": "/memories/d"},
            "The destination /memories/d already exists",
        ),
        ({"command": "view", "path": "/etc/passwd"}, "Path must start with /memories, got: /etc/passwd"),
        ({"command": "view"}, "view needs `path`, str"),
        ({"command": "format"}, "Unknown command: format"),
    ):
        assert files.handle(command) == f"Error: {said}"
        assert files.read(NOTES) == "a\na"


def test_no_path_leads_out(files: MemoryFiles) -> None:
    cases: list[str] = ["/memories/../secret", "/memories/a/../../x", "/memories/%2e%2e/x", "/memories/..\\x"]
    for path in cases:
        for command in (
            {"command": "view", "path": path},
            {"command": "create", "path": path, "file_text": "x"},
            {"command": "rename", "old_path": path, "new_path": "/memories/x"},
            {"command": "rename", "old_path": "/memories/x", "new_path": path},
        ):
            assert files.handle(command) == f"Error: Path {path} would escape /memories directory"


@pytest.mark.parametrize("text", ["", " \n", "a\r\nb", "nul\0 and \ud800", "最后一行没有换行"])
def test_a_text_comes_back_exactly(files: MemoryFiles, text: str) -> None:
    run(files, "create", path=NOTES, file_text=text)
    assert files.read(NOTES) == text
    run(files, "insert", path=NOTES, insert_line=0, insert_text="first")
    assert files.read(NOTES).startswith("first\n")


def test_every_edit_is_a_version_and_can_be_taken_back(memory: Memory, files: MemoryFiles) -> None:
    run(files, "create", path=NOTES, file_text="喜欢茶")
    run(files, "str_replace", path=NOTES, old_str="茶", new_str="咖啡")
    run(files, "rename", old_path=NOTES, new_path="/memories/taste")
    made, edited, moved = files.history("/memories/taste")
    assert made.op == "create"
    assert list(edited.fields["content"]) == ["喜欢茶", "喜欢咖啡"]
    assert sorted(moved.fields) == ["external_id", "metadata"]
    memory.rollback(moved.delta_id)
    memory.rollback(edited.delta_id)
    assert files.read(NOTES) == "喜欢茶"
    run(files, "delete", path=NOTES)
    with pytest.raises(NotFound):
        files.read(NOTES)
    assert memory.admin.rebuild(verify=True).equal


def test_a_file_is_found_by_search_and_belongs_to_its_user(memory: Memory, files: MemoryFiles) -> None:
    run(files, "create", path=NOTES, file_text="The user keeps bees in Leipzig.")
    (found,) = memory.search("bees", user_id="lin", namespace="memory_files")
    assert found.item.metadata["path"] == NOTES
    others = MemoryFiles(memory, user_id="kim")
    assert run(others, "view", path=NOTES).startswith("Error:")
    assert run(MemoryFiles(memory), "create", path=NOTES, file_text="shared").startswith("File created")
    assert files.read(NOTES).startswith("The user")


def test_a_listing_goes_two_levels_down_and_leaves_hidden_files_out(files: MemoryFiles) -> None:
    for path in ("a/b/c/deep", "a/z", ".hidden", "a/.hidden", "b"):
        run(files, "create", path=f"/memories/{path}", file_text="x" * 1536)
    lines = run(files, "view", path="/memories").splitlines()[1:]
    assert lines == [
        "7.5K\t/memories",
        "4.5K\t/memories/a/",
        "1.5K\t/memories/a/b/",
        "1.5K\t/memories/a/z",
        "1.5K\t/memories/b",
    ]


def test_files_open_their_own_memory_and_close_it(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'm.db'}"
    files = MemoryFiles.from_url(url)
    run(files, "create", path=NOTES, file_text="kept")
    files.close()
    again = MemoryFiles.from_url(url)
    assert again.read(NOTES) == "kept"
    again.close()


def test_a_file_too_long_is_not_shown(files: MemoryFiles) -> None:
    run(files, "create", path=NOTES, file_text="\n" * 999_999)
    assert run(files, "view", path=NOTES) == f"Error: File {NOTES} exceeds maximum line limit of 999,999 lines."
    with pytest.raises(InputError):
        files.execute({"command": "view", "path": NOTES})
