"""Deriving anew: what today's extractors find is there, what they no longer find is retired, and ids stay."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from custom_store import open_with, write
from phronesis.conversation import handlers
from phronesis.conversation.entity_resolution import make_entity, make_mention
from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry, Outcome
from phronesis.core.ids import item_id
from phronesis.core.items import Item
from phronesis.engine.handler import Handler, Outcomes, PrepareContext
from phronesis.memory import Memory
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import list_lanes
from phronesis.store.relations import lane_entities, lane_mentions


def extractor(version: int) -> Handler:
    """An extractor of "X is Y": the second version knows "was" too, loses values of one word, and names subjects."""

    def prepare(_bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        pattern = r"(\w+) is (\w+)" if version == 1 else r"(\w+) (?:is|was) (\w+ \w+)"
        found = [{"subject": m[1], "value": m[2]} for m in re.finditer(pattern, entry.payload["text"])]
        return [Outcome(role="found", made_by=f"extractor/{version}", body={"found": found})] if found else []

    def apply(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
        rows: list[dict[str, Any]] = [row for outcome in outcomes.get("found", ()) for row in outcome.body["found"]]
        items = [
            Item(
                id=item_id(entry.id, "fact", row["subject"]),
                kind="fact",
                content=f"{row['subject']}: {row['value']}",
                subject=row["subject"],
                key="is",
                value=row["value"],
                entry_id=entry.id,
                recorded_at=entry.recorded_at,
                updated_at=entry.recorded_at,
                **view.scope_fields(),
            )
            for row in rows
        ]
        # A newer fact about a subject supersedes the older one: what is found early has consequences later.
        patches = [
            Patch(old.id, {"ended": "superseded", "ended_by": entry.id}, "newer")
            for item in items
            for old in view.find(kinds=["fact"], subject=item.subject)
        ]
        entities = [make_entity(view.lane_id, str(item.subject), "name", entry_id=entry.id) for item in items]
        mentions = [make_mention(entity, item.id, 0, 0) for entity, item in zip(entities, items, strict=True)]
        return Changes(items=items, patches=patches, entities=entities, mentions=mentions)

    return Handler(verb="say", apply=apply, prepare=prepare)


def opened(folder: Path, version: int) -> Memory:
    return open_with(f"sqlite:///{folder / 'memory.db'}", [extractor(version)])


def said(memory: Memory, text: str) -> str:
    return write(memory, "say", {"text": text}).entry.id


def facts(memory: Memory) -> dict[str, str | None]:
    return {str(item.subject): item.value for item in memory.get_all(user_id="alice", kinds=["fact"])}


def named(memory: Memory) -> tuple[set[str], int]:
    with memory.admin.components.database.transaction(memory.admin.tenant, "read") as unit:
        (lane,) = list_lanes(unit)
        return {entity.name for entity in lane_entities(unit, lane.lane_id)}, len(lane_mentions(unit, lane.lane_id))


def test_new_changed_and_vanished_items(tmp_path: Path) -> None:
    with opened(tmp_path, 1) as memory:
        tea = said(memory, "tea is very hot")
        sky = said(memory, "sky is blue")
        sea = said(memory, "sea was deep blue")
        assert facts(memory) == {"tea": "very", "sky": "blue"}
        known = memory.get_all(user_id="alice")[0].recorded_at
    with opened(tmp_path, 2) as memory:
        result = memory.admin.rederive(user_id="alice")
        assert facts(memory) == {"tea": "very hot", "sea": "deep blue"}
        assert result.added == (item_id(sea, "fact", "sea"),)
        assert result.changed == (item_id(tea, "fact", "tea"),)
        assert result.vanished == (item_id(sky, "fact", "sky"),)
        gone = memory.get(result.vanished[0])
        assert (gone.ended, gone.ended_by) == ("retired", result.entry_id)
        assert memory.history(result.changed[0])[-1].fields["value"] == ("very", "very hot")
        assert memory.explain(result.added[0]).sources[0].entry_id == sea
        assert named(memory) == ({"tea", "sea"}, 2)
        assert [e.item.id for e in memory.search("deep", user_id="alice")] == [result.added[0]]
        # What was known before is what was known before.
        assert {i.subject for i in memory.get_all(user_id="alice", as_of=known)} == {"tea", "sky"}
        assert memory.admin.rebuild(verify=True).equal
        assert memory.admin.rebuild().equal
        again = memory.admin.rederive(user_id="alice")
        assert (again.added, again.changed, again.vanished) == ((), (), ())


def test_edits_by_hand_stand(tmp_path: Path) -> None:
    with opened(tmp_path, 1) as memory:
        entry = said(memory, "tea is very hot, mud is dark brown, oil is thick black")
        tea, mud, oil = (item_id(entry, "fact", name) for name in ("tea", "mud", "oil"))
        memory.items.pin(tea)
        memory.update(mud, content="mud: by hand", expected_version=1)
        memory.items.retract(oil)
        delta = memory.history(tea)[-1].delta_id
        memory.rollback(delta)
        memory.update(tea, content="tea: by hand", expected_version=memory.get(tea).version)
    with opened(tmp_path, 2) as memory:
        result = memory.admin.rederive(user_id="alice")
        assert set(result.changed) == {tea, mud, oil}
        assert memory.get(tea).content == "tea: by hand"
        assert memory.get(tea).value == "very hot"
        assert not memory.get(tea).pinned
        assert memory.get(mud).content == "mud: by hand"
        assert memory.get(oil).ended == "retracted"
        # A version that the rederive moved does not undo an edit at the next one.
        memory.update(mud, content="mud: again", expected_version=memory.get(mud).version)
        memory.admin.rederive(user_id="alice")
        assert memory.get(mud).content == "mud: again"
        assert memory.admin.rebuild(verify=True).equal


def test_mentions_of_messages_whose_session_knows_them(tmp_path: Path) -> None:
    blind = Handler(verb="turn", apply=handlers.apply, prepare=lambda _bench, _entry: [])
    turn = {"messages": [{"role": "user", "content": "I met Alice Smith", "id": "1"}]}
    url = f"sqlite:///{tmp_path / 'memory.db'}"
    with open_with(url, [blind]) as memory:
        memory.commit_turn("s", turn, user_id="alice")
        assert named(memory) == (set(), 0)
    with open_with(url, []) as memory:
        result = memory.admin.rederive(user_id="alice")
        assert (result.added, result.changed, result.vanished) == ((), (), ())
        assert named(memory) == ({"Alice Smith"}, 1)
        assert memory.admin.rebuild(verify=True).equal
    with open_with(url, [blind]) as memory:
        memory.admin.rederive(user_id="alice")
        assert named(memory) == (set(), 0)
        assert memory.admin.rebuild(verify=True).equal


def test_a_rollback_stays_that_of_its_item_though_its_entry_makes_more_now(tmp_path: Path) -> None:
    with opened(tmp_path, 1) as memory:
        entry = said(memory, "sea was deep blue, tea is very hot, mud is dark brown")
        tea, sea = (item_id(entry, "fact", name) for name in ("tea", "sea"))
        memory.rollback(memory.history(tea)[0].delta_id)
        assert facts(memory) == {"mud": "dark"}
    with opened(tmp_path, 2) as memory:
        assert memory.admin.rederive(user_id="alice").added == (sea,)
        assert facts(memory) == {"sea": "deep blue", "mud": "dark brown"}
        assert memory.get(tea).ended == "retracted"
        assert memory.admin.rebuild(verify=True).equal
