"""Parse steps of an agent run: actions and observations, tool-call messages, OpenHands events, and ReAct text.

A message's action is its tool call or its command block (``<function=bash>``, a fenced command); the next message is
its result. ReAct text has ``Thought:``, ``Action:``, ``Observation:`` (Yao et al. 2022).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from phronesis.experience.laws.outcome_labels import MEASURED, OutcomeLabel, label_of
from phronesis.experience.sources.chat import Message, messages_in, tool_outcome
from phronesis.experience.sources.port import (
    JsonSpan,
    RawText,
    describe_arguments,
    elements,
    moment_of,
    placed_lines,
    text_of,
)

RESULT: Final = 500
"""Characters of a step's result."""

_SHORT: Final = 200
_REFUSED: Final = re.compile(
    r"\s{0,9}(?:error\b|failed\b|failure\b|invalid (?:action|input|command|tool|argument)|could not\b"
    r"|cannot\b|unable to\b"
    r"|unknown (?:action|command|tool)|no such\b|not found\b|timed? ?out\b|permission denied|access denied"
    r"|your proposed edit has introduced|错误|失败|无效|无法)",
    re.IGNORECASE,
)
_VERDICT: Final = re.compile(r"\b(?:answer is )?(INCORRECT|CORRECT|SUCCESS|FAILURE|FAILED|PASSED)\b")
_EXITED: Final = re.compile(
    r"\[(?:The command completed|Command (?:finished|completed)) with exit code (-?\d{1,5})|<returncode>(-?\d{1,5})<"
)
_BEFORE: Final = re.compile(r"\s{0,4}(?:OBSERVATION|EXECUTION RESULT of \[[\w.-]{1,80}\]|Observation)\s?:\s{0,4}")
_ISSUE: Final = (
    ("<pr_description>", "</pr_description>"),
    ("<issue_description>", "</issue_description>"),
    ("<problem_statement>", "</problem_statement>"),
    ("\nISSUE:", "\nINSTRUCTIONS:"),
    ("issue: ISSUE:", "\nINSTRUCTIONS:"),
    (" NEW TASK DESCRIPTION ---------------------", "--------------------- END OF NEW TASK"),
)
"""Tags around the task in the prompts of SWE-agent and OpenHands."""

_TAGS: Final = ("execute_bash", "execute_ipython", "execute_browse", "execute")
_VIEWS: Final = frozenset(
    """
    view open goto scroll_up scroll_down find_file search_file search_dir read think cat ls grep rg find head tail
    sed diff create str_replace insert edit write
    """.split()
)
"""Actions whose result shows a file, whose content is not an outcome."""

_SILENT: Final = frozenset(
    """
    system message recall think change_agent_state agent_state_changed null condensation condensation_request
    task_tracking
    """.split()
)
_OBSERVED: Final = ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation")
_EVENT_KINDS: Final = {"ActionEvent": "action", "MessageEvent": "message", **dict.fromkeys(_OBSERVED, "observation")}


@dataclass(slots=True)
class Step:
    """One step of a run, with its span."""

    action: str
    result: str
    start: int
    end: int
    thought: str = ""
    judged: OutcomeLabel = field(default_factory=lambda: OutcomeLabel("unknown"))
    at: datetime | None = None
    reward: object = None


@dataclass(slots=True)
class Trajectory:
    """The task and the steps in a list of messages or events, in order; of a ReAct text its answer and span, too."""

    goal: str = ""
    steps: list[Step] = field(default_factory=list)
    answer: str = ""
    start: int = 0
    end: int = 0


def is_message(value: object) -> bool:
    """Return whether a value is a conversation message: it has a role, and text or calls."""
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("role", value.get("from")), str)
        and (any(key in value for key in ("content", "value", "text", "tool_calls")))
    )


