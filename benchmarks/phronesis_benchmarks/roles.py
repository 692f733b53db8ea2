"""How well a configured model fills its roles beside ``extract`` (``phronesis bench roles``).

A case is a JSON object a line: ``{"id", "role", "language", "given", "expect"}``. It runs through the verbs of Memory
in a store of its own, so that the checks of code are part of it. ``expect`` lists ``[what, how, value]``, each of which
is met or not by what came of it (``role_cases``):

- ``has`` and ``lacks``: a text, or one of several texts, holds one of the words that ``|`` separates;
- ``is``: it is the value; ``most`` and ``least``: the number, or the number of texts;
- ``of``: of the texts that hold the word ``value[0]``, one has the memories ``value[1]``.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from phronesis.config import Policy
from phronesis.config.model_roles import RULES
from phronesis.errors import InputError
from phronesis.models.structured_client import prompt
from phronesis.models.token_counter import load_token_counter
from phronesis.wiring import read_settings
from phronesis_benchmarks.cassette import played
from phronesis_benchmarks.records import read_rows, render_table
from phronesis_benchmarks.role_cases import MODELS, RUNNERS, CaseStore, Observation

_PROMPTS: Final = {"questions": "reflect_questions"}
"""The names of prompts that are not those of their role."""

_DATA: Final = 400
_ANSWER: Final = 200
"""Tokens of the data and of the answer of a call, about."""


@dataclass(slots=True, kw_only=True)
class RoleScore:
    """How many expectations of a role's cases are met, by language, and what its calls cost."""

    role: str
    cases: int = 0
    wanted: dict[str, int] = field(default_factory=dict)
    met: dict[str, int] = field(default_factory=dict)
    calls: int = 0
    data_tokens: int = 0
    missed: int = 0

    @property
    def share(self) -> float:
        """The share of expectations that are met."""
        return sum(self.met.values()) / max(1, sum(self.wanted.values()))

    def row(self) -> Sequence[object]:
        """Return the figures as cells of a table."""
        by_language = [f"{self.met[one]} of {self.wanted[one]}" for one in sorted(self.wanted)]
        tokens = self.data_tokens / self.calls if self.calls else 0
        return self.role, self.cases, f"{self.share:.3f}", *by_language, self.calls, f"{tokens:.0f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RolesReport:
    """The scores by role, and the expectations that were not met."""

    scores: tuple[RoleScore, ...]
    mistakes: tuple[Mapping[str, Any], ...] = ()

    def to_markdown(self) -> str:
        """Return a table."""
        languages = sorted({one for score in self.scores for one in score.wanted})
        head = ["role", "cases", "met", *languages, "calls", "tokens a call besides the instructions"]
        table = render_table(head, (score.row() for score in self.scores))
        missed = sum(score.missed for score in self.scores)
        told = f"\n\n{missed} requests are not on the cassette: the prompt or the data changed; see --record"
        return table + told if missed else table


