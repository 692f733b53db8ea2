"""Build drafts from checked Lean units: one per failed position, or one for a unit checked as a whole."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from phronesis.core.relations import Origin
from phronesis.experience.laws.event_draft import Artifact, Draft
from phronesis.experience.sources.lean import error_groups
from phronesis.experience.sources.lean.error_groups import MAX_TEXT, PositionFindings, step_of
from phronesis.experience.sources.lean.messages import Line, Message, Place, Unit, is_sorry, kind_of, places_of, span_of
from phronesis.experience.sources.lean.syntax import Declaration, class_in, missing_name, read_goals

MAX_RESULT: Final = 300
MAX_SIZES: Final = 20

_EXPECTED: Final = re.compile(r"expected to have type\n((?:[ \t][^\n]*\n?){1,20})")
_LIMIT: Final = re.compile(r"maximum number of heartbeats \((\d{1,15})\)")
_USED: Final = re.compile(r"[Uu]sed (?:approximately )?(\d{1,15}) heartbeats")
_RULE: Final[Origin] = "rule"


def drafts_of(unit: Unit, lines: list[Line]) -> Iterator[Draft]:
    """Yield the drafts of a unit; none if it reports neither a failure nor a check."""
    places = places_of(unit)
    warned = {"warnings": sum(one.severity == "warning" for one in unit.messages)}
    for place in places:
        yield _failure(unit, place, lines, warned)
    if places:
        return
    left = unit.after or unit.sorries or any(is_sorry(one.text) for one in unit.messages)
    spoken = any(one.severity in {"info", "warning"} for one in unit.messages)
    if unit.verdict == "failed":
        yield _failure(unit, Place(list(unit.messages)), lines, warned)
    elif unit.verdict == "ok" or unit.form == "repl" or (spoken and unit.form in {"json", "plain"}):
        yield _checked(unit, lines, sure=unit.verdict == "ok" and not left, left=bool(left))


def _failure(unit: Unit, place: Place, lines: list[Line], counts: Mapping[str, int]) -> Draft:
    """Return the draft of the failure at one position."""
    errors = [one for one in place.messages if one.severity == "error"]
    kinds = [kind_of(one.text) for one in errors]
    named = [kind for kind in dict.fromkeys(kinds) if kind != "process_exited"] or list(dict.fromkeys(kinds))
    declaration = place.declaration or _only(unit)
    step = unit.tactic or step_of(unit, errors)
    found = PositionFindings(unit, place.messages, declaration, step)
    family, reflection = _family(unit, place)
    goal = declaration.statement.removeprefix(":").strip() if declaration is not None else ""
    goal = goal or (found.goals[0].target if found.goals else _expected(errors))
    concepts = [class_in(one.text) for one, kind in zip(errors, kinds, strict=True) if kind == "failed_to_synthesize"]
    concepts += [
        missing_name(one.text, kind) for one, kind in zip(errors, kinds, strict=True) if kind == "unknown_namespace"
    ]
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
        goal=goal,
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
            **counts,
        },
    )


def _checked(unit: Unit, lines: list[Line], *, sure: bool, left: bool) -> Draft:
    """Return the draft of a unit without an error."""
    declaration = _only(unit)
    found = PositionFindings(unit, unit.messages, declaration, unit.tactic)
    sorries = len(unit.sorries) or sum(is_sorry(one.text) for one in unit.messages)
    success = not left and (unit.verdict == "ok" or unit.form in {"json", "plain"})
    goal = declaration.statement.removeprefix(":").strip() if declaration is not None else ""
    goal = goal or (found.goals[0].target if found.goals else "")
    what = unit.module or unit.file or (declaration.heading if declaration is not None else "") or "it"
    if success:
        result = (
            "No goals left."
            if unit.tactic or unit.signal == "no goals left"
            else f"Lean checked {what} without an error."
        )
    elif unit.after:
        result = f"{len(unit.after)} goals left, the first: ⊢ {found.goals[0].target if found.goals else ''}"
    else:
        result = (
            f"Lean checked {what}, with {sorries} left to be proved (sorry)." if sorries else f"Lean checked {what}."
        )
    exploded = not success and error_groups.is_explosion(
        len(unit.after), None if unit.before is None else len(unit.before)
    )
    proof = "\n".join(str(one.get("tactic", "")) for one in unit.steps) or (
        declaration.proof if declaration is not None else ""
    )
    return _draft(
        unit,
        lines,
        (unit.first, unit.last),
        label="success" if success else "unknown",
        confidence=0.95 if sure else 0.6 if success else 0.5,
        family=error_groups.EXPLODING if exploded else None,
        reflection=error_groups.REFLECTIONS[error_groups.EXPLODING].format(count=len(unit.after)) if exploded else "",
        signals=(_signal(unit, sorries, left=left),),
        goal=goal,
        attempt=unit.tactic or proof.strip().removeprefix("by").strip() or found.sentence(None),
        situation=found.situation(None),
        result=result[:MAX_RESULT],
        found=found,
        kinds=[],
        concepts=[],
        extra={"sorries": sorries, "warnings": sum(one.severity == "warning" for one in unit.messages)},
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
        **{name: list(value) if isinstance(value, tuple) else value for name, value in extra.items()},
        **unit.facts,
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
        field_origin={
            name: _RULE for name in ("situation", "goal", "attempt", "result", "reflection") if texts.get(name)
        },
        observations=kept,
        artifacts=tuple(Artifact(kind, name) for kind, name in dict.fromkeys(given)),  # type: ignore[arg-type]
        lines=(rows[0] + 1, rows[1] + 1),
        span=span_of(lines, *rows),
        occurred_at=lines[rows[0]].moment,
        episode_id=f"lean:{hashlib.sha256(root.encode()).hexdigest()[:16]}" if root else None,
    )


def _family(unit: Unit, place: Place) -> tuple[str | None, str]:
    """Return the family of the first error that has one: later errors often follow from it."""
    steps = [unit.tactic or step_of(unit, [one]) for one in place.messages]
    every = [kind_of(one.text) for one in place.messages]
    for message, kind, step in zip(place.messages, every, steps, strict=True):
        if error_groups.is_missing(message, kind):
            name = missing_name(message.text, kind)
            return error_groups.MISSING_LEMMA, error_groups.REFLECTIONS[error_groups.MISSING_LEMMA].format(name=name)
        if error_groups.is_direction([message], [kind], step):
            return error_groups.DIRECTION, error_groups.REFLECTIONS[error_groups.DIRECTION]
        if error_groups.is_explosion(count := len(read_goals(message.text)), None) and kind == "unsolved_goals":
            return error_groups.EXPLODING, error_groups.REFLECTIONS[error_groups.EXPLODING].format(count=count)
    return None, ""


def _only(unit: Unit) -> Declaration | None:
    """Return the declaration of a command that has exactly one."""
    if unit.form != "repl" or unit.program is None or len(unit.program.declarations) != 1:
        return None
    return unit.program.declarations[0]


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
