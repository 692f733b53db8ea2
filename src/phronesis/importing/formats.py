"""The formats that can be taken in, by the name that ``phronesis import --format`` knows."""

from collections.abc import Mapping
from typing import Final

from phronesis.importing.chatgpt import CHATGPT
from phronesis.importing.claude import CLAUDE
from phronesis.importing.git_history import GIT
from phronesis.importing.given import Format
from phronesis.importing.stores import LANGGRAPH, MEM0

FORMATS: Final[Mapping[str, Format]] = {
    "mem0": MEM0, "langgraph": LANGGRAPH, "chatgpt": CHATGPT, "claude": CLAUDE, "git": GIT,
}  # fmt: skip
