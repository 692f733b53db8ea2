"""The source ``run``: agent runs as records, as trajectories of steps, or as ReAct text."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from phronesis.core.ids import derived_id
from phronesis.core.relations import Origin
from phronesis.experience.laws.event_draft import Draft
from phronesis.experience.laws.outcome_labels import OutcomeLabel, label_of, reasons
from phronesis.experience.sources.port import (
    JsonSpan,
    LineIndex,
    RawText,
    Source,
    documents,
    elements,
    is_json,
    member,
    storable_drafts,
)
from phronesis.experience.sources.trajectories import (
    RESULT,
    Step,
    Trajectory,
    ending_of,
    is_event,
    is_message,
    observed_label,
    of_events,
    of_messages,
    react_runs,
    task_of,
    verdict_in,
)
from phronesis.experience.sources.transcripts import compact_json, describe_arguments, moment_of, texts_in, words_in

STEPS: Final = ("steps", "trajectory", "trace", "actions", "history", "events", "transitions")
_RUNS: Final = ("runs", "trials", "episodes", "results", "trajectories")
_IDS: Final = ("task_id", "instance_id", "run_id", "episode_id", "trial_id", "id", "name", "env_name")
_GOALS: Final = tuple(
    """
    goal task instruction question query objective problem prompt task_description problem_statement issue title
    input
    """.split()
)
_SETTINGS: Final = ("situation", "environment", "env", "context", "agent", "model", "setting")
_ANSWERS: Final = ("result", "final_answer", "answer", "final_output", "prediction", "response")
_OUTCOMES: Final = tuple(
    """
    success is_success succeeded solved resolved passed ok failed reward status outcome exit_code returncode error
    errors exception timeout timed_out is_correct correct verified
    """.split()
)
_MEASURES: Final = tuple("score seconds duration tokens cost num_steps metrics total_reward memory_ids".split())
_TIMES: Final = ("timestamp", "started_at", "created_at", "occurred_at", "start_time", "time")
_STEP_ACTIONS: Final = ("action", "tool", "tool_call", "command", "act", "call", "name", "input")
_STEP_RESULTS: Final = ("observation", "result", "output", "obs", "error", "exception", "stderr")
_MESSAGES: Final = ("messages", "conversations", "conversation")
_STEP_OUTCOMES: Final = tuple(name for name in _OUTCOMES if name != "reward")
_REFLECTIONS: Final = ("reflection", "reflections", "lesson", "lessons", "memory")

_SHORT: Final = 200
_MOST_TRIALS: Final = 1_000_000
_SHOWN: Final = 30
"""Steps listed in a run's attempt; of a longer run the first and the last ones."""


_REMEDY: Final = "a run is an object with steps, a trajectory, events or messages, or with an id and an outcome"


class RunSource(Source):
    """Reads agent runs."""

    source_type = "run"
    version = "run/3"

    def read(self, raw: RawText) -> Sequence[Draft]:
        """Return a draft for each step that clearly failed, and one for each run after its steps."""
        return storable_drafts(_drafts(raw))

    def refusal(self, raw: RawText) -> str:
        """Return why a text cannot be read: JSON without a run."""
        if not is_json(raw.text) or next(_records(raw.text), None) is not None:
            return ""
        return f"JSON in which no run is found, which the source 'run' does not read; {_REMEDY}"


def _drafts(raw: RawText) -> Iterator[Draft]:
    index, made = LineIndex(raw.text), derived_id("run", raw.text.encode(errors="replace").decode())
    records = list(_records(raw.text))
    seqs: dict[str, int] = {}
    for n, placed in enumerate(records, start=1):
        yield from _of_record(raw, placed, index, f"{made}#{n}", seqs)
    if not records:
        yield from _of_react(raw, index, made)


