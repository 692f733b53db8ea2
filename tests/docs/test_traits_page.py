"""docs/traits.md tells the truth: its Python runs, its prompts are those that are sent, its rules are the code's."""

import re
from pathlib import Path
from typing import Any, get_args

import pydantic

from phronesis.config import TraitRules, load_settings
from phronesis.core import confidence
from phronesis.interfaces.cli.commands import cli
from phronesis.models.prompts import prompt
from phronesis.recall.scoring.packed_features import TRAIT_BOOSTS
from phronesis.traits import (
    behaviours,
    contradictions,
    llm_reflection,
    reflection,
    reflection_answer,
    reflection_state,
    scan,
    strategies,
    text_similarity,
    upgrades,
)
from phronesis.traits.laws import records, strength
from phronesis.traits.laws.records import LONG_WINDOW, SHORT_WINDOW, Action

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


def test_prompts_stand_there_letter_by_letter() -> None:
    for name in ("reflect", "reflect_questions", "special_reflection"):
        assert prompt(name) in blocks("text")
        assert f"`models/prompts/{name}.md`" in PAGE


def members(form: type[pydantic.BaseModel]) -> list[str]:
    return list(form.model_fields)


def test_the_keys_of_an_answer_are_there() -> None:
    told = {names(key)[0]: names(cells) for key, cells in rows("### What it answers")}
    forms: dict[str, Any] = {
        "new_trends": reflection_answer.TrendForm,
        "new_behaviors": reflection_answer.BehaviorForm,
        "reinforcements": reflection_answer.ReinforcementForm,
        "contradictions": reflection_answer.ContradictionForm,
        "upgrades": reflection_answer.UpgradeForm,
    }
    assert list(told) == members(reflection_answer.ReflectionAnswer) == list(forms)
    assert told == {key: members(form) for key, form in forms.items()}
    for name in (
        *members(reflection_answer.RevisionAnswer),
        *members(reflection_answer.SideForm),
        *members(reflection_answer.Questions),
        *get_args(Action),
    ):
        assert f"`{name}`" in PAGE


def test_every_rule_is_there() -> None:
    known = {
        reflection_state.NO_NEW_EVIDENCE,
        reflection_state.NO_SUCH_TRAIT,
        reflection_state.TAKEN_BACK,
        reflection_state.NO_WORDS,
        behaviours.TOO_FEW,
        behaviours.ONE_CONVERSATION,
        contradictions.ONE_SIDED,
        strategies.SENSITIVE,
        upgrades.KNOWN,
        upgrades.TOO_FEW,
        upgrades.TOO_UNSURE,
        upgrades.WRONG_SUBTYPE,
    }
    told = [names(rule)[0] for rule, _ in rows("## What is refused")]
    assert len(told) == len(set(told))
    assert set(told) == known


def test_every_trigger_is_there_with_its_figure() -> None:
    table = rows("## When a reflection is due")
    assert [name for reason, _ in table for name in names(reason)] == list(get_args(strength.Reason))
    said = {names(reason)[0]: text for reason, text in table}
    assert said["importance"].endswith(f"adds up to {strength.IMPORTANCE_DUE}")
    assert f"{strength.HOURS_DUE:g} hours" in said["elapsed"]


def test_every_constant_stands_beside_its_name() -> None:
    cases: list[tuple[str, list[float]]] = [
        ("FIRST_CONFIDENCE", [strength.FIRST_CONFIDENCE]),
        ("PROMOTED_CONFIDENCE", [strength.PROMOTED_CONFIDENCE, strength.PROMOTING_CYCLES]),
        ("RISE", [upgrades.RISE]),
        ("GRADE_SHARES", list(confidence.GRADE_SHARES.values())),
        ("WEAKENING", [confidence.WEAKENING, confidence.STRONG_WEAKENING]),
        ("REINFORCEMENT_DAMPING", [confidence.REINFORCEMENT_DAMPING]),
        ("DECAY_RATES", list(confidence.DECAY_RATES.values())),
        (
            "DISSOLVED_BELOW",
            [confidence.DISSOLVED_BELOW, confidence.EMERGING_FROM, confidence.ESTABLISHED_FROM, confidence.CORE_ABOVE],
        ),
        ("DOUBTFUL_SHARE", [contradictions.DOUBTFUL_SHARE]),
    ]
    for name, figures in cases:
        (told,) = [figure for _, figure, code in rows("## The mathematics") if name in names(code)]
        assert all(
            re.search(
                rf"(?<![\d.]){re.escape(f'{figure:.2f}')}(?!\d)|(?<![\d.]){re.escape(f'{figure:g}')}(?![\d])", told
            )
            for figure in figures
        )


def test_the_other_figures_are_the_codes() -> None:
    chars = f"{reflection_answer.MAX_SENTENCE} char"
    for text in (
        f"a window of {SHORT_WINDOW} or {LONG_WINDOW} days ({LONG_WINDOW} by default)",
        f"{llm_reflection.MAX_SHOWN:,} characters of new memories",
        f"{llm_reflection.MAX_EARLIER:,} of earlier ones",
        f"{llm_reflection.MAX_TRAITS:,} of traits, {llm_reflection.MAX_CONTENT} of each",
        f"At most {reflection_answer.MAX_WISHES} wishes of a kind, {reflection_answer.MAX_IDS} ids in a wish, {chars}",
        f"{scan.MOST_COMPARED:,} in all",
        f"closer than {text_similarity.TWIN} (cosine)",
        f"{llm_reflection.FOUND} memories a question at most",
        f"at most {behaviours.MOST_LINKS} earlier ones each",
        f"each at {upgrades.FROM['preference'][1]} or more",
        f"each at {upgrades.FROM['core'][1]} or more",
    ):
        assert text in " ".join(PAGE.split()), text
    listed = re.search(r"of the kinds ([\w, \n]+) and (\w+)\nthat were learned", PAGE)
    assert listed is not None
    assert (*re.findall(r"\w+", listed[1]), listed[2]) == strength.MEMORY_KINDS
    assert all(context in PAGE for context in records.CONTEXTS)


def test_what_recall_and_stages_bring_is_the_codes() -> None:
    text = " ".join(PAGE.split())
    assert f"gains {reflection.CREDIT} of `usefulness`" in text
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
