"""Parse Lean text: goals, names and lemmas, tactics and rewritings in proofs, and declarations of a program."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

# Goals as Lean prints them: a case, hypotheses, and the target after a turnstile.

TURNSTILES: Final = ("⊢", "|-")
MAX_GOALS: Final = 200
"""Goals read from one message."""

# Hypotheses such as `a b : ℕ`, `inst✝ : Group G`, `f : ℕ → ℕ := fun n => n`. Names are separated by single blanks;
# prose contains no " : ".
_HYPOTHESIS: Final = re.compile(r"(?P<names>[^\s:|⊢]{1,60}(?: [^\s:|⊢]{1,60}){0,40}) (?::|:=) ?(?P<type>.*)")


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal: its case, its hypotheses (one per line, with several names), the number of names, and the target."""

    case: str
    hypotheses: tuple[str, ...]
    names: int
    target: str

    @property
    def size(self) -> tuple[int, int]:
        """Characters of the target, and the number of hypotheses."""
        return len(self.target), self.names

    @property
    def text(self) -> str:
        """The goal on its own lines, as Lean prints it, without the case."""
        return "\n".join([*self.hypotheses, f"⊢ {self.target}"])


def is_hypothesis(line: str) -> bool:
    """Return whether a line looks like hypotheses of a goal."""
    return _HYPOTHESIS.match(line) is not None


def read_goals(text: str) -> list[Goal]:
    """Return the goals in a text, in order; other text is skipped."""
    goals: list[Goal] = []
    hypotheses: list[str] = []
    target: list[str] = []
    case, names = "", 0
    depth = 0  # blanks before the turnstile: aesop shows its goals indented

    def close() -> None:
        nonlocal case, hypotheses, names, target
        if target:
            goals.append(Goal(case, tuple(hypotheses), names, " ".join(" ".join(target).split())))
        case, hypotheses, names, target = "", [], 0, []

    for line in text.split("\n"):
        said = line.strip()
        indent = len(line) - len(line.lstrip(" "))
        begins = said.startswith(TURNSTILES)
        if target and not begins and said and indent > depth:
            target.append(said)
            continue
        if target:
            close()
            if len(goals) >= MAX_GOALS and not begins:
                return goals
        if begins:
            depth = indent
            target = [said[1 if said[0] == "⊢" else 2 :]]
        elif said.startswith("case "):
            case, hypotheses, names = said[5:], [], 0
        elif (found := _HYPOTHESIS.match(said)) is not None:
            hypotheses.append(said)
            names += found["names"].count(" ") + 1
        elif hypotheses and indent > depth and said:
            hypotheses[-1] += f" {said}"
        else:
            hypotheses, names = [], 0
    close()
    return goals


# Names in messages and proofs: lemmas, and names of the local context.

# A name between one pair of marks; Lean's own names may end in primes ('Nat.add_comm'').
_QUOTED: Final = re.compile(r"['`‘]←? ?([^\s'`‘’]{1,200}'{0,3})['`’](?!')")
_NAME: Final = re.compile(r"(?<![\w.'])[^\W\d][\w'!?₀-₉✝]{0,100}(?:\.[^\W\d][\w'!?₀-₉]{0,100}){0,12}")
# Usual names of hypotheses and variables: h, hx, hab, hU, h₁, h1', ih, ih2, x, α, this.
_LOCAL: Final = re.compile(r"(?:h[A-Za-z]{0,2}|ih[a-z]?|this|[^\W\d_])[\d₀-₉']{0,6}")
_LEMMAS_IN_H: Final = frozenset({"hom", "has", "hat"})
_ABSENT: Final = re.compile(r"(?i)does not contain\s+['`‘]([^\s`‘’]{1,200}?)['`’](?=[\s,.]|$)")
_CLASS: Final = re.compile(r"[A-Z][\w.]{0,100}")


