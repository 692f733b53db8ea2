"""Tactics: which stand in a proof, and what one was given."""

import re
from dataclasses import dataclass
from typing import Final

from phronesis.derive.sources.lean.names import is_local, lemmas_in, names_in

_TACTICS: Final = """
abel absurd ac_rfl aesop all_goals any_goals apply apply_assumption apply_fun assumption assumption_mod_cast
bound bv_decide by_cases by_contra by_contra! calc case case' cases cases' cc change choose clear congr congr!
constructor continuity contradiction contrapose contrapose! conv convert convert_to decide delta destruct
dsimp eapply ext exact exact? exact_mod_cast exacts exfalso exists existsi ext1 fapply field_simp fin_cases
fin_omega first focus fun_prop funext fun_induction gcongr generalize grewrite grind group grw guard_hyp have
haveI hint induction induction' infer_instance injection interval_cases intro intros iterate left let letI
lift linarith linear_combination map_fun match measurability mod_cases module monotonicity native_decide next
nlinarith noncomm_ring nomatch norm_cast norm_num nofun nth_rewrite nth_rw obtain omega on_goal pick_goal
plausible polyrith positivity push_cast push_neg qify rcases refine refine' refine_lift rel rename rename_i
repeat repeat' replace revert rewrite rfl right ring ring1 ring_nf rintro rotate_left rsuffices rw rw? rwa
show show_term simp simp? simp_all simp_all_arith simp_arith simp_rw simpa skip slice_lhs slice_rhs
solve_by_elim sorry split split_ifs split_ands squeeze_simp stop subst subst_vars suffices swap symm symmetry
tauto tfae_finish tfae_have trans transitivity trivial try unfold unfold_let unreachable! use wlog zify
"""
TACTICS: Final = frozenset(_TACTICS.split())
"""Tactics of Lean 4, Batteries and Mathlib."""

SIMP: Final = frozenset({"simp", "simp?", "simp_all", "simp_all_arith", "simp_arith", "simp_rw", "simpa", "dsimp"})
"""Tactics that rewrite with simp's engine, to which looping and direction apply."""

MAX_NAMES: Final = 50
_REWRITES: Final = SIMP | {"rw", "rwa", "rewrite", "nth_rw", "nth_rewrite", "grw", "unfold"}
_ALIASES: Final = {"rewrite": "rw", "rewriteAt": "rw"}
# Where a step may begin: after a line's end, `;`, `<;>`, `by`, `=>`, a bullet, `all_goals`, `try`, or `(`.
_START: Final = re.compile(
    r"(?:^|[;\n(·]|=>|<;>|\bby\b|\||\b(?:all_goals|any_goals|try|repeat|focus)\b)"
    r"[ \t]{0,80}(?:· ?)?(?=([a-z][a-z_]{0,30}[0-9]?['!?]?)(?![\w.']))"
)
_SAID: Final = re.compile(
    r"(?i)\b(?:the )?tactic ['`‘]?([a-z_]{1,40}[?!']?)['`’] |(?:^|\n)['`‘]?([a-z_]{1,30}[?!]?)['`’]?"
    r"(?:: failed| failed| could not| made no progress)"
    r"|\bthe (rfl) tactic failed"
)
_TRY: Final = re.compile(r"Try this: ([a-z_]{1,30}[?!']?)")
_ARROW: Final = re.compile(r"(?:←|<-) ?")


@dataclass(frozen=True, slots=True)
class Rewriting:
    """An argument of simp or rw: the lemma, and whether it is used from right to left."""

    name: str
    backwards: bool


def without_comments(text: str) -> str:
    """Give a proof without its comments, lines kept."""
    kept, start = [], 0
    while (begin := text.find("/-", start)) >= 0:
        end = text.find("-/", begin + 2)
        kept.append(text[start:begin])
        kept.append("\n" * text.count("\n", begin, len(text) if end < 0 else end))
        start = len(text) if end < 0 else end + 2
    kept.append(text[start:])
    return "\n".join(line.partition("--")[0] for line in "".join(kept).split("\n"))


def tactics_in(proof: str) -> list[str]:
    """Give the tactics of a proof in the order in which they stand, as often as they stand there (to a bound)."""
    named = (word for word in _START.findall(proof) if word in TACTICS)
    return [word for word, _ in zip(named, range(MAX_NAMES), strict=False)]


def tactics_said(message: str) -> list[str]:
    """Give the tactics that a message names, each once."""
    said = message[:2000]
    found = [name for groups in _SAID.findall(said) for name in groups if name] + _TRY.findall(said)
    return list(dict.fromkeys(_ALIASES.get(name, name) for name in found if _ALIASES.get(name, name) in TACTICS))


def rewritings(step: str) -> list[Rewriting]:
    """Give what the first bracket of a step lists, for steps that rewrite."""
    begin = step.find("[")
    if begin < 0:
        return []
    found: list[Rewriting] = []
    depth, start = 0, begin + 1
    for at in range(begin, len(step)):
        sign = step[at]
        depth += (sign in "[(⟨{") - (sign in "])⟩}")
        if (sign == "," and depth == 1) or (sign == "]" and depth == 0):
            found.extend(_rewriting(step[start:at].strip()))
            start = at + 1
        if depth <= 0:
            break
    return found


def lemmas_of(proof: str) -> list[str]:
    """Give the lemmas that a proof names: by their form, or as what simp and rw were given."""
    given = [one.name for part in re.split(r"[;\n]", proof) if _leading(part) for one in rewritings(part)]
    both = dict.fromkeys([*lemmas_in(proof), *given])
    return [name for name in both if name not in TACTICS and not is_local(name)][:MAX_NAMES]


def simp_in(step: str) -> str:
    """Give the simp-like tactic that a step begins with, else empty."""
    found = _START.search(step)
    return found[1] if found is not None and found[1] in SIMP else ""


def _leading(part: str) -> bool:
    return any(name in _REWRITES for name in names_in(part)[:6])


def _rewriting(written: str) -> list[Rewriting]:
    arrow = _ARROW.match(written)
    rest = written[arrow.end() :] if arrow is not None else written
    names = names_in(rest.lstrip("-( @"))
    if not names or (len(names[0]) == 1):
        return []
    return [Rewriting(names[0], arrow is not None)]
