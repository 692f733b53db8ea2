"""The demo's step on documents: a question that needs what was said and what a manual says. The manual is invented."""

from typing import Final

from phronesis.core.context import ContextPackage
from phronesis.core.resources.records import SECTION
from phronesis.interfaces.cli import story
from phronesis.interfaces.cli.demo_stage import Stage
from phronesis.interfaces.cli.text import on_one_line
from phronesis.memory import Memory

MANUAL: Final = """\
# Furnace

## Annealing

Purge with nitrogen for twenty minutes, then heat by 5 °C a minute.

## Carbon paper

Carbon paper burns in air from 350 °C on: close the gas valve last.

## 冷却

60 °C 以下才能打开炉门，否则管式炉里的样品会氧化。
"""
WRITTEN: Final = "2025-02-01"
URI: Final = "furnace.md"
ASKED: Final = "退火温度改成多少了？管式炉手册上说冷却到多少度才能打开炉门？"
"""Its first half was said in a meeting; its second stands in the manual."""
SAID: Final = story.ANSWER
STANDS: Final = "60 °C 以下才能打开炉门"
THANKS: Final = "好的，谢谢你！"
_SESSION: Final = "linyue/4"


def consult(memory: Memory, stage: Stage) -> None:
    """Take a manual in, and ask what needs both it and what was said."""
    taken = memory.ingest_resource(MANUAL, uri=URI, type="manual", occurred_at=WRITTEN, namespace=story.LAB)
    package = _composed(memory, ASKED)
    said = [one for one in package.evidence if SAID in one.item.content and one.item.kind != SECTION]
    read = [one for one in package.evidence if STANDS in one.item.content and one.item.kind == SECTION]
    stage.check("what was said is cited beside what the manual says", bool(said and read))
    stage.check("the context with a manual keeps its budget", package.token_count <= story.BUDGET)
    stage.check("the section says where it stands", all(one.item.source_ref == f"{URI}#L13" for one in read))
    stage.check("thanks need no manual", all(one.item.kind != SECTION for one in _composed(memory, THANKS).evidence))
    stage.show(f"   {URI}: {len(taken.sections)} sections. 林悦: {ASKED}")
    cited = {one.item.citation for one in (*said[:1], *read[:1])}
    names = {alias for alias, citation in package.citations.items() if citation in cited}
    lines = [line for line in package.text.splitlines() if line[1:].partition("]")[0] in names]
    stage.show(*(f"   │ {on_one_line(line)}" for line in lines))


def _composed(memory: Memory, message: str) -> ContextPackage:
    return memory.compose_context(_SESSION, message, user_id=story.LIN, namespace=story.LAB, token_budget=story.BUDGET)