def _records(text: str) -> Iterator[JsonSpan]:
    """Yield the objects that are runs: the value itself, its elements, or those of a member such as ``runs``."""
    found = documents(text)
    if len(found) > 1 and all(is_event(one.value) for one in found):  # one run, with an event on each line
        found = [JsonSpan([one.value for one in found], found[0].start, found[-1].end, tuple(found))]
    for one in found:
        if isinstance(one.value, list):
            inner = list(elements(text, one))
            if inner and all(_is_run_part(part.value) and not _is_run(part.value) for part in inner):
                yield one
            else:
                yield from (part for part in inner if _is_run(part.value))
        elif _is_run(one.value):
            yield one
        else:
            name = next((name for name in _RUNS if isinstance(one.value.get(name), list)), None)
            listed = member(text, one, name) if name else None
            if listed is not None:
                yield from (part for part in elements(text, listed) if _is_run(part.value))


def _is_run_part(value: object) -> bool:
    """Return whether a value is part of a run: a step, an event, a message, or an action with its observation."""
    if isinstance(value, list):
        return bool(value) and all(is_event(one) for one in value)
    return _is_step(value) or is_event(value) or is_message(value)


def _is_run(value: object) -> bool:
    """Return whether an object is a run: it has steps, an outcome, or an output under an id."""
    if not isinstance(value, Mapping):
        return False
    if any(
        isinstance(value.get(name), list) and value[name] and all(map(_is_run_part, value[name]))
        for name in (*STEPS, *_MESSAGES)
    ):
        return True
    if isinstance(value.get("trace"), Mapping) or ("run_id" in value and ("output" in value or "raw" in value)):
        return True
    named = any(value.get(name) not in (None, "") for name in (*_IDS, *_GOALS))
    return named and any(name in value for name in _OUTCOMES) and not _is_step(value)


def _is_step(value: object) -> bool:
    return isinstance(value, Mapping) and (
        "action" in value or "observation" in value or "tool" in value or "thought" in value or "command" in value
    )


def _of_record(raw: RawText, placed: JsonSpan, index: LineIndex, made: str, seqs: dict[str, int]) -> Iterator[Draft]:
    record: Mapping[str, Any] = placed.value if isinstance(placed.value, Mapping) else {}
    trace = record.get("trace")
    known = {**trace, **record} if isinstance(trace, Mapping) else dict(record)
    told = _trajectory(raw, placed)
    steps = told.steps
    episode = _first_words(known, _IDS) or made
    goal, situation = task_of(_first_words(known, _GOALS)) or told.goal, _first_words(known, _SETTINGS)
    at = next((moment for name in _TIMES if (moment := moment_of(raw, known.get(name)))), None)
    shared = {"goal": goal, "situation": situation, "episode_id": episode[:256]}

    def following(least: int = 1) -> int:
        seqs[episode] = max(seqs.get(episode, 0) + 1, least)
        return seqs[episode]

    yield from _failed_steps(steps, index, shared, following, at)
    memories = texts_in(known.get("memory"))
    reflections = [text for name in _REFLECTIONS for text in texts_in(known.get(name))]
    attempt = _attempt(known, steps, episode if episode != made else "", memories)
    if not steps and not _has_outcome(known) and is_conversation(known):
        return  # a conversation in which nothing was done
    result, judged = _run_result(known, steps)[:500], _run_label(known, steps)
    whole = Step(attempt, result, placed.start, placed.end, judged=judged, at=at)
    yield _draft(
        whole,
        index,
        shared,
        following(_trial(known)),
        reflection=reflections[-1].strip() if reflections else "",
        observations=_observed_result(known, steps),
    )


def _trial(known: Mapping[str, Any]) -> int:
    """Return the number of a trial, given or by the number of reflections before it (Reflexion)."""
    given = known.get("trial")
    if isinstance(given, int) and not isinstance(given, bool) and 0 < given < _MOST_TRIALS:
        return given
    return len(texts_in(known.get("memory"))) + 1


def is_conversation(known: Mapping[str, Any]) -> bool:
    """Return whether a record contains messages."""
    listed = [known[name] for name in (*_MESSAGES, *STEPS) if isinstance(known.get(name), list) and known[name]]
    return not known or any(all(map(is_message, one)) for one in listed)


def _has_outcome(known: Mapping[str, Any]) -> bool:
    return any(name in known for name in _OUTCOMES) or bool(_nested_outcomes(known)) or ending_of(known)[1] != ""


