"""What the story's pages show that was learned: a trait over weeks, experience with a contradiction, and runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from phronesis import Memory
from phronesis.reasoning.catalysis.pubchem import Compound, Compounds
from phronesis.traits.laws.records import ProposedOperations, TraitContradiction
from phronesis.traits.laws.strength import TRAIT
from plain_mind import install
from pug_server import NAMES, ROWS

RUNNER: Final = "lin"
RAN: Final = "I ran along the river on Monday morning."
TEA: Final = "我每天早上喝绿茶。"
BUILD: Final = "The build fails after the compiler was updated"
CLAIMS: Final = (
    'RBMEM_CLAIMS_V1\nTOPIC=Cu–Zn\nCLAIMS_JSON=[{"claim_id":"c1","status":"hypothesis","facts":{"source_run_ids":["x"]},'
    '"support":{"count":1,"run_ids":["x"]},"inference":"With Cu–Zn the selectivity of formate is at least 0.60."},'
    '{"claim_id":"c2","status":"fact","facts":{"source_run_ids":["x"]},"inference":"Copper is red."}]'
)
FEEDBACK: Final = {
    "products": [{"name": "formate", "value": 7.5, "fraction": 0.7}, {"name": "CO", "value": 3.2, "fraction": 0.3}],
    "pros": "clean",
    "cons": "the current fell after two hours",
}
LAB: Final = "lab"
MODIFIERS: Final = {
    "run-acid": "benzoic acid",
    "run-salt": "sodium benzoate",
    "run-several": "vinyl",
    "run-none": "imidazole",
}


def tell_what_was_learned(memory: Memory) -> None:
    """Fill a store with what was learned of people, of what was tried, and of runs."""
    _traits(memory)
    _experience(memory)
    _runs(memory)


@dataclass
class Weeks:
    """A clock that begins some weeks ago."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now


class Shelf:
    """A PubChem of a few compounds, which no request leaves for."""

    base_url = "https://pubchem.example/rest/pug"
    patience = 1.0

    def look_up(self, name: str, *, cancelled: Callable[[], bool]) -> Compounds:
        """Give what the tables have of a name."""
        assert not cancelled()
        listed = tuple(Compound(cid, ROWS[cid][0], ROWS[cid][1], ROWS[cid][3]) for cid in NAMES.get(name, ()))
        return Compounds(len(listed), listed)

    def close(self) -> None:
        """Do nothing: there is no connection."""


@contextmanager
def weeks_ago(memory: Memory, weeks: int) -> Iterator[tuple[Memory, Weeks]]:
    """Open the same file with a clock of its own."""
    clock = Weeks(datetime.now(UTC) - timedelta(weeks=weeks))
    with Memory.open(
        f"sqlite:///{memory.admin.components.database.path}", policy={"embedder": "none"}, clock=clock
    ) as past:
        yield past, clock


def _traits(memory: Memory) -> None:
    with weeks_ago(memory, 9) as (past, clock):
        mind = install(past)

        def told(text: str, n: int, *, days: int = 7) -> str:
            clock.now += timedelta(days=days)
            (item,) = past.add(text, user_id=RUNNER, kind="episodic", session_id=f"run/{n}").items
            clock.now += timedelta(hours=1)
            return item.id

        for n in range(3):
            told(RAN, n)
            told(TEA, n, days=0)
        past.reflect(RUNNER, force=True)
        for n in range(3, 6):
            told(RAN, n)
            past.reflect(RUNNER, force=True)
        traits = past.get_all(user_id=RUNNER, kinds=[TRAIT])
        (runs,) = (one.id for one in traits if one.content == RAN)
        against = told("I skipped the run: my knee hurts, and the pool is warmer.", 6)
        mind.then.append(
            ProposedOperations(contradictions=[TraitContradiction(trait_id=runs, contradicting_evidence_ids=[against])])
        )
        past.reflect(RUNNER, force=True)
        told(RAN, 7)
        past.reflect(RUNNER, force=True)
    memory.add("I prefer short answers.", user_id=RUNNER, kind="preference")
    memory.add("Name is Lin.", kind="profile", subject="user", key="name", value="Lin", user_id=RUNNER)


TRIED: Final = (
    (
        *(range(4), BUILD, "make the build pass", "Deleted the cache folder and rebuilt, attempt {n}", "success"),
        *("The build passed on machine {n}", "Stale objects of src/app.py were to blame"),
    ),
    (
        *(range(4, 7), BUILD, "make the build pass", "Deleted the cache folder and rebuilt under load, attempt {n}"),
        *("failure", "The build failed again on runner {n}: cache folder locked", "Another job held the lock"),
    ),
    (
        *(range(7, 11), "酶活测定时空白对照偏高", "降低空白对照的吸光度", "更换缓冲液并预热比色皿，第{n}次", "success"),
        *("空白吸光度降到 0.0{n}", "缓冲液放置过久"),
    ),
    (
        *(range(11, 14), "The pump leaks at the shaft seal", "stop the leak at the shaft seal"),
        *("Tightened the gland nut by a quarter turn, pump {n}", "failure", "It leaked again after {n} days"),
        "The seal was worn",
    ),
)
"""Attempts: their numbers, then the texts of their fields."""

FIELDS: Final = ("situation", "goal", "attempt", "label", "result", "reflection")


def _experience(memory: Memory) -> None:
    for numbers, *texts in TRIED:
        for n in numbers:
            told = {name: text.format(n=n) for name, text in zip(FIELDS, texts, strict=True)}
            memory.ingest({**told, "source_type": "manual", "source_ref": f"log/{n}"})
    memory.aggregate()
    memory.abstract()


def _runs(memory: Memory) -> None:
    object.__setattr__(memory.admin.components.reviews, "_pubchem", Shelf())
    claims = memory.reasoning.add(CLAIMS, namespace=LAB)
    for run_id, modifier in MODIFIERS.items():
        output = {"M1": "Cu", "M2": "Zn", "atomic_ratio": "3:1", "modifier": modifier}
        raw = f"Electrolysis at −0.9 V with Cu–Zn 3:1 and {modifier}."
        memory.runs.record({"run_id": run_id, "output": output, "raw": raw, "memory_ids": [claims.id]}, namespace=LAB)
        if modifier != MODIFIERS["run-none"]:
            memory.runs.review(run_id, namespace=LAB)
    memory.runs.feedback("run-salt", FEEDBACK, namespace=LAB)
    memory.learn("run-salt", namespace=LAB)