def is_event(value: object) -> bool:
    """Return whether a value is an OpenHands event: an action with arguments, or an observation with content."""
    if not isinstance(value, Mapping):
        return False
    if isinstance(value.get("kind"), str) and value["kind"].endswith("Event"):
        return True
    if isinstance(value.get("action"), str) and (isinstance(value.get("args"), Mapping) or "is_confirmed" in value):
        return True
    return isinstance(value.get("observation"), str) and "content" in value and "action" not in value


def of_messages(raw: RawText, listed: JsonSpan) -> Trajectory:
    """Return the task and the steps in messages, without demonstrations."""
    placed = [one for one in elements(raw.text, listed) if is_message(one.value) and not one.value.get("is_demo")]
    out = Trajectory()
    waiting: dict[str, Step] = {}
    for message in messages_in(raw, placed):
        if message.role == "system":
            continue
        if message.role == "assistant":
            waiting = {}
            marks = (message.text.find(mark) for mark in ("<function=", "<execute", "```"))
            thought = message.text[: next((at for at in marks if at >= 0), None)].strip()  # before the action
            for n, (name, action) in enumerate(_actions(message)):
                step = Step(action, "", message.start, message.end, thought, at=message.at)
                out.steps.append(step)
                key = message.calls[n].id if n < len(message.calls) else ""
                waiting[key or f"{name}.{n}"] = step
        elif message.role == "user" and not out.goal and not out.steps:
            out.goal = task_of(message.text)
        elif waiting:
            key = message.answers if message.answers in waiting else next(iter(waiting))
            _set_result(waiting.pop(key), message.text, failed=message.failed)
            out.steps[-1].end = max(out.steps[-1].end, message.end)
    return out


def of_events(raw: RawText, listed: JsonSpan) -> Trajectory:
    """Return the task and the steps in OpenHands events, each observation with the action that caused it."""
    out = Trajectory()
    steps: dict[Any, Step | None] = {}
    for one in _flat(raw, listed):
        event: Mapping[str, Any] = one.value
        kind, user = _kind(event), event.get("source") == "user"
        if kind == "message" and user and not out.goal:
            out.goal = task_of(_event_text(event))
        elif kind == "action":
            name, words = _event_action(event)
            args = event.get("args")
            thought = text_of(event.get("thought") or (args.get("thought") if isinstance(args, Mapping) else None))
            caused = event.get("tool_call_id") or event.get("id")
            if name in _SILENT and caused is not None:
                steps[caused] = None  # what it gives back is no other step's result
            elif name not in _SILENT:
                at = moment_of(raw, event.get("timestamp"))
                step = Step(f"{name}: {words}" if words else name, "", one.start, one.end, thought.strip(), at=at)
                out.steps.append(step)
                steps[caused] = step
        elif kind == "observation" and out.steps:
            by = event.get("tool_call_id") or event.get("cause") or event.get("action_id")
            done = steps.get(by, out.steps[-1])
            text, code, failed = _event_result(event)
            if done is not None and str(event.get("observation")) not in _SILENT and (text.strip() or code is not None):
                _set_result(done, text, code=code, failed=failed)
                done.end = max(done.end, one.end)
    return out


def task_of(text: str) -> str:
    """Return the task in a prompt, without the text that a program added."""
    for begin, end in _ISSUE:
        if (start := text.find(begin)) >= 0:
            stop = text.find(end, start)
            return text[start + len(begin) : len(text) if stop < 0 else stop].strip()
    return text.strip()


def _set_result(step: Step, text: str, *, code: object = None, failed: bool | None = None) -> None:
    """Set the result of a step."""
    before = _BEFORE.match(text)
    text = text[before.end() :] if before else text
    step.result = text.strip()[:RESULT]
    name = step.action.partition(":")[0].split("(")[0].strip()
    words = step.action.partition(": ")[2]
    step.judged = observed_label(text, action=f"{name} {words}", code=code, failed=failed)


