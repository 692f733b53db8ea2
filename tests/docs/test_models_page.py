"""Every ``brain.yml`` in docs/models.md is one."""

import re
from pathlib import Path

from phronesis.config import ROLES, load_settings

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_there_is_something_to_load() -> None:
    assert len(BLOCKS) >= 5


def test_every_block_is_a_policy(tmp_path: Path) -> None:
    path = tmp_path / "brain.yml"
    for block in BLOCKS:
        path.write_text(block, encoding="utf-8")
        assert load_settings("sqlite://", tenant=None, policy=path).policy.version == 1, block


def test_every_role_is_described() -> None:
    assert [role for role in ROLES if f"`{role}`" not in PAGE] == []
