"""Reflection by a model: one structured call, perhaps after questions (requirements NM-03, NM-10, NM-15).

Each trait that too much contradicts is asked about once more, apart.

What it says is recorded whole, so that a replay asks nobody. An answer that is none skips the round: rules do not stand
in here, since what a model found before would be judged by another measure from one day to the next.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from phronesis.core.entries import Entry, Outcome
from phronesis.core.items import Item
from phronesis.core.relations import Origin
from phronesis.core.traits.operations import Reconsidered
from phronesis.derive.handler import Bench
from phronesis.derive.prompts import prompt
from phronesis.derive.reflecting.answer import Questions, ReflectAsker, Reflected, Special
from phronesis.derive.reflecting.material import Material, open_traits, seen_trait
from phronesis.derive.reflecting.minds import ANSWERS, Thought
from phronesis.derive.reflecting.round import Round
from phronesis.derive.reflecting.showing import Shown, shown, shown_special
from phronesis.models.asker import Answer
from phronesis.models.structured import Task
from phronesis.truth.reader import fit

PROMPT_VERSION: Final = "reflect/1"
"""Rises when ``prompts/reflect.md`` or one of its two companions changes: it stands with every outcome."""

Look = Callable[[Bench, str], Sequence[str]]
"""Searches a lane for what answers a question; gives the ids of items, best first."""

FOUND: Final = 8
"""Earlier memories that are shown for each question."""


@dataclass(frozen=True, slots=True)
class Asking:
    """The mind of a model. ``questions`` is who is asked what to look up first; None: nobody, it concludes at once.

    ``special`` is who is asked about traits that too much contradicts; None: the same model.
    """

    asker: ReflectAsker
    questions: ReflectAsker | None = None
    special: ReflectAsker | None = None
    look: Look = field(default=lambda _bench, _question: ())

    @property
    def name(self) -> str:
        """Gateway, model, and the version of what it was asked."""
        return f"{self.asker.name} {PROMPT_VERSION}"

    @property
    def origin(self) -> Origin:
        """By model."""
        return "model"

    def wishes(self, bench: Bench, entry: Entry, material: Material) -> Thought:
        """Ask what the new memories come to."""
        asked, earlier = self._earlier(bench, entry, material)
        data = self._shown(entry, material, earlier)
        answer: Answer[Reflected] = self.asker.ask(bench.tenant, Task(prompt("reflect"), data.data, Reflected))
        thought = asked.plus(self._thought("reflect", self.asker, answer, data, material))
        found = None if answer.value is None else answer.value.wishes()
        error = None if answer.value is not None else _code(answer)
        return Thought(
            wishes=found, made_by=self.name, said=_numbered(thought.said), seen=thought.seen,
            stands_on=thought.stands_on, spent=thought.spent, error=error,
        )  # fmt: skip

    def reconsider(self, bench: Bench, entry: Entry, work: Round, trait_id: str) -> tuple[Reconsidered | None, Thought]:
        """Ask what becomes of a trait; None where there is no answer."""
        asker = self.special or self.asker
        rows = work.rows.get(trait_id, [])
        trait = seen_trait(work.traits[trait_id], rows, entry.recorded_at)
        data = shown_special(entry.id, trait, work.evidence(trait.supporting), work.evidence(trait.contradicting))
        answer: Answer[Special] = asker.ask(bench.tenant, Task(prompt("special_reflection"), data.data, Special))
        thought = Thought(
            made_by=f"{asker.name} {PROMPT_VERSION}", said=_said("special_reflection", asker, answer),
            seen=[*data.memories, trait_id], stands_on=[work.traits[trait_id].entry_id], spent=answer.spent,
        )  # fmt: skip
        return (None if answer.value is None else answer.value.reconsidered()), thought

    def _earlier(self, bench: Bench, entry: Entry, material: Material) -> tuple[Thought, list[Item]]:
        """Give what new memories are linked to, and what was found for the questions of the first stage."""
        known = {memory.id: memory for memory in material.memories if memory.id not in material.new}
        linked = [link.to_id for link in sorted(material.links, key=lambda link: -link.weight)]
        if self.questions is None:
            return Thought(), [known[one] for one in dict.fromkeys(linked) if one in known]
        data = self._shown(entry, material, [])
        answer: Answer[Questions] = self.questions.ask(
            bench.tenant, Task(prompt("reflect_questions"), data.data, Questions)
        )
        thought = self._thought("questions", self.questions, answer, data, material)
        asked = answer.value.questions if answer.value is not None else []
        ids = [one for question in asked for one in self.look(bench, question)[:FOUND]]
        return thought, [known[one] for one in dict.fromkeys([*ids, *linked]) if one in known]

    @staticmethod
    def _shown(entry: Entry, material: Material, earlier: Sequence[Item]) -> Shown:
        new = [memory for memory in material.memories if memory.id in material.new]
        traits = [seen_trait(trait, material.evidence.get(trait.id, ()), entry.recorded_at)
                  for trait in open_traits(material)]  # fmt: skip
        return shown(entry.id, new, earlier, traits)

    @staticmethod
    def _thought(role: str, asker: ReflectAsker, answer: Answer[Any], data: Shown, material: Material) -> Thought:
        made = {material.traits[one].entry_id for one in data.traits}
        return Thought(said=_said(role, asker, answer), seen=data.memories, stands_on=sorted(made),
                       spent=answer.spent)  # fmt: skip


def _said(role: str, asker: ReflectAsker, answer: Answer[Any]) -> list[Outcome]:
    bodies: list[Mapping[str, Any]] = [
        {"role": role, "constraint": attempt.constraint, "text": fit(attempt.text),
         "finish_reason": attempt.finish_reason, "problem": attempt.problem}
        for attempt in answer.attempts
    ]  # fmt: skip
    return [Outcome(role=ANSWERS, made_by=asker.name, n=n, body=body) for n, body in enumerate(bodies)]


def _numbered(said: Sequence[Outcome]) -> list[Outcome]:
    return [Outcome(role=one.role, made_by=one.made_by, n=n, body=one.body) for n, one in enumerate(said)]


def _code(answer: Answer[Any]) -> str:
    return answer.error.code if answer.error is not None else "model.error"