def observed_label(text: str, *, action: str = "", code: object = None, failed: bool | None = None) -> OutcomeLabel:
    """Return the label of an action's result by exit code, error or program output; a shown file has none."""
    ended = _EXITED.search(text[-400:]) or _EXITED.search(text[:400])
    if code is None and ended:
        code = int(ended[1] or ended[2])
    if failed:
        return label_of({"is_error": True})
    if isinstance(code, int) and not isinstance(code, bool) and code > 0:
        return OutcomeLabel("failure", (f"exit code {code}",), MEASURED)
    if _REFUSED.match(text[:_SHORT]):
        return label_of({"error": text.strip().partition("\n")[0]})
    if any(word in _VIEWS for word in re.findall(r"\w{1,40}", action[:80])[:4]):
        return OutcomeLabel("unknown")
    judged, _, _ = tool_outcome(text[:100_000])
    if judged.label == "unknown":
        verdict = verdict_in(text)
        judged = label_of({"outcome": verdict}) if verdict else judged
    if judged.label == "unknown" and code == 0:
        return OutcomeLabel("success", ("exit code 0",), MEASURED)
    return judged


def verdict_in(text: str) -> str | None:
    """Return the verdict at the beginning of a result (``Answer is INCORRECT``), in one word."""
    match = _VERDICT.search(text[:_SHORT])
    return match[1] if match else None


def _actions(message: Message) -> Iterator[tuple[str, str]]:
    """Yield (name, the action in short) for each action of a message."""
    if message.calls:
        for call in message.calls:
            yield call.name, f"{call.name}: {call.arguments}" if call.arguments else call.name
        return
    text = message.text
    start = text.rfind("<function=")
    if start >= 0:
        name, _, body = text[start + len("<function=") :].partition(">")
        parts = [part.partition(">") for part in body.partition("</function>")[0].split("<parameter=")[1:]]
        given = {name.strip(): value.partition("</parameter>")[0].strip() for name, _, value in parts}
        if name.strip():
            yield name, f"{name.strip()}: {describe_arguments(given)}".rstrip(": ")
        return
    for tag in _TAGS:
        if (start := text.rfind(f"<{tag}>")) >= 0:
            yield tag, f"{tag}: {text[start + len(tag) + 2 :].partition('</')[0].strip()}"
            return
    fenced = text.rstrip().rsplit("```", 2)
    if len(fenced) > 2 and not fenced[2] and fenced[1].strip():  # noqa: PLR2004 - before, within, behind
        _, _, command = fenced[1].partition("\n")
        yield "command", (command or fenced[1]).strip()


def _flat(raw: RawText, listed: JsonSpan) -> Iterator[JsonSpan]:
    """Return the events; older files pair each action with its observation."""
    for one in elements(raw.text, listed):
        if isinstance(one.value, list):
            yield from (part for part in elements(raw.text, one) if isinstance(part.value, Mapping))
        elif isinstance(one.value, Mapping):
            yield one


def _kind(event: Mapping[str, Any]) -> str:
    kind, action = event.get("kind"), event.get("action")
    if isinstance(kind, str):
        return _EVENT_KINDS.get(kind, "other")
    if isinstance(action, str):
        return "message" if action == "message" else "action"
    return "observation" if isinstance(event.get("observation"), str) else "other"


def _event_text(event: Mapping[str, Any]) -> str:
    args, said = event.get("args"), event.get("llm_message")
    content = said.get("content") if isinstance(said, Mapping) else None
    if content is None and isinstance(args, Mapping):
        content = args.get("content")
    return text_of(content if content is not None else event.get("content", event.get("message")))


def _event_action(event: Mapping[str, Any]) -> tuple[str, str]:
    action, args = event.get("action"), event.get("args")
    if isinstance(action, Mapping):  # the SDK's events
        name = event.get("tool_name") or str(action.get("kind") or "").removesuffix("Action")
        given = {
            key: value for key, value in action.items() if key != "kind" and value not in (None, "", [], {}, False)
        }
        return str(name or "a step"), describe_arguments(given)
    given = dict(args if isinstance(args, Mapping) else event)  # older events hold their arguments themselves
    first = ("path",) if action in {"read", "write", "edit"} else ()  # the command is the editor's (``str_replace``)
    for key in (*first, "command", "code", "path", "url", "query", "browser_actions", "name"):
        if isinstance(given.get(key), str) and given[key].strip():
            return str(action), given[key].strip()
    return str(action), ""


