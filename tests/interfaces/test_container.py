"""The container's files agree with the package: its extras exist, and its commands are commands."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from shown_commands import unknown_words

ROOT = Path(__file__).parents[2]


def test_the_image_installs_extras_that_exist_and_copies_what_the_build_needs() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extras,) = re.findall(r'"\.\[([a-z,]+)\]"', dockerfile)
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[0] == "!"}
    copied = set(" ".join(re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile, re.MULTILINE)).split())
    assert copied == kept
    assert all((ROOT / name).exists() for name in copied)


@pytest.mark.parametrize("text", ["serve --host 0.0.0.0", "serve keys create --role admin --label first"])
def test_the_commands_in_its_comments_parse(text: str) -> None:
    assert unknown_words(text) == []


def test_the_composition_names_a_health_check_that_answers() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    assert services["server"]["environment"]["PHRONESIS_URL"].startswith("postgresql://")
    assert "/healthz" in (ROOT / "Dockerfile").read_text(encoding="utf-8")