def _run_result(known: Mapping[str, Any], steps: list[Step]) -> str:
    """Return the result of a run: its answer, its error, its raw output, or that of its last step."""
    error = known.get("error") or known.get("exception")
    return (
        _first_words(known, _ANSWERS)
        or words_in(error)
        or _first_words(known, ("raw",))
        or ending_of(known)[1]
        or _last_result(steps)
    )


def _failed_steps(
    steps: list[Step], index: LineIndex, shared: dict[str, Any], following: Any, at: datetime | None
) -> Iterator[Draft]:
    for n, step in enumerate(steps):
        if step.judged.label == "failure":
            later = steps[n + 1].thought if n + 1 < len(steps) else ""
            step.at = step.at or at
            reflection = reasons(later) if later else ""
            yield _draft(step, index, shared, following(), reflection=reflection, observations={"step": n + 1})


def _draft(
    step: Step, index: LineIndex, shared: dict[str, Any], seq: int, *, reflection: str, observations: dict[str, Any]
) -> Draft:
    texts = {**shared, "attempt": step.action, "result": step.result}
    named = [name for name in ("situation", "goal", "attempt", "result") if texts[name] or name == "attempt"]
    origins: dict[str, Origin] = dict.fromkeys(named, "rule")
    if reflection:
        origins["reflection"] = "model"
    return Draft(
        **texts,
        reflection=reflection,
        **step.judged.fields,
        field_origin=origins,
        observations=observations,
        **index.place(step.start, step.end),
        occurred_at=step.at,
        seq=seq,
    )


def _trajectory(raw: RawText, placed: JsonSpan) -> Trajectory:
    """Return the task and the steps of a run, from its steps, events or messages."""
    if isinstance(placed.value, list):
        return _of_list(raw, placed)
    record: Mapping[str, Any] = placed.value
    above = placed
    if not any(isinstance(record.get(name), list) for name in STEPS) and isinstance(record.get("trace"), Mapping):
        above = member(raw.text, placed, "trace") or placed
        record = above.value
    told = Trajectory()
    for name in (*STEPS, *_MESSAGES):
        if isinstance(record.get(name), list) and record[name]:
            listed = member(raw.text, above, name)
            found = _of_list(raw, listed) if listed is not None else Trajectory()
            told = Trajectory(told.goal or found.goal, told.steps or found.steps)
    return told


def _of_list(raw: RawText, listed: JsonSpan) -> Trajectory:
    values = listed.value
    if all(map(is_message, values)):
        return of_messages(raw, listed)
    if any(is_event(one) or (isinstance(one, list) and one and all(map(is_event, one))) for one in values):
        return of_events(raw, listed)
    return Trajectory(steps=list(_steps(raw, listed)))


def _steps(raw: RawText, listed: JsonSpan) -> Iterator[Step]:
    """Return the steps of a list of actions and observations, each with its place."""
    for one in elements(raw.text, listed):
        if isinstance(one.value, Mapping):
            step = one.value
            action = next((words for name in _STEP_ACTIONS if (words := _action(step.get(name), step))), "")
            results = _STEP_RESULTS if any(name in step for name in _STEP_RESULTS) else ("response",)
            result = next((words for name in results if (words := words_in(step.get(name)))), "")
            at = next((moment for name in _TIMES if (moment := moment_of(raw, step.get(name)))), None)
            if action or result:
                yield Step(
                    action or "a step",
                    result[:RESULT],
                    one.start,
                    one.end,
                    words_in(step.get("thought")),
                    step_label(step, result, action),
                    at,
                    _reward(step),
                )


def _reward(step: Mapping[str, Any]) -> object:
    """Return the reward of a step that ends its run: 1 if earned, 0 only if the run says that it is over."""
    over = step.get("done") is True or step.get("terminated") is True
    return step.get("reward") if over or step.get("reward") == 1 else None


