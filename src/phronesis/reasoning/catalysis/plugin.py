"""The catalysis plug-in: reviews of the small-molecule modifiers of runs. It brings no verb to the log."""

from typing import Final

from phronesis.engine.plugin import Engine, OpenEngine, Platform
from phronesis.reasoning.catalysis.pubchem import PubChem
from phronesis.reasoning.catalysis.review import ModifierReviews


def _open(platform: Platform) -> OpenEngine:
    pubchem = PubChem(platform.settings.pubchem_url)
    mode = platform.policy.reasoning.review
    return OpenEngine(
        components={"reviews": ModifierReviews(platform.database, pubchem, mode=mode, clock=platform.clock)}
    )


ENGINE: Final = Engine(name="catalysis", open=_open)
