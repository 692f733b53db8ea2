"""docs/traits.md tells the truth: its Python runs, its prompts are those that are sent, its rules are the code's."""

import re
from pathlib import Path
from typing import Any, get_args

import pydantic
import pytest

from phronesis.config import TraitRules, load_settings
from phronesis.core import confidence, decay, state_machine
from phronesis.core.scoring.bonuses import TRAIT_BOOSTS
from phronesis.core.traits import seen, strength, triggers
from phronesis.core.traits.operations import LONG_WINDOW, SHORT_WINDOW, Action
from phronesis.derive.prompts import prompt
from phronesis.derive.reflecting import (
    answer,
    asking,
    behaviours,
    contradictions,
    crediting,
    likeness,
    linking,
    material,
    showing,
    sifting,
    trends,
    upgrades,
)
from phronesis.derive.reflecting import (
    round as rounds,
)
from phronesis.interfaces.cli.commands import cli

PAGE = (Path(__file__).parents[2] / "docs" / "traits.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return [body.rstrip("\n") for body in re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)]


def rows(heading: str) -> list[list[str]]:
    """Return the rows of the table under a heading, without its head."""
    section = PAGE.split(f"\n{heading}\n")[1].split("\n#")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def names(cell: str) -> list[str]:
    return re.findall(r"`(\w+)`", cell)


def test_its_python_runs_in_order() -> None:
    assert len(blocks("python")) == 4
    told: dict[str, object] = {}
    for block in blocks("python"):
        exec(compile(block, "traits.md", "exec"), told)  # noqa: S102 - our own words


@pytest.mark.parametrize("name", ["reflect", "reflect_questions", "special_reflection"])
def test_a_prompt_stands_there_letter_by_letter(name: str) -> None:
    assert prompt(name) in blocks("text")
    assert f"`derive/prompts/{name}.md`" in PAGE


def members(form: type[pydantic.BaseModel]) -> list[str]:
    return list(form.model_fields)


def test_the_keys_of_an_answer_are_there() -> None:
    told = {names(key)[0]: names(cells) for key, cells in rows("### What it answers")}
    forms: dict[str, Any] = {
        "new_trends": answer.TrendForm, "new_behaviors": answer.BehaviorForm,
        "reinforcements": answer.ReinforcementForm,
        "contradictions": answer.ContradictionForm, "upgrades": answer.UpgradeForm,
    }  # fmt: skip
    assert list(told) == members(answer.Reflected) == list(forms)
    assert told == {key: members(form) for key, form in forms.items()}
    for name in (*members(answer.Special), *members(answer.SideForm), *members(answer.Questions), *get_args(Action)):
        assert f"`{name}`" in PAGE


def test_every_rule_is_there() -> None:
    known = {
        rounds.NO_NEW_EVIDENCE, rounds.NO_SUCH_TRAIT, rounds.TAKEN_BACK, rounds.NO_WORDS, behaviours.TOO_FEW,
        behaviours.ONE_CONVERSATION,
        contradictions.ONE_SIDED, sifting.SENSITIVE, trends.KNOWN, upgrades.TOO_FEW,
        upgrades.TOO_UNSURE, upgrades.WRONG_SUBTYPE,
    }  # fmt: skip
    told = [names(rule)[0] for rule, _ in rows("## What is refused")]
    assert len(told) == len(set(told))
    assert set(told) == known


def test_every_trigger_is_there_with_its_figure() -> None:
    table = rows("## When a reflection is due")
    assert [name for reason, _ in table for name in names(reason)] == list(get_args(triggers.Reason))
    said = {names(reason)[0]: text for reason, text in table}
    assert said["importance"].endswith(f"adds up to {triggers.IMPORTANCE_DUE}")
    assert f"{triggers.HOURS_DUE:g} hours" in said["elapsed"]


@pytest.mark.parametrize(
    ("name", "figures"),
    [
        ("FIRST_CONFIDENCE", [strength.FIRST_CONFIDENCE]),
        ("PROMOTED_CONFIDENCE", [strength.PROMOTED_CONFIDENCE, strength.PROMOTING_CYCLES]),
        ("RISE", [upgrades.RISE]),
        ("GRADE_SHARES", list(confidence.GRADE_SHARES.values())),
        ("WEAKENING", [confidence.WEAKENING, confidence.STRONG_WEAKENING]),
        ("REINFORCEMENT_DAMPING", [decay.REINFORCEMENT_DAMPING]),
        ("DECAY_RATES", list(decay.DECAY_RATES.values())),
        ("DISSOLVED_BELOW", [state_machine.DISSOLVED_BELOW, state_machine.EMERGING_FROM, state_machine.ESTABLISHED_FROM,
                             state_machine.CORE_ABOVE]),
        ("DOUBTFUL_SHARE", [contradictions.DOUBTFUL_SHARE]),
    ],
)  # fmt: skip
def test_every_constant_stands_beside_its_name(name: str, figures: list[float]) -> None:
    (told,) = [figure for _, figure, code in rows("## The mathematics") if name in names(code)]
    assert all(re.search(rf"(?<![\d.]){re.escape(f'{figure:.2f}')}(?!\d)|(?<![\d.]){re.escape(f'{figure:g}')}(?![\d])",
                         told) for figure in figures)  # fmt: skip


def test_the_other_figures_are_the_codes() -> None:
    for text in (
        f"a window of {SHORT_WINDOW} or {LONG_WINDOW} days ({LONG_WINDOW} by default)",
        f"{showing.MAX_SHOWN:,} characters of new memories",
        f"{showing.MAX_EARLIER:,} of earlier ones",
        f"{showing.MAX_TRAITS:,} of traits, {showing.MAX_CONTENT} of each",
        f"At most {answer.MAX_WISHES} wishes of a kind, {answer.MAX_IDS} ids in a wish, {answer.MAX_SENTENCE} char",
        f"{material.MOST_COMPARED:,} in all",
        f"closer than {likeness.TWIN} (cosine)",
        f"{asking.FOUND} memories a question at most",
        f"at most {linking.MOST_LINKS} earlier ones each",
        f"each at {upgrades.FROM['preference'][1]} or more",
        f"each at {upgrades.FROM['core'][1]} or more",
    ):
        assert text in " ".join(PAGE.split()), text
    listed = re.search(r"of the kinds ([\w, \n]+) and (\w+)\nthat were learned", PAGE)
    assert listed is not None
    assert (*re.findall(r"\w+", listed[1]), listed[2]) == seen.MEMORY_KINDS
    assert all(context in PAGE for context in seen.CONTEXTS)


def test_what_recall_and_stages_bring_is_the_codes() -> None:
    text = " ".join(PAGE.split())
    assert f"gains {crediting.CREDIT} of `usefulness`" in text
    assert ", ".join(f"{share} {stage}" for stage, share in TRAIT_BOOSTS.items()) in text


def test_its_policy_is_one_and_says_the_defaults(tmp_path: Path) -> None:
    (block,) = blocks("yaml")
    path = tmp_path / "brain.yml"
    path.write_text(block, encoding="utf-8")
    assert load_settings("sqlite://", tenant=None, policy=path).policy.traits == TraitRules()


def test_its_commands_exist_with_their_options() -> None:
    lines = re.findall(r"^phronesis (\w+)(?: ([a-z]+))?((?: +--?[\w-]+| +[^#\n])*)", PAGE, re.MULTILINE)
    assert len(lines) == 8
    for name, inner, rest in lines:
        command = cli.commands[name]
        if name == "traits":
            command = command.commands[inner or "list"]  # type: ignore[attr-defined]
        known = {option for parameter in command.params for option in parameter.opts}
        assert set(re.findall(r"--[\w-]+", rest)) <= known