def run_roles(
    data: Sequence[Path],
    *,
    policy: Path | None,
    roles: Sequence[str] = (),
    cassette: Path | None = None,
    record: bool = False,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> RolesReport:
    """Run the cases of roles, all by default, and compare.

    ``cassette`` plays recorded answers of the model that ``policy`` names; with ``record`` what is not on it is asked
    and added, so that an interrupted run goes on. InputError: there are no cases of a role.
    """
    unknown = sorted(set(roles) - RUNNERS.keys())
    if unknown:
        raise InputError(f"no role {unknown[0]!r:.80} is measured; there are {', '.join(RUNNERS)}", field="role")
    cases = [one for path in data for one in load_cases(path) if not roles or one["role"] in roles]
    given = read_settings("sqlite://", tenant=None, policy=policy or {}).policy
    scores: list[RoleScore] = []
    mistakes: list[Mapping[str, Any]] = []
    for role in dict.fromkeys(case["role"] for case in cases):
        own = [case for case in cases if case["role"] == role]
        names = MODELS.get(role, (role,))
        score = RoleScore(role=role, cases=len(own))
        with played(_policy_for(given, names), names, cassette, record=record) as (used, player):
            for case, found in zip(own, _observe(own, used, given), strict=True):
                mistakes += _compare(case, found, score)
                if on_progress is not None:
                    on_progress("cases", sum(one.cases for one in scores) + own.index(case) + 1, len(cases))
        if player is not None:
            score.calls, score.data_tokens, score.missed = player.calls, player.data_tokens, player.missed
        scores.append(score)
    return RolesReport(scores=tuple(scores), mistakes=tuple(mistakes))


def estimate(data: Sequence[Path], roles: Sequence[str] = ()) -> str:
    """Return what asking all cases costs, about."""
    counter = load_token_counter("o200k")
    asked: list[str] = []
    for case in (one for path in data for one in load_cases(path)):
        if not roles or case["role"] in roles:
            asked += _asked(case)
    instructions = sum(counter.count(prompt(_PROMPTS.get(name, name))) for name in asked)
    calls = len(asked)
    return (
        f"about {calls} calls, {instructions + calls * _DATA:,} tokens of prompts ({instructions:,} of them the"
        f" instructions, which servers cache) and {calls * _ANSWER:,} of answers"
    )


def _asked(case: Mapping[str, Any]) -> list[str]:
    """Return the roles that a case asks, about."""
    given, role = case["given"], case["role"]
    rounds = len(given.get("rounds", [()])) - given.get("by_rules", 0)
    if role == "special_reflection":
        return ["reflect"] * rounds + [role]
    if role == "summarise":
        return [role] * (len(given["turns"]) // given.get("every", len(given["turns"])))
    return [*MODELS.get(role, (role,))] * rounds


def load_cases(path: Path) -> list[dict[str, Any]]:
    """Return the cases of a file; InputError names the line that cannot be read."""

    def checked(one: dict[str, Any]) -> dict[str, Any]:
        _ = RUNNERS[one["role"]], one["language"], one["id"], dict(one["given"])
        _ = [_CHECKS[how] for _, how, _ in one["expect"]]
        return one

    return read_rows(path, checked, what="case")


def _policy_for(given: Policy, names: Sequence[str]) -> Policy:
    """Return a policy with the models of these roles alone: what a model is shown depends on the case only."""
    by_rules = {name: RULES for name in type(given.roles).model_fields if name not in names}
    roles = given.roles.model_copy(update=by_rules)
    kept = {name: getattr(given, name) for name in ("gateways", "limits", "prices")}
    return type(given)().model_copy(update={**kept, "roles": roles, "embedder": "none"})


def _observe(cases: Sequence[Mapping[str, Any]], policy: Policy, given: Policy) -> Iterator[Observation]:
    """Yield what comes of cases, several at once where the gateways take it."""
    rules = _policy_for(given, ())

    def observe(case: Mapping[str, Any]) -> Observation:
        folder = Path(tempfile.mkdtemp(prefix="phronesis-role-"))
        try:
            return RUNNERS[case["role"]](CaseStore(folder, policy, rules), case["given"])
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    at_once = min((gateway.concurrency for gateway in policy.gateways.values()), default=1)
    with ThreadPoolExecutor(at_once) as pool:
        yield from pool.map(observe, cases)


def _compare(case: Mapping[str, Any], found: Observation, score: RoleScore) -> list[Mapping[str, Any]]:
    """Count the expectations of a case that are met; return the others."""
    unmet = [one for one in case["expect"] if not _CHECKS[one[1]](found[one[0]], one[2])]
    language = case["language"]
    score.wanted[language] = score.wanted.get(language, 0) + len(case["expect"])
    score.met[language] = score.met.get(language, 0) + len(case["expect"]) - len(unmet)
    return [{"id": case["id"], "expected": one, "found": found[one[0]]} for one in unmet]


def _has(found: Any, words: str) -> bool:
    texts = [found] if isinstance(found, str) else list(found or ())
    return any(word.casefold() in str(text).casefold() for text in texts for word in words.split("|"))


def _size(found: Any) -> int:
    return found if isinstance(found, int) else len(found)


_CHECKS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "has": _has,
    "lacks": lambda found, words: not _has(found, words),
    "is": lambda found, value: bool(found == value),
    "most": lambda found, value: _size(found) <= value,
    "least": lambda found, value: _size(found) >= value,
    "of": lambda found, value: any(_has(text, value[0]) and rows == value[1] for text, rows in found.items()),
}
