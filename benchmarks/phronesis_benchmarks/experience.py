"""Whether experience comes back: lessons of one task found by each other's words, and by the task's name.

The data are the logs of Reflexion's ALFWorld runs (Shinn et al. 2023, 'Reflexion: Language Agents with Verbal
Reinforcement Learning'; github.com/noahshinn/reflexion, MIT): a folder of ``env_results_trial_N.json``. Each trial of a
task that has a reflection is an event: episode and situation are the task's name, attempt and reflection the last
reflection known by then.

Each distinct reflection of a task that has several is asked, itself held out of the answer; found is a task of which
another reflection is among the first five. BM25 over the same events is the floor.
"""

import json
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from phronesis import Memory
from phronesis.errors import InputError
from phronesis.experience.laws.answers import Answer
from phronesis.experience.laws.records import L1Event
from phronesis.models.embedder import Embedder
from phronesis_benchmarks.datasets import Turn
from phronesis_benchmarks.systems import Bm25System

DEPTH: Final = 5
"""Events of an answer among which another reflection of the task must be."""

_ASKED: Final = 3 * DEPTH
"""Events asked for: those that say what is held out are left out of them."""

_FILE: Final = re.compile(r"env_results_trial_(\d+)\.json")
_BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class Trial:
    """One trial of a task, with the last reflection known by then."""

    task: str
    number: int
    reflection: str
    success: bool

    def event(self, file: str) -> dict[str, Any]:
        """Return it as an experience."""
        return {
            "situation": self.task,
            "attempt": self.reflection,
            "reflection": self.reflection,
            "label": "success" if self.success else "failure",
            "source_type": "run",
            "source_ref": f"{file}#{self.task}",
            "episode_id": self.task,
            "seq": self.number,
        }


@dataclass(frozen=True, slots=True)
class LessonRecall:
    """Shares of questions, by how they were asked, that a system answered with a lesson of the same task."""

    system: str
    situation: float
    goal: float
    latest_by_situation: float | None
    latest_by_goal: float | None


@dataclass(frozen=True, slots=True)
class ExperienceReport:
    """How many events, tasks and questions there were, and what each system found."""

    events: int
    tasks: int
    asked_tasks: int
    questions: int
    found: Sequence[LessonRecall]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)

    def to_markdown(self) -> str:
        """Return the table."""
        lines = [
            f"| {one.system} | {one.situation:.3f} | {one.goal:.3f}"
            f" | {_share(one.latest_by_situation)} | {_share(one.latest_by_goal)} |"
            for one in self.found
        ]
        told = (
            f"{self.events} events of {self.tasks} tasks; {self.questions} reflections of the {self.asked_tasks} tasks"
            " with several, each held out of its own answer."
        )
        head = (
            f"| system | another lesson of the task among {DEPTH}, asked as situation | as goal"
            " | latest lesson first, by the task's name as situation | as goal |"
        )
        return "\n".join((told, "", head, "|---|---|---|---|---|", *lines))


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def load_trials(folder: Path) -> dict[str, list[Trial]]:
    """Return the trials that have a reflection, by the file they stand in; InputError where there is none."""
    out: dict[str, list[Trial]] = {}
    for file in sorted(folder.glob("env_results_trial_*.json")):
        match = _FILE.fullmatch(file.name)
        rows = json.loads(file.read_text(encoding="utf-8")) if match is not None else []
        out[file.name] = [
            Trial(row["name"], int(match.group(1)), row["memory"][-1].strip(), bool(row["is_success"]))
            for row in rows
            if row.get("memory") and match is not None
        ]
    if not any(out.values()):
        raise InputError(f"{folder} has no env_results_trial_N.json with reflections", field="data")
    return out


def run_experience(
    folder: Path,
    *,
    embedders: Mapping[str, Embedder | None],
    on_progress: Callable[[str, int, int], object] = lambda *_: None,
) -> ExperienceReport:
    """Measure BM25 and, for each embedder (None: words alone), `Memory.query` over the trials of a folder."""
    trials = load_trials(folder)
    every = [trial for rows in trials.values() for trial in rows]
    lessons: dict[str, list[str]] = {}
    for trial in every:
        known = lessons.setdefault(trial.task, [])
        if trial.reflection not in known:
            known.append(trial.reflection)
    asked = [(task, lesson) for task, said in lessons.items() if len(said) > 1 for lesson in said]
    latest = {trial.task: trial.reflection for trial in sorted(every, key=lambda one: one.number)}
    floor = _by_words(every, asked)
    found = [LessonRecall("BM25", floor, floor, None, None)]
    for name, embedder in embedders.items():
        on_progress(f"encoding for {name}", 0, 1)
        with tempfile.TemporaryDirectory() as place, _opened(Path(place), embedder, trials) as memory:
            found.append(_measured(name, memory, asked, latest, on_progress))
    return ExperienceReport(len(every), len(lessons), len({task for task, _ in asked}), len(asked), found)


def _opened(place: Path, embedder: Embedder | None, trials: Mapping[str, Sequence[Trial]]) -> Memory:
    policy = {"embedder": "none"} if embedder is None else None
    memory = Memory.open(f"sqlite:///{place / 'experience.db'}", policy=policy, embedder=embedder)
    events = [trial.event(file) for file, rows in trials.items() for trial in rows]
    for start in range(0, len(events), _BATCH):
        memory.ingest(events[start : start + _BATCH])
    memory.flush()
    memory.aggregate()
    memory.flush()
    return memory


def _by_words(every: Sequence[Trial], asked: Sequence[tuple[str, str]]) -> float:
    system = Bm25System()
    turns = [
        Turn(id=str(n), session_id="s", speaker="", role="user", text=trial.reflection, occurred_at=None)
        for n, trial in enumerate(every)
    ]
    system.add(turns)
    hits = 0
    for task, lesson in asked:
        ranked = [every[int(one)] for one in system.search(lesson, len(every))]
        hits += _hit([(one.task, one.reflection) for one in ranked], task, lesson)
    return hits / len(asked)


def _hit(ranked: Sequence[tuple[str, str]], task: str, lesson: str) -> bool:
    rest = [one for one in ranked if one != (task, lesson)]
    return any(one == task for one, _ in rest[:DEPTH])


def _measured(
    name: str,
    memory: Memory,
    asked: Sequence[tuple[str, str]],
    latest: Mapping[str, str],
    on_progress: Callable[[str, int, int], object],
) -> LessonRecall:
    hits = {"situation": 0, "goal": 0}
    for n, (task, lesson) in enumerate(asked):
        on_progress(f"asking {name}", n, len(asked))
        for field in hits:
            answer = _asked(memory, field, lesson, _ASKED)
            hits[field] += _hit([(one.situation, one.reflection) for one in _events(answer)], task, lesson)
    firsts = {"situation": 0, "goal": 0}
    for task, lesson in latest.items():
        for field in firsts:
            first = _events(_asked(memory, field, task, 1))[0]
            firsts[field] += (first.situation, first.reflection) == (task, lesson)
    return LessonRecall(
        name,
        hits["situation"] / len(asked),
        hits["goal"] / len(asked),
        firsts["situation"] / len(latest),
        firsts["goal"] / len(latest),
    )


def _asked(memory: Memory, field: str, text: str, limit: int) -> Answer:
    return memory.query(situation=text, limit=limit) if field == "situation" else memory.query(goal=text, limit=limit)


def _events(answer: Answer) -> list[L1Event]:
    return [one.item for one in answer.l1_evidence if isinstance(one.item, L1Event)]
