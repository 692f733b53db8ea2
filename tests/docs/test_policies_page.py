"""docs/policies.md tells the truth: each file on it is a policy, what is said of it is so, and no field is left out."""

import re
from pathlib import Path
from typing import Any

import pydantic
import pytest
import yaml

from phronesis import Memory
from phronesis.core.context import Budget
from phronesis.wiring.engines import find_engines, read_settings

PAGE = (Path(__file__).parents[2] / "docs" / "policies.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(yaml|python)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
FILES = [block for language, block in BLOCKS if language == "yaml"]
FIELDS = find_engines().policy.model_fields
SECTIONS = {
    name: text
    for head, text in re.findall(r"^### (.+?)\n(.*?)(?=^##|\Z)", PAGE, re.DOTALL | re.MULTILINE)
    for name in re.findall(r"`(\w+)`", head)
}


@pytest.mark.slow
def test_its_python_runs_against_the_file_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("PHRONESIS_POLICY", "PHRONESIS_EMBEDDER"):
        monkeypatch.delenv(name, raising=False)
    names: dict[str, Any] = {}
    opened: list[Memory] = []
    for number, (language, block) in enumerate(BLOCKS):
        if language == "yaml":
            Path("brain.yml").write_text(block, encoding="utf-8")
            continue
        exec(compile(block, f"policies.md, block {number}", "exec"), names)  # noqa: S102 - our own words
        if names["memory"] not in opened:
            opened.append(names["memory"])
    assert len(opened) >= len(FIELDS) - 4
    for memory in opened:
        assert memory.admin.rebuild(verify=True).equal
        memory.close()


def test_every_file_is_a_policy(tmp_path: Path) -> None:
    path = tmp_path / "brain.yml"
    for block in FILES:
        path.write_text(block, encoding="utf-8")
        assert read_settings("sqlite://", tenant=None, policy=path).policy.version == 1, block


def test_every_section_is_there_with_a_file_and_all_its_fields() -> None:
    for name in FIELDS:
        text = SECTIONS[name]
        blocks = re.findall(r"^```yaml\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        assert any(name in yaml.safe_load(block) for block in blocks), name
        assert [field for field in _fields(name) if f"`{field}`" not in text] == [], name


def _fields(name: str) -> list[str]:
    if name == "budgets":
        return list(Budget.__dataclass_fields__)
    return [field for part in _parts(FIELDS[name].annotation) for field in part.model_fields]


def _parts(annotation: Any) -> list[type[pydantic.BaseModel]]:
    """Give the part of a section with the parts in it."""
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        inner = [part for field in annotation.model_fields.values() for part in _parts(field.annotation)]
        return [annotation, *inner]
    return [part for one in getattr(annotation, "__args__", ()) for part in _parts(one)]
