"""The documents: taken in by text and by file, read, compared and erased."""

import re
from pathlib import Path

from playwright.sync_api import expect

from browsing import Visit
from phronesis import Memory
from phronesis.core.ids import short_id
from phronesis.core.items import Item


def own(store: Memory, user: str) -> list[Item]:
    """Give what of documents a user's own lane holds."""
    return [item for item in store.get_all(user_id=user, kinds=["document"]) if item.user_id == user]


def test_a_document_is_read_and_its_versions_compared(tab: Visit) -> None:
    page = tab.see("/resources")
    tab.shot("documents")
    page.get_by_role("link", name="Pump manual").click()
    expect(page.get_by_role("heading", name="After a fault")).to_be_visible()
    page.get_by_role("link", name="what changed").click()
    changed = page.get_by_role("region", name="What version 2 changed")
    expect(changed.locator(".before")).to_contain_text("PTFE")
    expect(changed.locator(".after")).to_contain_text("Viton")
    tab.shot("document")
    page.get_by_role("link", name="version 1").click()
    expect(page.get_by_role("article")).to_contain_text("PTFE")
    expect(page.get_by_text("This is version 1 of 2.")).to_be_visible()


def test_a_citation_opens_its_section_rendered_and_highlighted(tab: Visit, store: Memory) -> None:
    text = "# Guide\n\n## Setup\n\nRun it **twice**.\n\n![chart](https://evil.example/x.png)\n\n## Use\n\nPress it.\n"
    document = store.resources.ingest(text, uri="guide.md", user_id="reader").document
    assert document is not None
    setup, use = store.resources.get(document.id).sections
    page = tab.see(f"/memories/{setup.id}")
    page.get_by_role("link", name="Read in the document").click()
    section = page.locator("section.section:target")
    expect(section.get_by_role("heading", name="Setup")).to_be_visible()
    expect(section.locator("strong")).to_have_text("twice")
    expect(section.locator("img")).to_have_count(0)
    colours = [
        page.locator(f"#s-{one.id}").evaluate("e => getComputedStyle(e).backgroundColor") for one in (setup, use)
    ]
    assert colours[0] != colours[1]
    tab.shot("document-section")
    store.resources.ingest(text.replace("twice", "once"), uri="guide.md", user_id="reader")
    page = tab.see(f"/resources/section?id={setup.id}")
    expect(page.locator("section.section:target")).to_contain_text("twice")
    expect(page.get_by_text("This is version 1 of 2.")).to_be_visible()


def test_a_text_is_taken_in_and_erased(tab: Visit, store: Memory) -> None:
    page = tab.see("/resources?user=docs")
    page.get_by_text("Take in a document").click()
    tab.shot("document-adding")
    page.get_by_label("Or a text").fill("# Lamp manual\n\nThe lamp is green when all is well.\n")
    page.get_by_role("button", name="Take in").click()
    expect(page.locator("#notices")).to_contain_text("Taken in")
    expect(page.get_by_role("heading", level=1)).to_have_text("Lamp manual")
    (document,) = own(store, "docs")
    page.get_by_text("Erase permanently").first.click()
    page.get_by_label(re.compile("to confirm")).fill(short_id(document.id))
    page.get_by_role("button", name="Erase permanently").click()
    expect(page.get_by_role("heading", name="Erased")).to_be_visible()
    assert own(store, "docs") == []


def test_a_file_given_again_is_a_new_version(tab: Visit, store: Memory, tmp_path: Path) -> None:
    file = tmp_path / "手册.md"
    for n, words in enumerate(("每年检查一次。", "每半年检查一次。"), start=1):
        file.write_text(f"# 检查\n\n{words}\n", "utf-8")
        page = tab.see("/resources?user=files")
        page.get_by_text("Take in a document").click()
        page.get_by_label("A file").set_input_files(file)
        page.get_by_role("button", name="Take in").click()
        expect(page.get_by_role("article")).to_contain_text(words)
        expect(page.get_by_role("link", name=f"version {n}")).to_be_visible()
    (document,) = own(store, "files")
    assert document.source_ref == "upload:手册.md"
