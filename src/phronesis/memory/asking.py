"""The verb that asks the experience base: what worked, what did not, and what it rests on."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from phronesis.core.experience.answer_budget import fit_answer
from phronesis.core.experience.answers import Answer
from phronesis.core.experience.drafts import ARTIFACT_TYPES, LABELS
from phronesis.core.experience.limits import bans_of, liking
from phronesis.core.instants import Moment, parse_moment, to_micros
from phronesis.core.scope import make_scope
from phronesis.core.text import check_id, check_text, storable
from phronesis.errors import InputError
from phronesis.index.tokens import tokenize
from phronesis.memory.inside import Inside
from phronesis.memory.reading import MAX_BUDGET
from phronesis.recall.experience.asked import Asked
from phronesis.truth.inputs import flag, share
from phronesis.truth.inputs import limit as checked_limit

MAX_ANSWER: Final = 200
"""Events of one answer."""

MAX_ARTIFACTS: Final = 24


class Asking(Inside):
    """query."""

    def query(
        self,
        *,
        situation: str = "",
        goal: str = "",
        constraints: Sequence[str | Mapping[str, Any]] = (),
        preferences: Sequence[str | Mapping[str, Any]] = (),
        limit: int = 10,
        min_score: float | None = None,
        user_id: str | None = None,
        namespace: str | None = None,
        artifacts: Sequence[str | Mapping[str, str]] | None = None,
        label: str | None = None,
        source_type: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        as_of: Moment | None = None,
        valid_at: Moment | None = None,
        explain: bool = False,
        token_budget: int | None = None,
    ) -> Answer:
        """Ask what worked and what did not in a situation, towards a goal.

        The answer has events first, each with where it can be looked up, then patterns and principles, down to their
        events; attempts to make and to avoid; and what says otherwise. A task's name alone (``situation="env_4"``)
        gives its events, the latest lesson first.

        ``constraints`` ("no internet", "不能用 sudo", ``{"must_not": ["simp"]}``) exclude attempts that go against
        them, which are listed with the reason; ``preferences`` re-rank. ``artifacts`` (names, ids such as
        ``file:src/app.py``, or ``{type, name}``), ``label``, ``source_type``, ``since`` and ``until`` narrow the
        events. ``as_of`` asks what was known then, ``valid_at`` what held then; ``explain`` adds each share of a score.
        ``token_budget`` bounds the answer's JSON, counted by the policy's token counter: the last of its lists are left
        out, and ``left_out`` says how many. Scores are from 0 to 1; ``min_score`` leaves out what scores less.

        InputError names a field that is wrong; nothing asked at all is one.
        """
        scope = make_scope(user_id=user_id, namespace=namespace)
        wishes = [preferences] if isinstance(preferences, str) else preferences
        bans, unread = bans_of([constraints] if isinstance(constraints, str) else constraints, tokenize)
        asked = Asked(
            scope=scope, situation=_text(situation, "situation"), goal=_text(goal, "goal"), bans=bans, unread=unread,
            liking=liking(wishes, tokenize) if wishes else None,
            preferred="\n".join(one for one in wishes if isinstance(one, str)),
            limit=checked_limit(limit, most=MAX_ANSWER), artifacts=_artifacts(artifacts), label=_label(label),
            min_score=None if min_score is None else share(min_score, field="min_score"),
            source_type=None if source_type is None else check_id(source_type, field="source_type"),
            since=_moment(since, "since"), until=_moment(until, "until"),
            wanted=self._wanted(as_of=as_of, valid_at=valid_at), explain=flag(explain, field="explain"),
        )  # fmt: skip
        room = None if token_budget is None else checked_limit(token_budget, most=MAX_BUDGET, field="token_budget")
        slots = (asked.artifacts, asked.label, asked.source_type, asked.since, asked.until)
        if not asked.text and all(slot in (None, ()) for slot in slots):
            raise InputError("give a situation or a goal, or slots such as label or artifacts", field="situation")
        stages = self._open_stages()
        answer = stages.asking.answer(self._tenant, asked)
        if room is not None:
            answer = fit_answer(answer, room, stages.count_tokens)
        shown = (*answer.l1_evidence, *answer.l2_patterns, *answer.l3_principles)
        self._used([one.item.id for one in shown])
        return answer


def _text(value: object, field: str) -> str:
    return storable(check_text(value, field=field, allow_empty=True)).strip()


def _label(value: object) -> str | None:
    if value is None:
        return None
    if value not in LABELS:
        raise InputError(f"label must be one of {', '.join(LABELS)}; got {value!r:.40}", field="label")
    return str(value)


def _moment(value: Moment | None, field: str) -> int | None:
    return None if value is None else to_micros(parse_moment(value, field=field))


def _artifacts(given: object) -> tuple[str, ...]:
    """Give the ids that are meant: a name without a type may be of any."""
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) > MAX_ARTIFACTS:
        raise InputError(f"artifacts must be a list of at most {MAX_ARTIFACTS} names or {{type, name}}",
                         field="artifacts")  # fmt: skip
    out: list[str] = []
    for one in given:
        kind = one.get("type") if isinstance(one, Mapping) else None
        name = check_id(one.get("name") if isinstance(one, Mapping) else one, field="artifacts")
        if kind is not None and kind not in ARTIFACT_TYPES:
            raise InputError(f"an artifact's type must be one of {', '.join(ARTIFACT_TYPES)}; got {kind!r:.40}",
                             field="artifacts")  # fmt: skip
        prefix, _, _ = name.partition(":")
        if kind is None and prefix in ARTIFACT_TYPES:
            out.append(name)
        else:
            out += [f"{each}:{name}" for each in ([kind] if kind is not None else ARTIFACT_TYPES)]
    return tuple(dict.fromkeys(out))
