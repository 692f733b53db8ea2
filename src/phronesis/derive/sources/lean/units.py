"""What Lean checked, and what it said of it: the records between reading a text and drafting its attempts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from phronesis.derive.sources.lean.program import Program

Position = tuple[int, int]
"""Line from 1, column from 0, in the Lean file: as Lean counts."""

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

    ``verdict`` is what is said of it as a whole: "ok", "failed", or nothing. ``before`` are the goals that a tactic
    step met, None where nobody knows; ``after`` those it left; ``steps`` the tactics that a REPL lists of a proof.
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
    facts: dict[str, Any] = field(default_factory=dict)
    episode: str = ""
