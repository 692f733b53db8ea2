"""Drafts of what was checked: one for each place that failed, or one for what was checked as a whole."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from phronesis.core.experience.drafts import Artifact, Draft
from phronesis.core.relations import Origin
from phronesis.derive.sources.lean import families
from phronesis.derive.sources.lean.goals import Goal, distinct, read_goals
from phronesis.derive.sources.lean.kinds import LOOPING, MISSING, is_sorry, kind_of, normal
from phronesis.derive.sources.lean.lines import Line, span_of
from phronesis.derive.sources.lean.names import class_in, is_local, lemmas_in, missing_name
from phronesis.derive.sources.lean.program import Declaration
from phronesis.derive.sources.lean.tactics import (
    MAX_NAMES,
    lemmas_of,
    rewritings,
    tactics_in,
    tactics_said,
    without_comments,
)
from phronesis.derive.sources.lean.units import Message, Position, Unit

MAX_TEXT: Final = 2000
MAX_RESULT: Final = 300
MAX_SIZES: Final = 20

_EXPECTED: Final = re.compile(r"expected to have type\n((?:[ \t][^\n]*\n?){1,20})")
_LIMIT: Final = re.compile(r"maximum number of heartbeats \((\d{1,15})\)")
_USED: Final = re.compile(r"[Uu]sed (?:approximately )?(\d{1,15}) heartbeats")
_RULE: Final[Origin] = "rule"


@dataclass(slots=True)
class Place:
    """Errors of one place: of one declaration where the source shows it, else of one line or one range."""

    messages: list[Message] = field(default_factory=list)
    start: Position | None = None
    end: Position | None = None
    declaration: Declaration | None = None


def drafts_of(unit: Unit, lines: list[Line]) -> Iterator[Draft]:
    """Give the drafts of a unit; none where it says neither that something failed nor that it was checked."""
    places = _places(unit)
    for place in places:
        yield _failure(unit, place, lines)
    if places:
        return
    left = unit.after or unit.sorries or any(is_sorry(one.text) for one in unit.messages)
    spoken = any(one.severity in {"info", "warning"} for one in unit.messages)
    if unit.verdict == "failed":
        yield _failure(unit, Place(list(unit.messages)), lines)
    elif unit.verdict == "ok" or unit.form == "repl" or (spoken and unit.form in {"json", "plain"}):
        yield _checked(unit, lines, sure=unit.verdict == "ok" and not left, left=bool(left))


def _places(unit: Unit) -> list[Place]:
    """Put the errors of a unit together by place, in the order of the text. Errors without a place come last or not."""
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
        if key not in placed and last is not None and declaration is None and _inside(message.position, last):
            placed[key] = last
        last = placed.setdefault(key, Place(declaration=declaration))
        last.messages.append(message)
        last.start = min(last.start or message.position, message.position)
        last.end = max(last.end or message.position, message.end or message.position)
    found = list({id(place): place for place in placed.values() if any(one.severity == "error" for one in place.messages)}.values())
    if not found and any(one.severity == "error" for one in loose.messages):
        return [loose]
    return found


def _inside(position: Position, place: Place) -> bool:
    return place.start is not None and place.end is not None and place.start <= position < place.end


def _failure(unit: Unit, place: Place, lines: list[Line]) -> Draft:
    """Draft what failed at one place."""
    errors = [one for one in place.messages if one.severity == "error"]
    kinds = [kind_of(one.text) for one in errors]
    named = [kind for kind in dict.fromkeys(kinds) if kind != "process_exited"] or list(dict.fromkeys(kinds))
    declaration = place.declaration or _only(unit)
    step = unit.tactic or _step(unit, errors)
    found = _Found(unit, place.messages, declaration, step)
    family, reflection = _family(unit, place, kinds, found)
    goal = declaration.statement.removeprefix(":").strip() if declaration is not None else ""
    goal = goal or (found.goals[0].target if found.goals else _expected(errors))
    concepts = [class_in(one.text) for one, kind in zip(errors, kinds, strict=True) if kind == "failed_to_synthesize"]
    concepts += [missing_name(one.text, kind) for one, kind in zip(errors, kinds, strict=True) if kind == "unknown_namespace"]
    first = min((one.first for one in place.messages), default=unit.first)
    last = max((one.last for one in place.messages), default=unit.last)
    if unit.form == "repl":
        first, last = unit.first, unit.last
    return _draft(
        unit, lines, (first, last),
        label="failure", confidence=0.95, family=family, reflection=reflection,
        signals=[f"{len(errors)} error{'s' * (len(errors) > 1)} of Lean"] if errors else [unit.signal],
        goal=goal, attempt=step or found.sentence(place.start),
        situation=found.situation(place.start), result=_result(errors) or unit.signal,
        found=found, kinds=named, concepts=[name for name in concepts if name],
        extra={"position": place.start, "end": place.end if place.end != place.start else None, "errors": len(errors)},
    )  # fmt: skip


def _checked(unit: Unit, lines: list[Line], *, sure: bool, left: bool) -> Draft:
    """Draft what was checked without an error."""
    declaration = _only(unit)
    found = _Found(unit, unit.messages, declaration, unit.tactic)
    sorries = len(unit.sorries) or sum(is_sorry(one.text) for one in unit.messages)
    success = not left and (unit.verdict == "ok" or unit.form in {"json", "plain"})
    goal = declaration.statement.removeprefix(":").strip() if declaration is not None else ""
    goal = goal or (found.goals[0].target if found.goals else "")
    what = unit.module or unit.file or (declaration.heading if declaration is not None else "") or "it"
    if success:
        result = "No goals left." if unit.tactic or unit.signal == "no goals left" else f"Lean checked {what} without an error."
    elif unit.after:
        result = f"{len(unit.after)} goals left, the first: ⊢ {found.goals[0].target if found.goals else ''}"
    else:
        result = f"Lean checked {what}, with {sorries} left to be proved (sorry)." if sorries else f"Lean checked {what}."
    exploded = not success and families.is_explosion(len(unit.after), None if unit.before is None else len(unit.before))
    proof = "\n".join(str(one.get("tactic", "")) for one in unit.steps) or (declaration.proof if declaration is not None else "")
    return _draft(
        unit, lines, (unit.first, unit.last),
        label="success" if success else "unknown", confidence=0.95 if sure else 0.6 if success else 0.5,
        family=families.EXPLODING if exploded else None,
        reflection=families.REFLECTIONS[families.EXPLODING].format(count=len(unit.after)) if exploded else "",
        signals=[unit.signal or (f"{sorries} declarations use sorry" if sorries else "no error among its messages")],
        goal=goal, attempt=unit.tactic or proof.strip().removeprefix("by").strip() or found.sentence(None),
        situation=found.situation(None), result=result[:MAX_RESULT], found=found, kinds=[], concepts=[],
        extra={"sorries": sorries},
    )  # fmt: skip


class _Found:
    """What the messages and the source at one place hold: goals, tactics, lemmas, and sentences made of them."""

    def __init__(self, unit: Unit, messages: Sequence[Message], declaration: Declaration | None, step: str) -> None:
        self.unit, self.declaration = unit, declaration
        shown = [read_goals(one.text) for one in messages] or [[]]
        met = [read_goals(goal) for goal in unit.before or []]
        left = [read_goals(goal) for goal in (unit.after or unit.sorries)]
        self.most = max([len(goals) for goals in shown] + [len(unit.after)])
        listed = [read_goals(str(one.get("goals", ""))) for one in unit.steps[:1]]
        self.goals: Sequence[Goal] = distinct(goal for goals in [*shown, *left] for goal in goals)
        self.open = max(len(self.goals), len(unit.after))
        if not self.goals:
            self.goals = distinct(goal for goals in [*met, *listed] for goal in goals)
        self.met = [goal for goals in met for goal in goals]
        proof = without_comments(declaration.proof if declaration is not None else step)
        told = [name for one in messages for name in tactics_said(one.text)]
        steps = [str(one.get("tactic", "")) for one in unit.steps]
        self.tactics = (tactics_in("\n".join(steps)) or tactics_in(proof) or list(dict.fromkeys(told)))[:MAX_NAMES]
        used = [str(name) for one in unit.steps for name in _listed(one) if not is_local(str(name))]
        missed = [missing_name(one.text, kind) for one in messages if (kind := kind_of(one.text)) in MISSING - {"unknown_namespace"}]
        said = [name for one in messages for name in lemmas_in(_unhypothesised(one.text))]
        named = [name for name in missed if name and not is_local(name)]
        self.lemmas = list(dict.fromkeys([*named, *lemmas_of(proof), *lemmas_of("\n".join(steps)), *used, *said]))[:MAX_NAMES]

    def situation(self, position: Position | None) -> str:
        """Give the goal that was met, else where it was."""
        goals = self.met or self.goals
        if goals:
            more = f"\n({len(goals) - 1} more goals)" if len(goals) > 1 else ""
            return goals[0].text[:MAX_TEXT] + more
        return f"Checking {self.place(position)}."

    def sentence(self, position: Position | None) -> str:
        """Give what was tried in words of ours, where the source does not show it."""
        tactics = ", ".join(self.tactics[:3])
        tried = f"Tactic {tactics}" if tactics else "Checking"
        lemmas = f" with {', '.join(self.lemmas[:3])}" if self.lemmas else ""
        return f"{tried}{lemmas} {'in ' if tactics or lemmas else ''}{self.place(position)}"

    def place(self, position: Position | None) -> str:
        """Give where it was: the declaration, the module or the file, and the position."""
        unit = self.unit
        where = unit.file or unit.module or ("a proof state" if unit.tactic else "a command")
        at = f" at line {position[0]}" if position is not None and position[0] else ""
        return f"{self.declaration.heading} in {where}{at}" if self.declaration is not None else f"{where}{at}"


def _draft(
    unit: Unit, lines: list[Line], rows: tuple[int, int], *, found: _Found, kinds: Sequence[str], concepts: Sequence[str],
    extra: dict[str, Any], **texts: Any,
) -> Draft:  # fmt: skip
    declaration = found.declaration
    said = "\n".join(one.text for one in unit.messages if rows[0] <= one.first <= rows[1])
    beats = _USED.search(said) or _LIMIT.search(said)
    observations = {
        "form": unit.form, "error_kinds": list(kinds), "file": unit.file, "module": unit.module,
        "declaration": declaration.name if declaration is not None else "",
        "open_goals": found.open, "goal_sizes": [list(goal.size) for goal in found.goals[:MAX_SIZES]] if found.open else [],
        "tactics": found.tactics, "lemmas": found.lemmas, "seconds": unit.seconds,
        "warnings": sum(one.severity == "warning" for one in unit.messages),
        "heartbeats": int(beats[1]) if beats is not None else None,
        **{name: list(value) if isinstance(value, tuple) else value for name, value in extra.items()}, **unit.facts,
    }  # fmt: skip
    kept = {name: value for name, value in observations.items() if value not in (None, "", [], 0) or name == "open_goals"}
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
        field_origin={name: _RULE for name in ("situation", "goal", "attempt", "result", "reflection") if texts.get(name)},
        observations=kept,
        artifacts=tuple(Artifact(kind, name) for kind, name in dict.fromkeys(given)),  # type: ignore[arg-type]
        lines=(rows[0] + 1, rows[1] + 1),
        span=span_of(lines, *rows),
        occurred_at=lines[rows[0]].moment,
        episode_id=f"lean:{hashlib.sha256(root.encode()).hexdigest()[:16]}" if root else None,
    )


def _family(unit: Unit, place: Place, kinds: Sequence[str], found: _Found) -> tuple[str | None, str]:
    """Name the family of the first error that has one: what comes later often follows from it."""
    steps = [unit.tactic or _step(unit, [one]) for one in place.messages]
    every = [kind_of(one.text) for one in place.messages]
    for message, kind, step in zip(place.messages, every, steps, strict=True):
        if families.is_missing(message, kind):
            name = missing_name(message.text, kind)
            return families.MISSING_LEMMA, families.REFLECTIONS[families.MISSING_LEMMA].format(name=name)
        if families.is_direction([message], [kind], step):
            return families.DIRECTION, families.REFLECTIONS[families.DIRECTION]
        if families.is_explosion(count := len(read_goals(message.text)), None) and kind == "unsolved_goals":
            return families.EXPLODING, families.REFLECTIONS[families.EXPLODING].format(count=count)
    return None, ""


def _step(unit: Unit, errors: Sequence[Message]) -> str:
    if unit.program is None or not errors or errors[0].position is None:
        return ""
    return unit.program.step_at(errors[0].position, errors[0].end)


def _only(unit: Unit) -> Declaration | None:
    """Give the declaration of a command that has one alone."""
    if unit.form != "repl" or unit.program is None or len(unit.program.declarations) != 1:
        return None
    return unit.program.declarations[0]


def _listed(step: Any) -> Sequence[Any]:
    found = step.get("usedConstants", ())
    return found if isinstance(found, list) else ()


def _unhypothesised(text: str) -> str:
    """Give the part of a message before its goals: names in hypotheses are nobody's choice."""
    cut = min((at for at in (text.find("\n⊢"), text.find("\n\n"), text.find("unsolved goals")) if at >= 0), default=len(text))
    return text[: min(cut, 500)]


def _expected(errors: Sequence[Message]) -> str:
    for one in errors:
        found = _EXPECTED.search(one.text[:5000])
        if found is not None:
            return " ".join(found[1].split())
    return ""


def _result(errors: Sequence[Message]) -> str:
    said = [" ".join(one.text[:2000].split()) for one in errors]
    each = MAX_RESULT // max(1, min(3, len(said)))
    return " | ".join(text[:each] for text in dict.fromkeys(said[:3]))
