"""An engine of a distribution of its own, which brings one of everything that an engine may bring."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import pydantic
import pytest
from markupsafe import Markup

from memory_index import InMemoryIndex
from phronesis.config import Part as PolicyPart
from phronesis.config import plugins
from phronesis.core.changes import Changes, Fold
from phronesis.core.entries import Entry, is_erased
from phronesis.core.ids import item_id
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.core.results import Check
from phronesis.engine.handler import Handler, Outcomes
from phronesis.engine.plugin import Engine, OpenEngine, Page, Part, Platform
from phronesis.index.projections import in_words
from phronesis.memory import Memory
from phronesis.store.lane_view import LaneView
from phronesis.wiring import find_engines

VERB, KIND = "sip", "tea"


def apply_sip(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """Create the tea of an entry at its first sip, and count each."""
    if is_erased(entry.payload):
        return Changes()
    name = entry.payload["tea"]
    held = next((item for item in view.find(kinds=[KIND]) if item.content == name), None)
    made = Item(
        id=item_id(entry.id, KIND, ""),
        kind=KIND,
        content=name,
        entry_id=entry.id,
        recorded_at=entry.recorded_at,
        updated_at=entry.recorded_at,
        **view.scope_fields(),
    )
    tea = held or made
    sip = EvidenceRow(
        item_id=tea.id,
        polarity="source",
        source_key=entry.id,
        source_entry_id=entry.id,
        entry_id=entry.id,
        recorded_at=entry.recorded_at,
    )
    return Changes(items=() if held else [made], evidence=[sip])


class TeaRules(PolicyPart):
    """How tea is drunk."""

    sugar: int = pydantic.Field(default=0, ge=0, le=9, description="Lumps in a cup.")


class TeaPolicy(PolicyPart):
    """The section of the engine."""

    tea: TeaRules = pydantic.Field(default_factory=TeaRules, title="Tea", description="How tea is drunk.")


def _open(platform: Platform) -> OpenEngine:
    sugar = platform.policy.of(TeaPolicy).tea.sugar

    def sips(tenant: str) -> Iterator[Check]:
        yield Check("sips", ok=True, detail=f"{tenant} drinks tea with {sugar} lumps")

    return OpenEngine(
        handlers=[Handler(verb=VERB, apply=apply_sip)], components={"clock_of_tea": platform.clock}, checks=[sips]
    )


def render_teas(memory: Memory, scope: Mapping[str, Any], query: Mapping[str, str]) -> str:
    """Return the teas of a scope as a list of HTML; as plain text where the address says so."""
    teas = [item.content for item in memory.get_all(**scope).items if item.kind == KIND]
    if "plain" in query:
        return f"<b>{', '.join(teas)}</b>"
    return Markup("<ul>{}</ul>").format(Markup("").join(Markup("<li>{}</li>").format(tea) for tea in teas))


ENGINE = Engine(
    name="tea",
    open=_open,
    folds={KIND: Fold(frozenset({"data.sips"}), lambda _, evidence: {"data.sips": len(evidence)})},
    projections={KIND: lambda item: in_words(f"a cup of {item.content}")},
    policy=lambda: TeaPolicy,
    pages=[Page(path="/teas", title="Teas & cups", render=render_teas)],
)
TAKEN = Engine(name="taken", pages=[Page(path="/memories", title="Memories", render=render_teas)])
COPY = Engine(name="copy", policy=lambda: TeaPolicy)
CLASH = Engine(name="clash", open=lambda _: OpenEngine(handlers=[Handler(verb="turn", apply=apply_sip)]))
OPENED: list[str] = []
"""The parts of the engine ``lazy`` that were opened."""


def _open_sips(_platform: Platform) -> OpenEngine:
    OPENED.append("sips")
    return OpenEngine(handlers=[Handler(verb=VERB, apply=apply_sip)])


def _open_pot(_platform: Platform) -> OpenEngine:
    OPENED.append("pot")
    return OpenEngine(components={"pot": "pot"})


LAZY = Engine(
    name="lazy",
    parts=[
        Part(open=_open_sips, verbs=[VERB]),
        Part(open=_open_pot, components=["pot"]),
        Part(open=_open_pot, components=["odd"]),
    ],
    folds=ENGINE.folds,
)
NO_ENGINE = "green"


def make_index(*, url: str, **_others: object) -> InMemoryIndex:
    """Return an index of claims that is named after its address."""
    return InMemoryIndex(name=url)


def _forget_found() -> None:
    plugins.find_plugins.cache_clear()
    find_engines.cache_clear()


@contextmanager
def installed(folder: Path, *, engines: str = "tea = toy_engine:ENGINE", name: str = "teapot") -> Iterator[None]:
    """Have a distribution that registers ``engines``, in a folder of its own."""
    made = folder / f"{name}-1.dist-info"
    made.mkdir(parents=True)
    (made / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (made / "entry_points.txt").write_text(f"[phronesis.engines]\n{engines}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        _forget_found()
        yield
    _forget_found()


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Have no plug-in of these names, in whatever group."""

    def left(*, group: str) -> list[EntryPoint]:
        return [point for point in entry_points(group=group) if point.name not in names]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plugins, "entry_points", left)
        _forget_found()
        yield
    _forget_found()