def _action(said: object, step: Mapping[str, Any]) -> str:
    if isinstance(said, Mapping):
        name = words_in(said.get("name") or said.get("tool") or said.get("type"))
        words = describe_arguments(said.get("args", said.get("arguments", said.get("input", said.get("params")))))
        return f"{name}: {words}" if name and words else name or compact_json(dict(said))[:_SHORT]
    given = step.get("action_input", step.get("args", step.get("arguments")))
    words = words_in(said)
    return f"{words}: {describe_arguments(given)}" if words and given not in (None, "", {}, []) else words


def step_label(step: Mapping[str, Any], result: str, action: str) -> OutcomeLabel:
    """Return the label of a step by its own fields, else by its result; a reward of 0 is no failure of a step."""
    judged = label_of({name: step[name] for name in _STEP_OUTCOMES if name in step})
    return judged if judged.signals else observed_label(result, action=action)


def _nested_outcomes(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outcomes that an evaluation wrote below: ``test_result.report.resolved``, and nebius' ``target``."""
    told = known.get("test_result")
    report = told.get("report") if isinstance(told, Mapping) else known.get("report")
    below = [one for one in (told, report) if isinstance(one, Mapping)]
    found = {name: one[name] for one in below for name in ("resolved", "passed", "success") if name in one}
    if isinstance(known.get("target"), bool) and ("eval_logs" in known or "generated_patch" in known):
        found["resolved"] = known["target"]
    return found


def _run_label(known: Mapping[str, Any], steps: list[Step]) -> OutcomeLabel:
    """Return the label of a run by its own fields, else by its exit status, else by its last step."""
    judged = label_of({name: known[name] for name in _OUTCOMES if name in known} | _nested_outcomes(known))
    if judged.signals:
        return judged
    ended, said = ending_of(known)
    if ended is not None or said or not steps:
        return ended or OutcomeLabel("unknown")
    verdict = verdict_in(steps[-1].result)
    return label_of({"outcome": verdict} if verdict else {"reward": steps[-1].reward})


def _attempt(known: Mapping[str, Any], steps: list[Step], name: str, memories: list[str]) -> str:
    """Return a one-line summary of a run."""
    if steps:
        shown = steps if len(steps) <= _SHOWN else [*steps[: _SHOWN // 2], *steps[-_SHOWN // 2 :]]
        return " → ".join(step.action[:_SHORT] for step in shown)
    given = _first_words(known, ("attempt", "approach", "plan"))
    if given:
        return given
    output = known.get("output")
    if isinstance(output, Mapping) and output:
        return compact_json(dict(output))[:500]
    if memories:
        return f"{name or 'a run'}, after {len(memories)} reflection{'s' if len(memories) > 1 else ''}"
    return f"run {name}" if name else _first_words(known, ("raw", *_ANSWERS)) or "a run"


def _observed_result(known: Mapping[str, Any], steps: list[Step]) -> dict[str, Any]:
    out = {name: known[name] for name in (*_OUTCOMES, *_MEASURES) if known.get(name) not in (None, "", [], {})}
    if steps:
        out |= {"steps": len(steps), "failed_steps": sum(step.judged.label == "failure" for step in steps)}
    return out


def _last_result(steps: list[Step]) -> str:
    return next((step.result for step in reversed(steps) if step.result), "")


def _first_words(known: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((words for name in names if (words := words_in(known.get(name)))), "")


def _of_react(raw: RawText, index: LineIndex, made: str) -> Iterator[Draft]:
    """Yield the drafts of runs written as Thought, Action and Observation."""
    for n, run in enumerate(react_runs(raw.text), start=1):
        steps = run.steps
        shared = {"goal": run.goal, "situation": "", "episode_id": f"{made}#{n}"}
        count = iter(range(1, len(steps) + 2))
        # The verdict on the answer is the run's, not that of the step that gave it.
        last = steps[-1]
        final = bool(verdict_in(last.result))
        yield from _failed_steps(steps[:-1] if final else steps, index, shared, lambda count=count: next(count), None)
        judged = _run_label({}, steps)
        action = _attempt({}, steps, "", [])
        whole = Step(action, run.answer[:500] or _last_result(steps), run.start, run.end, judged=judged)
        yield _draft(whole, index, shared, next(count), reflection="", observations=_observed_result({}, steps))