def _event_result(event: Mapping[str, Any]) -> tuple[str, object, bool | None]:
    """Return the text, the exit code and whether it failed, of an observation."""
    seen = event.get("observation")
    if isinstance(seen, Mapping):
        text = text_of(seen.get("content") or seen.get("output") or "")
        return text, seen.get("exit_code"), True if seen.get("is_error") or seen.get("error") else None
    if event.get("kind") == "AgentErrorEvent":
        return str(event.get("error") or ""), None, True
    extras = event.get("extras")
    extras = extras if isinstance(extras, Mapping) else {}
    told = extras.get("metadata")
    code = extras.get("exit_code", told.get("exit_code") if isinstance(told, Mapping) else event.get("exit_code"))
    text = text_of(event.get("content") or "")
    return text, None if code == -1 else code, True if seen == "error" else None


def ending_of(known: Mapping[str, Any]) -> tuple[OutcomeLabel | None, str]:
    """Return the label and exit status of a run (SWE-agent); only ``submitted`` is no failure."""
    info = known.get("info")
    status = (info.get("exit_status") if isinstance(info, Mapping) else None) or known.get("exit_status")
    if not isinstance(status, str) or not status.strip() or status.strip().lstrip("-").isdigit():
        return None, ""
    submitted = status.lower().startswith("submitted")
    judged = None if submitted else OutcomeLabel("failure", (f"exit status {status:.80}",), MEASURED)
    return judged, f"exit status: {status:.80}"


_LINE: Final = 2_000
_KINDS: Final = {
    "ask": ("Question", "Task", "Goal", "Instruction", "问题", "任务"),
    "thought": ("Thought", "思考"),
    "action": ("Action", "行动", "动作"),
    "input": ("Action Input", "行动输入", "动作输入"),
    "observation": ("Observation", "观察"),
    "answer": ("Final Answer", "Answer", "最终答案"),
}
_MARK: Final = re.compile(
    rf"\s{{0,8}}(?:[>#*-]{{1,4}}\s{{0,3}})?[*_]{{0,3}}({'|'.join(sum(_KINDS.values(), ()))})"
    r"\s?\d{0,4}[*_]{0,3}\s?[:：][*_]{0,3}\s?(.*)\Z"
)
_KIND: Final = {word: kind for kind, words in _KINDS.items() for word in words}


def react_runs(text: str) -> list[Trajectory]:
    """Return the runs with at least one action in a text."""
    out: list[Trajectory] = []
    run: Trajectory | None = None
    step: Step | None = None
    for kind, words, start, end in _marked_texts(text):
        if kind == "ask":
            run, step = Trajectory(words, start=start, end=end), None
            out.append(run)
            continue
        if run is None:
            run = Trajectory(start=start, end=end)
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
    if name := {"thought": "thought", "action": "action", "observation": "result"}.get(kind):
        setattr(step, name, words)
    elif kind == "input" and step.action:
        step.action = f"{step.action}: {words}"
    step.end = step.end if kind == "answer" else end


def _marked_texts(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield the text after each mark, up to the next one."""
    kind, words, begin, last = "", [""], 0, 0
    for start, end, line in placed_lines(text):
        if match := _MARK.match(line[:_LINE]):
            if kind:
                yield kind, "\n".join(words).strip(), begin, last
            kind, words, begin, last = _KIND[match[1]], [match[2] + line[_LINE:]], start, end
        elif line.strip():
            words.append(line.rstrip())
            last = end
    if kind:
        yield kind, "\n".join(words).strip(), begin, last
