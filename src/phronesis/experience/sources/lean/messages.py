"""Parse Lean's messages and build logs: log lines, error kinds, messages by position, and facts of a run.

The words are those of Lean 4.0 to 4.2x. The first row of the table that matches a message's first line decides; for a
nested error the next line is matched too.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from phronesis.experience.sources.lean.syntax import Declaration, Program
from phronesis.experience.sources.port import RawText, moment_of, placed_lines

# Lines of a text, with their position, without colours, time stamps and carriage returns.

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
# Prefix that a CI runner writes: 2026-05-28T15:15:24.2537431Z ✔ [2/9] Built Foo
_STAMP: Final = re.compile(r"\ufeff?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z) ?")
_RUNNER: Final = re.compile(r"##\[[a-z]{1,12}\]")


class Line(NamedTuple):
    """A line: its start and end in the text, its content, and the time in its prefix."""

    start: int
    end: int
    text: str
    moment: datetime | None = None


def split_lines(raw: RawText) -> list[Line]:
    """Return the lines of a text, separated by line feeds only, so that they count as in an editor."""
    lines = []
    for start, end, written in placed_lines(raw.text):
        said, moment = _COLOUR.sub("", written.rstrip("\r")), None
        if stamp := _STAMP.match(said):
            said, moment = _RUNNER.sub("", said[stamp.end() :], count=1), moment_of(raw, stamp[1])
        lines.append(Line(start, end, said, moment))
    return lines


_ROWS: Final = """
max_recursion: maximum recursion depth
deterministic_timeout: (deterministic) timeout | maximum number of heartbeats
out_of_memory: excessive memory consumption | out of memory
stack_overflow: stack overflow | deep recursion was detected
unknown_proof_state: unknown proof state | unknown environment
unknown_namespace: unknown namespace
bad_import: bad import | unknown module prefix | unknown package | of module | no such file or directory
unknown_constant: unknown constant | unknown declaration
unknown_identifier: unknown identifier
unknown_tactic: unknown tactic
unknown_option: unknown option | unknown attribute
invalid_field_notation: invalid field notation | invalid projection
invalid_field: invalid field
application_type_mismatch: application type mismatch | argument type mismatch
rfl_failed: tactic 'rfl' failed | the rfl tactic failed | not a definitional equality | 'apply_rfl' failed
type_mismatch: type mismatch
synthesis_stuck: typeclass instance problem is stuck
failed_to_synthesize: failed to synthesize
cannot_infer: don't know how to synthesize | failed to infer
function_expected: function expected
simp_no_progress: simp made no progress | simp' made no progress | simp_all made no | simp_all' made no
no_progress: made no progress | did not make progress
motive_not_type_correct: motive is not type correct
rewrite_pattern_not_found: did not find instance of the pattern | did not find an occurrence of the pattern
rewrite_invalid: equality or iff proof expected | invalid rewrite argument
linarith_failed: linarith failed | 'linarith' failed
omega_failed: omega could not | 'omega' failed | omega failed
decide_failed: 'decide' failed | 'decide' proved that | 'native_decide' evaluated | 'native_decide' failed
aesop_failed: aesop: | 'aesop' failed
ring_failed: ring failed | 'ring' failed | ring_nf failed
positivity_failed: positivity | failed to prove nonnegativity
norm_num_failed: norm_num failed | 'norm_num' failed
search_failed: could not close the goal
assumption_failed: 'assumption' failed
apply_failed: could not unify | 'apply' failed | 'exact' failed | 'refine' failed
cases_failed: dependent elimination failed | 'cases' failed | 'rcases' failed
induction_failed: 'induction' failed
contradiction_failed: 'contradiction' failed
simp_failed: 'simp' failed | 'simp_all' failed | simp failed
unsolved_goals: unsolved goals | unsolved goal
no_goals: no goals
ambiguous: ambiguous
termination: fail to show termination | failed to prove termination | structural recursion
missing_cases: missing cases
already_declared: has already been declared
universe: universe level | universe constraint
kernel: (kernel)
noncomputable: failed to compile definition
parse_error: unexpected token | unexpected end of | unexpected identifier | ; expected | unterminated | invalid syntax
tactic_failed: tactic '
process_exited: exited with code | exited with status
"""

KINDS: Final = tuple(
    (name, tuple(mark.strip() for mark in marks.split(" | ")))
    for name, _, marks in (row.partition(": ") for row in _ROWS.strip().splitlines())
)

OTHER: Final = "other"
MISSING: Final = frozenset({"unknown_constant", "unknown_identifier", "unknown_namespace", "invalid_field"})
"""Kinds of errors that name something missing."""

SORRY: Final = ("declaration uses 'sorry'", "sorryax")
LOOPING: Final = "possibly looping simp theorem"

_HEAD: Final = 400
_QUOTES: Final = str.maketrans("`‘’´", "''''")
_NESTED: Final = ("nested error", "error in norm simp")


def normal(text: str) -> str:
    """Return a message in lower case, with one kind of quotation mark."""
    return text.translate(_QUOTES).lower()


def head(text: str) -> str:
    """Return the normalised first line of a message, with that of a nested error."""
    first, _, rest = text.lstrip("\n").partition("\n")
    said = normal(first[:_HEAD])
    if any(word in said for word in _NESTED) or said.endswith(" of"):
        said += " " + normal(rest.lstrip().partition("\n")[0][:_HEAD])
    return said


def kind_of(text: str) -> str:
    """Return the kind of an error; ``other`` if no row matches."""
    said = head(text)
    return next((name for name, marks in KINDS if any(mark in said for mark in marks)), OTHER)


def is_sorry(text: str) -> bool:
    """Return whether a message reports an unproved part."""
    said = normal(text[:4000])
    return any(mark in said for mark in SORRY)


# Checked units and their messages by position: the records between parsing and drafting.

Position = tuple[int, int]
"""Line from 1, column from 0, in the Lean file, as Lean counts."""

Form = Literal["json", "lake", "repl", "plain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of Lean. ``first`` and ``last`` are lines of the input, from 0."""

    severity: str
    text: str
    first: int
    last: int
    file: str = ""
    position: Position | None = None
    end: Position | None = None


