"""What a clause goes on with from those before it: the thing of "its licence", the "need to" of "and to call"."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from phronesis.derive.extracting.clauses import Clause
from phronesis.derive.extracting.tables import Language

_NEVER: Final = -1000
_BESIDE: Final = 12
"""Characters between clauses of which the second goes on with the first: ", and also "."""


@dataclass(slots=True)
class GoingOn:
    """What was spoken of last.

    ``thing`` is what "its" is of, ``end`` where the last clause ended that spoke of it, ``told`` whether that clause
    begins with it ("the redesign is"), and ``named`` whether it gives no more than its names; ``lead`` how what is to
    be done was begun ("I need"), ``led`` where that clause ended.
    """

    thing: str | None = None
    end: int = 0
    told: bool = False
    named: bool = False
    lead: str = ""
    led: int = 0

    def wholes(self, clause: Clause, text: str, language: Language) -> Iterator[Clause]:
        """Give a clause of a text with what it leaves out: "its budget is ten" as "the redesign's budget is ten"."""
        says, frames = language.text, language.frames
        beside = 0 <= clause.start - self.led <= _BESIDE
        if self.lead and beside and (found := says["goes_on_to"].match(clause.plain)):
            frame = "must" if found["to"] else "must_to"
            yield _with(frames[frame].format(self.lead), clause, 0, language)
        if self.thing is None or (found := says["goes_on"].match(clause.plain)) is None:
            return
        thing = self.thing if self.thing[:1].isupper() and not self.told else frames["thing"].format(self.thing)
        beside = 0 <= clause.start - self.end <= _BESIDE
        if found["its"]:
            yield _with(frames["its"].format(thing), clause, found.end("its"), language)
        elif found["it"]:
            if self.told:
                yield _with(frames["does"].format(thing), clause, found.end("it"), language)
        elif found["at"] is not None:
            if self.told and beside:
                yield _with(frames["is"].format(thing), clause, 0, language)
        elif found["of"] is not None:
            if beside:
                yield _with(frames["has"].format(thing), clause, found.end("with"), language)
        elif beside and (
            self.named
            or says["and"].search(text[self.end : clause.start + 4])
            or says["and"].search(text[clause.end : clause.end + 6])
        ):
            yield _with(frames["does"].format(thing), clause, found.end("drop"), language)

    def note(self, clause: Clause, thing: str | None, language: Language) -> None:
        """Note what a clause speaks of, for those that come after it; ``thing`` is whose attribute it gave."""
        says = language.text
        if (lead := says["goes_on_from"].match(clause.plain)) is not None:
            self.lead, self.led = lead["lead"], clause.end
        elif self.lead and clause.start - self.led <= _BESIDE and says["goes_on_to"].match(clause.plain):
            self.led = clause.end
        if (found := says["thing_told"].match(clause.plain)) is not None:
            does = found["of_it"] is None and found["part"] is None
            self.thing, self.told, self.named = found["thing"], True, found["alias"] is not None
            self.end = clause.end if does else _NEVER
        elif (found := says["thing_made"].search(clause.plain)) is not None:
            self.thing, self.told, self.named, self.end = found["thing"], True, False, _NEVER
        elif thing is not None and (at := clause.plain.lower().find(thing.lower())) >= 0:
            self.told, self.named = thing == self.thing and self.told, False
            self.thing, self.end = thing, clause.end if at == 0 else _NEVER
        elif self.thing and 0 <= clause.start - self.end <= _BESIDE and says["goes_on"].match(clause.plain):
            self.end = clause.end


def _with(lead: str, clause: Clause, cut: int, language: Language) -> Clause:
    """Give a clause with other words for its first ones, which stand alike in ``plain``, ``bare`` and ``raw``."""
    dropped = clause.plain[:cut].lower()
    parts = []
    for text in (language.text["links"].sub("", clause.raw), clause.plain, clause.bare):
        rest = text[cut:] if text.lower().startswith(dropped) else text
        parts.append(f"{lead}{re.sub('^ +', '', rest)}")
    return replace(clause, raw=parts[0], plain=parts[1], bare=parts[2])
