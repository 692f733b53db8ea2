"""The source ``lean``: walk over a text in any form of Lean output, or several of them, and yield checked units."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from phronesis.experience.laws.event_draft import Draft
from phronesis.experience.sources.lean.attempts import drafts_of
from phronesis.experience.sources.lean.messages import (
    FAILURES,
    Form,
    Line,
    Message,
    Unit,
    ends_message,
    facts_of,
    read_job,
    read_message,
    split_lines,
)
from phronesis.experience.sources.lean.replies import Session, as_message, decode, is_answer, is_command
from phronesis.experience.sources.lean.syntax import Program, is_hypothesis, read_program
from phronesis.experience.sources.port import RawText, Source

_JSON: Final = re.compile(r"\{ ?[\"}]|\{\s*$|\[\s*(?:\{|$)")
_LEAN: Final = re.compile(
    r"import [A-Z]|open [A-Z]|namespace [A-Z]|(?:@\[[^\]\n]{0,200}\] ?)?(?:private |protected |noncomputable ){0,3}"
    r"(?:theorem|lemma|def|instance|abbrev) [^\s(){}\[\]:]{1,200}(?: [({\[:⦃]|:| ?$)|example ?[({\[:⦃]"
)
# Lines that continue a message after an empty line.
_GOES_ON: Final = re.compile(
    r"\s|case |⊢|Note: |Hint: |Additional |Possible |use `|failed$|Error: |at case |where$|Try this"
)


class LeanOutputParser:
    """A single pass over the lines. ``units`` are in the order of their first lines; ``facts`` are of the whole run."""

    def __init__(self, lines: list[Line]) -> None:
        self.units: list[Unit] = []
        self.facts: dict[str, Any] = {}
        self._lines = lines
        self._session = Session()
        self._files: dict[tuple[str, int], Unit] = {}
        self._job: Unit | None = None
        self._program: Program | None = None
        self._programs = 0
        self._open: list[Message] = []  # the message that may go on, at most one
        self._failed: set[str] = set()  # modules that lake has marked

    def run(self) -> None:
        """Process all lines."""
        at = 0
        while at < len(self._lines):
            at = self._read(at)
        self._close()

    def _read(self, at: int) -> int:
        said = self._lines[at].text
        if said.startswith("```"):
            return self._fence(at)
        if _JSON.match(said) is not None and (behind := self._json(at)) > at:
            return behind
        if (unit := read_job(said, at)) is not None:
            self._close()
            self._job = unit
            self.units.append(unit)
            if unit.verdict == "failed":
                self._failed.add(unit.module)
            return at + 1
        message = read_message(self._lines, at)
        if message is not None:
            self._close()
            self._open = [message]
            return at + 1
        if ends_message(said):
            self._close()
            self._job = None
            self.facts.update(facts_of(said))
            if FAILURES.match(said) is not None:
                return self._failures(at)
            if said.startswith("Build completed successfully") and not self.units:
                signal = "Build completed successfully"
                self.units.append(Unit(form="lake", first=at, last=at, verdict="ok", signal=signal))
            return at + 1
        if _LEAN.match(said) is not None:
            return self._source(at)
        self._go_on(at)
        return at + 1

    def _go_on(self, at: int) -> None:
        if not self._open:
            return
        said, message = self._lines[at].text, self._open[0]
        blank = not self._lines[at - 1].text.strip()
        if blank and said.strip() and _GOES_ON.match(said) is None and not is_hypothesis(said):
            self._close()
            return
        self._open = [replace(message, last=at)]

    def _close(self) -> None:
        if not self._open:
            return
        message = self._open.pop()
        last = message.last
        while last > message.first and not self._lines[last].text.strip():
            last -= 1
        rest = "\n".join(line.text for line in self._lines[message.first + 1 : last + 1])
        text = f"{message.text}\n{rest}" if rest else message.text
        self._add(replace(message, text=text, last=last), "lake" if message.position is None else "plain")

    def _add(self, message: Message, form: Form) -> None:
        if self._job is not None and form != "json":
            self._job.messages.append(message)
            self._job.last = max(self._job.last, message.last)
            self._job.file = self._job.file or message.file
            self._job.program = self._job.program or self._program
        elif message.position is not None and message.severity != "trace":
            unit = self._files.get((message.file, self._programs))
            if unit is None:
                unit = Unit(form=form, first=message.first, last=message.last, file=message.file, program=self._program)
                self._files[message.file, self._programs] = unit
                self.units.append(unit)
            unit.messages.append(message)
            unit.last = message.last

    def _fence(self, at: int) -> int:
        self._close()
        self._job = None
        if not self._lines[at].text[3:].strip().lower().startswith("lean"):
            return at + 1
        end = at + 1
        while end < len(self._lines) and not self._lines[end].text.startswith("```"):
            end += 1
        self._keep(at + 1, end)
        return end + 1

    def _source(self, at: int) -> int:
        """Consume unfenced Lean source and return the first line after it."""
        self._close()
        self._job = None
        end = at + 1
        while end < len(self._lines):
            said = self._lines[end].text
            if said.startswith("```") or ends_message(said) or read_message(self._lines, end) is not None:
                break
            if _JSON.match(said) is not None or read_job(said, end) is not None:
                break
            end += 1
        self._keep(at, end)
        return end

    def _keep(self, first: int, end: int) -> None:
        self._program = read_program("\n".join(line.text for line in self._lines[first:end]))
        self._programs += 1

    def _json(self, at: int) -> int:
        end = at + 1
        while end < len(self._lines) and not self._lines[end].text.startswith(("{", "[")):
            end += 1
        behind = at
        for value, first, last in decode("\n".join(line.text for line in self._lines[at:end])):
            self._close()
            behind = at + last + 1
            self._take(value, at + first, at + last)
        return behind

    def _take(self, value: Mapping[str, Any], first: int, last: int) -> None:
        message = as_message(value, first, last)
        if message is not None:
            self._add(message, "json")
            return
        if is_answer(value, asked=self._session.waits):
            unit = self._session.answer(value, first, last)
            if unit is not None:
                self.units.append(unit)
        elif is_command(value):
            self._session.ask(value, first)

    def _failures(self, at: int) -> int:
        """Consume lake's list of failures; a module that the log does not show otherwise is a failure too."""
        at += 1
        while at < len(self._lines) and self._lines[at].text.startswith("- "):
            module = self._lines[at].text[2:].strip()
            if module and module not in self._failed:
                self._failed.add(module)
                signal = "lake lists it among the failures"
                self.units.append(Unit(form="lake", first=at, last=at, module=module, verdict="failed", signal=signal))
            at += 1
        return at


# The source adapter.

LEAN_VERSION: Final = "lean/1"


class LeanSource(Source):
    """Reads Lean 4 output: ``lean --json``, ``lake build``, REPL replies, and plain logs of ``lean``.

    A position with errors is one failure; a file, module or command without errors a success; unknown if a sorry or
    goals are left. All texts have origin ``rule``.
    """

    source_type = "lean"
    version = LEAN_VERSION

    def read(self, raw: RawText) -> Sequence[Draft]:
        """Return the attempts in a log."""
        lines = split_lines(raw.text)
        walk = LeanOutputParser(lines)
        walk.run()
        drafts: list[Draft] = []
        counted: Counter[str] = Counter()
        for unit in walk.units:
            for draft in drafts_of(unit, lines):
                numbered = draft
                if draft.episode_id is not None:
                    counted[draft.episode_id] += 1
                    numbered = replace(draft, seq=counted[draft.episode_id])
                drafts.append(replace(numbered, observations={**numbered.observations, **walk.facts}))
        return drafts
