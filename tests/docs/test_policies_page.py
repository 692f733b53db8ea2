"""docs/how-to/policies.md and its Chinese twin tell the truth: each file is a policy, and what is said is so."""

import re
from pathlib import Path
from typing import Any

import pytest

from phronesis import Memory
from phronesis.wiring import read_settings

DOCS = Path(__file__).parents[2] / "docs"
NAMES = ("how-to/policies.md", "zh/policies.md")


def blocks(page: str) -> list[tuple[str, str]]:
    text = (DOCS / page).read_text("utf-8")
    return re.findall(r"^```(yaml|python)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", NAMES)
def test_its_python_runs_against_the_file_before_it(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PHRONESIS_POLICY", raising=False)
    monkeypatch.setenv("PHRONESIS_EMBEDDER", "none")
    names: dict[str, Any] = {}
    opened: list[Memory] = []
    for number, (language, block) in enumerate(blocks(page)):
        if language == "yaml":
            Path("brain.yml").write_text(block, encoding="utf-8")
            assert read_settings("sqlite://", tenant=None, policy="brain.yml").policy.version == 1, block
            continue
        exec(compile(block, f"{page}, block {number}", "exec"), names)  # noqa: S102 - our own words
        if names["memory"] not in opened:
            opened.append(names["memory"])
    assert len(opened) >= 4
    for memory in opened:
        assert memory.admin.rebuild(verify=True).equal
        memory.close()