def is_local(name: str) -> bool:
    """Return whether a name has the form of a local hypothesis: ``h``, ``hxy``, ``ih``, ``x_pos``, ``h.symm``."""
    first = re.split(r"[._]", name, maxsplit=1)[0]
    return "✝" in name or (_LOCAL.fullmatch(first) is not None and first not in _LEMMAS_IN_H)


def is_lemma(name: str) -> bool:
    """Return whether a name has the form of a declaration: with dots or underscores, and not local."""
    return ("." in name or "_" in name.strip("_")) and not is_local(name)


def lemmas_in(text: str) -> list[str]:
    """Return the names of declarations in a text, each once."""
    return [name for name in dict.fromkeys(_NAME.findall(text)) if is_lemma(name)]


def missing_name(text: str, kind: str) -> str:
    """Return the name that a message reports as missing; empty if it names none."""
    said = text[:1000]
    found = (_ABSENT.search(said) if kind == "invalid_field" else None) or _QUOTED.search(said)
    return "" if found is None else found[1]


def class_in(text: str) -> str:
    """Return the type class that could not be synthesised: the first name on the message's second line."""
    found = (_CLASS.match(line.strip().lstrip("(")) for line in text.split("\n", 4)[1:4])
    return next((name[0] for name in found if name), "")


TACTICS: Final = frozenset(
    """
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
    """.split()
)
"""Tactics of Lean 4, Batteries and Mathlib."""

SIMP: Final = frozenset({"simp", "simp?", "simp_all", "simp_all_arith", "simp_arith", "simp_rw", "simpa", "dsimp"})
"""Tactics that use simp's engine, to which looping and direction apply."""

MAX_NAMES: Final = 50
_REWRITES: Final = SIMP | {"rw", "rwa", "rewrite", "nth_rw", "nth_rewrite", "grw", "unfold"}
_ALIASES: Final = {"rewrite": "rw", "rewriteAt": "rw"}
# Where a tactic may begin: after a line's end, `;`, `<;>`, `by`, `=>`, a bullet, `all_goals`, `try`, or `(`.
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
_ARROW: Final = re.compile(r"\A(?:←|<-) ?")


class Rewriting(NamedTuple):
    """An argument of simp or rw: the lemma, and whether it is used from right to left."""

    name: str
    backwards: bool


def strip_comments(text: str) -> str:
    """Return a proof without its comments, line numbers kept."""
    kept, start = [], 0
    while (begin := text.find("/-", start)) >= 0:
        end = text.find("-/", begin + 2)
        kept.append(text[start:begin])
        kept.append("\n" * text.count("\n", begin, len(text) if end < 0 else end))
        start = len(text) if end < 0 else end + 2
    kept.append(text[start:])
    return "\n".join(line.partition("--")[0] for line in "".join(kept).split("\n"))


def tactics_in(proof: str) -> list[str]:
    """Return the tactics of a proof in order, with repeats, up to a limit."""
    named = (word for word in _START.findall(proof) if word in TACTICS)
    return [word for word, _ in zip(named, range(MAX_NAMES), strict=False)]


def tactics_in_message(message: str) -> list[str]:
    """Return the tactics that a message names, each once."""
    said = message[:2000]
    found = [name for groups in _SAID.findall(said) for name in groups if name] + _TRY.findall(said)
    return list(dict.fromkeys(_ALIASES.get(name, name) for name in found if _ALIASES.get(name, name) in TACTICS))


def rewritings(step: str) -> list[Rewriting]:
    """Return the arguments in the first bracket of a rewriting step."""
    begin = step.find("[")
    if begin < 0:
        return []
    written: list[str] = []
    depth, start = 0, begin + 1
    for at in range(begin, len(step)):
        sign = step[at]
        depth += (sign in "[(⟨{") - (sign in "])⟩}")
        if (sign == "," and depth == 1) or (sign == "]" and depth == 0):
            written.append(step[start:at].strip())
            start = at + 1
        if depth <= 0:
            break
    named = [(_NAME.search(_ARROW.sub("", one, count=1).lstrip("-( @")), one) for one in written]
    return [Rewriting(name[0], one.startswith(("←", "<-"))) for name, one in named if name and len(name[0]) > 1]


