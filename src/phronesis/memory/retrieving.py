"""The verb that carries out a plan."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from phronesis.core.packs import EvidencePack
from phronesis.core.plan import RetrievalPlan, plan_of
from phronesis.core.scoring.scale import at_least
from phronesis.core.traits.strength import TRAIT
from phronesis.memory.inside import Inside
from phronesis.truth.inputs import share


class CarryingOut(Inside):
    """retrieve."""

    def retrieve(self, plan: RetrievalPlan | Mapping[str, Any], *, min_score: float | None = None) -> EvidencePack:
        """Carry out a plan: evidence of conversation memory and of resources as one list, best first.

        ``plan`` is what ``plan`` gave, perhaps changed, or the same as a mapping; whose memory is read is its
        ``scope``. Each result's ``score`` is its relevance from 0 to 1, or the reranker's score, and ``why`` holds its
        signals by name. ``ignored_fields`` says what of the plan a retriever could not use, ``explain`` what became of
        every candidate, ``degraded`` which model or server was away. It abstains when no retriever found support; the
        best score is then below the pack's ``threshold``. ``min_score`` leaves out what scores less.

        InputError names the field of the plan that is wrong.
        """
        checked = plan_of(plan)
        least = None if min_score is None else share(min_score, field="min_score")
        stages = self._open_stages()
        pack = stages.retrieving.retrieve(self._tenant, checked)
        if least is not None:
            kept = at_least(pack.evidence, least)
            pack = replace(pack, evidence=kept, abstained=pack.abstained or not kept)
        traits = [one.item.id for one in pack if one.item.kind == TRAIT]
        if traits and checked.scope.user_id is not None:  # the next reflection takes it up, as after a search
            stages.shown.note_search(self._tenant, checked.scope.write_lane, item_ids=traits)
            self._notes.wake(pressing=True)
        self._used([one.item.id for one in pack])
        return pack
