"""A bundle: memory as Markdown files, whose edits come back as entries that can be reverted."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from phronesis import Memory
from phronesis.errors import InputError
from phronesis.files.bundle import MANIFEST, Bundle
from phronesis.files.item_files import read_concept, write_skills


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(f"sqlite:///{tmp_path / 'm.db'}", policy={"embedder": "none"}) as opened:
        opened.add("I'm allergic to acetone. I live in Kiel.", user_id="lin", session_id="s1")
        opened.add("我喜欢绿茶", kind="preference", user_id="lin")
        opened.add("The lab shares one fridge.", kind="fact", namespace="lab")
        yield opened


@pytest.fixture
def bundle(memory: Memory, tmp_path: Path) -> Bundle:
    made = Bundle(memory, tmp_path / "okf", user_id="lin")
    made.export()
    return made


def path_of(bundle: Bundle, words: str) -> Path:
    (path,) = (one for one in bundle.folder.glob("*/*.md") if words in one.read_text(encoding="utf-8"))
    return path


def edit(path: Path, before: str, after: str) -> None:
    path.write_text(path.read_text(encoding="utf-8").replace(before, after), encoding="utf-8")


def held(bundle: Bundle) -> set[str]:
    kinds = ["profile", "preference", "fact", "task"]
    return {item.content for item in bundle.memory.get_all(user_id="lin", kinds=kinds) if item.user_id == "lin"}


def test_a_bundle_conforms_to_the_format(bundle: Bundle) -> None:
    documents = [path for path in bundle.folder.rglob("*.md") if path.name != "index.md"]
    assert len(documents) == 3
    for path in documents:
        head = yaml.safe_load(path.read_text(encoding="utf-8").split("---\n")[1])
        assert head["type"]
        assert head["sources"][0]["resource"]
        assert head["generated"]["by"] in {"human:lin", "phronesis/0.1.0"}
    assert 'okf_version: "0.2"' in (bundle.folder / "index.md").read_text(encoding="utf-8")
    acetone = path_of(bundle, "acetone").read_text(encoding="utf-8")
    assert "[^s1]: I'm allergic to acetone" in acetone
    assert read_concept(acetone).text == "I'm allergic to acetone"
    assert path_of(bundle, "我喜欢绿茶").parent.name == "preference"


def test_nothing_changed_is_nothing_done(bundle: Bundle) -> None:
    before = {path: path.read_bytes() for path in bundle.folder.rglob("*") if path.is_file()}
    assert bundle.sync().to_dict() == {
        "written": [], "removed": [], "edited": {}, "added": {}, "archived": {}, "skipped": {},
    }  # fmt: skip
    assert {path: path.read_bytes() for path in bundle.folder.rglob("*") if path.is_file()} == before


def test_an_edit_comes_back_as_an_entry_that_can_be_reverted(bundle: Bundle) -> None:
    path = path_of(bundle, "I live in Kiel")
    edit(path, "I live in Kiel[^s1]", "I live in Oslo[^s1]")
    report = bundle.sync()
    (entry,) = report.edited.values()
    assert "I live in Oslo" in held(bundle)
    item = bundle.memory.get(
        json.loads((bundle.folder / MANIFEST).read_text())["files"][next(iter(report.edited))]["id"]
    )
    assert (item.value, item.version) == ("Oslo", 2)
    event = bundle.memory.history(item.id)[-1]
    assert (event.actor, event.reason) == ("user", "edited in file")
    assert "human:lin" in path.read_text(encoding="utf-8").split("verified:")[1].split("sources:")[0]
    bundle.memory.rollback(entry)
    assert bundle.sync().written == list(report.edited)
    assert "I live in Kiel" in path.read_text(encoding="utf-8")


def test_a_new_file_becomes_a_memory_and_a_deleted_one_is_archived(bundle: Bundle) -> None:
    (bundle.folder / "note.md").write_text("---\ntype: Task\n---\n\nCall the landlord.\n", encoding="utf-8")
    path_of(bundle, "acetone").unlink()
    edit(path_of(bundle, "绿茶"), "status: stable", "status: deprecated")
    report = bundle.sync()
    assert (len(report.added), len(report.archived)) == (1, 2)
    assert held(bundle) == {"I live in Kiel", "Call the landlord."}
    assert not (bundle.folder / "note.md").exists()
    assert path_of(bundle, "landlord").parent.name == "task"
    assert bundle.sync().to_dict()["written"] == []


def test_a_stale_base_is_reported_and_left_alone(bundle: Bundle) -> None:
    path = path_of(bundle, "I live in Kiel")
    name = path.relative_to(bundle.folder).as_posix()
    item_id = read_concept(path.read_text(encoding="utf-8")).id
    assert item_id is not None
    bundle.memory.update(item_id, content="I live in Bonn")
    edit(path, "I live in Kiel[^s1]", "I live in Oslo[^s1]")
    assert "it was edited in version 1, and the item is in version 2" in bundle.sync().skipped[name]
    assert "I live in Bonn" in held(bundle)
    assert "I live in Oslo" in path.read_text(encoding="utf-8")
    path.unlink()
    assert "has changed since" in bundle.sync().skipped[name]


def test_what_cannot_be_read_is_named_and_changes_nothing(bundle: Bundle) -> None:
    before = held(bundle)
    shutil.copy(path_of(bundle, "acetone"), bundle.folder / "copy.md")
    for name, text in {
        "a.md": "no front matter",
        "b.md": "---\ntype: [\n---\n\nx",
        "c.md": "---\ntitle: x\n---\n\nx",
        "d.md": "---\ntype: Fact\n---\n\n",
    }.items():
        (bundle.folder / name).write_text(text, encoding="utf-8")
    report = bundle.sync()
    assert {name: reason.split(":")[0].split(" is no")[0] for name, reason in report.skipped.items()} == {
        "a.md": "it does not begin with front matter between two lines of ---",
        "b.md": "its front matter",
        "c.md": "its front matter has no type",
        "copy.md": "it is a copy of another file, or of another bundle",
        "d.md": "it has no text",
    }
    assert held(bundle) == before
    changed = path_of(bundle, "I live in Kiel")
    edit(changed, "  id: ", "  id: x")
    assert "its id was changed" in bundle.sync().skipped[changed.relative_to(bundle.folder).as_posix()]


def test_an_edit_of_the_front_matter_leaves_the_text_as_it_is(memory: Memory, tmp_path: Path) -> None:
    texts = {"first\r\nsecond", "  indented", "see [^1] there\n\n[^1]: my note", "literally [^s1]", "one\n---\ntwo"}
    for text in texts:
        memory.add(text, kind="fact", user_id="ana")
    bundle = Bundle(memory, tmp_path / "ana", user_id="ana")
    bundle.export()
    assert bundle.sync().to_dict()["written"] == []
    for path in bundle.folder.glob("fact/*.md"):
        edit(path, "status: stable", "status: stable\nreviewed: true")
    assert bundle.sync().edited == {}
    assert {item.content for item in memory.get_all(user_id="ana", kinds=["fact"])} == texts


def test_a_moved_file_keeps_its_item_and_place(bundle: Bundle) -> None:
    moved = path_of(bundle, "I live in Kiel").rename(bundle.folder / "home.md")
    assert bundle.sync().to_dict() == {
        "written": [], "removed": [], "edited": {}, "added": {}, "archived": {}, "skipped": {},
    }  # fmt: skip
    edit(moved, "I live in Kiel[^s1]", "I live in Oslo[^s1]")
    assert list(bundle.sync().edited) == ["home.md"]
    assert "I live in Oslo" in held(bundle)


def test_an_interrupted_synchronisation_goes_on(bundle: Bundle) -> None:
    manifest, path = bundle.folder / MANIFEST, path_of(bundle, "I live in Kiel")
    before, note = manifest.read_bytes(), bundle.folder / "note.md"
    note.write_text("---\ntype: Fact\n---\n\nThe pump is red.\n", encoding="utf-8")
    edit(path, "I live in Kiel[^s1]", "I live in Oslo[^s1]")
    edited, added = path.read_bytes(), shutil.copy2(note, bundle.folder.parent / "note")
    bundle.sync()
    manifest.write_bytes(before)
    path.write_bytes(edited)
    shutil.move(added, note)  # as a process left it that was killed before it wrote anything
    path_of(bundle, "pump is red.").unlink()
    assert bundle.sync().skipped == {}
    assert (
        sorted(item.content for item in bundle.memory.get_all(user_id="lin", kinds=["fact"])).count("The pump is red.")
        == 1
    )
    assert bundle.sync().to_dict()["written"] == []


def test_an_export_writes_over_no_edit(bundle: Bundle) -> None:
    path = path_of(bundle, "I live in Kiel")
    edit(path, "I live in Kiel[^s1]", "I live in Oslo[^s1]")
    assert "store sync" in bundle.export().skipped[path.relative_to(bundle.folder).as_posix()]
    assert bundle.sync().edited


def test_a_hostile_bundle_reaches_nothing_outside(bundle: Bundle, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("---\ntype: Fact\n---\n\nA secret.\n", encoding="utf-8")
    other = bundle.memory.add("Ana's own.", kind="fact", user_id="ana").items[0]
    manifest = bundle.folder / MANIFEST
    before = manifest.read_text(encoding="utf-8")
    own = {"id": other.id, "version": 1, "digest": "0"}
    for damaged in (
        "<<<<<<< HEAD",
        '{"scope": {"user_id": "lin"}, "files": {"a.md": 1}}',
        json.dumps({"scope": {"user_id": "lin"}, "files": {"../outside.md": own}}),
        json.dumps({"scope": {"user_id": "lin"}, "files": {str(outside): own}}),
    ):
        manifest.write_text(damaged, encoding="utf-8")
        with pytest.raises(InputError, match="is damaged, or leads out of its folder"):
            bundle.sync()
    files = json.loads(before)["files"] | {"deleted.md": own, "edited.md": own}
    manifest.write_text(json.dumps({"scope": {"user_id": "lin"}, "files": files}), encoding="utf-8")
    bomb = "x: &a [y]\nz: [*a, *a]"
    for name, text in {
        "edited.md": f"---\ntype: Fact\nphronesis: {{id: {other.id}}}\n---\n\nHacked.\n".encode(),
        "aliases.md": f"---\ntype: Fact\n{bomb}\n---\n\nx\n".encode(),
        "deep.md": b"---\ntype: " + b"[" * 9_000 + b"\n---\n\nx\n",
        "large.md": b"---\ntype: Fact\n---\n\n" + b"x" * 1_000_000,
        "latin.md": "---\ntype: Fact\n---\n\nMünchen\n".encode("latin-1"),
        "list.md": b"---\n[type]\n---\n\nx\n",
        "trait.md": b"---\ntype: Trait\n---\n\nx\n",
    }.items():
        (bundle.folder / name).write_bytes(text)
    (bundle.folder / "link.md").symlink_to(outside)
    reasons = bundle.sync().skipped
    assert {name: reason.split(":")[0] for name, reason in reasons.items()} == {
        "aliases.md": "its front matter is no YAML",
        "deep.md": "its front matter is no YAML",
        "edited.md": "its item is not of this bundle",
        "large.md": "it has more than 1,000,000 bytes",
        "latin.md": "it is not UTF-8",
        "link.md": "it is a link",
        "list.md": "its front matter is no YAML",
        "trait.md": "a trait follows from its evidence",
    }
    assert bundle.memory.get(other.id).to_dict() == other.to_dict()
    assert outside.exists()
    (bundle.folder / "decision").symlink_to(tmp_path)
    with pytest.raises(InputError, match="leads out of its folder"):
        bundle.export()


def test_a_bundle_is_not_mixed_with_anything_else(bundle: Bundle, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds the bundle of another scope"):
        Bundle(bundle.memory, bundle.folder, namespace="lab").export()
    with pytest.raises(InputError, match="is no bundle of Phronesis"):
        Bundle(bundle.memory, tmp_path / "other").sync()
    (tmp_path / "full").mkdir()
    (tmp_path / "full/a.txt").touch()
    with pytest.raises(InputError, match="is not empty"):
        Bundle(bundle.memory, tmp_path / "full").export()
    Bundle(bundle.memory, tmp_path / "lab", namespace="lab").export()
    assert "one fridge" in path_of(Bundle(bundle.memory, tmp_path / "lab"), "fridge").read_text(encoding="utf-8")


def test_a_folder_that_was_emptied_archives_nothing_unasked(bundle: Bundle) -> None:
    for n in range(12):
        bundle.memory.add(f"Bottle {n} stands in the fridge.", kind="fact", user_id="lin")
    bundle.sync()
    before = held(bundle)
    for path in bundle.folder.glob("fact/*.md"):
        path.unlink()
    with pytest.raises(InputError, match="12 of 15 files are missing"):
        bundle.sync()
    assert held(bundle) == before
    assert len(bundle.sync(allow_many_deletions=True).archived) == 12


def test_a_fact_that_ended_or_was_erased_loses_its_file(bundle: Bundle) -> None:
    acetone, tea = (path_of(bundle, words) for words in ("acetone", "绿茶"))
    ids = [read_concept(path.read_text(encoding="utf-8")).id for path in (acetone, tea)]
    bundle.memory.erase(id=ids[0])
    bundle.memory.delete(str(ids[1]))
    acetone.unlink()
    report = bundle.sync()
    assert tea.relative_to(bundle.folder).as_posix() in report.removed
    assert not acetone.exists()
    assert report.archived == {}


def test_principles_become_skills(memory: Memory, tmp_path: Path) -> None:
    tried = {
        "situation": "The pump leaks at the shaft seal",
        "goal": "stop the leak at the shaft seal",
        "label": "failure",
        "reflection": "The seal was worn",
        "source_type": "manual",
    }
    nut = "Tightened the gland nut by a quarter turn"
    memory.ingest([{**tried, "attempt": f"{nut}, pump {n}", "source_ref": f"log/{n}"} for n in range(4)])
    memory.aggregate()
    memory.abstract()
    written = write_skills(memory, tmp_path / "skills")
    assert written
    for path in written.values():
        head = yaml.safe_load(Path(path).read_text(encoding="utf-8").split("---\n")[1])
        assert head["name"] == Path(path).parent.name
        assert head["description"].startswith("Use when ")
        assert "## Evidence\n\n- " in Path(path).read_text(encoding="utf-8")
    (tmp_path / "skills/own").mkdir()
    (tmp_path / "skills/own/SKILL.md").write_text("---\nname: own\n---\n", encoding="utf-8")
    (tmp_path / "skills/latin").mkdir()
    (tmp_path / "skills/latin/SKILL.md").write_bytes(b"\xff")
    first = Path(next(iter(written.values())))
    (first.parent / "notes.txt").touch()
    (first.parent.parent / "renamed").mkdir()
    shutil.copy(first, first.parent.parent / "renamed/SKILL.md")

    def skills() -> set[str]:
        return {path.parent.name for path in (tmp_path / "skills").glob("*/SKILL.md")}

    own = {Path(path).parent.name for path in written.values()}
    assert write_skills(memory, tmp_path / "skills", user_id="lin", namespace="lab") == {}
    assert skills() == own | {"own", "latin", "renamed"}, "those of another scope stay"
    assert write_skills(memory, tmp_path / "skills") == written
    assert skills() == own | {"own", "latin"}
    for principle in list(written)[1:]:
        memory.delete(principle)
    memory.erase(id=next(iter(written)))
    assert write_skills(memory, tmp_path / "skills") == {}
    assert skills() == {"own", "latin"}
    assert (first.parent / "notes.txt").exists()
