"""How well plans are made, on labelled messages (``phronesis bench plans``).

A message is a JSON object a line: ``{"id", "message", "now", "language", "resources_needed", "time", "intent"}``
(labelled/plans). Each is planned by ``Memory.plan`` of an empty store whose clock stands at ``now``. A plan's
window is compared by its days, in UTC: an ``until`` within a day takes that day in.
"""

import json
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, Self, cast

from phronesis import Memory
from phronesis.core.retrieval_plan import INTENTS, Intent, RetrievalPlan, TimeWindow
from phronesis.core.timestamps import parse_moment
from phronesis.errors import InputError

ALL: Final = "all"

Days = tuple[date, date]
"""From the first day up to, not including, the second."""


class Planner(Protocol):
    """What makes plans: ``Memory``."""

    def plan(self, message: str) -> RetrievalPlan:
        """Return the plan for a message."""
        ...


@dataclass(frozen=True, slots=True)
class LabelledMessage:
    """A message, when it was sent, and what its plan is to say."""

    id: str
    message: str
    now: datetime
    language: str
    resources_needed: bool
    time: Days | None
    intent: Intent


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the plan for a message said, beside the labels. ``seconds`` are those of the processor."""

    label: LabelledMessage
    resources_needed: bool
    time: Days | None
    intent: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanScore:
    """How the plans for the messages of one language of one file agree with the labels.

    Shares of messages, None where there are none. ``precision`` and ``recall`` are those of needing resources; ``time``
    is over all messages, ``time_given`` over those with a labelled window, ``time_null`` over those without.
    ``milliseconds`` are of the processor, for a message.
    """

    data: str
    language: str
    messages: int
    resources: float | None
    precision: float | None
    recall: float | None
    time: float | None
    time_given: float | None
    time_null: float | None
    intent: float | None
    milliseconds: float

    @classmethod
    def of(cls, data: str, language: str, outcomes: Sequence[Outcome]) -> Self:
        """Count what is right."""
        right = [(one, one.time == one.label.time) for one in outcomes]
        return cls(
            data=data,
            language=language,
            messages=len(outcomes),
            resources=_share(one.resources_needed == one.label.resources_needed for one in outcomes),
            precision=_share(one.label.resources_needed for one in outcomes if one.resources_needed),
            recall=_share(one.resources_needed for one in outcomes if one.label.resources_needed),
            time=_share(same for _, same in right),
            time_given=_share(same for one, same in right if one.label.time is not None),
            time_null=_share(same for one, same in right if one.label.time is None),
            intent=_share(one.intent == one.label.intent for one in outcomes),
            milliseconds=1000 * sum(one.seconds for one in outcomes) / len(outcomes),
        )


@dataclass(frozen=True, slots=True)
class PlanReport:
    """The scores of every file, each language and then all of it."""

    scores: tuple[PlanScore, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"scores": [asdict(one) for one in self.scores]}

    def to_markdown(self) -> str:
        """Return a table; times are processor time."""
        head = (
            "| data | language | messages | resources needed | precision | recall | time exact | of those with a time"
            " | of those without | intent | ms a message |"
        )
        rows = [
            f"| {one.data} | {one.language} | {one.messages} | {_cell(one.resources)} | {_cell(one.precision)} |"
            f" {_cell(one.recall)} | {_cell(one.time)} | {_cell(one.time_given)} | {_cell(one.time_null)} |"
            f" {_cell(one.intent)} | {one.milliseconds:.2f} |"
            for one in self.scores
        ]
        return "\n".join([head, "|" + " --- |" * 11, *rows])


def run_plans(data: Sequence[Path], *, on_progress: Callable[[str, int, int], object] = lambda *_: None) -> PlanReport:
    """Plan every message of the files by rules, and compare. InputError names the line that cannot be read."""
    loaded = [(path.name, load_messages(path)) for path in data]
    scores: list[PlanScore] = []
    with tempfile.TemporaryDirectory() as place:
        clock = _Clock()
        url = f"sqlite:///{Path(place) / 'plans.db'}"
        with Memory.open(url, policy={"embedder": "none"}, clock=clock) as memory:
            planner = cast("Planner", memory)
            for name, messages in loaded:
                told = planned(planner, messages, clock.set, partial(on_progress, name))
                languages = sorted({one.label.language for one in told})
                scores += [
                    PlanScore.of(name, one, [row for row in told if row.label.language == one]) for one in languages
                ]
                scores.append(PlanScore.of(name, ALL, told))
    return PlanReport(tuple(scores))


def planned(
    planner: Planner,
    messages: Sequence[LabelledMessage],
    set_clock: Callable[[datetime], object],
    on_progress: Callable[[int, int], object] = lambda *_: None,
) -> list[Outcome]:
    """Plan each message at its own time."""
    outcomes = []
    for n, label in enumerate(messages):
        on_progress(n, len(messages))
        set_clock(label.now)
        begun = time.process_time()
        plan = planner.plan(label.message)
        took = time.process_time() - begun
        outcomes.append(Outcome(label, plan.resources_needed, days_of(plan.time), plan.intent, took))
    return outcomes


def days_of(window: TimeWindow | None) -> Days | None:
    """Return the days that a window touches, in UTC."""
    if window is None:
        return None
    since, until = window.since.astimezone(UTC), window.until.astimezone(UTC)
    whole = until == until.replace(hour=0, minute=0, second=0, microsecond=0)
    return since.date(), until.date() if whole else until.date() + timedelta(days=1)


def load_messages(path: Path) -> list[LabelledMessage]:
    """Return the labelled messages of a file. InputError: a line cannot be read, or there is none."""
    messages = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            messages.append(_message(json.loads(line)))
        except (ValueError, TypeError, KeyError, InputError) as error:
            raise InputError(
                f"{path.name}, line {number}: this is no labelled message: {error!r:.120}", field="data"
            ) from error
    if not messages:
        raise InputError(f"{path.name} holds no messages", field="data")
    return messages


def _message(row: dict[str, Any]) -> LabelledMessage:
    if row["intent"] not in INTENTS or not isinstance(row["resources_needed"], bool):
        raise ValueError(f"intent {row['intent']!r}, resources_needed {row['resources_needed']!r}")
    window = None
    if row["time"] is not None:
        since, until = map(date.fromisoformat, row["time"])
        if since >= until:
            raise ValueError(f"{until} is not after {since}")
        window = (since, until)
    known = {field.name: row[field.name] for field in fields(LabelledMessage)}
    return LabelledMessage(**known | {"now": parse_moment(row["now"], field="now"), "time": window})


class _Clock:
    """Stands where it is set."""

    def __init__(self) -> None:
        self._at = datetime.now(UTC)

    def set(self, at: datetime) -> None:
        self._at = at

    def __call__(self) -> datetime:
        return self._at


def _share(right: Iterable[bool]) -> float | None:
    counted = list(right)
    return sum(counted) / len(counted) if counted else None


def _cell(share: float | None) -> str:
    return "–" if share is None else f"{share:.3f}"
