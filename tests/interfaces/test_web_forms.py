"""Forms without scripts: the notice that the next page shows, what undoes an action, and errors within the frame."""

import csv
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from phronesis import Memory
from phronesis.config.server import Serving
from phronesis.core.items import Item
from phronesis.interfaces.server_process import make_server_app
from phronesis.interfaces.web.session import MAX_UNDONE, Notice

NOBODY = "01900000-0000-7000-8000-000000000000"
BROWSER = {"Accept": "text/html", "Accept-Language": "en"}


@pytest.fixture
def browser(memory: Memory) -> Iterator[TestClient]:
    app = make_server_app(memory, Serving())
    with TestClient(app, base_url="http://127.0.0.1:8765", headers=BROWSER) as browser:
        browser.get("/")
        yield browser


def send(browser: TestClient, path: str, **form: Any) -> Any:
    return browser.post(path, data={"token": browser.cookies["phronesis_form"], **form})


def state(memory: Memory, item: Item) -> tuple[str, bool, str | None]:
    held = memory.get(item.id)
    return held.status, held.pinned, held.ended


def test_a_notice_is_shown_once_and_undoes_what_it_tells(memory: Memory, browser: TestClient) -> None:
    (item,) = memory.add("The press runs at four bar.", kind="fact").items
    shown = send(browser, f"/memories/{item.id}/archive", next="/memories?kind=fact&state=archived")
    assert str(shown.url).endswith("/memories?kind=fact&state=archived")
    assert "Archived." in shown.text
    assert state(memory, item) == ("archived", False, None)
    entry = memory.history(item.id)[-1].entry_id
    assert f'<input type="hidden" name="id" value="{entry}">' in shown.text
    assert "Archived." not in browser.get("/memories").text
    undone = send(browser, "/rollback", id=entry, next="/")
    assert "Rolled back." in undone.text
    assert state(memory, item) == ("active", False, None)


def test_what_cannot_be_changed_leaves_the_others_their_change(memory: Memory, browser: TestClient) -> None:
    one, other = (memory.add(f"Tank {n} holds acid.", kind="fact").items[0] for n in range(2))
    shown = send(browser, "/memories/change", id=[one.id, NOBODY, other.id], action="pin")
    assert "2 memories: Pinned" in shown.text
    assert "1 could not be changed" in shown.text
    assert state(memory, one) == state(memory, other) == ("active", True, None)
    for form, status in (({"id": NOBODY, "action": "pin"}, 404), ({"id": one.id, "action": "erase"}, 404)):
        assert send(browser, "/memories/change", **form).status_code == status
    assert send(browser, "/memories/change", action="pin").status_code == 400


def test_an_edit_that_changes_nothing_offers_no_undo(memory: Memory, browser: TestClient) -> None:
    (item,) = memory.add("Line one.\nLine two.", kind="fact").items
    same = {"version": "1", "content": "Line one.\r\nLine two.", "next": "/memories"}
    assert "Undo" not in send(browser, f"/memories/{item.id}/edit", **same).text
    assert memory.get(item.id).version == 1
    late = send(browser, f"/memories/{item.id}/edit", version="9", content="Line three.")
    assert late.status_code == 409
    assert "Changed in the meantime" in late.text


@pytest.mark.parametrize(
    ("given", "kinds", "words"),
    [
        ({"content": "The press is blue.", "kind": "fact"}, ["fact"], "Remembered."),
        ({"content": "Oil it.", "kind": "task", "due": "2030-01-02T10:00", "key": "x"}, ["task"], "Remembered."),
        ({"content": "Well, hm."}, ["message"], "no fact was extracted"),
        ({"content": "x", "kind": "run"}, [], "kind must be one of"),
        ({"content": "x", "kind": "fact", "user": "ann\n"}, ["fact"], "Remembered."),
    ],
)
def test_a_memory_is_added(
    memory: Memory, browser: TestClient, given: dict[str, str], kinds: list[str], words: str
) -> None:
    shown = send(browser, "/memories/new", next="/memories", **given)
    assert shown.status_code == (200 if kinds else 400)
    assert words in shown.text
    assert [item.kind for item in memory.get_all(across="tenant")] == kinds
    if not kinds:
        assert f">{given['content']}</textarea>" in shown.text