def lemmas_of(proof: str) -> list[str]:
    """Return the lemmas that a proof names: by their form, or as arguments of simp and rw."""
    parts = [part for part in re.split(r"[;\n]", proof) if not _REWRITES.isdisjoint(_NAME.findall(part)[:6])]
    given = [one.name for part in parts for one in rewritings(part)]
    both = dict.fromkeys([*lemmas_in(proof), *given])
    return [name for name in both if name not in TACTICS and not is_local(name)][:MAX_NAMES]


def simp_in(step: str) -> str:
    """Return the simp-like tactic that a step begins with, else empty."""
    found = _START.search(step)
    return found[1] if found is not None and found[1] in SIMP else ""


# Lean source within the input: its declarations, and the text at a position.

_DECLARATION: Final = re.compile(
    r"(?:@\[[^\]\n]{0,200}\] ?)?(?:(?:private|protected|noncomputable|nonrec|local|scoped|partial|unsafe) ){0,5}"
    r"(?P<keyword>theorem|lemma|def|example|instance|abbrev|structure|inductive|class)\b[ \t]{0,10}"
    r"(?P<name>[^\s(){}\[\]:⦃]{0,200})"
)
_MAX_STATEMENT: Final = 2000
_MAX_STEP: Final = 600
_MAX_LINES: Final = 20


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declaration: its name, empty for an example; its statement; its proof; its lines, from 1."""

    name: str
    keyword: str
    statement: str
    proof: str
    first: int
    last: int

    @property
    def heading(self) -> str:
        """Its name, or ``example``."""
        return self.name or self.keyword


@dataclass(frozen=True, slots=True)
class Program:
    """Lean source: its lines, and its declarations in order."""

    lines: Sequence[str]
    declarations: Sequence[Declaration]

    def declaration_at(self, line: int) -> Declaration | None:
        """Return the declaration that contains ``line`` (from 1)."""
        at = bisect_right(self.declarations, line, key=lambda one: one.first) - 1
        return self.declarations[at] if at >= 0 and line <= self.declarations[at].last else None

    def step_at(self, position: tuple[int, int], end: tuple[int, int] | None) -> str:
        """Return the source lines of a tactic step, without the text that leads to the proof."""
        first = position[0]
        last = min(max(end[0] if end is not None else first, first), first + _MAX_LINES, len(self.lines))
        if not 1 <= first <= len(self.lines):
            return ""
        text = "\n".join(self.lines[first - 1 : last])
        if (head := _DECLARATION.match(text)) is not None:
            begin = text.find(":=")
            text = text[begin + 2 :] if begin >= 0 else text[head.end() :]
            if text.lstrip().startswith("by"):
                text = text.lstrip()[2:]
        return text.strip()[:_MAX_STEP]


def read_program(text: str) -> Program:
    """Return the declarations of Lean source: each begins at a line's start and ends before the next one."""
    lines = text.split("\n")
    heads = [(at, found) for at, line in enumerate(lines) if (found := _DECLARATION.match(line)) is not None]
    ends = [at for at, _ in heads[1:]] + [len(lines)] * bool(heads)
    return Program(
        lines, [_declaration(lines[at:end], at, found) for (at, found), end in zip(heads, ends, strict=True)]
    )


def _declaration(lines: Sequence[str], at: int, found: re.Match[str]) -> Declaration:
    last = len(lines)
    while last > 1 and not lines[last - 1].strip():
        last -= 1
    rest = "\n".join(lines[:last])[found.end() :]
    parted = rest.find(":=")
    statement, proof = (rest, "") if parted < 0 else (rest[:parted], rest[parted + 2 :])
    said = " ".join(statement.split())[:_MAX_STATEMENT]
    return Declaration(found["name"], found["keyword"], said, proof, at + 1, at + last)
