"""Every ``brain.yml`` in docs/models.md is one."""

import re
from pathlib import Path

import pytest

from phronesis.config import ROLES, load_settings

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_there_is_something_to_load() -> None:
    assert len(BLOCKS) >= 5


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_block_is_a_policy(block: str, tmp_path: Path) -> None:
    path = tmp_path / "brain.yml"
    path.write_text(block, encoding="utf-8")
    assert load_settings("sqlite://", tenant=None, policy=path).policy.version == 1


@pytest.mark.parametrize("role", ROLES)
def test_every_role_is_described(role: str) -> None:
    assert f"`{role}`" in PAGE
