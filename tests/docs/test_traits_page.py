"""docs/traits.md tells the truth: its Python runs, its prompts are those that are sent, its rules are the code's."""

import re
from pathlib import Path

from phronesis.interfaces.cli.commands import cli
from phronesis.models.structured_client import prompt
from phronesis.traits.policy_section import TraitPolicy, TraitRules
from phronesis.wiring.engines import read_settings

PAGE = (Path(__file__).parents[2] / "docs" / "traits.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return [body.rstrip("\n") for body in re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)]


def test_prompts_stand_there_letter_by_letter() -> None:
    for name in ("reflect", "reflect_questions", "special_reflection"):
        assert prompt(name) in blocks("text")
        assert f"`models/prompts/{name}.md`" in PAGE


def test_its_policy_is_one_and_says_the_defaults(tmp_path: Path) -> None:
    (block,) = blocks("yaml")
    path = tmp_path / "brain.yml"
    path.write_text(block, encoding="utf-8")
    assert read_settings("sqlite://", tenant=None, policy=path).policy.of(TraitPolicy).traits == TraitRules()


def test_its_commands_exist_with_their_options() -> None:
    lines = re.findall(r"^phronesis (\w+)(?: ([a-z]+))?((?: +--?[\w-]+| +[^#\n])*)", PAGE, re.MULTILINE)
    assert len(lines) == 8
    for name, inner, rest in lines:
        command = cli.commands[name]
        if name == "traits":
            command = command.commands[inner or "list"]  # type: ignore[attr-defined]
        known = {option for parameter in command.params for option in parameter.opts}
        assert set(re.findall(r"--[\w-]+", rest)) <= known