@dataclass(slots=True, kw_only=True)
class Unit:
    """Something that was checked as one: a file, a module of a build, a command or a tactic step of a REPL.

    ``verdict`` is the result of the whole: "ok", "failed", or empty. ``before`` are the goals before a tactic step,
    None if unknown; ``after`` those after it; ``steps`` the tactics that a REPL lists for a proof.
    """

    form: Form
    first: int
    last: int
    file: str = ""
    module: str = ""
    verdict: Literal["ok", "failed", ""] = ""
    signal: str = ""
    messages: list[Message] = field(default_factory=list)
    program: Program | None = None
    tactic: str = ""
    before: list[str] | None = None
    after: list[str] = field(default_factory=list)
    sorries: list[str] = field(default_factory=list)
    steps: list[Mapping[str, Any]] = field(default_factory=list)
    seconds: float | None = None
    episode: str = ""


@dataclass(slots=True)
class Place:
    """Errors at one place: of one declaration if the source is available, else of one line or range."""

    messages: list[Message] = field(default_factory=list)
    start: Position | None = None
    end: Position | None = None
    declaration: Declaration | None = None


def places_of(unit: Unit) -> list[Place]:
    """Return the errors of a unit grouped by place, in text order; errors without a place come last."""
    placed: dict[object, Place] = {}
    last: Place | None = None
    loose = Place()
    for message in unit.messages:
        looping = LOOPING in normal(message.text[:200])
        if message.severity != "error" and not looping:
            continue
        if message.position is None:
            loose.messages.append(message)
            continue
        declaration = unit.program.declaration_at(message.position[0]) if unit.program is not None else None
        key: object = ("declaration", declaration.first) if declaration is not None else message.position[0]
        inside = last is not None and (last.start or message.position) <= message.position < (last.end or (0, 0))
        if key not in placed and last is not None and declaration is None and inside:
            placed[key] = last
        last = placed.setdefault(key, Place(declaration=declaration))
        last.messages.append(message)
        last.start = min(last.start or message.position, message.position)
        last.end = max(last.end or message.position, message.end or message.position)

    def failed(place: Place) -> bool:
        return any(one.severity == "error" for one in place.messages)

    found = [*{id(place): place for place in placed.values() if failed(place)}.values()]
    return found or [loose] * failed(loose)


# Patterns of log lines: messages, build jobs, and facts of a run.

