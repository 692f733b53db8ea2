"""What a learn would propose of a run that nobody recorded yet: for those who want to know beforehand."""

from typing import NamedTuple

from phronesis.core.reasoning.runs import Feedback, Run
from phronesis.derive.learning.proposing import propose_by_rules
from phronesis.derive.learning.sifting import Sieve
from phronesis.derive.learning.telling import Telling
from phronesis.derive.learning.weighing import Scales


class Foretold(NamedTuple):
    """How many proposals of the rules would pass the gate, and how many would not."""

    added: int
    dropped: int


def foretell(telling: Telling, run: Run, feedback: Feedback) -> Foretold:
    """Count what rules propose of a run's feedback, sifted by the gate and the run's own FACTS.

    What the bank says already is not looked at, and no model is asked.
    """
    view = telling.builder.view(run, feedback)
    scales = Scales(view, has_feedback=True, read_earlier=tuple)
    sieve = Sieve(entry_id="", facts=telling.facts_of(run, feedback), candidates={},
                  agree=lambda claim: scales.weigh(claim) != "contra")  # fmt: skip
    taken, dropped = sieve.sift(propose_by_rules(feedback, view, ()))
    return Foretold(len(taken), len(dropped))
