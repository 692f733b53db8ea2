"""The catalysis plug-in: reviews of the small-molecule modifiers of runs. It brings no verb to the log."""

from typing import TYPE_CHECKING, Final

from phronesis.core.lazy_loading import lazy_module
from phronesis.engine.plugin import Engine, OpenEngine, Part, Platform

if TYPE_CHECKING:
    from phronesis.reasoning.catalysis import pubchem, review
else:
    pubchem = lazy_module("phronesis.reasoning.catalysis.pubchem")
    review = lazy_module("phronesis.reasoning.catalysis.review")


def _open(platform: Platform) -> OpenEngine:
    asked, mode = pubchem.PubChem(platform.settings.pubchem_url), platform.policy.reasoning.review
    reviews = review.ModifierReviews(platform.database, asked, mode=mode, clock=platform.clock)
    return OpenEngine(components={"reviews": reviews})


ENGINE: Final = Engine(name="catalysis", parts=(Part(open=_open, components=("reviews",)),))
