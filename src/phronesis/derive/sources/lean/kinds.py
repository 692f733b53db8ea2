"""Kinds of errors, by the words of Lean's messages. Data: Lean 4.0 to 4.2x, whose words changed in 2025.

A message is compared without case, with one kind of quotation mark. The first row that fits its first line decides; of
an error inside another ("Tactic `simp` failed with a nested error:") the line behind it is looked at too.
"""

from typing import Final

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
"""Kinds that name something which is not there."""

SORRY: Final = ("declaration uses 'sorry'", "sorryax")
LOOPING: Final = "possibly looping simp theorem"

_HEAD: Final = 400
_QUOTES: Final = str.maketrans("`‘’´", "''''")
_NESTED: Final = ("nested error", "error in norm simp")


def normal(text: str) -> str:
    """Give a message as it is compared: lower case, one kind of quotation mark."""
    return text.translate(_QUOTES).lower()


def head(text: str) -> str:
    """Give the part of a message that says what it is about, normal: its first line, and a nested one's."""
    first, _, rest = text.lstrip("\n").partition("\n")
    said = normal(first[:_HEAD])
    if any(word in said for word in _NESTED) or said.endswith(" of"):
        said += " " + normal(rest.lstrip().partition("\n")[0][:_HEAD])
    return said


def kind_of(text: str) -> str:
    """Give the kind of an error, ``other`` where no row fits."""
    said = head(text)
    for name, marks in KINDS:
        if any(mark in said for mark in marks):
            return name
    return OTHER


def is_sorry(text: str) -> bool:
    """Tell whether a message says that something was left to be proved."""
    said = normal(text[:4000])
    return any(mark in said for mark in SORRY)