_FILE: Final = r"(?P<file>(?:[A-Za-z]:)?[^\n:]{1,300}\.lean)"
_PLACE: Final = r":(?P<line>\d{1,9}):(?P<column>\d{1,9})(?:-(?P<end_line>\d{1,9}):(?P<end_column>\d{1,9}))?: ?"
_SEVERITY: Final = r"(?P<severity>error|warning|info|trace)(?:\([\w.]{1,80}\))?:"
_PLAIN: Final = re.compile(rf"{_FILE}{_PLACE}{_SEVERITY} ?")
_LAKE: Final = re.compile(rf"{_SEVERITY} (?:{_FILE}(?:{_PLACE}|: ))?")
_JOB: Final = re.compile(
    r"(?P<mark>[✔✓✖✗⚠ℹ]) ?\ufe0f? ?\[\d{1,6}/\d{1,6}\] "
    r"(?P<verb>Built|Building|Replayed|Replaying|Ran|Running|Fetched|Fetching) "
    r"(?P<target>[^\s()]{1,300})(?: \((?:(?P<minutes>\d{1,5})m ?)?(?P<time>\d{1,9}(?:\.\d{1,6})?)(?P<unit>ms|s)\))?"
)
_CHECKED: Final = frozenset({"Built", "Building", "Replayed", "Replaying"})
_STEP: Final = re.compile(r"\[\d{1,6}/\d{1,6}\] [A-Z][a-z]{1,20} ")
_END: Final = re.compile(
    r"Some (?:required )?(?:builds|targets) logged failures|Build completed|```|[$%❯] |\tCommand |Command exited|"
    r"\s{0,20}(?:Maximum resident|Elapsed|User time|System time|Exit status)|(?:real|user|sys)\t|"
    r"\s{1,20}\d{1,15} {1,8}maximum resident"
)
FAILURES: Final = re.compile(r"Some (?:required )?(?:builds|targets) logged failures:")
_FACTS: Final = (
    ("memory_bytes", (1024,), re.compile(r"\s{0,20}Maximum resident set size \(kbytes\): (\d{1,15})")),
    ("memory_bytes", (1,), re.compile(r"\s{0,20}(\d{1,15}) {1,8}maximum resident set size")),
    (
        "run_seconds",
        (3600, 60, 1),
        re.compile(
            r"\s{0,20}Elapsed \(wall clock\) time[^\n]{0,40}: (?:(\d{1,5}):)?(\d{1,5}):(\d{1,2}(?:\.\d{1,6})?)$"
        ),
    ),
    ("run_seconds", (60, 1), re.compile(r"real\s{1,8}(?:(\d{1,6})m)?(\d{1,9}(?:\.\d{1,6})?)s?$")),
)
"""Facts of a run, each with the units in which its line writes it."""

_OLD_LAKE: Final = ("> ", "stdout:", "stderr:", "external command", "build failed", "failed to build")


def normal_file(name: str) -> str:
    """Return a file name with slashes and without lake's ``./././``."""
    parts = name.strip().replace("\\", "/").split("/")
    return "/".join(part for at, part in enumerate(parts) if part != "." and (part or at == 0))


def read_message(lines: list[Line], at: int) -> Message | None:
    """Parse line ``at`` as the first line of a message, with or without a position."""
    said = lines[at].text
    found = _PLAIN.match(said) or _LAKE.match(said)
    if found is None:
        return None
    rest = said[found.end() :]
    if found["file"] is None and rest.startswith(_OLD_LAKE):
        rest = ""
    place = None if found["line"] is None else (int(found["line"]), int(found["column"]))
    end = None if found["end_line"] is None else (int(found["end_line"]), int(found["end_column"]))
    return Message(
        severity=found["severity"],
        text=rest,
        first=at,
        last=at,
        file=normal_file(found["file"] or ""),
        position=place,
        end=end,
    )


def read_job(said: str, at: int) -> Unit | None:
    """Parse a line of lake that reports a finished job: its module, time and status."""
    if (found := _JOB.match(said)) is None:
        return None
    failed, target = found["mark"] in "✖✗", found["target"]
    unit = Unit(form="lake", first=at, last=at, module=target.rpartition("/")[2])
    if found["time"] is not None:
        unit.seconds = float(found["time"]) / (1000 if found["unit"] == "ms" else 1) + 60 * int(found["minutes"] or 0)
    if failed:
        unit.verdict = "failed"
    elif found["verb"] in _CHECKED and ":" not in target and (target[0].isupper() or target[0] == "«"):
        unit.verdict = "ok"
    unit.signal = f"lake marks {found['verb']} {found['mark']}"
    return unit


def ends_message(said: str) -> bool:
    """Return whether a line cannot belong to a message: output of another program, or lake's summary."""
    return _END.match(said) is not None or _STEP.match(said) is not None


def facts_of(said: str) -> dict[str, Any]:
    """Return the time and memory of a whole run in a line (``time -v``, ``time``), in seconds and bytes."""
    for name, units, pattern in _FACTS:
        if (found := pattern.match(said)) is not None:
            parts = (unit * float(part or 0) for unit, part in zip(units, found.groups(), strict=True))
            return {name: int(sum(parts)) if name == "memory_bytes" else sum(parts)}
    return {}
