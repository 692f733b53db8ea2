"""Parse runs written as ``Thought:``, ``Action:``, ``Observation:`` (Yao et al. 2022, ReAct)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from phronesis.experience.sources.trajectories import RESULT, Step, observed_label

_LINE: Final = 2_000
_MARK: Final = re.compile(
    r"\s{0,8}(?:[>#*-]{1,4}\s{0,3})?[*_]{0,3}(Question|Task|Goal|Instruction|Thought|Action|Action Input"
    r"|Observation|Final Answer|Answer"
    r"|问题|任务|思考|行动|动作|行动输入|动作输入|观察|最终答案)\s?\d{0,4}[*_]{0,3}\s?[:：][*_]{0,3}\s?(.*)\Z"
)
_KINDS: Final = {
    "ask": ("Question", "Task", "Goal", "Instruction", "问题", "任务"),
    "thought": ("Thought", "思考"),
    "action": ("Action", "行动", "动作"),
    "input": ("Action Input", "行动输入", "动作输入"),
    "observation": ("Observation", "观察"),
    "answer": ("Final Answer", "Answer", "最终答案"),
}
_KIND: Final = {word: kind for kind, words in _KINDS.items() for word in words}


@dataclass(slots=True)
class ReactRun:
    """A question and the steps toward its answer."""

    start: int
    end: int
    question: str = ""
    answer: str = ""
    steps: list[Step] = field(default_factory=list)


def react_runs(text: str) -> list[ReactRun]:
    """Return the runs with at least one action in a text."""
    out: list[ReactRun] = []
    run: ReactRun | None = None
    step: Step | None = None
    for kind, words, start, end in _marked(text):
        if kind == "ask":
            run, step = ReactRun(start, end, question=words), None
            out.append(run)
            continue
        if run is None:
            run = ReactRun(start, end)
            out.append(run)
        run.end = end
        if kind == "answer":
            run.answer = words
        elif kind == "thought" or step is None or (kind == "action" and step.action):
            step = Step("", "", start, end)
            run.steps.append(step)
        if step is not None:
            _fill(step, kind, words, end)
    for run in out:
        run.steps = [step for step in run.steps if step.action]
        for step in run.steps:
            step.judged = observed_label(step.result)
            step.result = step.result[:RESULT]
    return [run for run in out if run.steps]


def _fill(step: Step, kind: str, words: str, end: int) -> None:
    if kind == "thought":
        step.thought = words
    elif kind == "action":
        step.action = words
    elif kind == "input" and step.action:
        step.action = f"{step.action}: {words}"
    elif kind == "observation":
        step.result = words
    if kind != "answer":
        step.end = end


def _marked(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield the text after each mark, up to the next one."""
    kind, words, begin, last = "", [""], 0, 0
    start = 0
    for line in text.split("\n"):
        end = start + len(line)
        match = _MARK.match(line[:_LINE])
        if match:
            if kind:
                yield kind, "\n".join(words).strip(), begin, last
            kind, words, begin, last = _KIND[match[1]], [match[2] + line[_LINE:]], start, end
        elif line.strip():
            words.append(line.rstrip())
            last = end
        start = end + 1
    if kind:
        yield kind, "\n".join(words).strip(), begin, last
