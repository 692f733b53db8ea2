"""Step 8: time (requirement NM-09). A trait is changed only when time has moved it over a border of its stages.

Its confidence is a function of time, computed where it is read: nothing is stored that a later step could decay again.
"""

from phronesis.core.instants import isoformat
from phronesis.core.traits.strength import DECAYED_TO, stage_at
from phronesis.derive.reflecting.contradictions import CORRECTED
from phronesis.derive.reflecting.material import SIDES
from phronesis.derive.reflecting.round import Round
from phronesis.derive.reflecting.trends import is_trend


def fade(work: Round) -> None:
    """Move traits over the borders that they have reached; below .1 they dissolve."""
    now = work.entry.recorded_at
    for trait_id, trait in list(work.traits.items()):
        if is_trend(trait):
            continue
        stage = stage_at(trait, now)
        if stage == "dissolved":
            work.end(trait_id, "dissolved", "faded")
        elif stage != trait.stage:
            work.change(trait_id, {DECAYED_TO: isoformat(now)}, "faded")


def rejoin(work: Round) -> None:
    """Let a trait of which one side is left say what that side says; where none is left, it ends with them.

    What a person wrote stands.
    """
    for trait_id, trait in list(work.traits.items()):
        had = trait.data.get(SIDES, ())
        sides = [one for one in had if one in work.traits]
        if had and not sides:
            work.end(trait_id, "dissolved", "no side is left")
        elif had and len(sides) == 1 and not trait.data.get(CORRECTED):
            left = work.traits[sides[0]]
            fields = {"content": left.content, "data.context": left.data["context"], f"data.{SIDES}": sides}
            if trait.content != left.content:
                work.change(trait_id, fields, "one side is left")