def test_a_list_is_exported_page_by_page(memory: Memory, browser: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phronesis.interfaces.web.pages.memories.EXPORTED", 2)
    for n in range(5):
        memory.add(f"Tank {n} holds acid.", kind="fact")
    lines = browser.get("/memories/export").text.splitlines()
    assert [json.loads(line)["content"] for line in lines] == [f"Tank {n} holds acid." for n in (4, 3, 2, 1, 0)]
    assert browser.get("/memories/export?q=tank+3&format=csv").text.count("Tank 3") == 1
    assert browser.get("/memories/export?format=xml").status_code == 400
    (formula,) = memory.add("=1+2", kind="fact", user_id="dora", metadata={"shelf": 4}).items
    table = send(browser, "/memories/export", id=[formula.id], format="csv").text
    (row,) = csv.DictReader(table.removeprefix("\ufeff").splitlines())
    assert (row["content"], row["metadata"], row["user_id"]) == ("'=1+2", '{"shelf": 4}', "dora")
    chosen = send(browser, "/memories/export", id=[NOBODY])
    assert (chosen.text, chosen.headers["Content-Disposition"]) == ("", "attachment; filename*=utf-8''memories.jsonl")


def test_many_are_chosen_in_the_lists_of_experience_runs_and_documents(memory: Memory, browser: TestClient) -> None:
    for n in range(2):
        memory.ingest({"attempt": f"built it, try {n}", "label": "failure", "source_ref": f"ci/{n}"})
        memory.runs.record({"run_id": f"run-{n}", "output": {"M1": "Cu"}})
        memory.resources.ingest(f"# Manual {n}\n\nTurn it off.", uri=f"docs/{n}.md", media_type="text/markdown")
    for path, kind in (("/experience?layer=l1", "l1"), ("/runs", "run"), ("/resources", "document")):
        shown = browser.get(path).text
        assert shown.count('form="selection"') == 2, path
        assert 'id="selection" method="post" action="/memories/export"' in shown
        assert f"/memories/export?format=csv&amp;kind={kind}" in shown


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        (f"/memories/{NOBODY}", 404, "Not found"),
        ("/no/such/page", 404, "Not found"),
        ("/suggestions/tenant", 404, "Not found"),
        ("/memories?cursor=x", 400, "This form has a mistake"),
    ],
)
def test_errors_stay_within_the_frame(browser: TestClient, path: str, status: int, words: str) -> None:
    shown = browser.get(path, headers={"Referer": "http://127.0.0.1:8765/people?q=x"})
    assert shown.status_code == status
    assert words in shown.text
    assert 'href="/quarantine"' in shown.text
    assert 'href="/people?q=x"' in shown.text
    part = browser.get(path, headers={"HX-Request": "true"})
    assert part.status_code == status
    assert "<nav" not in part.text
    assert 'hx-swap-oob="true"' in part.text


@pytest.mark.parametrize(("path", "accept"), [("/nope", "*/*"), ("/api/v1/nope", "text/html")])
def test_what_is_not_there_is_a_problem_for_a_program(browser: TestClient, path: str, accept: str) -> None:
    answer = browser.get(path, headers={"Accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


def test_a_failure_stays_within_the_frame(memory: Memory, browser: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: Any, **_named: Any) -> None:
        raise RuntimeError("no bar")

    monkeypatch.setattr(type(memory), "get_all", fail)
    shown = browser.get("/memories")
    assert shown.status_code == 500
    assert "The server failed" in shown.text
    assert 'href="/quarantine"' in shown.text


def test_what_another_host_or_no_key_asks_for_has_no_frame(memory: Memory, browser: TestClient) -> None:
    assert "/quarantine" not in browser.get("/memories", headers={"Host": "evil.example"}).text
    memory.admin.keys.create("read", label="r")
    browser.cookies.clear()
    shown = browser.get("/no/such/page")
    assert (shown.status_code, "/quarantine" in shown.text) == (404, False)


def test_a_lookup_that_came_to_nothing_says_why(memory: Memory, browser: TestClient) -> None:
    memory.runs.record({"run_id": "r1", "output": {"yield": 3}})
    shown = send(browser, "/runs/review", id="r1").text
    assert re.search(r'class="notice warn">\s*<p>The run names no modifier', shown)


@pytest.mark.parametrize("text", ["", "archive", "archive.x.0.", "archive.1.0.0.0", "a.1.0"])
def test_other_cookies_are_no_notice(text: str) -> None:
    assert Notice.parse(text) is None


def test_a_notice_fits_a_cookie() -> None:
    entries = tuple(f"{n:08}{NOBODY[8:]}" for n in range(MAX_UNDONE + 1))
    most = Notice("archive", entries[1:], count=MAX_UNDONE)
    assert Notice.parse(str(most)) == most
    assert len(str(most)) < 3_500
    assert Notice.parse(str(Notice("archive", entries))) == Notice("archive")
    assert Notice.parse("archive.1.2.no-id_x") == Notice("archive", failed=2)
