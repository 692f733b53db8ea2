"""How turns and added messages are prepared, by what the policy says: rules in no time, or the models of the roles."""

from phronesis.config import Policy
from phronesis.derive.conversation import InZone
from phronesis.derive.extracting.gate import Gate
from phronesis.derive.extracting.rules import Rules
from phronesis.derive.extracting.tagging.opinion import second_opinion
from phronesis.derive.extraction import ByModel, ByRules
from phronesis.derive.governing import terms_of
from phronesis.derive.handler import Prepare
from phronesis.derive.instructions import find_order
from phronesis.derive.judging import Judge
from phronesis.derive.summarising import Summarising
from phronesis.models.roster import Roster


def prepare_turns(roster: Roster, policy: Policy) -> Prepare:
    """Give who reads what is said, and keeps the summary of a session where a model does."""
    gates, terms = policy.gates, terms_of(policy)
    gate = Gate(user=gates.user, tool=gates.tool, inferred=gates.inferred)
    second = second_opinion() if policy.extraction and policy.second_opinion else None
    rules = ByRules(Rules(gate=gate, second=second) if policy.extraction else None, terms)
    names, lines = roster.asker("extract"), roster.asker("summarise")
    prepare: Prepare = rules if names is None else ByModel(names, rules, Judge(names))
    if lines is not None:
        own = policy.summary
        prepare = Summarising(prepare, lines, own.every_turns, own.max_tokens, suspicious=find_order, hides=terms.hides)
    return InZone(prepare, policy.time_zone)
