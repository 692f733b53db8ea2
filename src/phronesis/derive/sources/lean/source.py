"""The source ``lean``: logs of Lean 4 in, attempts out."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from phronesis.core.experience.drafts import Draft
from phronesis.derive.sources.lean.drafting import drafts_of
from phronesis.derive.sources.lean.lines import split_lines
from phronesis.derive.sources.lean.walking import Walk
from phronesis.derive.sources.port import Raw

LEAN_VERSION: Final = "lean/1"


class LeanSource:
    """Reads what Lean 4 says: ``lean --json``, ``lake build``, answers of the REPL, and plain logs of ``lean``.

    The form is found out from the text; one text may hold several. A place with errors is one failure; a file, module
    or command without one a success; unknown where a sorry was left, or goals are. All texts are of origin ``rule``:
    Lean or this adapter wrote them, and who wrote the Lean source is not known.
    """

    source_type = "lean"
    version = LEAN_VERSION

    def read(self, raw: Raw) -> Sequence[Draft]:
        """Give the attempts that a log tells of."""
        lines = split_lines(raw.text)
        walk = Walk(lines)
        walk.run()
        drafts: list[Draft] = []
        counted: Counter[str] = Counter()
        for unit in walk.units:
            for draft in drafts_of(unit, lines):
                numbered = draft
                if draft.episode_id is not None:
                    counted[draft.episode_id] += 1
                    numbered = replace(draft, seq=counted[draft.episode_id])
                drafts.append(replace(numbered, observations={**numbered.observations, **walk.facts}))
        return drafts
