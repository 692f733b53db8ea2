"""Build drafts from checked Lean units: one per failed position, or one for a unit checked as a whole."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from phronesis.experience.laws.event_draft import VIEWS, Artifact, Draft
from phronesis.experience.sources.lean.messages import (
    LOOPING,
    MISSING,
    Line,
    Message,
    Place,
    Position,
    Unit,
    head,
    is_sorry,
    kind_of,
    normal,
    places_of,
)
from phronesis.experience.sources.lean.syntax import (
    MAX_NAMES,
    SIMP,
    Declaration,
    Goal,
    class_in,
    is_lemma,
    is_local,
    lemmas_in,
    lemmas_of,
    missing_name,
    read_goals,
    rewritings,
    simp_in,
    strip_comments,
    tactics_in,
    tactics_in_message,
)

MAX_TEXT: Final = 2000
MAX_RESULT: Final = 300
MAX_SIZES: Final = 20

_EXPECTED: Final = re.compile(r"expected to have type\n((?:[ \t][^\n]*\n?){1,20})")
_LIMIT: Final = re.compile(r"maximum number of heartbeats \((\d{1,15})\)")
_USED: Final = re.compile(r"[Uu]sed (?:approximately )?(\d{1,15}) heartbeats")

# Failure families: groups of errors with a well-known cause, each recognised by rules.

EXPLODING: Final = "exploding_subgoals"
DIRECTION: Final = "simp_direction"
MISSING_LEMMA: Final = "missing_lemma"

MANY_GOALS: Final = 5
"""Open goals at one position that count as an explosion. A conjunction or case split gives two to four."""

NEW_GOALS: Final = 4
"""Goals added by a tactic step that count as an explosion, where the goals before it are known."""

REFLECTIONS: Final = {
    EXPLODING: "The step splits the goal into {count} goals: prove a general lemma first, or split later.",
    DIRECTION: "simp loops or does nothing with what it is given: turn the rewriting round, or use simp only or rw.",
    MISSING_LEMMA: "{name} is not known here: look for its name, its namespace (open) or the import.",
}


def is_direction(message: Message, kind: str, step: str) -> bool:
    """Return whether simp looped, or was used in the wrong direction.

    A timeout inside simp, or no progress, counts only if the step rewrites from right to left (``←``).
    """
    simp = simp_in(step)
    backwards = bool(simp) and any(one.backwards for one in rewritings(step))
    inside = simp in SIMP or "simp" in head(message.text)
    return (
        LOOPING in normal(message.text[:400])
        or (kind == "max_recursion" and inside)
        or (kind == "deterministic_timeout" and inside and backwards)
        or (kind == "simp_no_progress" and backwards)
    )


def is_explosion(open_goals: int, before: int | None) -> bool:
    """Return whether the number of open goals is an explosion, caused by a step if that is known."""
    return open_goals >= MANY_GOALS and (before is None or open_goals - before >= NEW_GOALS)


class PositionFindings:
    """The messages and source at one position: goals, tactics, lemmas, and sentences made from them."""

    def __init__(self, unit: Unit, messages: Sequence[Message], declaration: Declaration | None, step: str) -> None:
        self.unit, self.messages, self.declaration = unit, messages, declaration
        shown = [*(one.text for one in messages), *(unit.after or unit.sorries)]
        self.goals = _goals(shown)
        self.open = max(len(self.goals), len(unit.after))
        if not self.goals:
            self.goals = _goals([*(unit.before or []), *(str(one.get("goals", "")) for one in unit.steps[:1])])
        self.met = [goal for text in unit.before or [] for goal in read_goals(text)]
        proof = strip_comments(declaration.proof if declaration is not None else step)
        steps = "\n".join(str(one.get("tactic", "")) for one in unit.steps)
        told = dict.fromkeys(name for one in messages for name in tactics_in_message(one.text))
        self.tactics = (tactics_in(steps) or tactics_in(proof) or list(told))[:MAX_NAMES]
        named = [
            name
            for one in messages
            if (kind := kind_of(one.text)) in MISSING - {"unknown_namespace"}
            and (name := missing_name(one.text, kind))
            and not is_local(name)
        ]
        listed = [one["usedConstants"] for one in unit.steps if isinstance(one.get("usedConstants"), list)]
        used = [str(name) for names in listed for name in names if not is_local(str(name))]
        said = [name for one in messages for name in lemmas_in(_before_goals(one.text))]
        lemmas = dict.fromkeys([*named, *lemmas_of(proof), *lemmas_of(steps), *used, *said])
        self.lemmas = list(lemmas)[:MAX_NAMES]

    @property
    def goal(self) -> str:
        """The statement of the declaration, else the first goal."""
        stated = self.declaration.statement.removeprefix(":").strip() if self.declaration is not None else ""
        return stated or (self.goals[0].target if self.goals else "")

    def situation(self, position: Position | None) -> str:
        """Return the goal, else the position."""
        goals = self.met or self.goals
        if goals:
            more = f"\n({len(goals) - 1} more goals)" if len(goals) > 1 else ""
            return goals[0].text[:MAX_TEXT] + more
        return f"Checking {self.place(position)}."

    def sentence(self, position: Position | None) -> str:
        """Return a sentence on what was tried, if the source is not available."""
        tactics = ", ".join(self.tactics[:3])
        tried = f"Tactic {tactics}" if tactics else "Checking"
        lemmas = f" with {', '.join(self.lemmas[:3])}" if self.lemmas else ""
        return f"{tried}{lemmas} {'in ' if tactics or lemmas else ''}{self.place(position)}"

    def place(self, position: Position | None) -> str:
        """Return the declaration, module or file, and the position."""
        unit = self.unit
        where = unit.file or unit.module or ("a proof state" if unit.tactic else "a command")
        at = f" at line {position[0]}" if position is not None and position[0] else ""
        return f"{self.declaration.heading} in {where}{at}" if self.declaration is not None else f"{where}{at}"


def _goals(texts: Sequence[str]) -> list[Goal]:
    """Return the goals in some texts, each once: messages of one position often repeat them."""
    return list(dict.fromkeys(goal for text in texts for goal in read_goals(text)))


def step_of(unit: Unit, errors: Sequence[Message]) -> str:
    """Return the source of the step at the first of some errors; empty if the input does not contain it."""
    if unit.program is None or not errors or errors[0].position is None:
        return ""
    return unit.program.step_at(errors[0].position, errors[0].end)


def _before_goals(text: str) -> str:
    """Return the part of a message before its goals, without the names in hypotheses."""
    marks = (text.find(mark) for mark in ("\n⊢", "\n\n", "unsolved goals"))
    return text[: min([500, *(at for at in marks if at >= 0)])]


def drafts_of(unit: Unit, lines: list[Line]) -> Iterator[Draft]:
    """Yield the drafts of a unit; none if it reports neither a failure nor a check."""
    places = places_of(unit)
    for place in places:
        yield _failure(unit, place, lines)
    if places:
        return
    left = unit.after or unit.sorries or any(is_sorry(one.text) for one in unit.messages)
    spoken = any(one.severity in {"info", "warning"} for one in unit.messages)
    if unit.verdict == "failed":
        yield _failure(unit, Place(list(unit.messages)), lines)
    elif unit.verdict == "ok" or unit.form == "repl" or (spoken and unit.form in {"json", "plain"}):
        yield _draft_of(unit, lines, sure=unit.verdict == "ok" and not left, left=bool(left))


def _failure(unit: Unit, place: Place, lines: list[Line]) -> Draft:
    """Return the draft of the failure at one position."""
    errors = [one for one in place.messages if one.severity == "error"]
    kinds = [kind_of(one.text) for one in errors]
    named = [kind for kind in dict.fromkeys(kinds) if kind != "process_exited"] or list(dict.fromkeys(kinds))
    declaration = place.declaration or _only_declaration(unit)
    step = unit.tactic or step_of(unit, errors)
    found = PositionFindings(unit, place.messages, declaration, step)
    family, reflection = _family(unit, place)
    told = list(zip(errors, kinds, strict=True))
    concepts = [class_in(one.text) for one, kind in told if kind == "failed_to_synthesize"]
    concepts += [missing_name(one.text, kind) for one, kind in told if kind == "unknown_namespace"]
    first = min((one.first for one in place.messages), default=unit.first)
    last = max((one.last for one in place.messages), default=unit.last)
    if unit.form == "repl":
        first, last = unit.first, unit.last
    return _draft(
        unit,
        lines,
        (first, last),
        label="failure",
        confidence=0.95,
        family=family,
        reflection=reflection,
        signals=(f"{len(errors)} error{'s' * (len(errors) > 1)} of Lean",) if errors else (unit.signal,),
        goal=found.goal or _expected_term(errors),
        attempt=step or found.sentence(place.start),
        situation=found.situation(place.start),
        result=_result(errors) or unit.signal,
        found=found,
        kinds=named,
        concepts=[name for name in concepts if name],
        extra={
            "position": place.start if place.start is not None and place.start[0] else None,
            "end": place.end if place.end != place.start else None,
            "errors": len(errors),
        },
    )


def _draft_of(unit: Unit, lines: list[Line], *, sure: bool, left: bool) -> Draft:
    """Return the draft of a unit without an error."""
    declaration = _only_declaration(unit)
    found = PositionFindings(unit, unit.messages, declaration, unit.tactic)
    sorries = len(unit.sorries) or sum(is_sorry(one.text) for one in unit.messages)
    success = not left and (unit.verdict == "ok" or unit.form in {"json", "plain"})
    what = unit.module or unit.file or (declaration.heading if declaration is not None else "") or "it"
    if success and (unit.tactic or unit.signal == "no goals left"):
        result = "No goals left."
    elif unit.after and not success:
        result = f"{len(unit.after)} goals left, the first: ⊢ {found.goals[0].target if found.goals else ''}"
    else:
        open_part = f", with {sorries} left to be proved (sorry)" if sorries else ""
        result = f"Lean checked {what}{' without an error' if success else open_part}."
    exploded = not success and is_explosion(len(unit.after), None if unit.before is None else len(unit.before))
    proof = "\n".join(str(one.get("tactic", "")) for one in unit.steps) or (
        declaration.proof if declaration is not None else ""
    )
    return _draft(
        unit,
        lines,
        (unit.first, unit.last),
        label="success" if success else "unknown",
        confidence=0.95 if sure else 0.6 if success else 0.5,
        family=EXPLODING if exploded else None,
        reflection=REFLECTIONS[EXPLODING].format(count=len(unit.after)) if exploded else "",
        signals=(_signal(unit, sorries, left=left),),
        goal=found.goal,
        attempt=unit.tactic or proof.strip().removeprefix("by").strip() or found.sentence(None),
        situation=found.situation(None),
        result=result[:MAX_RESULT],
        found=found,
        kinds=[],
        concepts=[],
        extra={"sorries": sorries},
    )


def _signal(unit: Unit, sorries: int, *, left: bool) -> str:
    """Return the signal that decided the label of a unit without an error."""
    if left and (sorries or not unit.after):
        return f"sorry ({sorries})"
    return unit.signal or (f"goals left ({len(unit.after)})" if unit.after else "no error among its messages")


def _draft(
    unit: Unit,
    lines: list[Line],
    rows: tuple[int, int],
    *,
    found: PositionFindings,
    kinds: Sequence[str],
    concepts: Sequence[str],
    extra: dict[str, Any],
    **texts: Any,
) -> Draft:
    declaration = found.declaration
    said = "\n".join(one.text for one in found.messages)
    beats = _USED.search(said) or _LIMIT.search(said)
    observations = {
        "form": unit.form,
        "error_kinds": list(kinds),
        "file": unit.file,
        "module": unit.module,
        "declaration": declaration.name if declaration is not None else "",
        "open_goals": found.open,
        "goal_sizes": [list(goal.size) for goal in found.goals[:MAX_SIZES]] if found.open else [],
        "tactics": found.tactics,
        "lemmas": found.lemmas,
        "seconds": unit.seconds,
        "heartbeats": int(beats[1]) if beats is not None else None,
        "warnings": sum(one.severity == "warning" for one in unit.messages),
        **extra,
    }
    kept = {
        name: value for name, value in observations.items() if value not in (None, "", [], 0) or name == "open_goals"
    }
    given = [("lemma", name) for name in found.lemmas[:10]]
    if declaration is not None and declaration.name:
        given.insert(0, ("lemma", declaration.name))
    given += [("file", unit.file)] * bool(unit.file)
    given += [("error_type", kind) for kind in kinds] + [("concept", name) for name in concepts]
    given += [("concept", name) for name in dict.fromkeys(found.tactics[:5])]
    root = unit.episode or (f"{declaration.heading} {declaration.statement}" if declaration is not None else "")
    texts = {name: value[:MAX_TEXT] if isinstance(value, str) else value for name, value in texts.items()}
    return Draft(
        **texts,
        field_origin={name: "rule" for name in VIEWS if texts.get(name)},
        observations=kept,
        artifacts=tuple(Artifact(kind, name) for kind, name in dict.fromkeys(given)),  # type: ignore[arg-type]
        lines=(rows[0] + 1, rows[1] + 1),
        span=(lines[rows[0]].start, lines[rows[1]].end),
        occurred_at=lines[rows[0]].moment,
        episode_id=f"lean:{hashlib.sha256(root.encode(errors='replace')).hexdigest()[:16]}" if root else None,
    )


def _family(unit: Unit, place: Place) -> tuple[str | None, str]:
    """Return the family of the first error that has one: later errors often follow from it."""
    for message in place.messages:
        kind, step = kind_of(message.text), unit.tactic or step_of(unit, [message])
        name = missing_name(message.text, kind) if kind in MISSING else ""
        # An unknown identifier counts if it has the form of a declaration; X and U₁ are variables.
        declared = is_lemma(name) or (len(name) > len("U₁") and name[0].isupper())
        if name and (kind != "unknown_identifier" or declared):
            return MISSING_LEMMA, REFLECTIONS[MISSING_LEMMA].format(name=name)
        if is_direction(message, kind, step):
            return DIRECTION, REFLECTIONS[DIRECTION]
        if is_explosion(count := len(read_goals(message.text)), None) and kind == "unsolved_goals":
            return EXPLODING, REFLECTIONS[EXPLODING].format(count=count)
    return None, ""


def _only_declaration(unit: Unit) -> Declaration | None:
    """Return the declaration of a command that has exactly one."""
    if unit.form != "repl" or unit.program is None or len(unit.program.declarations) != 1:
        return None
    return unit.program.declarations[0]


def _expected_term(errors: Sequence[Message]) -> str:
    found = (_EXPECTED.search(one.text[:5000]) for one in errors)
    return next((" ".join(term[1].split()) for term in found if term), "")


def _result(errors: Sequence[Message]) -> str:
    said = [" ".join(one.text[:2000].split()) for one in errors]
    each = MAX_RESULT // max(1, min(3, len(said)))
    return " | ".join(text[:each] for text in dict.fromkeys(said[:3]))
