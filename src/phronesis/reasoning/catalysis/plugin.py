"""The catalysis plug-in: reviews of the small-molecule modifiers of runs. It brings no verb to the log."""

from typing import TYPE_CHECKING, Final

from phronesis.core.lazy_loading import lazy_module
from phronesis.engine.plugin import Engine, OpenEngine, Part, Platform

if TYPE_CHECKING:
    from phronesis.reasoning import policy_section
    from phronesis.reasoning.catalysis import pubchem, review
else:
    policy_section = lazy_module("phronesis.reasoning.policy_section")
    pubchem = lazy_module("phronesis.reasoning.catalysis.pubchem")
    review = lazy_module("phronesis.reasoning.catalysis.review")


def _open(platform: Platform) -> OpenEngine:
    asked = pubchem.PubChem(platform.settings.pubchem_url)
    own = platform.policy.of(policy_section.ReasoningPolicy).reasoning
    reviews = review.ModifierReviews(platform.database, asked, mode=own.review, clock=platform.clock)
    return OpenEngine(components={"reviews": reviews})


ENGINE: Final = Engine(name="catalysis", parts=(Part(open=_open, components=("reviews",)),))
